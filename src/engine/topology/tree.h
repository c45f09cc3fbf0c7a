// Topology trees of flavors: which nodes belong, which levels there are.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

// The flavor's Topology is known.
bool has_topology_tree(const World& world, const Flavor& flavor);
// Every level that the request names is a level of the flavor's topology.
bool has_requested_levels(const World& world, const Flavor& flavor, const TopologyRequest& request);

}  // namespace kueue::engine
