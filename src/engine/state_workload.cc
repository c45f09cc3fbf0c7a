// How changes of Workloads, nodes and time enter the tables (behaviour.md 3 "Retry triggers", 14
// "Coherence").
#include <algorithm>

#include "engine/fairshare/admission.h"
#include "engine/queue/digest.h"
#include "engine/queue/queueing.h"
#include "engine/quota/reservations.h"
#include "engine/state_apply.h"

namespace kueue::engine {
namespace {

enum class Phase : uint8_t { kPending, kReserved, kAdmitted, kFinished };

Phase phase(const Workload& w) {
  if (w.finished()) return Phase::kFinished;
  if (w.admitted()) return Phase::kAdmitted;
  return w.is_true(ConditionType::kQuotaReserved) ? Phase::kReserved : Phase::kPending;
}

ShapeId use_shape(World& world, const std::shared_ptr<const PodTemplate>& pod) {
  auto [it, inserted] = world.shape_ids.try_emplace(pod.get());
  if (inserted) {
    Shape shape{pod, world.names.list(pod->requests), world.names.list(pod->raw_requests), 0};
    if (!world.free_shapes.empty()) {
      it->second = world.free_shapes.back();
      world.free_shapes.pop_back();
      world.shapes[it->second] = std::move(shape);
    } else {
      it->second = world.shapes.push(std::move(shape));
    }
  }
  ++world.shapes[it->second].users;
  return it->second;
}

bool uses_shapes_of(const World& world, const WorkloadRecord& r, const Workload& w) {
  return std::equal(r.shapes.begin(), r.shapes.end(), w.pod_sets.begin(), w.pod_sets.end(),
                    [&](ShapeId id, const PodSet& ps) { return world.shapes[id].pod == ps.pod; });
}

void drop_shapes(World& world, WorkloadRecord& r) {
  for (ShapeId id : r.shapes) {
    Shape& shape = world.shapes[id];
    if (--shape.users > 0) continue;
    world.shape_ids.erase(shape.pod.get());
    shape = Shape();
    world.free_shapes.push_back(id);
  }
  r.shapes.clear();
}

void leave_local(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  if (!r.local.valid()) return;
  std::vector<WorkloadId>& members = world.locals[r.local].members;
  WorkloadId last = members.back();
  members[r.local_position] = last;
  world.record(last).local_position = r.local_position;
  members.pop_back();
  r.local = LocalId();
}

void join_local(World& world, WorkloadId id, LocalId local) {
  WorkloadRecord& r = world.record(id);
  r.local = local;
  r.local_position = static_cast<uint32_t>(world.locals[local].members.size());
  world.locals[local].members.push_back(id);
}

WorkloadId new_record(World& world, const Key& key) {
  WorkloadId id;
  if (!world.free_workloads.empty()) {
    id = world.free_workloads.back();
    world.free_workloads.pop_back();
    uint64_t version = world.record(id).version;
    world.record(id) = WorkloadRecord();
    world.record(id).version = version + 1;
  } else {
    id = world.workloads.push(WorkloadRecord());
  }
  world.workload_ids.insert(key.namespace_, key.name, id);
  world.pending_keys.ensure(id);
  return id;
}

bool same_checks(const Workload& a, const Workload& b) {
  return std::equal(a.checks.begin(), a.checks.end(), b.checks.begin(), b.checks.end(),
                    [](const CheckStatus& x, const CheckStatus& y) {
                      return x.name == y.name && x.state == y.state;
                    });
}

bool same_gates(const Workload& a, const Workload& b) {
  return std::equal(a.preemption_gates.begin(), a.preemption_gates.end(),
                    b.preemption_gates.begin(), b.preemption_gates.end(),
                    [](const PreemptionGate& x, const PreemptionGate& y) {
                      return x.name == y.name && x.open == y.open;
                    });
}

// Those that a blocked head depends on, in the order in which they stand.
bool same_conditions(const Workload& a, const Workload& b) {
  auto matters = [](const Condition& c) {
    return c.type != ConditionType::kAdmitted &&
           !(c.type == ConditionType::kQuotaReserved && c.status == ConditionStatus::kFalse);
  };
  auto x = a.conditions.begin(), y = b.conditions.begin();
  for (;;) {
    x = std::find_if(x, a.conditions.end(), matters);
    y = std::find_if(y, b.conditions.end(), matters);
    if (x == a.conditions.end() || y == b.conditions.end())
      return x == a.conditions.end() && y == b.conditions.end();
    if (!(*x++ == *y++)) return false;
  }
}

// Status texts of our own writes change nothing that a blocked head depends on.
bool only_texts_changed(const Workload& a, const Workload& b) {
  return a.generation == b.generation && a.uid == b.uid && a.priority == b.priority &&
         a.active == b.active && a.queue_name == b.queue_name && a.boost_text == b.boost_text &&
         a.requeue_at == b.requeue_at && a.reclaimable == b.reclaimable &&
         a.misconfigured == b.misconfigured && a.admission_gated_by == b.admission_gated_by &&
         a.unhealthy_nodes == b.unhealthy_nodes && a.on_hold() == b.on_hold() &&
         a.allowed_flavors == b.allowed_flavors && a.elastic == b.elastic &&
         a.replaces == b.replaces && a.variant_parent_uid == b.variant_parent_uid &&
         same_pod_sets(a, b) && same_checks(a, b) && same_gates(a, b) && same_conditions(a, b);
}

void follow_replaced(World& world, WorkloadId id, const Workload* before, const Workload* now) {
  const Key* was = before != nullptr && before->replaces ? &*before->replaces : nullptr;
  const Key* is = now != nullptr && now->replaces ? &*now->replaces : nullptr;
  if (was == is || (was != nullptr && is != nullptr && *was == *is)) return;
  if (was != nullptr)
    if (auto found = world.replacers.find(*was); found != world.replacers.end()) {
      found->second.erase(id);
      if (found->second.empty()) world.replacers.erase(found);
    }
  if (is != nullptr) world.replacers[*is].insert(id);
}

// Replaces the object and what is derived from it. The queue keys still point into `before`, which
// the caller keeps.
void set_object(World& world, WorkloadId id, std::shared_ptr<const Workload> next) {
  WorkloadRecord& r = world.record(id);
  if (!r.object || !only_texts_changed(*r.object, *next)) {
    ++r.version;
    ++world.news;
  }
  bool same_local = r.local.valid() && r.object && r.object->queue_name == next->queue_name;
  LocalId local =
      same_local ? r.local : ensure_local(world, next->key.namespace_, next->queue_name);
  if (local != r.local) {
    if (r.local.valid()) {
      r.scan.reset();  // it was of other flavors
      forget_penalty(world, id);
      remove_from_queue(world, id);
      leave_local(world, id);
    }
    join_local(world, id, local);
    count_in_own_local(world, id);
  }
  if (!uses_shapes_of(world, r, *next)) {
    InlineVector<ShapeId, 2> shapes;
    shapes.reserve(next->pod_sets.size());
    for (const PodSet& ps : next->pod_sets) shapes.push_back(use_shape(world, ps.pod));
    drop_shapes(world, r);
    r.shapes = std::move(shapes);
  }
  Digest digest =
      r.object && digests_alike(*r.object, *next) ? r.digest : scheduling_digest(world, *next);
  if (r.scan &&
      (!world.gate(Gate::kFlavorFungibilityPreserveScanProgress) || !(digest == r.digest)))
    r.scan.reset();
  r.digest = digest;
  follow_replaced(world, id, r.object.get(), next.get());
  r.object = std::move(next);
}

void retry_for(World& world, WorkloadId id) {
  const WorkloadRecord& r = world.record(id);
  if (r.reservation) request_retry_of_queue(world, r.reservation->queue);
  if (r.local.valid()) request_retry_of_queue(world, world.locals[r.local].queue);
}

// It may have held quota elsewhere than its LocalQueue points to, or have none any more.
void release_for_others(World& world, WorkloadId id) {
  const WorkloadRecord& r = world.record(id);
  const QueueId held = r.reservation ? r.reservation->queue : QueueId();
  release(world, id);
  if (held.valid()) request_retry_of_queue(world, held);
  retry_for(world, id);
}

bool scaled_down(const Workload& before, const Workload& now) {
  if (!now.elastic) return false;
  bool smaller = false;
  for (const PodSet& is : now.pod_sets)
    for (const PodSet& was : before.pod_sets) {
      if (was.name != is.name) continue;
      if (is.count > was.count) return false;
      smaller |= is.count < was.count;
    }
  return smaller;
}

void return_to_queue(World& world, WorkloadId id) {
  const Workload& w = world.object(id);
  remove_from_queue(world, id);
  release_for_others(world, id);
  world.record(id).scan.reset();
  // While it backs off the next change of the object brings it back, to wait aside.
  if (w.requeue_at && *w.requeue_at > world.now)
    world.delayed[id] = *w.requeue_at;
  else
    push_or_update(world, id, nullptr);
}

void on_created(World& world, WorkloadId id) {
  const Workload& w = world.object(id);
  if (w.finished()) return;
  if (w.is_true(ConditionType::kQuotaReserved))
    sync_reservation(world, id);
  else
    push_or_update(world, id, nullptr);
}

// As a victim it comes earlier or later than before, or is one no longer.
bool weighs_otherwise(const World& world, const Workload& before, const Workload& now) {
  return before.evicted() != now.evicted() ||
         before.effective_priority() != now.effective_priority() ||
         queue_timestamp(world, before) != queue_timestamp(world, now) ||
         before.queue_name != now.queue_name;
}

void on_updated(World& world, WorkloadId id, const Workload& before) {
  const Workload& w = world.object(id);
  Phase was = phase(before);
  Phase is = phase(w);
  if (is == Phase::kFinished || !w.active) {
    remove_from_queue(world, id);
    leave_second_pass(world, id);
    world.delayed.erase(id);
    if (is == Phase::kFinished || !w.is_true(ConditionType::kQuotaReserved))
      forget_penalty(world, id);
    release_for_others(world, id);
  } else if (was == Phase::kPending && is == Phase::kPending) {
    if (!world.record(id).reservation) push_or_update(world, id, &before);
  } else if (was == Phase::kPending || was == Phase::kFinished) {
    remove_from_queue(world, id);
    world.delayed.erase(id);
    world.record(id).scan.reset();
    sync_reservation(world, id);
  } else if (is == Phase::kPending) {
    leave_second_pass(world, id);
    return_to_queue(world, id);
  } else {
    bool freed =
        (is == Phase::kAdmitted && before.reclaimable != w.reclaimable) || scaled_down(before, w);
    remove_from_queue(world, id);  // when its conditions contradicted each other
    sync_reservation(world, id);
    if (freed || before.priority != w.priority) retry_for(world, id);
  }
  // One that waits for its time is looked at then: evicted, it needs no second pass.
  if (auto it = world.second_pass.find(id);
      w.evicted() && it != world.second_pass.end() && it->second.ready)
    world.second_pass.erase(it);
  if (is == Phase::kAdmitted && was != Phase::kAdmitted) settle_penalty(world, id);
  if (!world.record(id).reservation) return;
  if (weighs_otherwise(world, before, w) || before.given_up != w.given_up)
    world.touch_tree(world.record(id).reservation->queue);
  if (before.given_up != w.given_up) retry_for(world, id);  // others may have to go in its place
}

}  // namespace

namespace {

// All at once instead of one after the other as it is come to: with thousands of queues none of it
// is in the caches. First what the record points to, then what that points to.
void fetch_object(const World& world, WorkloadId id) {
  const WorkloadRecord& r = world.record(id);
  fetch_ahead(r.object.get());
  fetch_ahead(r.reservation.get());
  fetch_ahead(&world.pending_keys[id]);
  if (r.local.valid()) world.locals[r.local].fetch();
  if (r.queue.valid()) world.queues[r.queue].fetch();
}

void fetch_parts(const World& world, WorkloadId id) {
  const WorkloadRecord& r = world.record(id);
  if (!r.object) return;
  fetch_ahead(r.object->pod_sets.data());
  fetch_ahead(r.object->conditions.data());
  if (r.reservation) {
    fetch_ahead(r.reservation->admission.get());
    const std::vector<WorkloadId>& reserved = world.queues[r.reservation->queue].reserved;
    fetch_ahead(reserved.data() + r.reservation->position);
  }
  if (!r.queue.valid()) return;
  const QuotaId node = world.queues[r.queue].node;
  fetch_ahead(&world.forest.own_usage(node));
  world.forest.at(node).fetch();
}

// News came of a workload; those of whom they will come next are known (Turns).
void fetch_next(World& world, WorkloadId id) {
  if (const WorkloadRecord& r = world.record(id); r.reservation)
    world.turns.follow(r.reservation->turn);
  if (WorkloadId next = world.turns.ahead(9); next.valid()) fetch_ahead(&world.record(next));
  if (WorkloadId next = world.turns.ahead(6); next.valid()) fetch_object(world, next);
  if (WorkloadId next = world.turns.ahead(3); next.valid()) {
    fetch_parts(world, next);
    if (const WorkloadRecord& r = world.record(next); r.queue.valid())
      fetch_ahead(world.forest.at(world.queues[r.queue].node).cells.data());
  }
}

}  // namespace

void apply_event(World& world, const WorkloadChanged& e) {
  if (!e.workload) return;
  fetch_ahead(e.workload.get());
  WorkloadId id = world.find(e.workload->key);
  if (id.valid()) {
    fetch_object(world, id);
    fetch_parts(world, id);
    fetch_next(world, id);
  }
  if (id.valid() && world.object(id).uid != e.workload->uid) {  // deleted and created again
    apply_event(world, WorkloadDeleted{e.workload->key});
    id = WorkloadId();
  }
  bool created = !id.valid();
  if (created) id = new_record(world, e.workload->key);
  std::shared_ptr<const Workload> before = world.record(id).object;
  set_object(world, id, e.workload);
  WorkloadRecord& r = world.record(id);
  if (r.eviction_sent && (e.workload->evicted() || !r.reservation)) {
    r.eviction_sent = false;
    if (r.reservation)
      world.touch_tree(r.reservation->queue);  // while it holds quota, say it again
  }
  if (created)
    on_created(world, id);
  else
    on_updated(world, id, *before);
  update_not_ready(world, id);
  queue_second_pass(world, id, 0);
}

void apply_event(World& world, const WorkloadDeleted& e) {
  WorkloadId id = world.find(e.key);
  if (!id.valid()) return;
  WorkloadRecord& r = world.record(id);
  remove_from_queue(world, id);
  leave_second_pass(world, id);
  world.delayed.erase(id);
  forget_penalty(world, id);
  release_for_others(world, id);
  leave_local(world, id);
  drop_shapes(world, r);
  world.workload_ids.erase(e.key.namespace_, e.key.name,
                           [&](WorkloadId other) { return other == id; });
  follow_replaced(world, id, r.object.get(), nullptr);
  r.object.reset();
  r.scan.reset();
  r.queue = QueueId();
  world.free_workloads.push_back(id);
}

void apply_event(World& world, const AdmissionFailed& e) {
  WorkloadId id = world.find(e.key);
  if (!id.valid()) return;
  WorkloadRecord& r = world.record(id);
  if (!r.reservation || !r.reservation->assumed) return;
  forget_penalty(world, id);
  if (r.object->reserved()) {  // a second pass: the reservation is as the object says
    sync_reservation(world, id);
    queue_second_pass(world, id, 0);
    return;
  }
  release(world, id);
  if (!e.not_found)
    requeue(world, id, RequeueReason::kFailedAfterNomination, PendingReason::kPendingEvaluation);
}

void apply_event(World& world, const EvictionFailed& e) {
  WorkloadId id = world.find(e.key);
  if (!id.valid()) return;
  WorkloadRecord& r = world.record(id);
  r.eviction_sent = false;
  if (r.reservation) world.touch_tree(r.reservation->queue);  // its preemptor has to say it again
}

namespace {

// What waits for a while waits as much longer as it had to; times that objects name stay as they
// are.
void set_back(World& world, Instant now) {
  const Duration by = world.now - now;
  world.now = now;
  for (auto& [id, entry] : world.second_pass) entry.due = entry.due - by;
  for (auto& [node, due] : world.retries) due = due - by;
}

}  // namespace

void apply_event(World& world, const TimePassed& e) {
  if (world.now - e.now > kClockSetBack) set_back(world, e.now);
  world.now = std::max(world.now, e.now);
  for (auto it = world.second_pass.begin(); it != world.second_pass.end();) {
    bool due = !it->second.ready && it->second.due <= world.now;
    if (due && !needs_second_pass(world, it->first)) {
      it = world.second_pass.erase(it);
      continue;
    }
    if (due) it->second.ready = true;
    ++it;
  }
  for (auto it = world.delayed.begin(); it != world.delayed.end();) {
    if (it->second > world.now) {
      ++it;
      continue;
    }
    WorkloadId id = it->first;
    it = world.delayed.erase(it);
    if (!world.record(id).reservation) push_or_update(world, id, nullptr);
  }
  run_retries(world, false);
}

void apply_event(World& world, const FlushRetries&) { run_retries(world, true); }

void apply_event(World& world, const SecondPassReady& e) {
  WorkloadId id = world.find(e.key);
  if (id.valid()) world.second_pass[id] = {world.now, 1, true};
}

}  // namespace kueue::engine
