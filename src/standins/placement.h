// Where a Pod may run: requests against what a node has left, taints, node selectors and required
// node affinity, with the words of kube-scheduler for what stands in the way. Pure values and
// functions, not thread safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/quantity.h"
#include "json/value.h"
#include "wire/selector.h"

namespace kueue::standins {

using Amounts = std::map<std::string, api::Quantity, std::less<>>;

// What the scheduler books for a Pod: the larger of its init containers' peak and the sum of its
// containers and sidecars, pod-level requests before both, plus overhead; and one of "pods".
Amounts pod_requests(const json::Value& pod);

// A node, and what the Pods on it have taken.
struct NodeState {
  json::Value node;
  Amounts allocatable;
  Amounts used;
};

// A Pod that has a node, as far as affinity between Pods asks.
struct PlacedPod {
  std::string namespace_;
  wire::LabelMap labels;
  std::string node;
  json::Array avoids;  // its terms of required anti-affinity
};

void add_amounts(Amounts& to, const Amounts& what);
void subtract_amounts(Amounts& from, const Amounts& what);

// Why the Pod cannot go to the node, in kube-scheduler's words ("Insufficient cpu", "node(s) were
// unschedulable", ...); empty when it can. `empty`: as if no Pod was on the node.
std::vector<std::string> obstacles(const json::Value& pod, const Amounts& requests,
                                   const NodeState& node, bool empty = false);

// Name of the node to bind to: the feasible one with the least of its cpu taken, then by name.
// nullopt when there is none; then `why` has the message for the Pod's condition. `placed` are the
// Pods that have nodes, by uid.
std::optional<std::string> choose_node(const json::Value& pod, const Amounts& requests,
                                       const std::map<std::string, NodeState>& nodes,
                                       const std::map<std::string, PlacedPod>& placed,
                                       std::string& why);

// The toleration tolerates the taint.
bool tolerates(const json::Value& toleration, const json::Value& taint);
// spec.nodeSelector and spec.affinity.nodeAffinity.required… hold on the node.
bool matches_node(const json::Value& pod, const json::Value& node);

}  // namespace kueue::standins
