// Counts: how many pods (slices, leaders) fit into each domain of a tree, for one group of pod sets
// (13.3). Internal to placement.
#pragma once

#include "engine/topology/place.h"

namespace kueue::engine {

// Usage that earlier pod sets of the same workload will have, by leaf of the tree at hand.
using AssumedUsage = std::map<std::string, ResourceList>;  // by leaf id

// What a group asks for, with levels resolved.
struct PlaceShape {
  const PlaceRequest* workers = nullptr;
  const PlaceRequest* leader = nullptr;  // null = none
  int32_t count = 0;
  int32_t leaders = 0;
  size_t level = 0;  // requested (or implied) level
  bool required = false;
  bool unconstrained = false;  // unconstrained, implied or slice-only
  size_t slice_level = 0;
  int32_t slice_size = 1;
  std::vector<std::pair<size_t, int32_t>> layers;  // all slice layers, outermost first: level, size
  int32_t required_domain = -1;                    // tree node that must hold everything; -1 = any

  // The unit in which pods go to domains of this level: the size of the outermost layer at or below
  // it.
  int32_t unit_below(size_t level) const;
};

struct DomainCounts {
  int32_t pods = 0;
  int32_t pods_with_leader = 0;
  int32_t slices = 0;
  int32_t slices_with_leader = 0;
  int32_t leader = 0;
  int64_t affinity = 0;
};

using TreeCounts = std::vector<DomainCounts>;  // by tree node

// The counts, valid until the next call for this tree. Costs what changed since an equal request
// was counted, else the size of the tree.
const TreeCounts& count_domains(const World& world, TopologyTree& tree, const PlaceShape& shape,
                                const AssumedUsage& assumed, const PlaceOptions& options);

// How many nodes there are, and how many take no pod of the request for which reason.
struct Exclusions {
  int32_t nodes = 0;
  std::map<std::string, int32_t> by_reason;  // sorted: the text lists them so
};
Exclusions count_exclusions(const World& world, const TopologyTree& tree, const PlaceShape& shape,
                            const AssumedUsage& assumed, const PlaceOptions& options);

}  // namespace kueue::engine
