// Whether places that an assignment chose are still free.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

bool places_available(const World& world, const std::vector<PlacedPods>& placed);

}  // namespace kueue::engine
