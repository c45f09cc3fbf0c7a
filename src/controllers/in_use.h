// Reconcilers of kinds that only need to stay while something uses them: ResourceFlavor,
// AdmissionCheck, Topology.
#pragma once

#include <functional>
#include <string>

#include "api/gen/meta_v1.h"
#include "controllers/context.h"
#include "engine/engine.h"
#include "kube/controller.h"
#include "kube/informer.h"

namespace kueue::controllers {

using MetadataOf = std::function<const api::meta::ObjectMeta&(const void* object)>;
using InUse = std::function<bool(const engine::State& state, const std::string& name)>;

// Adds the finalizer resource-in-use; takes it away from a deleted object that nothing uses any
// more.
kube::Reconcile keep_while_used(Context& context, kube::InformerCore& store, MetadataOf metadata,
                                InUse in_use);

}  // namespace kueue::controllers
