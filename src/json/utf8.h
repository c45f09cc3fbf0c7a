// The one question about UTF-8 that parsers and writers ask.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kueue::json {

// Length of the valid UTF-8 sequence that starts at p (p < end), 0 when there is none: overlong
// forms, surrogates and what lies beyond U+10FFFF are not valid.
size_t utf8_length(const char* p, const char* end);

}  // namespace kueue::json
