// Topology trees of flavors: which nodes belong, which levels there are, what is free.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

inline constexpr const char* kHostLabel = "kubernetes.io/hostname";

// The flavor's Topology is known.
bool has_topology_tree(const World& world, const Flavor& flavor);
// Every level that the request names is a level of the flavor's topology.
bool has_requested_levels(const World& world, const Flavor& flavor, const TopologyRequest& request);
// Rebuilds what is stale. Must be called before trees are read.
void settle_topology(World& world);
// CHECKs that trees which followed single changes are as if they were built anew.
void check_topology(World& world);
// nullptr for a flavor without topology.
TopologyTree* topology_tree(World& world, FlavorId flavor);
const TopologyTree* topology_tree(const World& world, FlavorId flavor);
// The leaf that a domain of an assignment stands for; -1 when there is none (any more).
int32_t leaf_of(const TopologyTree& tree, const std::vector<std::string>& values);
}  // namespace kueue::engine
