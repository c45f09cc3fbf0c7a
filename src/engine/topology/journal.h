// What-if changes of topology usage, and taking them back.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

size_t topology_journal_mark(const World& world);
void rollback_topology(World& world, size_t mark);
void what_if_add_placed(World& world, const std::vector<PlacedPods>& placed);
void what_if_remove_placed(World& world, const std::vector<PlacedPods>& placed);

}  // namespace kueue::engine
