#include "controllers/in_use.h"

#include "controllers/finalizers.h"
#include "controllers/names.h"
#include "controllers/scheduler/admission.h"

namespace kueue::controllers {

kube::Reconcile keep_while_used(Context& context, kube::InformerCore& store, MetadataOf metadata,
                                InUse in_use) {
  return [&context, &store, metadata = std::move(metadata),
          in_use = std::move(in_use)](const kube::ObjectKey& key) -> Result<kube::ReconcileResult> {
    kube::ErasedObject object = store.get(key);
    if (object == nullptr) return kube::ReconcileResult{};
    const api::meta::ObjectMeta& meta = metadata(object.get());
    const bool keep =
        !meta.deletion_timestamp.has_value() ||
        context.admission->ask([&](const engine::State& state) { return in_use(state, key.name); });
    // A finalizer cannot be added to what is being deleted.
    if (keep && meta.deletion_timestamp.has_value()) return kube::ReconcileResult{};
    KUEUE_TRY(set_finalizer(context, store, meta, kResourceInUseFinalizer, keep));
    return kube::ReconcileResult{};
  };
}

}  // namespace kueue::controllers
