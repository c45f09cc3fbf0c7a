// Strategic merge patch: a merge patch that knows from the Type how lists merge (by key, as sets,
// or not at all), with directives ($patch, $retainKeys, $setElementOrder/F,
// $deleteFromPrimitiveList/F). Pure; thread safe.
#pragma once

#include "base/result.h"
#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// The document with the patch applied. Unknown members merge as JSON does: maps by key, lists are
// replaced. New items of merged lists come first, in the order of the patch, unless the patch gives
// an order. Errors, worded as kube-apiserver does: kBadRequest for a patch that is no object or
// misuses $retainKeys, kInternal (500 there too) for misused directives and items without their
// merge key.
Result<json::Value> strategic_merge(const Type& type, const json::Value& document,
                                    const json::Value& patch);

}  // namespace kueue::schema
