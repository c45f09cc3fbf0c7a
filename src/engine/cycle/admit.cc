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
  admission.cluster_queue = world.queues[entry.queue].name;
  admission.pod_sets.reserve(entry.assignment.pod_sets.size());
  for (const PodSetResult& ps : entry.assignment.pod_sets) {
    PodSetAssignment out;
    out.name = w.pod_sets[ps.index].name;
    out.flavors.reserve(ps.flavors.size());
    out.usage.reserve(ps.flavors.size());
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
bool all_checks_listed(const World& world, QueueId queue, const Workload& w,
                       const Admission& admission) {
  for (const std::string& name : checks_for_admission(world, queue, admission))
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

// What the evictions for one preemptor have in common.
class EvictCommands {
 public:
  EvictCommands(const World& world, const Entry& entry)
      : world_(world), workload_(world.object(entry.id())) {
    const QueueRecord& queue = world.queues[entry.queue];
    message_ = preempted_for_text(workload_.uid) + " JobUID: " + or_unknown(workload_.job_uid) +
               ") due to ";
    paths_ = "; preemptor path: " + world.forest.path(queue.node) + "; preemptee path: ";
    priority_ = priority_text("preemptor", workload_) + "; ";
    preemptor_ = std::make_shared<const Preemptor>(Preemptor{workload_.key, queue.name});
  }

  Evict operator()(const Victim& victim) {
    const Workload& v = world_.object(victim.id);
    QueueId queue = world_.record(victim.id).reservation->queue;
    if (queue != queue_) {
      queue_ = queue;
      path_ = world_.forest.path(world_.queues[queue].node);
    }
    Evict out;
    out.key = v.key;
    out.uid = v.uid;
    out.cluster_queue = world_.queues[queue].name;
    out.reason = EvictReason::kPreempted;
    out.preempt_reason = victim.reason;
    std::string_view reason = human_reason(victim.reason);
    out.message.reserve(message_.size() + reason.size() + paths_.size() + path_.size());
    out.message.append(message_).append(reason).append(paths_).append(path_);
    out.priorities = priority_ + priority_text("preemptee", v);
    out.preemptor = preemptor_;
    return out;
  }

 private:
  const World& world_;
  const Workload& workload_;
  std::string message_, paths_, priority_;
  std::shared_ptr<const Preemptor> preemptor_;
  QueueId queue_;     // of the last victim
  std::string path_;  // and its path
};

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
  command.admission = std::make_shared<const Admission>(build_admission(world, entry));
  command.settles_admitted = all_checks_listed(world, entry.queue, w, *command.admission);
  command.admitted = command.settles_admitted && fully_admitted(w, *command.admission);
  command.second_pass = r.reservation != nullptr;
  command.flavors_considered = flavors_considered(w, entry.assignment);
  if (entry.replaced.valid()) {
    command.replaced_slice = world.object(entry.replaced).key;
    command.cluster_name = world.object(entry.replaced).cluster_name;
  }
  cycle.plan.commands.push_back(std::move(command));
}

int32_t preempt(Cycle& cycle, Entry& entry) {
  World& world = cycle.world();
  int32_t count = 0;
  EvictCommands commands(world, entry);
  for (const Victim& victim : entry.victims) {
    if (victim.id == entry.replaced) continue;
    ++count;
    WorkloadRecord& r = world.record(victim.id);
    if (already_evicted(world, victim.id) || r.eviction_sent) continue;
    r.eviction_sent = true;
    cycle.plan.commands.push_back(commands(victim));
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
  out.cluster_queue = world.queues[entry.queue].name;
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
  reserve(world, entry.id(), entry.queue, command.admission, true, command.admitted, since);
}

}  // namespace kueue::engine
