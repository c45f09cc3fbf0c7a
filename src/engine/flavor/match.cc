#include "engine/flavor/match.h"

#include <algorithm>

#include "engine/topology/tree.h"

namespace kueue::engine {
namespace {

// Only keys that the flavor itself labels take part; a term without such keys lets the flavor pass.
bool affinity_matches(const Flavor& flavor, const PodTemplate& pod) {
  for (const auto& [key, value] : pod.node_selector) {
    const std::string* have = find_label(flavor.node_labels, key);
    if (have != nullptr && *have != value) return false;
  }
  if (!pod.required_affinity || pod.required_affinity->empty()) return true;
  bool any = false;
  for (const NodeSelectorTerm& term : *pod.required_affinity) {
    bool relevant = false, holds = true;
    for (const LabelRequirement& r : term.expressions) {
      if (find_label(flavor.node_labels, r.key) == nullptr) continue;
      relevant = true;
      holds = holds && matches(r, flavor.node_labels);
    }
    if (!relevant) return true;
    any = any || holds;
  }
  return any;
}

// As Go prints the struct: key, value, effect and no time.
std::string taint_struct_text(const Taint& t) {
  return "{" + t.key + " " + t.value + " " + t.effect + " <nil>}";
}

std::optional<Reason> topology_mismatch(const World& world, const QueueRecord& queue,
                                        const GroupRecord& group, const FlavorRecord& flavor,
                                        const PodSet& ps, bool group_requests_topology) {
  auto because = [&](const std::string& text) {
    return Reason{.kind = ReasonKind::kTopology,
                  .flavor = flavor.spec.name,
                  .resource = {},
                  .detail = "Flavor \"" + flavor.spec.name + "\" " + text,
                  .a = {},
                  .b = {},
                  .c = {}};
  };
  if (requests_topology(world, ps)) {
    if (flavor.spec.topology.empty()) {
      // A flavor that covers nothing that the pod itself asks for (credits, say) need not know
      // places.
      for (ResourceId resource : group.covered)
        if (amount_of(ps.pod->raw_requests, world.names.text(resource)) != 0)
          return because("does not support TopologyAwareScheduling");
      return std::nullopt;
    }
    if (!has_topology_tree(world, flavor.spec)) return because("information missing in TAS cache");
    if (!has_requested_levels(world, flavor.spec, *ps.topology))
      return because("does not contain the requested level");
    return std::nullopt;
  }
  if (topology_implied(world, queue)) return std::nullopt;
  if (ps.pod->requests.empty() && group_requests_topology) return std::nullopt;
  if (!flavor.spec.topology.empty()) return because("supports only TopologyAwareScheduling");
  return std::nullopt;
}

}  // namespace

bool requests_topology(const World& world, const PodSet& ps) {
  if (!world.gate(Gate::kTopologyAwareScheduling) || !ps.topology) return false;
  const TopologyRequest& t = *ps.topology;
  return t.required || t.preferred || t.unconstrained.value_or(false) || t.slice_topology ||
         !t.slice_layers.empty();
}

bool topology_implied(const World& world, const QueueRecord& queue) {
  return world.gate(Gate::kTopologyAwareScheduling) && queue.topology_only;
}

std::optional<Reason> flavor_mismatch(const World& world, const QueueRecord& queue,
                                      const GroupRecord& group, FlavorId id, const Workload&,
                                      const PodSet& ps, bool group_requests_topology) {
  const FlavorRecord& flavor = world.flavors[id];
  Reason reason;
  reason.flavor = world.names.text(id);
  if (!flavor.exists) {
    reason.kind = ReasonKind::kFlavorMissing;
    return reason;
  }
  if (world.gate(Gate::kTopologyAwareScheduling))
    if (auto mismatch = topology_mismatch(world, queue, group, flavor, ps, group_requests_topology))
      return mismatch;
  if (const Taint* taint =
          untolerated(flavor.spec.taints, ps.pod->tolerations, flavor.spec.tolerations)) {
    reason.kind = ReasonKind::kTaint;
    reason.detail = taint_struct_text(*taint);
    return reason;
  }
  if (!affinity_matches(flavor.spec, *ps.pod)) {
    reason.kind = ReasonKind::kAffinity;
    return reason;
  }
  return std::nullopt;
}

}  // namespace kueue::engine
