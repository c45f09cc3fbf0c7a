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
    int admitted = 0;
    bool empty = true;  // nothing names the cohort
  };
  // `seen` stops at cycles.
  Subtree subtree_of(const std::string& name, std::set<std::string>& seen) const;
  bool is_parent(const std::string& name) const;
  void report(const std::string& name, const v1beta2::Cohort* cohort) const;

  Result<kube::ReconcileResult> write_empty_status(const v1beta2::Cohort* cohort);
  Result<kube::ReconcileResult> write_status(const kube::ObjectKey& key,
                                             const json::Value& document);

  Context& context_;
  std::mutex mutex_;
  std::map<std::string, std::string> status_written_;  // Cohort -> uid
};

}  // namespace kueue::controllers
