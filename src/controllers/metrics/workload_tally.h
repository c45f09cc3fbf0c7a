// WorkloadTally: gauges that count Workloads by what their conditions say (unadmitted, finished),
// kept up to date with every change instead of counted anew. labels-conditions-events 7. Thread
// safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "controllers/context.h"
#include "controllers/stores.h"

namespace kueue::controllers {

class WorkloadTally {
 public:
  explicit WorkloadTally(const Context& context) : context_(context) {}

  // The Workload changed, or is gone.
  void update(const kube::ObjectKey& key);
  // A LocalQueue came, went or changed: its Workloads count for another ClusterQueue.
  void update_queue(const kube::ObjectKey& local_queue);
  // Sets the gauges of a queue again after its series were dropped, or after it came or went.
  void report_again(const kube::ObjectKey& local_queue);
  void report_again(const std::string& cluster_queue);

 private:
  struct Share {  // what one Workload counts for
    std::string queue;
    std::string namespace_;
    std::string cluster_queue;
    bool finished = false;
    std::string reason;
    std::string cause;
    bool operator==(const Share&) const = default;
    auto operator<=>(const Share&) const = default;
  };
  // With the lock held.
  void replace(const kube::ObjectKey& key, std::optional<Share> now);
  void count(const Share& share, int by);
  std::optional<Share> share_of(const v1beta2::Workload& workload) const;

  const Context& context_;
  std::mutex mutex_;
  std::map<kube::ObjectKey, Share> shares_;
  std::map<Share, int> counts_;
};

}  // namespace kueue::controllers
