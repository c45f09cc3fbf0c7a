#include "engine/queue/activity.h"

#include <algorithm>

namespace kueue::engine {
namespace {

struct Problems {
  std::vector<std::string> reasons;
  std::vector<std::string> messages;
  void add(std::string reason, std::string message) {
    reasons.push_back(std::move(reason));
    messages.push_back(std::move(message));
  }
};

std::string join(const std::vector<std::string>& items, const char* separator) {
  std::string out;
  for (const std::string& item : items) {
    if (!out.empty()) out += separator;
    out += item;
  }
  return out;
}

void find_flavor_problems(const World& world, const QueueRecord& q, Problems& problems) {
  std::vector<std::string> missing;
  for (const GroupRecord& group : q.groups)
    for (FlavorId flavor : group.flavors)
      if (!world.flavors.contains(flavor) || !world.flavors[flavor].exists)
        missing.push_back(world.names.text(flavor));
  if (!missing.empty())
    problems.add("FlavorNotFound", "references missing ResourceFlavor(s): " + join(missing, ","));
}

void find_check_problems(const World& world, const QueueRecord& q, Problems& problems) {
  std::vector<std::string> missing, inactive, multikueue, per_flavor, provisioning;
  for (const CheckRule& rule : q.spec.checks) {
    auto it = world.checks.find(rule.check);
    if (it == world.checks.end()) {
      missing.push_back(rule.check);
      continue;
    }
    if (!it->second.active) inactive.push_back(rule.check);
    if (it->second.controller == kMultiKueueController) {
      multikueue.push_back(rule.check);
      if (!rule.on_flavors.empty()) per_flavor.push_back(rule.check);
    }
    if (it->second.controller == kProvisioningController) provisioning.push_back(rule.check);
  }
  for (auto* list : {&missing, &inactive, &multikueue, &per_flavor, &provisioning})
    std::sort(list->begin(), list->end());
  if (!missing.empty())
    problems.add("AdmissionCheckNotFound",
                 "references missing AdmissionCheck(s): " + join(missing, ","));
  if (!inactive.empty())
    problems.add("AdmissionCheckInactive",
                 "references inactive AdmissionCheck(s): " + join(inactive, ","));
  if (multikueue.size() > 1)
    problems.add(
        "MultipleMultiKueueAdmissionChecks",
        "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue; found: " +
            join(multikueue, ","));
  if (!per_flavor.empty())
    problems.add(
        "MultiKueueAdmissionCheckAppliedPerFlavor",
        "Cannot specify MultiKueue AdmissionCheck per flavor; found: " + join(per_flavor, ","));
  if (!multikueue.empty() && !provisioning.empty())
    problems.add("MultiKueueWithProvisioningRequest",
                 "Cannot use ProvisioningRequest AdmissionChecks together with MultiKueue "
                 "AdmissionChecks; found: " +
                     join(provisioning, ","));
}

void find_topology_problems(const World& world, const QueueRecord& q, Problems& problems) {
  if (!world.gate(Gate::kTopologyAwareScheduling)) return;
  for (const GroupRecord& group : q.groups) {
    for (FlavorId flavor : group.flavors) {
      const FlavorRecord& record = world.flavors[flavor];
      if (!record.exists || record.spec.topology.empty() ||
          world.topologies.contains(record.spec.topology))
        continue;
      problems.add("TopologyNotFound", "there is no Topology \"" + record.spec.topology +
                                           "\" for TAS flavor \"" + record.spec.name + "\"");
    }
  }
}

std::string cycle_text(const World& world, QuotaId queue) {
  std::string out;
  QuotaId first = world.forest.at(queue).parent;
  QuotaId id = first;
  // The way up; it enters the circle after at most as many steps as there are cohorts.
  for (size_t i = 0; i < world.forest.used_nodes().size() && id.valid(); ++i) {
    if (!out.empty()) out += " -> ";
    out += world.forest.at(id).name;
    id = world.forest.at(id).parent;
    if (id == first) break;
  }
  return out;
}

bool all_topology_flavors(const World& world, const QueueRecord& q) {
  bool any = false;
  for (const GroupRecord& group : q.groups) {
    for (FlavorId flavor : group.flavors) {
      any = true;
      if (!world.flavors[flavor].exists || world.flavors[flavor].spec.topology.empty())
        return false;
    }
  }
  return any;
}

}  // namespace

void refresh_activity(World& world, QueueId id) {
  world.forest.settle();
  QueueRecord& q = world.queues[id];
  QueueActivity next;
  next.known = q.exists;
  q.topology_only = world.gate(Gate::kTopologyAwareScheduling) && all_topology_flavors(world, q);
  if (q.exists) {
    Problems problems;
    if (q.spec.stop != StopPolicy::kNone) problems.add("Stopped", "is stopped");
    find_flavor_problems(world, q, problems);
    find_check_problems(world, q, problems);
    find_topology_problems(world, q, problems);
    if (world.forest.at(q.node).in_cycle)
      problems.add("CohortCycle", "its cohorts form a cycle: " + cycle_text(world, q.node));
    if (q.spec.terminating) {
      next.reason = "Terminating";
      next.message = "Can't admit new workloads; clusterQueue is terminating";
    } else if (problems.reasons.empty()) {
      next.active = true;
      next.reason = "Ready";
      next.message = "Can admit new workloads";
    } else {
      next.reason = problems.reasons.front();
      next.message = "Can't admit new workloads: " + join(problems.messages, ", ") + ".";
    }
  }
  if (next.active != q.activity.active || next.message != q.activity.message)
    world.changed_queues.insert(id);
  world.forest.set_active(q.node, next.active);
  q.active = next.active;
  q.activity = std::move(next);
}

}  // namespace kueue::engine
