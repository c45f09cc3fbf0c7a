// The canonical form of built-in kinds, as a server shows it that keeps them as structs: quantities
// in their shortest text, no empty lists and maps where a field may be absent. Pure; thread safe.
#pragma once

#include "json/value.h"
#include "schema/type.h"

namespace kueue::apiserver {

// Custom resources are kept as written; only their metadata gets this form.
void canonicalize(const schema::Type& type, json::Value& value);

}  // namespace kueue::apiserver
