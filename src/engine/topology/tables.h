// Tables of topology-aware scheduling (behaviour.md 13.1): nodes, foreign pods, what placed pods
// use, and one tree of domains per topology flavor. The trees follow from the rest and are rebuilt
// when nodes, flavors or topologies change.
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
};

struct TopologyNode {
  int32_t parent = -1;
  int32_t level = 0;
  int32_t leaf = -1;                // index of the leaf, on the lowest level
  std::vector<int32_t> children;    // by value
  std::vector<std::string> values;  // from the outermost level down to this one
};

struct TopologyLeaf {
  int32_t node = -1;                    // in TopologyTree::nodes
  std::string id;                       // host name, or all values joined by commas
  ResourceList capacity;                // allocatable without foreign pods
  const Node* machine = nullptr;        // when the lowest level is the host name
  const ResourceList* usage = nullptr;  // of placed pods
  // What-if changes of this flavor's own pods. Other flavors on the same host see them once they
  // are real.
  ResourceList change;
};

struct TopologyTree {
  std::string topology;
  std::vector<std::string> levels;
  bool by_host = false;  // the lowest level is the host name
  std::vector<TopologyNode> nodes;
  std::vector<std::vector<int32_t>> level_nodes;  // by values
  std::vector<TopologyLeaf> leaves;
  std::unordered_map<std::string, int32_t> leaf_by_id;
};

struct ChangeUndo {
  TopologyLeaf* leaf;
  ResourceList before;
};

struct TopologyTables {
  std::map<std::string, Node> nodes;
  std::map<std::string, ForeignPod> pods;                          // by "namespace/name"
  std::unordered_map<std::string, std::set<std::string>> pods_of;  // node -> pods
  std::map<FlavorId, TopologyTree> trees;
  std::map<std::string, ResourceList> usage;  // by usage key; addresses are stable
  bool trees_stale = true;
  bool usage_stale = true;
  std::vector<ChangeUndo> journal;
};

}  // namespace kueue::engine
