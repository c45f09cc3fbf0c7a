// plan(): one scheduling cycle from heads to commands (behaviour.md 4).
#include <algorithm>

#include "engine/cycle/entry.h"
#include "engine/cycle/fetch.h"
#include "engine/queue/digest.h"
#include "engine/topology/tree.h"

namespace kueue::engine {

void assume(World& world, const Entry& entry, const Admit& command);  // cycle/admit.cc

namespace {

SlimVector<Target> targets_of(const World& world, const std::vector<Victim>& victims) {
  SlimVector<Target> out;
  out.reserve(victims.size());
  for (const Victim& v : victims)
    out.push_back({world.object(v.id).key, world.object(v.id).uid, v.reason});
  std::sort(out.begin(), out.end(), [](const Target& a, const Target& b) { return a.key < b.key; });
  return out;
}

SlimVector<PodSetExplanation> explain_pod_sets(const Workload& w, Assignment& assignment) {
  SlimVector<PodSetExplanation> out;
  out.reserve(assignment.pod_sets.size());
  for (PodSetResult& ps : assignment.pod_sets)
    out.push_back({w.pod_sets[ps.index].name, std::move(ps.attempts), std::move(ps.reasons),
                   std::move(ps.error)});
  return out;
}

// What the entry has to say: its last word.
Decision decision_of(const World& world, Entry& entry) {
  const Workload& w = world.object(entry.id());
  Decision d;
  d.key = w.key;
  d.cluster_queue = world.queues[entry.queue].name;
  d.nominated = entry.nominated;
  if (entry.nominated) {
    d.mode = entry.assignment.mode();
    d.borrow = entry.assignment.borrow;
    d.pod_sets = explain_pod_sets(w, entry.assignment);
  }
  d.status = entry.status;
  d.requeue = entry.requeue;
  d.pending = entry.pending;
  d.message = std::move(entry.message);
  d.is_preemptor = entry.head.is_preemptor;
  d.targets = targets_of(world, entry.victims);
  return d;
}

// What the cycle itself changes afterwards is news to the head.
void mark_seen(World& world, WorkloadId id, QueueId queue) {
  WorkloadRecord& r = world.record(id);
  r.seen_epoch = world.epoch;
  r.seen_version = r.version;
  r.seen_tree_epoch = world.tree_epoch_of(queue);
  r.seen_departures = world.departures_of(queue);
  r.contends = r.contends_for_places = false;
  world.pending_keys[id].seen = world.stamp++;
}

SetPending pending_command(const World& world, const Entry& entry) {
  const Workload& w = world.object(entry.id());
  SetPending out;
  out.key = w.key;
  out.uid = w.uid;
  out.cluster_queue = world.queues[entry.queue].name;
  out.reason = entry.pending;
  out.message = entry.message;
  out.blocked_on_gates = entry.blocked_on_gates;
  return out;
}

// Sends an entry that was not admitted back to where it waits, and says so.
void return_entry(World& world, Plan& plan, Entry& entry) {
  if (entry.status != EntryStatus::kNotNominated && entry.requeue == RequeueReason::kGeneric)
    entry.requeue = RequeueReason::kFailedAfterNomination;
  SetPending command = pending_command(world, entry);
  if (queue_second_pass(world, entry.id(), entry.head.iteration)) {
    command.second_pass_failed = true;
    command.write = false;
    plan.commands.push_back(std::move(command));
    return;
  }
  requeue(
      world, entry.id(), entry.requeue,
      entry.pending == PendingReason::kNone ? PendingReason::kPendingEvaluation : entry.pending);
  if (entry.status == EntryStatus::kNominated) return;
  const Workload& w = world.object(entry.id());
  for (size_t i = 0; i < w.pod_sets.size(); ++i) {
    ResourceList total;
    for (const auto& [resource, amount] : world.shapes[world.record(entry.id()).shapes[i]].requests)
      total.emplace_back(resource, amount * effective_count(world, w, w.pod_sets[i]));
    command.resource_requests.emplace_back(w.pod_sets[i].name, world.names.amounts(total));
  }
  plan.commands.push_back(std::move(command));
}

// Heads become entries, and each is nominated while it is at hand.
void collect_entries(Overlay& overlay, bool every_head, CycleScratch& scratch) {
  World& world = overlay.world();
  std::vector<Head> heads = find_heads(world, !every_head);
  scratch.entries.reserve(heads.size());
  for (size_t i = 0; i < heads.size(); ++i) {
    fetch_heads(world, heads, i);
    take_head(world, heads[i]);
    const Head& head = heads[i];
    WorkloadRecord& r = world.record(head.id);
    QueueId queue = head.second_pass && r.reservation ? r.reservation->queue : r.queue;
    if (!queue.valid()) continue;
    mark_seen(world, head.id, queue);
    Entry& entry = scratch.entries.emplace_back();
    entry.head = head;
    entry.queue = queue;
    entry.priority = r.object->effective_priority();
    entry.timestamp = queue_timestamp(world, *r.object);
    entry.holds_quota = r.reservation != nullptr;
    if (may_be_nominated(world, entry)) {
      nominate(overlay, entry);
    } else {
      scratch.rejected.push_back(std::move(entry));
      scratch.entries.pop_back();
    }
  }
}

// The fair-sharing tournament has one contender per ClusterQueue. A second pass gives way to a head
// of its queue, and goes back with what it was told.
std::vector<Entry> crowded_out(std::vector<Entry>& entries) {
  std::vector<Entry> out;
  std::map<QueueId, size_t> last;
  for (size_t i = 0; i < entries.size(); ++i) last[entries[i].queue] = i;
  if (last.size() == entries.size()) return out;
  std::vector<Entry> kept;
  for (size_t i = 0; i < entries.size(); ++i)
    (last[entries[i].queue] == i ? kept : out).push_back(std::move(entries[i]));
  entries = std::move(kept);
  return out;
}

void finish(World& world, Plan& plan, bool explain, std::vector<Entry*>& done,
            std::vector<Entry>& rejected) {
  plan.looked_at = static_cast<int32_t>(done.size() + rejected.size());
  if (explain) plan.why.decisions.reserve(done.size() + rejected.size());
  size_t command = 0;
  for (size_t i = 0; i < done.size(); ++i) {
    fetch_entries(world, done, i, true);
    Entry* entry = done[i];
    if (entry->status != EntryStatus::kAssumed) continue;
    while (!std::holds_alternative<Admit>(plan.commands[command])) ++command;
    assume(world, *entry, std::get<Admit>(plan.commands[command]));
    if (world.record(entry->id()).place == Place::kInFlight) leave_flight(world, entry->id());
    ++command;
  }
  // What was admitted was ready already: nothing will come that lets the others go on.
  if (world.not_ready == 0 &&
      std::any_of(done.begin(), done.end(), [](const Entry* e) { return e->waits_for_pods_ready; }))
    world.touch_all();
  plan.keep_going = done.empty() && rejected.empty();
  for (Entry* entry : done) {
    if (entry->status == EntryStatus::kAssumed || entry->status == EntryStatus::kEvicted) {
      plan.keep_going = true;
    } else {
      return_entry(world, plan, *entry);
    }
    if (explain || entry->status != EntryStatus::kAssumed)
      plan.why.decisions.push_back(decision_of(world, *entry));
  }
  std::sort(rejected.begin(), rejected.end(), [&](const Entry& a, const Entry& b) {
    return world.object(a.id()).key < world.object(b.id()).key;
  });
  for (Entry& entry : rejected) {
    if (entry.silent) {
      --plan.looked_at;
      if (world.record(entry.id()).place == Place::kInFlight) leave_flight(world, entry.id());
      continue;
    }
    return_entry(world, plan, entry);
    plan.why.decisions.push_back(decision_of(world, entry));
  }
}

}  // namespace

Plan plan(State& state, const CycleInput& input) {
  World& world = state.world();
  world.now = std::max(world.now, input.now);
  world.forest.settle();
  settle_topology(world);
  ++world.cycle;
  Plan result;
  if (world.scratch == nullptr) world.scratch = std::make_shared<CycleScratch>();
  auto& [entries, rejected, done] = *world.scratch;
  std::vector<Entry> crowded;
  {
    Overlay overlay(world);
    collect_entries(overlay, input.every_head, *world.scratch);
    result.commands.reserve(entries.size());
    Cycle cycle{.overlay = overlay, .plan = result, .explain = input.explain};
    if (world.settings.fair_sharing) crowded = crowded_out(entries);
    EntryOrder order(cycle, entries);
    while (Entry* entry = order.next()) {
      process(cycle, *entry);
      done.push_back(entry);
    }
    result.why.preemption_skips.assign(cycle.skips.begin(), cycle.skips.end());
    result.why.recomputations = std::move(cycle.recomputations);
  }
  finish(world, result, input.explain, done, rejected);
  for (Entry& entry : crowded) return_entry(world, result, entry);
  world.scratch->clear();
  return result;
}

}  // namespace kueue::engine
