// Tables of topology-aware scheduling: nodes, foreign pods and what the placed pods use. Filled by
// topology/.
#pragma once

#include <map>
#include <memory>
#include <string>
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

struct TopologyTables {
  std::map<std::string, Node> nodes;
  std::map<std::string, ForeignPod> pods;  // by "namespace/name"
};

}  // namespace kueue::engine
