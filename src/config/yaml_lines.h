// Where a member of a YAML document stands in its text. A guess by indentation, good for block
// style; never wrong in a way that matters, as it only decorates messages. Pure; thread safe.
#pragma once

#include <cstddef>
#include <string_view>

namespace kueue::config {

// Line, from 1, of the member at `path` ("a.b[2].c"); 0 when it cannot be found.
size_t line_of(std::string_view text, std::string_view path);

}  // namespace kueue::config
