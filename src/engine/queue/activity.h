// Whether a ClusterQueue may admit, and why not (behaviour.md 4.2; labels-conditions-events.md 3).
#pragma once

#include "engine/world.h"

namespace kueue::engine {

void refresh_activity(World& world, QueueId queue);

}  // namespace kueue::engine
