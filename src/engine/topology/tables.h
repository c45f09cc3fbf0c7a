// Tables of topology-aware scheduling (behaviour.md 13.1): nodes, foreign pods, what placed pods
// use, and one tree of domains per topology flavor. The trees follow from the rest and are rebuilt
// when nodes come or go, or flavors or topologies change; amounts follow each change.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/model/objects.h"
#include "engine/names.h"

namespace kueue::engine {

// Pods of one pod set in one topology domain.
struct PlacedPods {
  FlavorId flavor;
  std::vector<std::string> values;  // of the assignment's levels
  ResourceList per_pod;
  int32_t count = 0;
  bool operator==(const PlacedPods&) const = default;
};

struct TopologyNode {
  int32_t parent = -1;
  int32_t level = 0;
  int32_t leaf = -1;                // index of the leaf, on the lowest level
  int32_t rank = 0;                 // position in level_nodes: order by values
  std::vector<int32_t> children;    // by value
  std::vector<std::string> values;  // from the outermost level down to this one
};

struct TopologyLeaf {
  int32_t node = -1;              // in TopologyTree::nodes
  int32_t machines = 0;           // nodes of the cluster that it consists of
  std::string id;                 // host name, or all values joined by commas
  const Node* machine = nullptr;  // when the lowest level is the host name: the first of them
};

struct CountCache;  // topology/count_cache.h

struct TopologyTree {
  TopologyTree();
  ~TopologyTree();
  TopologyTree(TopologyTree&&) noexcept;
  TopologyTree& operator=(TopologyTree&&) noexcept;

  std::string topology;
  std::vector<std::string> levels;
  bool by_host = false;  // the lowest level is the host name
  std::vector<TopologyNode> nodes;
  std::vector<std::vector<int32_t>> level_nodes;  // by values
  std::vector<TopologyLeaf> leaves;
  std::unordered_map<std::string, int32_t> leaf_by_id;

  // Amounts by leaf and column: at(leaf, column). A resource without column is offered by no leaf.
  std::vector<ResourceId> columns;
  std::vector<Amount> capacity;  // allocatable without foreign pods
  // The capacity without placed pods, what-if changes of this flavor's own pods included. Other
  // flavors on the same host see those once they are real.
  std::vector<Amount> free;
  size_t at(int32_t leaf, size_t column) const {
    return static_cast<size_t>(leaf) * columns.size() + column;
  }
  int column_of(ResourceId resource) const;  // -1 = none

  std::vector<int32_t> changed;  // leaves whose `free` changed, in order; counts follow it
  uint64_t changes_dropped = 0;  // length of the part of `changed` that was forgotten
  std::unique_ptr<CountCache> counts;
};

struct FreeUndo {
  TopologyTree* tree;
  int32_t leaf;
  size_t cell;
  Amount before;
};

struct TopologyTables {
  std::map<std::string, Node> nodes;
  std::map<std::string, ForeignPod> pods;                          // by "namespace/name"
  std::unordered_map<std::string, std::set<std::string>> pods_of;  // node -> pods
  std::map<FlavorId, TopologyTree> trees;
  std::map<std::string, ResourceList> usage;  // of placed pods, by usage key
  bool trees_stale = true;
  bool usage_stale = true;
  std::vector<FreeUndo> journal;
};

}  // namespace kueue::engine
