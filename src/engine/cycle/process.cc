// Processing: one entry after the other against what the earlier ones left (behaviour.md 4.5).
#include <algorithm>

#include "engine/cycle/entry.h"
#include "engine/cycle/variants.h"
#include "engine/fairshare/admission.h"
#include "engine/topology/fit.h"

namespace kueue::engine {
namespace {

enum class Fits : uint8_t { kYes, kNoQuota, kNoPlace };

// With the victims of the cycle and its own out of the way.
Fits fits_now(Cycle& cycle, const Entry& entry) {
  World& world = cycle.world();
  Charge charge = charge_of(world, entry.id(), entry.assignment);
  Overlay::Mark mark = cycle.overlay.mark();
  for (WorkloadId id : cycle.preempted)
    if (!cycle.overlay.removed(id) && world.record(id).reservation) cycle.overlay.remove(id);
  for (const Victim& v : entry.victims)
    if (!cycle.overlay.removed(v.id)) cycle.overlay.remove(v.id);
  Fits result = Fits::kYes;
  for (const auto& [fr, amount] : charge.quota)
    if (world.forest.available(world.queues[entry.queue].node, fr) < amount)
      result = Fits::kNoQuota;
  if (result == Fits::kYes && !places_available(world, charge.placed)) result = Fits::kNoPlace;
  cycle.overlay.rollback(mark);
  return result;
}

bool overlaps(const Cycle& cycle, const Entry& entry) {
  return std::any_of(entry.victims.begin(), entry.victims.end(),
                     [&](const Victim& v) { return cycle.preempted.contains(v.id); });
}

RecomputeResult recompute_result(const Entry& entry) {
  switch (entry.assignment.mode()) {
    case FitMode::kDeferredFit:
      return RecomputeResult::kDeferredFit;
    case FitMode::kPreempt:
      return entry.victims.empty() ? RecomputeResult::kSkipped : RecomputeResult::kNewTargets;
    case FitMode::kNoFit:
    case FitMode::kFit:
      return RecomputeResult::kSkipped;
  }
  return RecomputeResult::kSkipped;
}

// The victims of the cycle are gone for good in this computation; what then simply fits has to wait
// for them.
void recompute_after_overlap(Cycle& cycle, Entry& entry) {
  World& world = cycle.world();
  Overlay::Mark mark = cycle.overlay.mark();
  for (WorkloadId id : cycle.preempted)
    if (!cycle.overlay.removed(id) && world.record(id).reservation) cycle.overlay.remove(id);
  nominate_again(cycle.overlay, entry);
  cycle.overlay.rollback(mark);
  entry.assignment.deferred = entry.assignment.mode() == FitMode::kFit;
  entry.contends = true;
  cycle.recomputations.emplace_back(world.queues[entry.queue].spec.name, recompute_result(entry));
}

// What an entry without victims keeps others from taking.
Usage reserved_for(const World& world, const Entry& entry) {
  const Forest& forest = world.forest;
  QuotaId node = world.queues[entry.queue].node;
  Usage out;
  for (const auto& [fr, amount] : charge_of(world, entry.id(), entry.assignment).quota) {
    Amount used = forest.usage(node, fr);
    Amount nominal = forest.nominal(node, fr);
    Amount keep = amount;
    if (entry.assignment.borrow > 0) {
      if (auto limit = forest.borrowing_limit(node, fr))
        keep = min(amount, nominal + *limit - used);
    } else {
      keep = max(Amount(), min(amount, nominal - used));
    }
    out.emplace_back(fr, keep);
  }
  return out;
}

void skip(Cycle& cycle, Entry& entry, std::string message) {
  entry.status = EntryStatus::kSkipped;
  entry.contends = true;
  entry.message = std::move(message);
  entry.pending = PendingReason::kWaitingForQuota;
  if (!cycle.world().gate(Gate::kFlavorFungibilityPreserveScanProgress))
    cycle.world().record(entry.id()).scan.reset();
}

void count_skip(Cycle& cycle, const Entry& entry) {
  ++cycle.skips[cycle.world().queues[entry.queue].spec.name];
}

bool preemption_is_gated(const World& world, const Entry& entry) {
  return (world.gate(Gate::kConcurrentAdmission) ||
          world.gate(Gate::kMultiKueueOrchestratedPreemption)) &&
         world.object(entry.id()).has_closed_preemption_gate();
}

// Victims that have to be told to go: all but the slice that is replaced.
bool has_real_victims(const Entry& entry) {
  return std::any_of(entry.victims.begin(), entry.victims.end(),
                     [&](const Victim& v) { return v.id != entry.replaced; });
}

void hold_capacity(Cycle& cycle, Entry& entry) {
  World& world = cycle.world();
  entry.requeue = RequeueReason::kPreemptionNoCandidates;
  entry.pending = PendingReason::kWaitingForQuota;
  bool prioritized = world.gate(Gate::kPrioritizePreemptorWorkloads) && entry.head.is_preemptor;
  bool can_always_reclaim =
      world.queues[entry.queue].spec.preemption.reclaim == ReclaimWithinCohort::kAny;
  if (can_always_reclaim && !prioritized) return;
  Charge charge = charge_of(world, entry.id(), entry.assignment);
  charge.quota = reserved_for(world, entry);
  entry.contends = true;
  cycle.overlay.charge(entry.queue, charge);
}

void issue_preemptions(Cycle& cycle, Entry& entry) {
  cycle.world().record(entry.id()).scan.reset();
  int32_t count = preempt(cycle, entry);
  entry.message += ". Pending the preemption of " + std::to_string(count) + " workload(s)";
  entry.requeue = RequeueReason::kPendingPreemption;
  entry.pending = PendingReason::kWaitingForPreemptedWorkloads;
}

// Those admitted before in this cycle are not ready either.
bool blocked_by_pods_ready(Cycle& cycle, const Entry& entry) {
  const World& world = cycle.world();
  if (!world.settings.block_admission || entry.head.second_pass) return false;
  return world.not_ready > 0 ||
         std::any_of(cycle.plan.commands.begin(), cycle.plan.commands.end(), [](const Command& c) {
           return std::holds_alternative<Admit>(c) && !std::get<Admit>(c).second_pass;
         });
}

bool failed_replacement(const World& world, const Entry& entry) {
  return world.gate(Gate::kTASFailedNodeReplacementFailFast) && entry.head.second_pass &&
         world.object(entry.id()).admitted() && needs_second_pass(world, entry.id()) &&
         entry.assignment.mode() != FitMode::kFit;
}

// True when the entry was settled: no assignment, no victims, or not now.
bool settle_without_fit(Cycle& cycle, Entry& entry, Fits fits) {
  World& world = cycle.world();
  FitMode mode = entry.assignment.mode();
  if (mode == FitMode::kNoFit) {
    entry.requeue = RequeueReason::kNoFit;
    entry.pending = entry.assignment.pending_reason();
    return true;
  }
  if (mode == FitMode::kPreempt && entry.victims.empty()) {
    hold_capacity(cycle, entry);
    return true;
  }
  if (mode == FitMode::kPreempt && has_real_victims(entry) && preemption_is_gated(world, entry)) {
    entry.status = EntryStatus::kPreemptionGated;
    entry.requeue = RequeueReason::kPreemptionGated;
    entry.pending = PendingReason::kAdmissionGated;
    entry.message = "Workload requires preemption, but it's gated";
    entry.blocked_on_gates = true;
    world.record(entry.id()).scan.reset();
    return true;
  }
  if (mode == FitMode::kDeferredFit) {
    entry.message =
        "Workload has overlapping preemption targets with another workload, but will fit after "
        "these preemptions "
        "complete";
    entry.requeue = RequeueReason::kPendingPreemption;
    entry.pending = PendingReason::kWaitingForPreemptedWorkloads;
    world.record(entry.id()).scan.reset();
    entry.contends = true;
    cycle.overlay.charge(entry.queue, charge_of(world, entry.id(), entry.assignment));
    return true;
  }
  if (overlaps(cycle, entry)) {
    skip(cycle, entry, "Workload has overlapping preemption targets with another workload");
    count_skip(cycle, entry);
    return true;
  }
  if (fits != Fits::kYes) {
    skip(cycle, entry, "Workload no longer fits after processing another workload");
    if (mode == FitMode::kPreempt) count_skip(cycle, entry);
    return true;
  }
  return false;
}

void decide(Cycle& cycle, Entry& entry) {
  World& world = cycle.world();
  if (favorable_variant_admitted(world, entry)) {
    skip(cycle, entry, "A more favorable variant is already admitted");
    entry.pending = PendingReason::kPendingEvaluation;
    return;
  }
  Fits fits = fits_now(cycle, entry);
  if (overlaps(cycle, entry) &&
      world.gate(Gate::kRecomputeAssignmentUponPreemptionTargetsOverlap)) {
    recompute_after_overlap(cycle, entry);
    fits = fits_now(cycle, entry);
  } else if (fits == Fits::kNoPlace &&
             world.gate(Gate::kTASRecomputeAssignmentWithinSchedulingCycle)) {
    nominate_again(cycle.overlay, entry);
    entry.contends = true;
    fits = fits_now(cycle, entry);
  }
  if (failed_replacement(world, entry)) return evict_for_failed_replacement(cycle, entry);
  if (settle_without_fit(cycle, entry, fits)) return;
  for (const Victim& v : entry.victims) cycle.preempted.insert(v.id);
  cycle.overlay.charge(entry.queue, charge_of(world, entry.id(), entry.assignment));
  entry.contends = true;
  if (entry.assignment.mode() == FitMode::kPreempt) return issue_preemptions(cycle, entry);
  if (blocked_by_pods_ready(cycle, entry)) {
    entry.status = EntryStatus::kSkipped;
    entry.pending = PendingReason::kWaitingForPodsReady;
    entry.message = "waiting for all admitted workloads to be in PodsReady condition";
    entry.waits_for_pods_ready = true;
    // It waits with this assignment: another look before pods are ready would begin with other
    // flavors, and could set it aside, where their readiness wakes nobody.
    world.record(entry.id()).scan.reset();
    world.record(entry.id()).looked_in_part = false;
    return;
  }
  if (migrate_variant(cycle, entry)) return;
  if (entry.head.second_pass && !world.record(entry.id()).reservation) {
    // Deactivated meanwhile: its object still has a reservation, the tables do not.
    entry.status = EntryStatus::kNominated;
    entry.message = "Failed to admit workload: workload " + world.object(entry.id()).key.text() +
                    " could not be added to the cache";
    return;
  }
  admit(cycle, entry);
}

}  // namespace

void process(Cycle& cycle, Entry& entry) {
  decide(cycle, entry);
  WorkloadRecord& r = cycle.world().record(entry.id());
  r.contends = entry.contends && entry.status != EntryStatus::kAssumed;
  r.contends_for_places =
      r.contends && std::any_of(entry.assignment.pod_sets.begin(), entry.assignment.pod_sets.end(),
                                [](const PodSetResult& ps) { return ps.topology != nullptr; });
  // Nobody asks for it any more: freed while it is at hand, not when all entries are.
  if (entry.status == EntryStatus::kAssumed && !cycle.explain &&
      !orders_by_usage(cycle.world(), entry.queue))
    entry.assignment = Assignment();
}

}  // namespace kueue::engine
