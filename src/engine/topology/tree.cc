#include "engine/topology/tree.h"

#include <algorithm>

#include "engine/queue/queueing.h"
#include "engine/state_apply.h"
#include "engine/topology/assign.h"
#include "engine/topology/fit.h"
#include "engine/topology/journal.h"
#include "engine/topology/usage.h"

namespace kueue::engine {
bool has_topology_tree(const World& world, const Flavor& flavor) {
  return world.topologies.contains(flavor.topology);
}
bool has_requested_levels(const World& world, const Flavor& flavor, const TopologyRequest& r) {
  const std::vector<std::string>& levels = world.topologies.at(flavor.topology).levels;
  auto has = [&](const std::string& level) {
    return std::find(levels.begin(), levels.end(), level) != levels.end();
  };
  if (r.required && !has(*r.required)) return false;
  if (r.preferred && !has(*r.preferred)) return false;
  if (r.slice_topology && !has(*r.slice_topology)) return false;
  return std::all_of(r.slice_layers.begin(), r.slice_layers.end(),
                     [&](const auto& l) { return has(l.topology); });
}
void keep_admission(World& world, const Reservation& reservation, const PodSet& pod_set,
                    PodSetResult& result) {
  for (const PodSetAssignment& ps : reservation.admission.pod_sets) {
    if (ps.name != pod_set.name) continue;
    for (const auto& [resource, flavor] : ps.flavors)
      result.flavors.push_back(
          {world.names.resource(resource), world.names.flavor(flavor), PreemptMode::kFit, 0, -1});
    result.count = ps.count.value_or(result.count);
    result.requests = world.names.list(ps.usage);
    result.topology = ps.topology;
    result.delayed = ps.delayed;
  }
}
std::function<bool()> placement_check(Overlay&, WorkloadId, QueueId, const Assignment&) {
  return nullptr;
}
void assign_topology(Overlay&, WorkloadId, QueueId, WorkloadId, Assignment&) {}
bool places_available(const World&, const std::vector<PlacedPods>&) { return true; }
size_t topology_journal_mark(const World&) { return 0; }
void rollback_topology(World&, size_t) {}
void what_if_add_placed(World&, const std::vector<PlacedPods>&) {}
void what_if_remove_placed(World&, const std::vector<PlacedPods>&) {}
void add_placed(World&, const Reservation&) {}
void remove_placed(World&, const Reservation&) {}
void topology_changed(World&) {}
void apply_event(World& world, const NodeChanged& e) {
  world.topology.nodes[e.node.name] = e.node;
  request_retry_everywhere(world, world.settings.retry_batch);
}
void apply_event(World& world, const NodeDeleted& e) {
  world.topology.nodes.erase(e.name);
  request_retry_everywhere(world, world.settings.retry_batch);
}
void apply_event(World& world, const ForeignPodChanged& e) {
  world.topology.pods[e.pod.key.text()] = e.pod;
}
void apply_event(World& world, const ForeignPodDeleted& e) {
  world.topology.pods.erase(e.key.text());
  request_retry_everywhere(world, Duration::seconds(10));
}
}  // namespace kueue::engine
