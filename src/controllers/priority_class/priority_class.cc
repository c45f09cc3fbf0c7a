#include "controllers/priority_class/priority_class.h"

#include "controllers/workload/conditions.h"

namespace kueue::controllers {

Result<kube::ReconcileResult> PriorityClassReconciler::reconcile(const kube::ObjectKey& key) {
  auto priority_class = context_.stores->workload_priority_classes.get(key);
  if (priority_class == nullptr || priority_class->metadata.deletion_timestamp.has_value())
    return kube::ReconcileResult{};
  kube::InformerCore& store = context_.stores->workloads.core();
  for (const WorkloadPointer& workload :
       context_.stores->workloads.by_index(kByPriorityClass, "WorkloadPriorityClass/" + key.name)) {
    if (is_finished(*workload) || workload->spec.priority == priority_class->value) continue;
    json::Value patch;
    patch.at_path({"metadata", "resourceVersion"}) = workload->metadata.resource_version;
    patch.at_path({"spec", "priority"}) = int64_t{priority_class->value};
    auto written = context_.client->patch(store.resource(),
                                          {workload->metadata.namespace_, workload->metadata.name},
                                          kube::PatchType::kMerge, patch);
    if (written.ok()) {
      store.absorb(*written);
    } else if (written.error().code != ErrorCode::kNotFound) {
      return written.error();
    }
  }
  return kube::ReconcileResult{};
}

}  // namespace kueue::controllers
