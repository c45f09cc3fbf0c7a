// CountCache: counts of a tree that were computed before, one entry per kind of request. An entry
// remembers how far it has followed TopologyTree::changed, so that the next look costs what changed
// since. Internal to counts.cc.
#pragma once

#include "engine/topology/counts.h"

namespace kueue::engine {

// Everything that counts depend on besides the tree: equal ones have equal counts.
struct CountKey {
  ResourceList worker;
  std::optional<ResourceList> leader;
  std::vector<Toleration> tolerations;
  std::vector<Toleration> more_tolerations;
  Labels node_selector;
  Labels more_selector;
  std::optional<std::vector<NodeSelectorTerm>> required_affinity;
  std::vector<PreferredTerm> preferred_affinity;
  size_t slice_level = 0;
  int32_t slice_size = 1;
  std::vector<std::pair<size_t, int32_t>> layers;
  bool operator==(const CountKey&) const = default;
};

struct CachedCounts {
  CountKey key;
  TreeCounts counts;
  std::vector<bool> suits;  // by leaf: the node filter lets its machine pass
  uint64_t seen = 0;        // changes of the tree that are in the counts
  uint64_t used = 0;        // when it was last asked for
};

struct CountCache {
  static constexpr size_t kMost = 8;  // entries: each is as large as the tree
  std::vector<CachedCounts> entries;
  uint64_t clock = 0;
  TreeCounts scratch;  // of a request that is not kept
};

}  // namespace kueue::engine
