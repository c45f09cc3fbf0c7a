// Regular expressions of schemas: compiled once per process and kept. Thread safe.
#pragma once

#include <string>
#include <string_view>

namespace kueue::schema {

// True when the pattern occurs anywhere in the text (patterns anchor themselves). A pattern that
// does not compile matches nothing.
bool matches_pattern(std::string_view pattern, std::string_view text);
// "" when the pattern compiles, else why not, in Go's words where they are known:
// "error parsing regexp: missing closing ): `(`".
std::string pattern_problem(std::string_view pattern);

}  // namespace kueue::schema
