// The string formats of OpenAPI that kube-apiserver checks in custom resources. Pure; thread safe.
#pragma once

#include <string_view>

namespace kueue::schema {

// False for a format that is known and the text does not have it. Unknown formats accept
// everything.
bool has_format(std::string_view format, std::string_view text);
// Formats that kube-apiserver recognises in a CRD; others draw the warning `unrecognized format
// "foo"`.
bool known_format(std::string_view format);

}  // namespace kueue::schema
