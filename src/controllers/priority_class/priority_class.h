// PriorityClassReconciler: a WorkloadPriorityClass whose value changes changes the priority of its
// unfinished Workloads.
#pragma once

#include "controllers/context.h"
#include "controllers/stores.h"
#include "kube/controller.h"

namespace kueue::controllers {

class PriorityClassReconciler {
 public:
  explicit PriorityClassReconciler(Context& context) : context_(context) {}
  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& key);

 private:
  Context& context_;
};

}  // namespace kueue::controllers
