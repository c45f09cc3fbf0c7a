// ClusterQueueReconciler: finalizer, status and metrics of a ClusterQueue, from what the engine
// counts. behaviour 14, labels-conditions-events 3.
#pragma once

#include "controllers/context.h"
#include "controllers/stores.h"
#include "engine/engine.h"
#include "kube/controller.h"

namespace kueue::controllers {

class ClusterQueueReconciler {
 public:
  explicit ClusterQueueReconciler(Context& context) : context_(context) {}
  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& key);

 private:
  struct View {  // one consistent look at the engine
    engine::QueueActivity activity;
    engine::ClusterQueueStatus status;
    bool in_cycle = false;  // its cohorts have no root
  };
  View look(const std::string& name) const;
  Result<void> write_status(const v1beta2::ClusterQueue& queue, const View& view);
  void report(const v1beta2::ClusterQueue& queue, const View& view);
  void report_by_workload_labels(const std::string& name, bool active);
  void report_quota(const v1beta2::ClusterQueue& queue, const View& view,
                    const std::string& cohort);

  Context& context_;
};

}  // namespace kueue::controllers
