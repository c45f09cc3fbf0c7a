#include "engine/queue/queueing.h"

#include <algorithm>

#include "base/check.h"
#include "engine/queue/digest.h"
#include "engine/queue/pending_share.h"

namespace kueue::engine {
namespace {

constexpr bool kActive = false, kAside = true;

bool is_aside(const World& world, WorkloadId id) {
  return world.queues[world.record(id).queue].pending.aside(id);
}

void follow_emptiness(World& world, QueueId queue) {
  ++world.news;
  if (world.queues[queue].pending.empty())
    world.nonempty.erase(queue);
  else
    world.nonempty.insert(queue);
}

void take_out(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  if (r.place == Place::kNone) return;
  take_pending_share(world, id);
  if (r.place == Place::kWaiting) {
    world.queues[r.queue].pending.remove(id);
    follow_emptiness(world, r.queue);
  }
  if (r.local.valid()) --world.locals[r.local].pending;
  world.changed_queues.insert(r.queue);
  if (r.local.valid()) world.changed_locals.insert(r.local);
  r.place = Place::kNone;
}

// It is in nobody's way from now on, and nobody in its.
void stop_contending(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  if (r.contends_for_places) {
    world.touch_all();
  } else if (r.contends) {
    // News to those that contended with it, not to the whole tree.
    ++world.tree(world.forest.at(world.queues[r.queue].node).root).departures;
    ++world.news;
  }
  r.contends = r.contends_for_places = false;
}

// What orders the workload now; where it stands is as before.
PendingKey fresh_key(const World& world, WorkloadId id, QueueId queue) {
  const Workload& w = world.object(id);
  PendingKey key = world.pending_keys[id];
  const QueueRecord& q = world.queues[queue];
  key.sticky = q.preemptor == id && q.preemptor_sticky;
  key.priority = w.effective_priority();
  key.timestamp = queue_timestamp(world, w);
  return key;
}

// Its time to come back is its own, whatever others of its kind do.
bool backs_off(const Workload& w) {
  return w.requeue_at.has_value() || w.is_false(ConditionType::kRequeued);
}

LotKey lot_key(const WorkloadRecord& r) { return {r.digest, r.local, backs_off(*r.object)}; }

void put(World& world, WorkloadId id, QueueId queue, bool aside) {
  WorkloadRecord& r = world.record(id);
  if (aside) stop_contending(world, id);
  if (r.place != Place::kNone) take_out(world, id);
  r.queue = queue;
  r.place = Place::kWaiting;
  world.pending_keys[id] = fresh_key(world, id, queue);
  world.queues[queue].pending.insert(id, lot_key(r), aside);
  follow_emptiness(world, queue);
  add_pending_share(world, id);
  ++world.locals[r.local].pending;
  world.changed_queues.insert(queue);
  world.changed_locals.insert(r.local);
}

// The object was replaced by one that waits like it: the key points into the new one.
void follow_object(World& world, WorkloadId id, QueueId queue) {
  PendingKey& key = world.pending_keys[id];
  PendingKey next = fresh_key(world, id, queue);
  const PendingQueue& pending = world.queues[queue].pending;
  if (next.sticky == key.sticky && next.priority == key.priority &&
      next.timestamp == key.timestamp && pending.key(key.lot) == lot_key(world.record(id)))
    key = next;
  else
    put(world, id, queue, pending.aside(id));
}

void clear_preemptor(QueueRecord& queue) {
  queue.preemptor = WorkloadId();
  queue.preemptor_sticky = false;
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
  return before.priority != now.priority || before.names_priority != now.names_priority ||
         before.active != now.active || before.queue_name != now.queue_name ||
         !same_pod_sets(before, now) || before.boost_text != now.boost_text ||
         before.reclaimable != now.reclaimable || before.misconfigured != now.misconfigured ||
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

// Nothing that the head depends on has changed since a cycle last looked at it.
bool seen_as_it_is(const World& world, QueueId queue, WorkloadId head) {
  const WorkloadRecord& r = world.record(head);
  return r.seen_epoch == world.epoch && r.seen_version == r.version &&
         r.seen_tree_epoch == world.tree_epoch_of(queue) &&
         (!r.contends || r.seen_departures == world.departures_of(queue)) &&
         world.queues[queue].pending.seen(head);
}

// Some flavor was not tried yet, or not by the last look of a head that stays in front: the next
// one begins with the first flavor again. After as many looks as there are flavors each had its
// turn: groups of resources whose scans are out of step would go on for ever.
bool has_flavors_to_try(const World& world, const QueueRecord& queue, const WorkloadRecord& r) {
  if (!world.gate(Gate::kFlavorFungibility)) return false;
  bool untried = r.scan != nullptr && r.scan->has_untried();
  if (!untried && !(r.looked_in_part && r.keeps_its_place)) return false;
  size_t flavors = 0;
  for (const GroupRecord& group : queue.groups) flavors += group.flavors.size();
  return r.looks < flavors + (untried ? 0 : 1);
}

// Looked at without success, nothing has changed since, and no flavor is left that was not tried.
bool blocked_unchanged(const World& world, QueueId queue, WorkloadId head) {
  return seen_as_it_is(world, queue, head) &&
         !has_flavors_to_try(world, world.queues[queue], world.record(head));
}

// The first of a queue that is not empty. Where usage orders it, not what the waiting preemptor has
// preempted again: it would go on to take the room and to lose it until usage is sampled.
WorkloadId front_of(const World& world, const QueueRecord& q) {
  WorkloadId first = q.pending.top();
  if (!q.pending.fair() || !q.preemptor.valid() || !q.pending.contains(q.preemptor) ||
      q.pending.aside(q.preemptor))
    return first;
  const Workload& preemptor = world.object(q.preemptor);
  return world.object(first).preempted_again_for(preemptor.uid) ? q.preemptor : first;
}

// The head of a queue that may be looked at, none when it would be in vain. A head that came back
// for one more look, as for flavors not yet tried, steps aside after it: those behind it may fit.
WorkloadId head_to_look_at(World& world, QueueId queue) {
  QueueRecord& q = world.queues[queue];
  if (!q.active) return {};
  while (!q.pending.empty()) {
    WorkloadId head = front_of(world, q);
    if (!blocked_unchanged(world, queue, head)) return head;
    if (world.record(head).keeps_its_place) return {};
    put(world, head, queue, true);
  }
  return {};
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
  bool waits_here = r.place == Place::kWaiting && r.queue == queue;
  bool was_active = waits_here && !is_aside(world, id);
  if (waits_here && !was_active && before != nullptr && !changed_in_effect(*before, w)) {
    // Any other generation than the judged one gets another look. One of a namespace that the queue
    // does not select was not judged.
    bool judged_otherwise =
        before->generation != w.generation && namespace_matches(world, q, w.key.namespace_);
    if (!judged_otherwise) return follow_object(world, id, queue);
  }
  if (r.place != Place::kNone) take_out(world, id);
  if (!was_active && !backoff_expired(world, w)) return put(world, id, queue, kAside);
  if (!was_active && q.spec.strategy == QueueingStrategy::kBestEffortFifo && r.digest.known() &&
      q.bypass.contains(r.digest))
    return put(world, id, queue, kAside);
  put(world, id, queue, kActive);
}

void make_waiting(World& world, WorkloadId id, QueueId queue, bool aside) {
  put(world, id, queue, aside);
}

void push_from_local_queue(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  QueueId queue = target_queue(world, r);
  if (queue.valid() && !r.reservation && admissible(world, *r.object))
    put(world, id, queue, kActive);
}

void remove_from_queue(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  QueueId queue = r.queue;
  stop_contending(world, id);
  take_out(world, id);
  if (queue.valid() && world.queues[queue].preemptor == id) clear_preemptor(world.queues[queue]);
}

namespace {

struct Front {
  QueueId queue;
  WorkloadId id;
};

// Leaves of `asleep` whom those that are looked at have to reckon with.
void keep_contenders(const World& world, const std::vector<Front>& awake,
                     std::vector<Front>& asleep) {
  auto root = [&](QueueId queue) { return world.forest.at(world.queues[queue].node).root.value; };
  std::vector<uint32_t> roots;
  for (const Front& front : awake) {
    roots.push_back(root(front.queue));
    // The slice that it replaces may hold quota in another tree, and be somebody's victim there.
    if (world.replacers.empty() || !world.object(front.id).replaces) continue;
    WorkloadId old = world.find(*world.object(front.id).replaces);
    if (old.valid() && world.record(old).reservation)
      roots.push_back(root(world.record(old).reservation->queue));
  }
  for (const Front& front : asleep)
    if (world.record(front.id).contends_for_places) roots.push_back(root(front.queue));
  std::sort(roots.begin(), roots.end());
  std::erase_if(asleep, [&](const Front& front) {
    return !std::binary_search(roots.begin(), roots.end(), root(front.queue));
  });
}

// In order of their queues. Nobody is looked at without the heads that contend with it for what is
// free, be they unchanged: it must not get what one that waits for its victims keeps.
std::vector<Front> fronts_to_look_at(World& world, bool skip_blocked) {
  std::vector<Front> out, asleep;
  const uint64_t news = world.news;
  for (QueueId queue : world.nonempty.ids()) {
    QueueRecord& q = world.queues[queue];
    if (!q.active) continue;
    WorkloadId id = skip_blocked ? head_to_look_at(world, queue) : front_of(world, q);
    if (id.valid())
      out.push_back({queue, id});
    else if (!q.pending.empty() && world.record(front_of(world, q)).contends)
      asleep.push_back({queue, front_of(world, q)});
  }
  if (skip_blocked && world.news != news) return fronts_to_look_at(world, skip_blocked);
  if (out.empty() || asleep.empty()) return out;
  keep_contenders(world, out, asleep);
  out.insert(out.end(), asleep.begin(), asleep.end());
  std::sort(out.begin(), out.end(),
            [](const Front& a, const Front& b) { return a.queue < b.queue; });
  return out;
}

}  // namespace

std::vector<Head> find_heads(World& world, bool skip_blocked) {
  std::vector<Head> heads;
  for (auto it = world.second_pass.begin(); it != world.second_pass.end();) {
    if (!it->second.ready) {
      ++it;
      continue;
    }
    heads.push_back({it->first, {}, true, it->second.iteration, false});
    it = world.second_pass.erase(it);
  }
  if (skip_blocked && world.no_news_since == world.news) return heads;
  uint64_t news = world.news;
  std::vector<Front> fronts = fronts_to_look_at(world, skip_blocked);
  heads.reserve(heads.size() + fronts.size());
  for (const auto& [queue, id] : fronts) heads.push_back({id, queue, false, 0, false});
  if (fronts.empty() && skip_blocked) world.no_news_since = news;
  return heads;
}

void take_head(World& world, Head& head) {
  if (head.second_pass) return;
  QueueRecord& q = world.queues[head.queue];
  WorkloadRecord& r = world.record(head.id);
  r.looks = seen_as_it_is(world, head.queue, head.id) ? r.looks + 1 : 1;
  q.pending.remove(head.id);
  follow_emptiness(world, head.queue);
  r.place = Place::kInFlight;
  ++q.pop_cycle;
  head.is_preemptor = q.preemptor == head.id && q.preemptor_generation == r.object->generation;
}

void leave_flight(World& world, WorkloadId id) { take_out(world, id); }

bool heads_available(World& world) {
  for (const auto& [id, entry] : world.second_pass)
    if (entry.ready) return true;
  while (world.no_news_since != world.news) {
    const uint64_t news = world.news;
    for (QueueId queue : world.nonempty.ids())
      if (head_to_look_at(world, queue).valid()) return true;
    world.no_news_since = news;  // unless one stepped aside, which others may have waited for
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
  for (PendingQueue::LotId lot : q.pending.lots_of(digest))
    if (size_t count = q.pending.put_aside(lot); count > 0)
      shift_pending_share(world, queue, q.pending.key(lot), count, kAside);
  follow_emptiness(world, queue);
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
    if (previous.valid() && previous != id && world.record(previous).place == Place::kWaiting &&
        world.record(previous).queue == queue)
      put(world, previous, queue, is_aside(world, previous));  // no longer sticky
  }
  bool untried = r.scan != nullptr && r.scan->has_untried();
  r.keeps_its_place = returns_at_once(q, reason);
  if (backoff_expired(world, *r.object) &&
      (r.keeps_its_place || q.retry_cycle >= q.pop_cycle || untried))
    return put(world, id, queue, kActive);
  put(world, id, queue, kAside);
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

void request_retry_of_places(World& world, Duration delay) {
  Instant due = world.now + delay;
  auto [it, inserted] = world.retries.try_emplace(QuotaId(), due);
  if (!inserted) it->second = std::min(it->second, due);
}

namespace {

bool uses_topology(const World& world, const QueueRecord& queue) {
  for (const GroupRecord& group : queue.groups)
    for (FlavorId flavor : group.flavors)
      if (!world.flavors[flavor].spec.topology.empty()) return true;
  return false;
}

void retry_queue(World& world, QueueId queue) {
  QueueRecord& q = world.queues[queue];
  q.retry_cycle = q.pop_cycle;
  q.bypass.clear();
  for (PendingQueue::LotId lot : q.pending.lots_with_aside()) {
    LotKey key = q.pending.key(lot);
    if (!namespace_matches(world, q, world.locals[key.local].key.namespace_)) continue;
    if (!key.backs_off) {
      size_t count = q.pending.bring_back(lot, world.stamp);
      world.stamp += 2;
      shift_pending_share(world, queue, key, count, kActive);
      continue;
    }
    for (WorkloadId id : q.pending.aside_of(lot)) {
      if (!backoff_expired(world, world.object(id))) continue;
      put(world, id, queue, kActive);
      world.pending_keys[id].seen = 0;
    }
  }
  follow_emptiness(world, queue);
}

}  // namespace

void run_retries(World& world, bool all) {
  world.forest.settle();
  std::set<QuotaId> roots;
  for (auto it = world.retries.begin(); it != world.retries.end();) {
    // Those of places keep their time: Kueue does not ask for them, and recordings run all of its.
    const bool of_places = !it->first.valid();
    if ((!all || of_places) && it->second > world.now) {
      ++it;
      continue;
    }
    if (!of_places) {
      roots.insert(world.forest.at(it->first).root);
    } else {
      for (size_t i = 0; i < world.queues.size(); ++i)
        if (const QueueRecord& q = world.queues[QueueId(i)]; q.exists && uses_topology(world, q))
          roots.insert(world.forest.at(q.node).root);
    }
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
  world.second_pass.try_emplace(id, SecondPassEntry{world.now + delay, iteration, false});
  return true;
}

void leave_second_pass(World& world, WorkloadId id) { world.second_pass.erase(id); }

}  // namespace kueue::engine
