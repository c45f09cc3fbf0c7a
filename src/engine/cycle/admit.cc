// What a cycle does to workloads: admit (assume) and preempt, each with its command
// (behaviour.md 4.5k, 4.5n, 8).
#include <algorithm>

#include "engine/cycle/entry.h"
#include "engine/explain/flavors_considered.h"
#include "engine/fairshare/admission.h"
#include "engine/queue/checks.h"
#include "engine/queue/digest.h"
#include "engine/quota/reservations.h"

namespace kueue::engine {
namespace {

Admission build_admission(const World& world, const Entry& entry) {
  const Workload& w = world.object(entry.id());
  Admission admission;
  admission.cluster_queue = world.queues[entry.queue].spec.name;
  for (const PodSetResult& ps : entry.assignment.pod_sets) {
    PodSetAssignment out;
    out.name = w.pod_sets[ps.index].name;
    for (const FlavorChoice& f : ps.flavors)
      out.flavors.emplace_back(world.names.text(f.resource), world.names.text(f.flavor));
    for (const auto& [resource, amount] : ps.requests)  // what no group covers is not charged
      if (ps.choice(resource) != nullptr)
        out.usage.emplace_back(world.names.text(resource), amount.value());
    out.count = ps.count;
    out.topology = ps.topology;
    out.delayed = ps.delayed;
    admission.pod_sets.push_back(std::move(out));
  }
  return admission;
}

// Status lists a check for each that the assigned flavors need; its Admitted condition can be
// settled with the reservation.
bool all_checks_listed(const World& world, const Workload& w, const Admission& admission) {
  for (const std::string& name : checks_for_admission(world, admission))
    if (std::none_of(w.checks.begin(), w.checks.end(),
                     [&](const CheckStatus& c) { return c.name == name; }))
      return false;
  return true;
}

bool fully_admitted(const Workload& w, const Admission& admission) {
  for (const PodSetAssignment& ps : admission.pod_sets)
    if (ps.delayed == DelayedTopology::kPending) return false;
  return std::all_of(w.checks.begin(), w.checks.end(),
                     [](const CheckStatus& c) { return c.state == CheckState::kReady; });
}

// What the pods ask for, also when fewer are admitted; the pods themselves do not count.
ResourceList total_requests(const World& world, WorkloadId id, const Assignment& assignment) {
  const Workload& w = world.object(id);
  ResourceList total;
  for (const PodSetResult& ps : assignment.pod_sets)
    for (const auto& [resource, amount] : world.shapes[world.record(id).shapes[ps.index]].requests)
      world.names.add(total, resource, amount * effective_count(world, w, w.pod_sets[ps.index]));
  return total;
}

const char* human_reason(PreemptReason reason) {
  switch (reason) {
    case PreemptReason::kNone:
      return "UNKNOWN";
    case PreemptReason::kInClusterQueue:
      return "prioritization in the ClusterQueue";
    case PreemptReason::kInCohortReclamation:
      return "reclamation within the cohort";
    case PreemptReason::kInCohortFairSharing:
      return "Fair Sharing within the cohort";
    case PreemptReason::kInCohortReclaimWhileBorrowing:
      return "reclamation within the cohort while borrowing";
  }
  return "UNKNOWN";
}

std::string or_unknown(const std::string& text) { return text.empty() ? "UNKNOWN" : text; }

std::string priority_text(const char* who, const Workload& w) {
  return std::string(who) + " effective priority: " + std::to_string(w.effective_priority()) +
         " (base: " + std::to_string(w.priority) + ", boost: " + std::to_string(w.boost) + ")";
}

Evict evict_command(const World& world, const Entry& entry, const Victim& victim) {
  const Workload& p = world.object(entry.id());
  const Workload& v = world.object(victim.id);
  const QueueRecord& victim_queue = world.queues[world.record(victim.id).reservation->queue];
  const QueueRecord& own_queue = world.queues[entry.queue];
  Evict out;
  out.key = v.key;
  out.uid = v.uid;
  out.cluster_queue = victim_queue.spec.name;
  out.reason = EvictReason::kPreempted;
  out.preempt_reason = victim.reason;
  out.message = "Preempted to accommodate a workload (UID: " + or_unknown(p.uid) +
                ", JobUID: " + or_unknown(p.job_uid) + ") due to " + human_reason(victim.reason) +
                "; preemptor path: " + world.forest.path(own_queue.node) +
                "; preemptee path: " + world.forest.path(victim_queue.node);
  out.priorities = priority_text("preemptor", p) + "; " + priority_text("preemptee", v);
  out.preemptor = p.key;
  out.preemptor_uid = p.uid;
  out.preemptor_cluster_queue = own_queue.spec.name;
  return out;
}

}  // namespace

void admit(Cycle& cycle, Entry& entry) {
  World& world = cycle.world();
  WorkloadRecord& r = world.record(entry.id());
  const Workload& w = *r.object;
  entry.status = EntryStatus::kAssumed;
  entry.message.clear();
  Admit command;
  command.key = w.key;
  command.uid = w.uid;
  command.admission = build_admission(world, entry);
  command.settles_admitted = all_checks_listed(world, w, command.admission);
  command.admitted = command.settles_admitted && fully_admitted(w, command.admission);
  command.second_pass = r.reservation != nullptr;
  command.flavors_considered = flavors_considered(w, entry.assignment);
  if (entry.replaced.valid()) {
    command.replaced_slice = world.object(entry.replaced).key;
    command.replaced_slice_uid = world.object(entry.replaced).uid;
    command.cluster_name = world.object(entry.replaced).cluster_name;
  }
  cycle.plan.commands.push_back(std::move(command));
}

int32_t preempt(Cycle& cycle, Entry& entry) {
  World& world = cycle.world();
  int32_t count = 0;
  for (const Victim& victim : entry.victims) {
    if (victim.id == entry.replaced) continue;
    ++count;
    WorkloadRecord& r = world.record(victim.id);
    if (already_evicted(world, victim.id) || r.eviction_sent) continue;
    r.eviction_sent = true;
    cycle.plan.commands.push_back(evict_command(world, entry, victim));
  }
  return count;
}

void evict_for_failed_replacement(Cycle& cycle, Entry& entry) {
  World& world = cycle.world();
  WorkloadRecord& r = world.record(entry.id());
  const Workload& w = *r.object;
  entry.status = EntryStatus::kEvicted;
  Evict out;
  out.key = w.key;
  out.uid = w.uid;
  out.cluster_queue = world.queues[entry.queue].spec.name;
  out.reason = EvictReason::kNodeFailures;
  out.message = "Workload was evicted as there was no replacement for unhealthy node(s): ";
  for (size_t i = 0; i < w.unhealthy_nodes.size(); ++i)
    out.message += (i == 0 ? "" : ", ") + w.unhealthy_nodes[i];
  r.eviction_sent = true;
  cycle.plan.commands.push_back(std::move(out));
}

// After the cycle: makes the reservations of what was admitted permanent.
void assume(World& world, const Entry& entry, const Admit& command) {
  WorkloadRecord& r = world.record(entry.id());
  bool had = r.reservation != nullptr;
  Instant since = had ? r.reservation->since : world.now;
  if (!had && orders_by_usage(world, entry.queue))
    push_penalty(world, entry.id(), entry.queue,
                 total_requests(world, entry.id(), entry.assignment));
  reserve(world, entry.id(), entry.queue, std::make_shared<const Admission>(command.admission),
          true, command.admitted, since);
}

}  // namespace kueue::engine
