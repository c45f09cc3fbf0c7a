// Choosing domains from counts: on which level, which domains, how many pods each (13.4, 13.5).
// Internal to placement.
#pragma once

#include "engine/topology/counts.h"

namespace kueue::engine {

struct Chosen {
  int32_t node = -1;
  int32_t pods = 0;
  int32_t leaders = 0;
};

struct Choice {
  std::vector<Chosen> leaves;  // on the lowest level, in the order of the tree's values
  std::string failure;         // "" = found
  bool blames_nodes = false;   // the failure goes on with what excluded nodes (exclusion_text)
};

Choice choose_domains(const World& world, const TopologyTree& tree, const PlaceShape& shape,
                      const TreeCounts& counts);
// The rest of a failure that blames nodes.
std::string exclusion_text(const Exclusions& exclusions);

}  // namespace kueue::engine
