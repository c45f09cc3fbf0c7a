// Request URIs: absolute URLs and absolute paths. Pure; thread safe.
#pragma once

#include <string_view>

#include "cel/bodies.h"

namespace kueue::cel {

// What Go's url.ParseRequestURI accepts: a scheme with "//host" or a path that starts with '/'.
// False otherwise.
bool parse_url(std::string_view text, UrlBody* out);

}  // namespace kueue::cel
