// The JSONPath of printer columns: ".a.b", "['a.b']", "[0]", "[*]", "[?(@.type==\"X\")]", with or
// without a leading "$" or braces. Pure; thread safe.
#pragma once

#include <string_view>

#include "json/value.h"

namespace kueue::apiserver {

// The first value at the path; nullptr when there is none or the path is not understood.
const json::Value* json_path_first(std::string_view path, const json::Value& root);

}  // namespace kueue::apiserver
