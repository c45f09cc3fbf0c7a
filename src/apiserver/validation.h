// Validation of whole objects: the field tables, CEL rules of custom resources, and the rules of
// built-in kinds. Thread safe.
#pragma once

#include "apiserver/call.h"
#include "apiserver/traits.h"
#include "json/value.h"

namespace kueue::apiserver {

void validate_new(const Call& call, const json::Value& object, Causes& causes);
void validate_changed(const Call& call, std::string_view subresource, const json::Value& object,
                      const json::Value& old, Causes& causes);

}  // namespace kueue::apiserver
