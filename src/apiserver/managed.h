// managedFields of writes: who owns which field. Over schema/apply.h. Pure; thread safe.
#pragma once

#include <string_view>

#include "apiserver/call.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::apiserver {

// After a create (`old` null), update or patch that is no apply: the call's manager gets the fields
// that it changed.
void track_update(const Call& call, std::string_view subresource, const json::Value* old,
                  json::Value& object);

// Server-side apply: `patch` on `current` (null = to be created). Conflicts are kConflict with
// causes unless `force`.
Result<json::Value> apply(const Call& call, std::string_view subresource,
                          const json::Value* current, const json::Value& patch, bool force);

}  // namespace kueue::apiserver
