#include "controllers/finalizers.h"

#include <algorithm>

namespace kueue::controllers {

bool has_finalizer(const api::meta::ObjectMeta& meta, std::string_view finalizer) {
  return std::find(meta.finalizers.begin(), meta.finalizers.end(), finalizer) !=
         meta.finalizers.end();
}

Result<void> set_finalizer(const Context& context, kube::InformerCore& store,
                           const api::meta::ObjectMeta& meta, std::string_view finalizer,
                           bool wanted) {
  if (has_finalizer(meta, finalizer) == wanted) return {};
  json::Array finalizers;
  for (const std::string& other : meta.finalizers)
    if (other != finalizer) finalizers.emplace_back(other);
  if (wanted) finalizers.emplace_back(finalizer);
  json::Value patch;
  patch.at_path({"metadata", "resourceVersion"}) = meta.resource_version;
  patch.at_path({"metadata", "finalizers"}) =
      finalizers.empty() ? json::Value(nullptr) : json::Value(finalizers);
  auto written = context.client->patch(store.resource(), {meta.namespace_, meta.name},
                                       kube::PatchType::kMerge, patch);
  if (!written.ok())
    return written.error().code == ErrorCode::kNotFound ? Result<void>() : written.error();
  if (meta.deletion_timestamp.has_value() && finalizers.empty()) {
    store.forget({meta.namespace_, meta.name}, meta.uid);
  } else {
    store.absorb(*written);
  }
  return {};
}

}  // namespace kueue::controllers
