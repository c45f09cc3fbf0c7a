#include "apiserver/managed.h"

namespace kueue::apiserver {

void track_update(const Call& call, std::string_view subresource, const json::Value* old,
                  json::Value& object) {
  (void)call, (void)subresource, (void)old, (void)object;
}

Result<json::Value> apply(const Call& call, std::string_view subresource,
                          const json::Value* current, const json::Value& patch, bool force) {
  (void)call, (void)subresource, (void)current, (void)patch, (void)force;
  return make_error(ErrorCode::kUnsupportedMedia, "apply patches are not served");
}

}  // namespace kueue::apiserver
