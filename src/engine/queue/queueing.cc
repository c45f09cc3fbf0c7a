#include "engine/queue/queueing.h"

#include <algorithm>

#include "base/check.h"
#include "engine/queue/pending_share.h"

namespace kueue::engine {
namespace {

void take_out(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  QueueRecord& q = world.queues[r.queue];
  switch (r.place) {
    case Place::kNone:
      return;
    case Place::kActive:
      q.pending.remove(id, r.local);
      if (q.pending.empty()) world.nonempty.erase(r.queue);
      break;
    case Place::kInadmissible:
      q.inadmissible.erase(id);
      break;
    case Place::kInFlight:
      break;
  }
  take_pending_share(world, id);
  if (r.local.valid()) --world.locals[r.local].pending;
  world.changed_queues.insert(r.queue);
  if (r.local.valid()) world.changed_locals.insert(r.local);
  r.place = Place::kNone;
}

void refresh_key(World& world, WorkloadId id, QueueId queue) {
  const Workload& w = world.object(id);
  PendingKey& key = world.pending_keys.ensure(id);
  const QueueRecord& q = world.queues[queue];
  key = {.sticky = q.preemptor == id && q.preemptor_sticky,
         .priority = w.effective_priority(),
         .timestamp = queue_timestamp(world, w),
         .uid = &w.uid,
         .namespace_ = &w.key.namespace_,
         .name = &w.key.name};
}

void put(World& world, WorkloadId id, QueueId queue, Place place) {
  WorkloadRecord& r = world.record(id);
  if (r.place != Place::kNone) take_out(world, id);
  r.queue = queue;
  r.place = place;
  QueueRecord& q = world.queues[queue];
  refresh_key(world, id, queue);
  if (place == Place::kActive) {
    q.pending.insert(id, r.local);
    world.nonempty.insert(queue);
  } else if (place == Place::kInadmissible) {
    q.inadmissible.insert(id);
  }
  add_pending_share(world, id);
  ++world.locals[r.local].pending;
  world.changed_queues.insert(queue);
  world.changed_locals.insert(r.local);
}

void clear_preemptor(QueueRecord& queue) {
  queue.preemptor = WorkloadId();
  queue.preemptor_sticky = false;
}

bool same_pod_sets(const Workload& a, const Workload& b) {
  if (a.pod_sets.size() != b.pod_sets.size()) return false;
  for (size_t i = 0; i < a.pod_sets.size(); ++i) {
    const PodSet& x = a.pod_sets[i];
    const PodSet& y = b.pod_sets[i];
    if (x.name != y.name || x.count != y.count || x.min_count != y.min_count ||
        x.topology != y.topology)
      return false;
    if (x.pod != y.pod && !(*x.pod == *y.pod)) return false;
  }
  return true;
}

bool same_condition(const Workload& a, const Workload& b, ConditionType type) {
  const Condition* x = a.condition(type);
  const Condition* y = b.condition(type);
  return x == nullptr || y == nullptr ? x == y : *x == *y;
}

bool same_gate_states(const Workload& a, const Workload& b) {
  if (a.preemption_gates.size() != b.preemption_gates.size()) return false;
  for (size_t i = 0; i < a.preemption_gates.size(); ++i)
    if (a.preemption_gates[i].open != b.preemption_gates[i].open) return false;
  return true;
}

// Whether something changed that may make an inadmissible workload admissible (section 3,
// PushOrUpdate).
bool changed_in_effect(const Workload& before, const Workload& now) {
  return before.priority != now.priority || before.active != now.active ||
         before.queue_name != now.queue_name || !same_pod_sets(before, now) ||
         before.boost_text != now.boost_text || before.reclaimable != now.reclaimable ||
         before.misconfigured != now.misconfigured ||
         !same_condition(before, now, ConditionType::kEvicted) ||
         !same_condition(before, now, ConditionType::kRequeued) || !same_gate_states(before, now);
}

// The queue that the workload's LocalQueue feeds; invalid when one of them is missing or does not
// queue.
QueueId target_queue(const World& world, const WorkloadRecord& r) {
  if (!r.local.valid()) return QueueId();
  const LocalRecord& local = world.locals[r.local];
  if (!local.queues || !local.queue.valid() || !world.queues[local.queue].exists) return QueueId();
  return local.queue;
}

bool namespace_matches(const World& world, const QueueRecord& queue, const std::string& name) {
  auto it = world.namespaces.find(name);
  return it != world.namespaces.end() && queue.spec.namespace_selector &&
         matches(*queue.spec.namespace_selector, it->second);
}

// Looked at without success, nothing has changed since, and no flavor is left that was not tried.
bool blocked_unchanged(const World& world, QueueId queue, WorkloadId head) {
  const WorkloadRecord& r = world.record(head);
  if (r.scan != nullptr && r.scan->has_untried()) return false;
  return r.seen_epoch == world.epoch && r.seen_version == r.version &&
         r.seen_tree_epoch == world.tree_epoch_of(queue);
}

}  // namespace

bool admissible(const World& world, const Workload& w) {
  if (!w.admission_gated_by.empty() && world.gate(Gate::kAdmissionGatedBy)) return false;
  return w.active && !w.finished() && !w.is_true(ConditionType::kQuotaReserved) && !w.on_hold() &&
         !w.is_true(ConditionType::kWaitingForReplacementPods) && !w.concurrent_admission_parent;
}

bool backoff_expired(const World& world, const Workload& w) {
  if (w.is_false(ConditionType::kRequeued)) return false;
  return !w.requeue_at || world.now >= *w.requeue_at;
}

Instant queue_timestamp(const World& world, const Workload& w) {
  const Condition* evicted = w.condition(ConditionType::kEvicted);
  if (evicted != nullptr && evicted->status == ConditionStatus::kTrue) {
    if (evicted->reason == "PodsReadyTimeout" && !world.settings.requeue_by_creation)
      return evicted->since;
    if (evicted->reason == "AdmissionCheck") return evicted->since;
  }
  if (!world.gate(Gate::kPrioritySortingWithinCohort)) {
    const Condition* preempted = w.condition(ConditionType::kPreempted);
    if (preempted != nullptr && preempted->status == ConditionStatus::kTrue &&
        preempted->reason == "InCohortReclaimWhileBorrowing")
      return preempted->since + Duration::millis(1);
  }
  return w.created;
}

void push_or_update(World& world, WorkloadId id, const Workload* before) {
  WorkloadRecord& r = world.record(id);
  const Workload& w = *r.object;
  if (r.place == Place::kInFlight) return;
  QueueId queue = target_queue(world, r);
  if (!queue.valid() || !admissible(world, w)) return remove_from_queue(world, id);
  QueueRecord& q = world.queues[queue];
  bool was_active = r.place == Place::kActive && r.queue == queue;
  if (r.place == Place::kInadmissible && r.queue == queue && before != nullptr &&
      !changed_in_effect(*before, w))
    return refresh_key(world, id, queue);  // the key points into the object
  if (r.place != Place::kNone) take_out(world, id);
  if (!was_active && !backoff_expired(world, w)) return put(world, id, queue, Place::kInadmissible);
  if (!was_active && q.spec.strategy == QueueingStrategy::kBestEffortFifo && r.digest.known() &&
      q.bypass.contains(r.digest))
    return put(world, id, queue, Place::kInadmissible);
  put(world, id, queue, Place::kActive);
}

void push_from_local_queue(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  QueueId queue = target_queue(world, r);
  if (queue.valid() && !r.reservation && admissible(world, *r.object))
    put(world, id, queue, Place::kActive);
}

void remove_from_queue(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  QueueId queue = r.queue;
  take_out(world, id);
  if (queue.valid() && world.queues[queue].preemptor == id) clear_preemptor(world.queues[queue]);
}

std::vector<Head> take_heads(World& world, bool skip_blocked) {
  std::vector<Head> heads;
  for (auto it = world.second_pass.begin(); it != world.second_pass.end();) {
    if (!it->second.ready) {
      ++it;
      continue;
    }
    heads.push_back({.id = it->first,
                     .second_pass = true,
                     .iteration = it->second.iteration,
                     .is_preemptor = false});
    it = world.second_pass.erase(it);
  }
  std::vector<QueueId> ready(world.nonempty.begin(), world.nonempty.end());
  for (QueueId queue : ready) {
    QueueRecord& q = world.queues[queue];
    if (!q.activity.active) continue;
    WorkloadId id = q.pending.top();
    if (skip_blocked && blocked_unchanged(world, queue, id)) continue;
    WorkloadRecord& r = world.record(id);
    q.pending.remove(id, r.local);
    if (q.pending.empty()) world.nonempty.erase(queue);
    r.place = Place::kInFlight;
    ++q.pop_cycle;
    bool preemptor = q.preemptor == id && q.preemptor_generation == r.object->generation;
    heads.push_back({.id = id, .second_pass = false, .iteration = 0, .is_preemptor = preemptor});
  }
  return heads;
}

void leave_flight(World& world, WorkloadId id) { take_out(world, id); }

bool heads_available(const World& world) {
  for (const auto& [id, entry] : world.second_pass)
    if (entry.ready) return true;
  for (QueueId queue : world.nonempty) {
    const QueueRecord& q = world.queues[queue];
    if (q.activity.active && !blocked_unchanged(world, queue, q.pending.top())) return true;
  }
  return false;
}

namespace {

bool returns_at_once(const QueueRecord& queue, RequeueReason reason) {
  if (queue.spec.strategy == QueueingStrategy::kStrictFifo)
    return reason != RequeueReason::kNamespaceMismatch;
  return reason == RequeueReason::kFailedAfterNomination ||
         reason == RequeueReason::kPendingPreemption ||
         reason == RequeueReason::kPendingMigration || reason == RequeueReason::kPreemptionFailed;
}

// Equal workloads would fail alike: sets them aside with this one.
void set_equals_aside(World& world, QueueId queue, Digest digest, PendingReason pending) {
  QueueRecord& q = world.queues[queue];
  q.bypass[digest] = pending;
  for (WorkloadId id : q.pending.members())
    if (world.record(id).digest == digest) put(world, id, queue, Place::kInadmissible);
}

}  // namespace

void requeue(World& world, WorkloadId id, RequeueReason reason, PendingReason pending) {
  WorkloadRecord& r = world.record(id);
  if (r.place == Place::kInFlight) take_out(world, id);
  if (!r.object) return;
  QueueId queue = target_queue(world, r);
  if (!queue.valid() || !admissible(world, *r.object)) return remove_from_queue(world, id);
  QueueRecord& q = world.queues[queue];
  if (reason == RequeueReason::kPendingPreemption || reason == RequeueReason::kPendingMigration) {
    WorkloadId previous = q.preemptor;
    q.preemptor = id;
    q.preemptor_generation = r.object->generation;
    q.preemptor_sticky = q.spec.strategy == QueueingStrategy::kBestEffortFifo;
    if (previous.valid() && previous != id && world.record(previous).place == Place::kActive &&
        world.record(previous).queue == queue)
      put(world, previous, queue, Place::kActive);  // no longer sticky
  }
  bool untried = r.scan != nullptr && r.scan->has_untried();
  if (backoff_expired(world, *r.object) &&
      (returns_at_once(q, reason) || q.retry_cycle >= q.pop_cycle || untried))
    return put(world, id, queue, Place::kActive);
  put(world, id, queue, Place::kInadmissible);
  if (world.gate(Gate::kSchedulingEquivalenceHashing) && r.digest.known() &&
      q.spec.strategy == QueueingStrategy::kBestEffortFifo &&
      (reason == RequeueReason::kNoFit || reason == RequeueReason::kPreemptionNoCandidates))
    set_equals_aside(world, queue, r.digest, pending);
}

void request_retry(World& world, QuotaId node, Duration delay) {
  world.forest.settle();
  Instant due = world.now + delay;
  auto [it, inserted] = world.retries.try_emplace(world.forest.at(node).root, due);
  if (!inserted) it->second = std::min(it->second, due);
}

void request_retry_of_queue(World& world, QueueId queue) {
  if (queue.valid() && world.queues[queue].exists)
    request_retry(world, world.queues[queue].node, world.settings.retry_batch);
}

void request_retry_everywhere(World& world, Duration delay) {
  for (size_t i = 0; i < world.queues.size(); ++i) {
    const QueueRecord& q = world.queues[QueueId(i)];
    if (q.exists && q.activity.active) request_retry(world, q.node, delay);
  }
}

namespace {

void retry_queue(World& world, QueueId queue) {
  QueueRecord& q = world.queues[queue];
  q.retry_cycle = q.pop_cycle;
  q.bypass.clear();
  std::vector<WorkloadId> waiting(q.inadmissible.begin(), q.inadmissible.end());
  for (WorkloadId id : waiting) {
    const Workload& w = world.object(id);
    if (!namespace_matches(world, q, w.key.namespace_) || !backoff_expired(world, w)) continue;
    put(world, id, queue, Place::kActive);
    world.record(id).seen_epoch = 0;
  }
}

}  // namespace

void run_retries(World& world, bool all) {
  world.forest.settle();
  std::set<QuotaId> roots;
  for (auto it = world.retries.begin(); it != world.retries.end();) {
    if (!all && it->second > world.now) {
      ++it;
      continue;
    }
    roots.insert(world.forest.at(it->first).root);
    it = world.retries.erase(it);
  }
  for (QuotaId root : roots)
    for (QuotaId node : world.forest.queues_below(root))
      if (QueueId queue = world.queue_of_node[node.value];
          queue.valid() && world.queues[queue].exists)
        retry_queue(world, queue);
}

bool needs_second_pass(const World& world, WorkloadId id) {
  const Workload& w = world.object(id);
  if (!w.reserved() || w.finished() || w.evicted() || w.on_hold()) return false;
  if (w.admitted()) {
    if (!world.gate(Gate::kTopologyAwareScheduling) || w.unhealthy_nodes.empty()) return false;
    for (const PodSetAssignment& ps : w.admission->pod_sets) {
      if (!ps.topology) continue;
      for (const TopologyDomain& d : ps.topology->domains)
        if (std::find(w.unhealthy_nodes.begin(), w.unhealthy_nodes.end(), d.values.back()) !=
            w.unhealthy_nodes.end())
          return true;
    }
    return false;
  }
  if (w.checks.empty()) return false;
  for (const CheckStatus& c : w.checks)
    if (c.state != CheckState::kReady) return false;
  for (const PodSetAssignment& ps : w.admission->pod_sets)
    if (ps.delayed == DelayedTopology::kPending) return true;
  return false;
}

bool queue_second_pass(World& world, WorkloadId id, int32_t iteration) {
  if (!needs_second_pass(world, id)) return false;
  ++iteration;
  Duration delay =
      Duration::seconds(std::min<int64_t>(30, int64_t{1} << std::min(iteration - 1, 10)));
  auto [it, inserted] =
      world.second_pass.try_emplace(id, SecondPassEntry{world.now + delay, iteration, false});
  if (!inserted && !it->second.ready && world.now + delay < it->second.due)
    it->second = {world.now + delay, iteration, false};
  return true;
}

void leave_second_pass(World& world, WorkloadId id) { world.second_pass.erase(id); }

}  // namespace kueue::engine
