// Finalizers of the kinds that must not go while they are used: kueue.x-k8s.io/resource-in-use.
#pragma once

#include <string_view>

#include "api/gen/meta_v1.h"
#include "controllers/context.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace kueue::controllers {

bool has_finalizer(const api::meta::ObjectMeta& meta, std::string_view finalizer);

// Adds or removes the finalizer, guarded by the object's resourceVersion; does nothing when it is
// as wanted. The cache takes the answer in. An object that is gone is no error.
Result<void> set_finalizer(const Context& context, kube::InformerCore& store,
                           const api::meta::ObjectMeta& meta, std::string_view finalizer,
                           bool wanted);

}  // namespace kueue::controllers
