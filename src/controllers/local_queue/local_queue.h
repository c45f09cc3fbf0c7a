// LocalQueueReconciler: status and metrics of a LocalQueue. behaviour 14,
// labels-conditions-events 3.
#pragma once

#include <optional>

#include "controllers/context.h"
#include "controllers/scheduler/admission.h"
#include "controllers/stores.h"
#include "engine/engine.h"
#include "kube/controller.h"

namespace kueue::controllers {

class LocalQueueReconciler {
 public:
  explicit LocalQueueReconciler(Context& context) : context_(context) {}
  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& key);

 private:
  struct View {
    engine::QueueActivity cluster_queue;
    engine::LocalQueueStatus status;
    std::optional<Admission::Sample> sample;  // with admission fair sharing
  };
  int32_t count_waiting(const kube::ObjectKey& key) const;
  Result<void> write_status(const v1beta2::LocalQueue& queue, const View& view);
  void report(const v1beta2::LocalQueue& queue, const View& view);
  void report_by_workload_labels(const v1beta2::LocalQueue& queue, bool active);

  Context& context_;
};

}  // namespace kueue::controllers
