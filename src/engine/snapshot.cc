#include "engine/snapshot.h"

#include <algorithm>
#include <tuple>

#include "engine/fairshare/admission.h"
#include "engine/queue/queueing.h"
#include "engine/quota/reservations.h"
#include "engine/state_apply.h"

namespace kueue::engine {
namespace {

// The values of a hash map, by name.
template <typename Map, typename Name>
auto by_name(const Map& map, Name name) {
  std::vector<typename Map::mapped_type> out;
  for (auto it = map.begin(); it != map.end(); ++it) out.push_back(it->second);
  std::sort(out.begin(), out.end(),
            [&](const auto& a, const auto& b) { return name(a) < name(b); });
  return out;
}

bool looked_at(const World& world, WorkloadId id) {
  const WorkloadRecord& r = world.record(id);
  return r.place == Place::kWaiting && r.seen_epoch == world.epoch && r.seen_version == r.version &&
         r.seen_tree_epoch == world.tree_epoch_of(r.queue) &&
         (!r.contends || r.seen_departures == world.departures_of(r.queue)) &&
         world.queues[r.queue].pending.seen(id);
}

SnapshotReservation reservation_of(const World& world, const Reservation& r) {
  SnapshotReservation out{*r.admission, r.since, r.assumed, r.admitted, {}, {}};
  if (!r.assumed) return out;
  for (const auto& [fr, amount] : r.usage)
    out.charges.push_back({world.names.text(world.names.parts(fr).flavor),
                           world.names.text(world.names.parts(fr).resource), amount.value()});
  std::sort(out.charges.begin(), out.charges.end(),
            [](const SnapshotCharge& a, const SnapshotCharge& b) {
              return std::tie(a.flavor, a.resource) < std::tie(b.flavor, b.resource);
            });
  for (const PlacedPods& p : r.placed)
    out.places.push_back(
        {world.names.text(p.flavor), p.values, world.names.amounts(p.per_pod), p.count});
  return out;
}

SnapshotWorkload workload_of(const World& world, WorkloadId id) {
  const WorkloadRecord& r = world.record(id);
  SnapshotWorkload out;
  out.object = r.object;
  out.waits = r.place == Place::kWaiting;
  out.aside = out.waits && world.queues[r.queue].pending.aside(id);
  out.seen = looked_at(world, id);
  if (out.seen) {
    out.looks = static_cast<int32_t>(r.looks);
    out.keeps_its_place = r.keeps_its_place;
    out.looked_in_part = r.looked_in_part;
    out.contends = r.contends;
    out.contends_for_places = r.contends_for_places;
  }
  out.eviction_sent = r.eviction_sent;
  out.slice_finish_sent = r.slice_finish_sent;
  if (r.reservation) out.reservation = reservation_of(world, *r.reservation);
  if (r.scan) {
    SnapshotScan scan;
    for (const auto& pod_set : r.scan->tried) {
      auto& list = scan.tried.emplace_back();
      for (const auto& [resource, index] : pod_set)
        list.emplace_back(world.names.text(resource), index);
    }
    scan.queue_generation = r.scan->queue_generation;
    scan.cycle = r.scan->cycle;
    scan.digest = {r.scan->digest.a, r.scan->digest.b};
    out.scan = std::move(scan);
  }
  if (auto it = world.second_pass.find(id); it != world.second_pass.end())
    out.second_pass = {it->second.due, it->second.iteration, it->second.ready};
  if (auto it = world.delayed.find(id); it != world.delayed.end()) out.delayed = it->second;
  return out;
}

SnapshotQueue queue_state_of(const World& world, QueueId id) {
  const QueueRecord& q = world.queues[id];
  SnapshotQueue out;
  out.name = q.spec.name;
  out.generation = world.generation_of(id);
  out.pop_cycle = q.pop_cycle;
  out.retry_cycle = q.retry_cycle;
  if (q.preemptor.valid() && world.record(q.preemptor).object)
    out.preemptor = world.object(q.preemptor).key;
  out.preemptor_generation = q.preemptor_generation;
  out.preemptor_sticky = q.preemptor_sticky;
  for (auto it = q.bypass.begin(); it != q.bypass.end(); ++it)
    out.bypass.push_back({{it->first.a, it->first.b}, it->second});
  std::sort(out.bypass.begin(), out.bypass.end());
  return out;
}

void take_ledger(const State& state, Snapshot& out) {
  for (const LocalQueue& local : out.local_queues) {
    AfsUsage usage = state.afs_usage(local.key);
    if (usage.known)
      out.ledger.push_back({local.key, usage.consumed, usage.penalties, usage.last_update});
  }
}

NanoList nano_list(World& world, const std::vector<std::pair<std::string, Nanos>>& given) {
  NanoList out;
  for (const auto& [name, amount] : given) add(out, world.names.resource(name), amount);
  return out;
}

void restore_configuration(State& state, const Snapshot& s) {
  state.apply(TimePassed{s.now});
  for (const auto& [name, labels] : s.namespaces) state.apply(NamespaceChanged{name, labels});
  for (const Node& node : s.nodes) state.apply(NodeChanged{node});
  for (const ForeignPod& pod : s.pods) state.apply(ForeignPodChanged{pod});
  for (const AdmissionCheck& check : s.checks) state.apply(CheckChanged{check});
  for (const Flavor& flavor : s.flavors) state.apply(FlavorChanged{flavor});
  for (const Topology& topology : s.topologies) state.apply(TopologyChanged{topology});
  for (const Cohort& cohort : s.cohorts) state.apply(CohortChanged{cohort});
  for (const ClusterQueue& queue : s.queues) state.apply(ClusterQueueChanged{queue});
  for (const LocalQueue& local : s.local_queues) state.apply(LocalQueueChanged{local});
  for (const SnapshotWorkload& w : s.workloads) state.apply(WorkloadChanged{w.object});
}

void restore_reservation(World& world, const SnapshotReservation& s, WorkloadId id) {
  QueueId queue = ensure_queue(world, s.admission.cluster_queue);
  auto admission = std::make_shared<const Admission>(s.admission);
  if (!s.assumed) return reserve(world, id, queue, admission, false, s.admitted, s.since);
  Usage usage;
  for (const SnapshotCharge& c : s.charges)
    add(usage, world.names.fr(world.names.flavor(c.flavor), world.names.resource(c.resource)),
        Amount(c.amount));
  std::vector<PlacedPods> placed;
  for (const SnapshotPlaces& p : s.places)
    placed.push_back(
        {world.names.flavor(p.flavor), p.values, world.names.list(p.per_pod), p.count});
  reserve_as(world, id, queue, admission, std::move(usage), std::move(placed), true, s.admitted,
             s.since);
}

void restore_workload(World& world, const SnapshotWorkload& w, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  r.slice_finish_sent = w.slice_finish_sent;
  r.scan.reset();
  remove_from_queue(world, id);
  release(world, id);
  if (w.reservation) restore_reservation(world, *w.reservation, id);
  r.eviction_sent = w.eviction_sent;
  if (w.second_pass)
    world.second_pass[id] = {w.second_pass->due, w.second_pass->iteration, w.second_pass->ready};
  if (w.delayed) world.delayed[id] = *w.delayed;
}

void restore_scan(World& world, const SnapshotScan& given, WorkloadId id) {
  auto scan = std::make_unique<ScanProgress>();
  for (const auto& pod_set : given.tried) {
    auto& list = scan->tried.emplace_back();
    for (const auto& [name, index] : pod_set) list.emplace_back(world.names.resource(name), index);
  }
  scan->queue_generation = given.queue_generation;
  scan->cycle = given.cycle;
  scan->digest = {given.digest.first, given.digest.second};
  world.record(id).scan = std::move(scan);
}

void restore_queue(World& world, const SnapshotQueue& s) {
  QueueId id = world.find_queue(s.name);
  if (!id.valid()) return;
  QueueRecord& q = world.queues[id];
  q.generation += s.generation - world.generation_of(id);
  q.pop_cycle = s.pop_cycle;
  q.retry_cycle = s.retry_cycle;
  q.preemptor = s.preemptor ? world.find(*s.preemptor) : WorkloadId();
  q.preemptor_generation = s.preemptor_generation;
  q.preemptor_sticky = s.preemptor_sticky;
  q.bypass.clear();
  for (const auto& [digest, reason] : s.bypass) q.bypass[{digest.first, digest.second}] = reason;
}

void restore_ledger(World& world, const Snapshot& s) {
  for (size_t i = 0; i < world.locals.size(); ++i) world.ledger.drop(LocalId(i));
  for (const SnapshotAccount& a : s.ledger) {
    LocalId local = world.find_local(a.local_queue);
    if (!local.valid()) continue;
    LedgerAccount& account = world.ledger.open(local, a.last_update);
    account.consumed = nano_list(world, a.consumed);
    for (const auto& [key, penalty] : a.penalties)
      if (WorkloadId id = world.find(key); id.valid())
        account.penalties[id] = nano_list(world, penalty);
  }
  for (const LocalQueue& local : s.local_queues)
    if (LocalId id = world.find_local(local.key); id.valid()) refresh_local_usage(world, id);
}

}  // namespace

Snapshot take_snapshot(const State& state) {
  const World& world = state.world();
  Snapshot out;
  out.settings = world.settings;
  out.now = world.now;
  out.cycle = world.cycle;
  for (auto it = world.namespaces.begin(); it != world.namespaces.end(); ++it)
    out.namespaces.emplace_back(it->first.str(), it->second);
  std::sort(out.namespaces.begin(), out.namespaces.end());
  for (const auto& [name, node] : world.topology.nodes) out.nodes.push_back(node);
  for (const auto& [name, pod] : world.topology.pods) out.pods.push_back(pod);
  auto name = [](const auto& object) { return object.name; };
  out.checks = by_name(world.checks, name);
  out.topologies = by_name(world.topologies, name);
  for (const auto& [cohort, object] : world.cohorts) out.cohorts.push_back(object);
  for (const FlavorRecord& flavor : world.flavors)
    if (flavor.exists) out.flavors.push_back(flavor.spec);
  auto by = [&](auto& list) {
    std::sort(list.begin(), list.end(),
              [&](const auto& a, const auto& b) { return a.name < b.name; });
  };
  by(out.flavors);
  for (QueueId id : world.queues.ids()) {
    if (world.queues[id].exists) out.queues.push_back(world.queues[id].spec);
    if (!world.queues[id].spec.name.empty()) out.queue_states.push_back(queue_state_of(world, id));
  }
  by(out.queues);
  by(out.queue_states);
  for (const LocalRecord& local : world.locals)
    if (local.exists) out.local_queues.push_back(local.spec);
  std::sort(out.local_queues.begin(), out.local_queues.end(),
            [](const LocalQueue& a, const LocalQueue& b) { return a.key < b.key; });
  for (WorkloadId id : world.workloads.ids())
    if (world.record(id).object) out.workloads.push_back(workload_of(world, id));
  std::sort(out.workloads.begin(), out.workloads.end(),
            [](const SnapshotWorkload& a, const SnapshotWorkload& b) {
              return a.object->key < b.object->key;
            });
  for (const auto& [node, due] : world.retries)
    if (node.valid())
      out.retries.push_back({world.forest.at(node).name, world.forest.at(node).queue, due});
    else
      out.retries.push_back({"", false, due});  // of places
  std::sort(out.retries.begin(), out.retries.end(),
            [](const SnapshotRetry& a, const SnapshotRetry& b) {
              return std::pair(a.queue, a.node) < std::pair(b.queue, b.node);
            });
  take_ledger(state, out);
  return out;
}

std::unique_ptr<State> restore(const Snapshot& snapshot) {
  auto state = std::make_unique<State>(snapshot.settings);
  restore_configuration(*state, snapshot);
  World& world = state->world();
  world.forest.settle();
  world.second_pass.clear();
  world.delayed.clear();
  world.cycle = snapshot.cycle;
  for (const SnapshotWorkload& w : snapshot.workloads)
    restore_workload(world, w, world.find(w.object->key));
  restore_ledger(world, snapshot);
  world.forest.settle();
  for (const SnapshotQueue& queue : snapshot.queue_states) restore_queue(world, queue);
  for (const SnapshotWorkload& w : snapshot.workloads) {
    WorkloadId id = world.find(w.object->key);
    WorkloadRecord& r = world.record(id);
    // A second pass without a reservation looks in its queue.
    if (w.second_pass && r.local.valid()) r.queue = world.locals[r.local].queue;
    if (w.scan) restore_scan(world, *w.scan, id);
    if (w.waits && r.local.valid() && world.locals[r.local].queue.valid())
      make_waiting(world, id, world.locals[r.local].queue, w.aside);
  }
  world.retries.clear();  // what was asked for while all this was put in
  for (const SnapshotRetry& retry : snapshot.retries) {
    QuotaId node =
        retry.queue ? world.forest.find_queue(retry.node) : world.forest.find_cohort(retry.node);
    if (node.valid() || retry.node.empty()) world.retries[node] = retry.due;
  }
  for (const SnapshotWorkload& w : snapshot.workloads) {
    if (!w.seen) continue;
    WorkloadId id = world.find(w.object->key);
    WorkloadRecord& r = world.record(id);
    if (r.place != Place::kWaiting) continue;
    r.seen_epoch = world.epoch;
    r.seen_version = r.version;
    r.seen_tree_epoch = world.tree_epoch_of(r.queue);
    r.seen_departures = world.departures_of(r.queue);
    r.looks = static_cast<uint32_t>(std::max(0, w.looks));
    r.keeps_its_place = w.keeps_its_place;
    r.looked_in_part = w.looked_in_part;
    r.contends = w.contends;
    r.contends_for_places = w.contends_for_places;
    world.pending_keys[id].seen = world.stamp++;
  }
  return state;
}

}  // namespace kueue::engine
