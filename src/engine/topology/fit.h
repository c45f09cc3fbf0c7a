// Whether places that an assignment chose are still free.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

// For what each pod set requests. As in Kueue, pod sets that meet in one domain are not added up
// and the pods themselves do not count: two workloads of one cycle may crowd a node, the next cycle
// sees it.
bool places_available(const World& world, const std::vector<PlacedPods>& placed);

}  // namespace kueue::engine
