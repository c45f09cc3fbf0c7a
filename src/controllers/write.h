// Merge patches of objects that a reconciler holds in its cache: written, taken in, gone is fine.
// Any thread.
#pragma once

#include <string_view>

#include "controllers/context.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace kueue::controllers {

// Merge-patches the object, or its `subresource` ("status"); the cache takes the answer in. An
// object that is gone is no error.
Result<void> merge_patch(const Context& context, kube::InformerCore& store,
                         const kube::ObjectKey& key, std::string_view subresource,
                         const json::Value& patch);

// Writes what differs between two encoded statuses; no difference, no write.
Result<void> patch_status(const Context& context, kube::InformerCore& store,
                          const kube::ObjectKey& key, const json::Value& before,
                          const json::Value& after);

}  // namespace kueue::controllers
