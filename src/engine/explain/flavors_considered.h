// "Flavors considered: …" of the QuotaReserved event.
#pragma once

#include <string>

#include "engine/flavor/assignment.h"

namespace kueue::engine {

// Every attempt but plain fits without borrowing, by pod set; "" when there is none.
std::string flavors_considered(const Workload& workload, const Assignment& assignment);

}  // namespace kueue::engine
