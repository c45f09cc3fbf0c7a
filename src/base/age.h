// Spans of time as people read them in columns. Pure; thread safe.
#pragma once

#include <string>

#include "base/time.h"

namespace kueue {

// "45s", "3m12s", "5h7m", "2d3h", "400d", "2y30d" as kubectl writes ages; "<invalid>" for times
// ahead of now by 2 s or more.
std::string human_duration(Duration d);

}  // namespace kueue
