// PendingQueue: the heap of one ClusterQueue. Order (behaviour.md 2): sticky first, higher
// priority, earlier timestamp, smaller uid, then name. With admission fair sharing the LocalQueue
// of lower usage comes before all that: workloads are then kept in one heap per LocalQueue, so that
// a usage change costs nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/names.h"

namespace kueue::engine {

// What orders a workload; the strings belong to its record.
struct PendingKey {
  bool sticky = false;
  int64_t priority = 0;
  Instant timestamp;
  const std::string* uid = nullptr;
  const std::string* namespace_ = nullptr;
  const std::string* name = nullptr;

  // True when this one goes before.
  bool before(const PendingKey& other) const;
};

using PendingKeys = IndexVec<WorkloadId, PendingKey>;

class PendingQueue {
 public:
  // A key must not change while its workload is in the queue: remove, change, insert.
  explicit PendingQueue(const PendingKeys* keys = nullptr) : keys_(keys) {}

  // By usage value of LocalQueues, indexed by LocalId; null = no fair sharing. Regroups what is
  // queued; `local_of` gives the LocalQueue of a workload.
  void set_fairness(const std::vector<double>* usage,
                    const std::function<LocalId(WorkloadId)>& local_of);
  bool fair() const { return usage_ != nullptr; }

  void insert(WorkloadId id, LocalId local);
  // No-op when it is not there.
  void remove(WorkloadId id, LocalId local);
  bool contains(WorkloadId id, LocalId local) const;
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // The first one; CHECKs that there is one. O(1), with fair sharing O(LocalQueues).
  WorkloadId top() const;
  // All members, in no order.
  std::vector<WorkloadId> members() const;
  // All members in the order in which they would be popped now.
  std::vector<WorkloadId> ordered() const;

 private:
  struct Less {
    const PendingKeys* keys;
    bool operator()(WorkloadId a, WorkloadId b) const { return (*keys)[a].before((*keys)[b]); }
  };
  using Group = std::set<WorkloadId, Less>;
  struct Entry {
    LocalId local;
    Group members;
  };
  Entry* group(LocalId local);
  const Entry* group(LocalId local) const;
  LocalId group_key(LocalId local) const { return fair() ? local : LocalId(); }
  double usage(LocalId local) const { return fair() ? (*usage_)[local.value] : 0; }

  const PendingKeys* keys_;
  const std::vector<double>* usage_ = nullptr;

  std::vector<Entry> groups_;
  size_t size_ = 0;
};

}  // namespace kueue::engine
