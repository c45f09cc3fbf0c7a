// CohortReconciler: fair-sharing status and metrics of a Cohort. behaviour 14.
#pragma once

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
  Context& context_;
};

}  // namespace kueue::controllers
