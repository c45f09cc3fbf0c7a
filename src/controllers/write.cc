#include "controllers/write.h"

#include <string>
#include <utility>

#include "json/patch.h"

namespace kueue::controllers {

Result<void> merge_patch(const Context& context, kube::InformerCore& store,
                         const kube::ObjectKey& key, std::string_view subresource,
                         const json::Value& patch) {
  kube::WriteOptions options;
  options.subresource = std::string(subresource);
  auto written =
      context.client->patch(store.resource(), key, kube::PatchType::kMerge, patch, options);
  if (!written.ok())
    return written.error().code == ErrorCode::kNotFound ? Result<void>() : written.error();
  store.absorb(*written);
  return {};
}

Result<void> patch_status(const Context& context, kube::InformerCore& store,
                          const kube::ObjectKey& key, const json::Value& before,
                          const json::Value& after) {
  json::Value patch = json::make_merge_patch(before, after);
  if (patch.as_object().empty()) return {};
  json::Value document;
  document["status"] = std::move(patch);
  return merge_patch(context, store, key, "status", document);
}

}  // namespace kueue::controllers
