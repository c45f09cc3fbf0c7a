// Required affinity and anti-affinity between Pods, against the Pods that have a node already.
// Namespaces of a term are those it names, all for an empty namespaceSelector, else the Pod's own;
// other namespaceSelectors select nothing here. Plain values, not thread safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "json/value.h"
#include "standins/placement.h"

namespace kueue::standins {

// What the look for one Pod needs to know, worked out once for all nodes.
class AffinityCheck {
 public:
  AffinityCheck(const json::Value& pod, const std::map<std::string, PlacedPod>& placed,
                const std::map<std::string, NodeState>& nodes);

  // "" when the node is fine, else what kube-scheduler says about it.
  std::string obstacle(const json::Value& node) const;

 private:
  struct Term {
    std::string topology_key;
    std::set<std::string, std::less<>> domains;  // values of the key where a matching Pod runs
    bool anywhere = false;                       // some Pod matches, wherever it is
    bool self = false;                           // the Pod matches its own term
  };

  std::vector<Term> wanted_;
  std::vector<Term> avoided_;
  std::set<std::pair<std::string, std::string>> refused_;  // key and value, by Pods that run
};

// What others must know about a Pod that has a node.
PlacedPod placed_pod(const json::Value& pod, const std::string& node);

}  // namespace kueue::standins
