#include "engine/topology/assign.h"

#include <algorithm>

#include "engine/flavor/match.h"
#include "engine/queue/checks.h"
#include "engine/queue/queueing.h"
#include "engine/topology/place.h"

namespace kueue::engine {
namespace {

// Collects the requests of an assignment; false when a pod set cannot be placed at all, with its
// error set.
class Requests {
 public:
  Requests(const World& world, WorkloadId id, QueueId queue, WorkloadId replaced)
      : world_(world),
        record_(world.record(id)),
        workload_(*record_.object),
        queue_(world.queues[queue]),
        replaced_(replaced) {}

  bool collect(Assignment& assignment) {
    for (PodSetResult& ps : assignment.pod_sets)
      if (!add(ps)) return false;
    return true;
  }
  const std::vector<PlaceRequest>& list() const { return list_; }
  bool any_delayed() const { return delayed_; }

 private:
  bool add(PodSetResult& ps) {
    const PodSet& spec = workload_.pod_sets[ps.index];
    bool own = requests_topology(world_, spec);
    bool implied = !own && topology_implied(world_, queue_);
    if ((!own && !implied) || ps.count == 0) return true;
    if (own && workload_.elastic && world_.gate(Gate::kElasticJobsViaWorkloadSlicesWithTAS) &&
        !elastic_allowed(spec, ps))
      return false;
    // A second pass leaves alone what is placed already.
    if (record_.reservation && ps.topology && workload_.unhealthy_nodes.empty()) return true;
    FlavorId flavor;
    if (!only_topology_flavor(ps, flavor)) return false;
    if (wait_for_check(ps, flavor)) return true;
    PlaceRequest r;
    r.index = ps.index;
    r.name = spec.name;
    r.flavor = flavor;
    r.count = ps.count;
    r.per_pod = world_.shapes[record_.shapes[ps.index]].raw_requests;
    r.pod = spec.pod.get();
    r.tolerations = world_.flavors[flavor].spec.tolerations;
    for (const CheckStatus& check : workload_.checks) {
      if (check.state != CheckState::kReady) continue;
      for (const PodSetUpdate& u : check.updates) {
        if (u.name != spec.name) continue;
        r.tolerations.insert(r.tolerations.end(), u.tolerations.begin(), u.tolerations.end());
        r.node_selector.insert(r.node_selector.end(), u.node_selector.begin(),
                               u.node_selector.end());
      }
    }
    if (spec.topology) r.topology = *spec.topology;
    r.implied = implied;
    r.group = spec.topology ? spec.topology->pod_set_group : "";
    add_history(ps, spec, r);
    list_.push_back(std::move(r));
    return true;
  }

  bool elastic_allowed(const PodSet& spec, PodSetResult& ps) {
    const char* kind =
        spec.topology->required ? "required" : (spec.topology->preferred ? "preferred" : nullptr);
    if (kind == nullptr) return true;
    ps.error = std::string(kind) + " topology is not supported with ElasticJobsViaWorkloadSlices";
    return false;
  }

  bool only_topology_flavor(PodSetResult& ps, FlavorId& flavor) {
    std::vector<std::string> names;
    for (const FlavorChoice& f : ps.flavors) {
      const FlavorRecord& record = world_.flavors[f.flavor];
      if (record.spec.topology.empty()) continue;
      flavor = f.flavor;
      if (std::find(names.begin(), names.end(), record.spec.name) == names.end())
        names.push_back(record.spec.name);
    }
    if (names.size() == 1) return true;
    std::sort(names.begin(), names.end());
    ps.error = names.empty() ? "no TAS flavor assigned" : "more than one TAS flavor assigned: ";
    for (size_t i = 0; i < names.size(); ++i) ps.error += (i == 0 ? "" : ", ") + names[i];
    return false;
  }

  // The machines are not there yet: another cluster's, or to be provisioned.
  bool wait_for_check(PodSetResult& ps, FlavorId flavor) {
    bool elsewhere = has_check_of(world_, queue_, flavor, kMultiKueueController);
    bool later =
        has_check_of(world_, queue_, flavor, kProvisioningController) && !record_.reservation;
    if (!elsewhere && !later) return false;
    ps.delayed = DelayedTopology::kPending;
    delayed_ = true;
    return true;
  }

  void add_history(const PodSetResult& ps, const PodSet& spec, PlaceRequest& r) {
    if (record_.reservation && !workload_.unhealthy_nodes.empty() && ps.topology) {
      r.previous = ps.topology;
      r.replaced_node = workload_.unhealthy_nodes.front();
      r.keep_previous =
          workload_.pod_owned && world_.gate(Gate::kSkipReassignmentForPodOwnedWorkloads);
    }
    if (!replaced_.valid() || !world_.gate(Gate::kElasticJobsViaWorkloadSlicesWithTAS)) return;
    const WorkloadRecord& old = world_.record(replaced_);
    if (!old.reservation) return;
    for (const PodSetAssignment& a : old.reservation->admission->pod_sets)
      if (a.name == spec.name && a.topology) {
        r.previous = a.topology;
        r.extend_previous = true;
      }
  }

  const World& world_;
  const WorkloadRecord& record_;
  const Workload& workload_;
  const QueueRecord& queue_;
  WorkloadId replaced_;
  std::vector<PlaceRequest> list_;
  bool delayed_ = false;
};

PodSetResult* result_of(Assignment& assignment, size_t index) {
  for (PodSetResult& ps : assignment.pod_sets)
    if (ps.index == index) return &ps;
  return nullptr;
}

void set_mode(PodSetResult& ps, PreemptMode mode) {
  for (FlavorChoice& f : ps.flavors) f.mode = mode;
  ps.mode_by_places = true;
}

void take_places(Assignment& assignment, const std::vector<Placement>& placements) {
  for (const Placement& p : placements) {
    PodSetResult* ps = result_of(assignment, p.index);
    if (ps == nullptr || !p.assignment) continue;
    ps->topology = p.assignment;
    if (ps->delayed == DelayedTopology::kPending) ps->delayed = DelayedTopology::kReady;
  }
}

bool replaces_node(const World& world, WorkloadId id) {
  const Workload& w = world.object(id);  // also while it is inactive and holds nothing any more
  return w.reserved() && !w.unhealthy_nodes.empty();
}

// The old slice's own pods are out of the way while the new one looks for places.
class WithoutReplaced {
 public:
  WithoutReplaced(Overlay& overlay, WorkloadId replaced)
      : overlay_(overlay), mark_(overlay.mark()) {
    if (replaced.valid() && !overlay.removed(replaced)) overlay.remove(replaced);
  }
  ~WithoutReplaced() { overlay_.rollback(mark_); }
  WithoutReplaced(const WithoutReplaced&) = delete;
  WithoutReplaced& operator=(const WithoutReplaced&) = delete;

 private:
  Overlay& overlay_;
  Overlay::Mark mark_;
};

}  // namespace

void keep_admission(World& world, const Reservation& reservation, const PodSet& pod_set,
                    PodSetResult& result) {
  for (const PodSetAssignment& ps : reservation.admission->pod_sets) {
    if (ps.name != pod_set.name) continue;
    for (const auto& [resource, flavor] : ps.flavors) {
      result.flavors.push_back(
          {world.names.resource(resource), world.names.flavor(flavor), PreemptMode::kFit, 0, -1});
      world.flavors.ensure(result.flavors.back().flavor);
    }
    // Reclaimed pods are charged no longer.
    int32_t admitted = ps.count.value_or(result.count);
    int32_t left = std::min(admitted, result.count);
    result.count = left;
    result.requests.clear();
    for (const auto& [resource, amount] : ps.usage)
      result.requests.emplace_back(
          world.names.resource(resource),
          Amount(left < admitted && admitted > 0 ? amount / admitted * left : amount));
    result.topology = ps.topology;
    result.delayed = ps.delayed;
  }
}

void assign_topology(Overlay& overlay, WorkloadId id, QueueId queue, WorkloadId replaced,
                     Assignment& assignment) {
  World& world = overlay.world();
  WithoutReplaced without(overlay, replaced);
  Requests requests(world, id, queue, replaced);
  if (!requests.collect(assignment)) return;
  if (requests.list().empty()) return;
  if (assignment.mode() == FitMode::kFit) {
    std::vector<Placement> placements = find_places(world, requests.list(), {});
    const Placement* failure = first_failure(placements);
    if (failure == nullptr) return take_places(assignment, placements);
    PodSetResult& ps = *result_of(assignment, failure->index);
    set_mode(ps, PreemptMode::kPreempt);
    ps.reasons.push_back({ReasonKind::kTopology, {}, {}, failure->failure, {}, {}, {}});
  }
  if (assignment.mode() != FitMode::kPreempt || replaces_node(world, id)) return;
  std::vector<Placement> placements = find_places(world, requests.list(), {.empty = true});
  if (const Placement* failure = first_failure(placements)) {
    PodSetResult& ps = *result_of(assignment, failure->index);
    set_mode(ps, PreemptMode::kNoFit);
    ps.no_fit = PendingReason::kTopologyPlacementFailed;
    return;
  }
  for (const Placement& p : placements)
    set_mode(*result_of(assignment, p.index), PreemptMode::kPreempt);
}

void reserve_places(Overlay& overlay, WorkloadId id, QueueId queue,
                    const std::vector<Victim>& victims, WorkloadId replaced,
                    Assignment& assignment) {
  World& world = overlay.world();
  if (!world.gate(Gate::kTopologyAwareScheduling) || replaces_node(world, id)) return;
  Requests requests(world, id, queue, replaced);
  if (!requests.collect(assignment) || requests.list().empty()) return;
  Overlay::Mark mark = overlay.mark();
  for (const Victim& v : victims)
    if (!overlay.removed(v.id)) overlay.remove(v.id);
  take_places(assignment, find_places(world, requests.list(), {.empty = victims.empty()}));
  overlay.rollback(mark);
}

std::function<bool()> placement_check(Overlay& overlay, WorkloadId id, QueueId queue,
                                      const Assignment& assignment) {
  World& world = overlay.world();
  if (!world.gate(Gate::kTopologyAwareScheduling)) return nullptr;
  Assignment copy = assignment;
  auto requests = std::make_shared<Requests>(world, id, queue, WorkloadId());
  if (!requests->collect(copy) || requests->list().empty()) return nullptr;
  return [&world, requests] {
    return first_failure(find_places(world, requests->list(), {})) == nullptr;
  };
}

}  // namespace kueue::engine
