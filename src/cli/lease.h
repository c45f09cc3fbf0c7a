// Who leads the managers, as their Lease says. Pure.
#pragma once

#include <string>

#include "base/time.h"
#include "json/value.h"

namespace kueue::cli {

inline constexpr std::string_view kLeaseName = "c1f6bfd2.kueue.x-k8s.io";
// Who holds it when the manager runs within `kueue up`.
inline constexpr std::string_view kPlaygroundHolder = "kueue-up";

// Why nobody leads: "" when somebody does. `lease` null = there is none. A leader whose last sign
// is older than twice the Lease's time counts as gone, as clocks may differ a little.
std::string leader_problem(const json::Value* lease, Instant now);

}  // namespace kueue::cli
