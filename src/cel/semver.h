// Semantic versions: parsing and precedence. Pure; thread safe.
#pragma once

#include <string_view>

#include "cel/bodies.h"

namespace kueue::cel {

// "1.2.3-rc.1+build". False when the text is no version.
bool parse_semver(std::string_view text, SemverBody* out);
// Precedence: -1, 0, 1. Build metadata does not count.
int compare_semver(const SemverBody& a, const SemverBody& b);

}  // namespace kueue::cel
