// What placed pods use of the nodes: kept in step with reservations.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

void add_placed(World& world, const Reservation& reservation);
void remove_placed(World& world, const Reservation& reservation);

}  // namespace kueue::engine
