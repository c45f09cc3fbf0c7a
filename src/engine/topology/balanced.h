// Balanced placement (13.6): an even spread over as few domains as possible, for groups that prefer
// a level. Internal to placement.
#pragma once

#include "engine/topology/choose.h"

namespace kueue::engine {

struct Balanced {
  size_t level = 0;             // of the domains
  std::vector<Chosen> domains;  // whole slices each; empty = no such spread, the ordinary way is
                                // taken
};

// Costs domains × chosen domains × slices, with a limit beyond which the fullest domains are taken.
Balanced balanced_domains(const TopologyTree& tree, const PlaceShape& shape,
                          const TreeCounts& counts);

}  // namespace kueue::engine
