// Placement: finds topology domains for the pods of pod sets (behaviour.md 13.2 to 13.7). Works on
// the usage that the tables show; changes nothing but counts that it keeps for the next time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/topology/tree.h"

namespace kueue::engine {

// One pod set that wants places in one flavor.
struct PlaceRequest {
  size_t index = 0;  // of the pod set; results carry it
  std::string name;
  FlavorId flavor;
  int32_t count = 0;
  ResourceList per_pod;  // without the pod itself
  const PodTemplate* pod = nullptr;
  std::vector<Toleration> tolerations;  // beyond the pod's: of the flavor, of Ready checks
  Labels node_selector;                 // beyond the pod's: of Ready checks
  TopologyRequest topology;
  bool implied = false;  // no request of its own: every flavor is a topology flavor
  std::string group;     // "" = alone
  // Node replacement: the assignment so far and the node whose pods have to move; elastic: what the
  // old slice has.
  std::shared_ptr<const TopologyAssignment> previous;
  std::string replaced_node;
  bool extend_previous = false;
  bool keep_previous = false;  // owned by a pod: it cannot move
};

struct Placement {
  size_t index = 0;
  std::string name;
  std::shared_ptr<const TopologyAssignment> assignment;  // null on failure
  std::string failure;
};

struct PlaceOptions {
  bool empty = false;  // as if no placed pods were there
};

// In order of the requests, flavor by flavor; a flavor stops at its first group that fails.
std::vector<Placement> find_places(World& world, const std::vector<PlaceRequest>& requests,
                                   const PlaceOptions& options);
// The failure to blame: the first pod set by name. nullptr when all were placed.
const Placement* first_failure(const std::vector<Placement>& placements);

}  // namespace kueue::engine
