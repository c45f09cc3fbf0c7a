// CohortReconciler: fair-sharing status and metrics of a Cohort. behaviour 14.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/amount.h"
#include "controllers/context.h"
#include "controllers/stores.h"
#include "kube/controller.h"

namespace kueue::controllers {

class CohortReconciler {
 public:
  explicit CohortReconciler(Context& context) : context_(context) {}
  // Also for cohorts that exist only because a ClusterQueue names them.
  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& key);

 private:
  using FlavorResource = std::pair<std::string, std::string>;
  struct Subtree {
    std::map<FlavorResource, Amount>
        quota;  // what the node and all below it have, less what they keep
    std::map<FlavorResource, Amount> reservations;  // of all ClusterQueues below
    std::map<std::string, int> admitted;            // by ClusterQueue
    bool empty = true;                              // nothing names the cohort
    bool operator==(const Subtree&) const = default;
  };
  // `seen` stops at cycles.
  Subtree subtree_of(const std::string& name, std::set<std::string>& seen) const;
  bool is_parent(const std::string& name) const;
  void report(const std::string& name, const v1beta2::Cohort* cohort);
  // Telemetry of a deleted Cohort is gone, also while ClusterQueues still name it; what happens in
  // the tree from then on is told again.
  bool silent(const std::string& name, bool exists, const Subtree& tree);

  Result<kube::ReconcileResult> write_empty_status(const v1beta2::Cohort* cohort);
  Result<kube::ReconcileResult> write_status(const kube::ObjectKey& key,
                                             const json::Value& document);

  Context& context_;
  std::mutex mutex_;
  std::map<std::string, std::string> status_written_;  // Cohort -> uid
  std::set<std::string> seen_;                         // Cohorts that exist and were reported
  std::map<std::string, Subtree> deleted_;             // their tree when they went
};

}  // namespace kueue::controllers
