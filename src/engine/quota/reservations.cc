#include "engine/quota/reservations.h"

#include <algorithm>

#include "base/check.h"
#include "engine/queue/digest.h"
#include "engine/state_apply.h"
#include "engine/topology/usage.h"

namespace kueue::engine {
namespace {

const PodSet* find_pod_set(const Workload& w, const Text& name) {
  for (const PodSet& ps : w.pod_sets)
    if (ps.name == name) return &ps;
  return nullptr;
}

const Text* flavor_of(const PodSetAssignment& ps, const Text& resource) {
  for (const auto& [r, flavor] : ps.flavors)
    if (r == resource) return &flavor;
  return nullptr;
}

void count_locals(World& world, const Reservation& r, int32_t sign) {
  if (!r.local.valid()) return;
  LocalRecord& local = world.locals[r.local];
  local.reserving += sign;
  if (r.admitted) local.admitted += sign;
  if (sign > 0) {
    add(local.usage, r.usage);
    if (r.admitted) add(local.admitted_usage, r.usage);
  } else {
    subtract(local.usage, r.usage);
    if (r.admitted) subtract(local.admitted_usage, r.usage);
  }
  world.changed_locals.insert(r.local);
}

// What a slice may ask for depends on the one that it replaces, be that in a tree of its own.
void tell_replacers(World& world, WorkloadId id) {
  if (world.replacers.empty()) return;
  auto found = world.replacers.find(world.object(id).key);
  if (found == world.replacers.end()) return;
  for (WorkloadId other : found->second)
    if (const WorkloadRecord& r = world.record(other); r.place != Place::kNone)
      world.touch_tree(r.queue);
}

}  // namespace

// The last one to become ready, or to go, is news to all queues.
void update_not_ready(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  bool now = r.reservation && !r.object->is_true(ConditionType::kPodsReady);
  if (r.not_ready == now) return;
  r.not_ready = now;
  if (now)
    ++world.not_ready;
  else if (--world.not_ready == 0 && world.settings.block_admission)
    world.touch_all();
}

Usage admission_usage(World& world, const Workload& w, const Admission& admission) {
  Usage usage;
  for (const PodSetAssignment& ps : admission.pod_sets) {
    const PodSet* spec = find_pod_set(w, ps.name);
    int32_t count = ps.count.value_or(spec != nullptr ? spec->count : 0);
    int32_t left = spec != nullptr ? std::min(count, effective_count(world, w, *spec)) : count;
    for (const auto& [resource, amount] : ps.usage) {
      const Text* flavor = flavor_of(ps, resource);
      if (flavor == nullptr) continue;
      int64_t charged = left < count && count > 0 ? amount / count * left : amount;
      add(usage, world.names.fr(world.names.flavor_of(*flavor), world.names.resource_of(resource)),
          Amount(charged));
    }
  }
  return usage;
}

std::vector<PlacedPods> admission_places(World& world, WorkloadId id, const Admission& admission) {
  std::vector<PlacedPods> out;
  const Workload& w = world.object(id);
  for (const PodSetAssignment& ps : admission.pod_sets) {
    if (!ps.topology) continue;
    FlavorId flavor;
    for (const auto& [resource, name] : ps.flavors) {
      FlavorId candidate = world.names.flavor(name);
      if (world.flavors.contains(candidate) && !world.flavors[candidate].spec.topology.empty())
        flavor = candidate;
    }
    if (!flavor.valid() && !ps.flavors.empty())
      flavor = world.names.flavor(ps.flavors.front().second);
    if (!flavor.valid()) continue;
    for (size_t i = 0; i < w.pod_sets.size(); ++i) {
      if (w.pod_sets[i].name != ps.name) continue;
      const ResourceList& per_pod = world.shapes[world.record(id).shapes[i]].raw_requests;
      for (const TopologyDomain& d : ps.topology->domains)
        out.push_back({flavor, d.values, per_pod, d.count});
    }
  }
  return out;
}

namespace {

bool charges_alike(const World& world, WorkloadId id, QueueId queue, const Usage& usage,
                   const std::vector<PlacedPods>& placed) {
  const WorkloadRecord& r = world.record(id);
  return r.reservation && r.reservation->queue == queue && r.reservation->local == r.local &&
         r.reservation->usage == usage && r.reservation->placed == placed;
}

bool beyond_counting(const Usage& usage) {
  return std::any_of(usage.begin(), usage.end(),
                     [](const auto& entry) { return entry.second.is_unlimited(); });
}

// A sum that has reached the largest amount says nothing about its parts: what is left when one
// goes has to be summed up anew.
class Sums {
 public:
  Sums(World& world, QueueId queue, LocalId local) : world_(world), queue_(queue), local_(local) {
    const QueueRecord& q = world.queues[queue];
    lost_ = beyond_counting(q.admitted_usage) ||
            (q.exists && beyond_counting(world.forest.own_usage(q.node)));
    if (!local.valid()) return;
    const LocalRecord& l = world.locals[local];
    lost_ = lost_ || beyond_counting(l.usage) || beyond_counting(l.admitted_usage);
  }
  ~Sums() {
    if (lost_) recount();
  }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;

 private:
  void recount() {
    QueueRecord& q = world_.queues[queue_];
    Usage all;
    q.admitted_usage.clear();
    for (WorkloadId id : q.reserved) {
      const Reservation& r = *world_.record(id).reservation;
      add(all, r.usage);
      if (r.admitted) add(q.admitted_usage, r.usage);
    }
    if (q.exists) world_.forest.reset_usage(q.node, std::move(all));
    if (!local_.valid()) return;
    LocalRecord& l = world_.locals[local_];
    l.usage.clear();
    l.admitted_usage.clear();
    for (WorkloadId id : l.members) {
      const std::unique_ptr<Reservation>& r = world_.record(id).reservation;
      if (!r || r->local != local_) continue;
      add(l.usage, r->usage);
      if (r->admitted) add(l.admitted_usage, r->usage);
    }
  }

  World& world_;
  QueueId queue_;
  LocalId local_;
  bool lost_ = false;
};

void note_release(World& world, QueueId queue) {
  QueueRecord& q = world.queues[queue];
  ++q.generation;
  ++world.tree(world.forest.at(q.node).root).releases;
}

void take_off_sums(World& world, const Reservation& reservation) {
  Sums sums(world, reservation.queue, reservation.local);
  QueueRecord& q = world.queues[reservation.queue];
  if (q.exists) world.forest.remove_usage(q.node, reservation.usage);
  if (reservation.admitted) {
    --q.admitted;
    subtract(q.admitted_usage, reservation.usage);
  }
  count_locals(world, reservation, -1);
}

// The same charge goes out and in again: only who is admitted may differ.
void note_update(World& world, Reservation& reservation, bool admitted) {
  QueueRecord& q = world.queues[reservation.queue];
  if (reservation.admitted != admitted) {
    Sums sums(world, reservation.queue, reservation.local);
    count_locals(world, reservation, -1);
    q.admitted += admitted ? 1 : -1;
    if (admitted)
      add(q.admitted_usage, reservation.usage);
    else
      subtract(q.admitted_usage, reservation.usage);
    reservation.admitted = admitted;
    count_locals(world, reservation, 1);
  }
  note_release(world, reservation.queue);
  if (!reservation.placed.empty()) world.touch_all();
  world.changed_queues.insert(reservation.queue);
  if (reservation.local.valid()) world.changed_locals.insert(reservation.local);
  world.touch_tree(reservation.queue);
}

}  // namespace

void reserve(World& world, WorkloadId id, QueueId queue, std::shared_ptr<const Admission> admission,
             bool assumed, bool admitted, Instant since) {
  Usage usage = admission_usage(world, world.object(id), *admission);
  std::vector<PlacedPods> placed = admission_places(world, id, *admission);
  reserve_as(world, id, queue, std::move(admission), std::move(usage), std::move(placed), assumed,
             admitted, since);
}

void reserve_as(World& world, WorkloadId id, QueueId queue,
                std::shared_ptr<const Admission> admission, Usage usage,
                std::vector<PlacedPods> placed, bool assumed, bool admitted, Instant since) {
  if (charges_alike(world, id, queue, usage, placed)) {
    WorkloadRecord& r = world.record(id);
    note_update(world, *r.reservation, admitted);
    r.reservation->admission = std::move(admission);
    r.reservation->since = since;
    r.reservation->assumed = assumed;
    tell_replacers(world, id);
    return update_not_ready(world, id);
  }
  const bool told_to_go = world.record(id).eviction_sent;
  release(world, id);
  WorkloadRecord& r = world.record(id);
  r.eviction_sent = told_to_go;
  QueueRecord& q = world.queues[queue];
  auto reservation = std::make_unique<Reservation>();
  reservation->queue = queue;
  reservation->usage = std::move(usage);
  reservation->placed = std::move(placed);
  reservation->admission = std::move(admission);
  reservation->since = since;
  reservation->assumed = assumed;
  reservation->admitted = admitted;
  reservation->local = r.local;
  reservation->position = static_cast<uint32_t>(q.reserved.size());
  q.reserved.push_back(id);
  reservation->turn = world.turns.add(id);
  if (q.exists) world.forest.add_usage(q.node, reservation->usage);
  if (admitted) {
    ++q.admitted;
    add(q.admitted_usage, reservation->usage);
  }
  r.reservation = std::move(reservation);
  count_locals(world, *r.reservation, 1);
  add_placed(world, *r.reservation);
  update_not_ready(world, id);
  world.changed_queues.insert(queue);
  world.touch_tree(queue);
  tell_replacers(world, id);
}

void release(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  if (!r.reservation) return;
  Reservation& reservation = *r.reservation;
  QueueRecord& q = world.queues[reservation.queue];
  KUEUE_CHECK(q.reserved[reservation.position] == id, "reservation list and record disagree");
  WorkloadId last = q.reserved.back();
  q.reserved[reservation.position] = last;
  world.record(last).reservation->position = reservation.position;
  q.reserved.pop_back();
  note_release(world, reservation.queue);
  remove_placed(world, reservation);
  world.changed_queues.insert(reservation.queue);
  world.touch_tree(reservation.queue);
  std::unique_ptr<Reservation> gone = std::move(r.reservation);
  r.eviction_sent = false;  // whatever it holds next, it was not told to leave
  take_off_sums(world, *gone);
  update_not_ready(world, id);
  tell_replacers(world, id);
}

void count_in_own_local(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  if (!r.reservation || r.reservation->local == r.local) return;
  count_locals(world, *r.reservation, -1);
  r.reservation->local = r.local;
  count_locals(world, *r.reservation, 1);
}

void sync_reservation(World& world, WorkloadId id) {
  const Workload& w = world.object(id);
  if (!w.reserved() || w.finished()) return release(world, id);
  const std::unique_ptr<Reservation>& held = world.record(id).reservation;
  const bool stays = held && world.queues[held->queue].name == w.admission->cluster_queue;
  QueueId queue = stays ? held->queue : ensure_queue(world, w.admission->cluster_queue);
  Instant since = w.condition(ConditionType::kQuotaReserved)->since;
  // An update of a reservation is a release as well: whoever scans flavors starts anew.
  std::shared_ptr<const Admission> admission(world.record(id).object, &*w.admission);
  reserve(world, id, queue, std::move(admission), false, w.admitted(), since);
}

void count_reservations(World& world, QueueId queue, bool exists) {
  QueueRecord& q = world.queues[queue];
  Usage all;
  if (exists)
    for (WorkloadId id : q.reserved) add(all, world.record(id).reservation->usage);
  world.forest.reset_usage(q.node, std::move(all));
}

}  // namespace kueue::engine
