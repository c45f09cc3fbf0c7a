// Chooses flavors: pod set by pod set, resource group by resource group, flavor by flavor
// (behaviour.md 6).
#include <algorithm>

#include "engine/flavor/assignment.h"
#include "engine/flavor/match.h"
#include "engine/preempt/simulate.h"
#include "engine/queue/digest.h"
#include "engine/topology/assign.h"

namespace kueue::engine {
namespace {

// (mode, borrow) of a flavor: how good it is.
struct Quality {
  PreemptMode mode = PreemptMode::kNoFit;
  int32_t borrow = 0;
};

bool viable(PreemptMode mode) { return mode > PreemptMode::kNoCandidates; }

bool better(const Quality& a, const Quality& b, FungibilityPreference preference) {
  if (!viable(a.mode) || !viable(b.mode)) {
    if (a.mode != b.mode) return a.mode > b.mode;
    return a.mode != PreemptMode::kNoFit && a.borrow < b.borrow;
  }
  if (preference == FungibilityPreference::kBorrowingOverPreemption)
    return a.mode != b.mode ? a.mode > b.mode : a.borrow < b.borrow;
  return a.borrow != b.borrow ? a.borrow < b.borrow : a.mode > b.mode;
}

// The worse one of two resources in one flavor.
bool worse(const Quality& a, const Quality& b, FungibilityPreference preference) {
  return better(b, a, preference);
}

bool try_next(const Quality& q, const Fungibility& f) {
  if (!viable(q.mode)) return true;
  if ((q.mode == PreemptMode::kPreempt || q.mode == PreemptMode::kReclaim) &&
      f.when_can_preempt == FungibilityPolicy::kTryNextFlavor)
    return true;
  return q.borrow > 0 && f.when_can_borrow == FungibilityPolicy::kTryNextFlavor;
}

PendingReason more_severe(PendingReason a, PendingReason b) {
  return severity(b) > severity(a) ? b : a;
}

template <typename T>
void append(SlimVector<T>& to, SlimVector<T> more) {
  if (to.empty()) {
    to = std::move(more);
    return;
  }
  for (T& item : more) to.push_back(std::move(item));
}

// Pod sets that share flavors.
struct PodSetGroup {
  InlineVector<size_t, 2> members;  // pod set indexes
  ResourceList requests;            // summed
};

class Assigner {
 public:
  Assigner(Overlay& overlay, WorkloadId id, QueueId queue, const AssignOptions& options)
      : overlay_(overlay),
        world_(overlay.world()),
        id_(id),
        record_(world_.record(id)),
        workload_(*record_.object),
        queue_(world_.queues[queue]),
        queue_id_(queue),
        options_(options) {}

  Assignment run();

 private:
  // Places, when there are flavors for all pod sets.
  Assignment finish(bool assigned);
  void collect_requests();
  // Some ClusterQueue has a resource group for it.
  bool known_anywhere(ResourceId resource) const;
  bool assign_group(const PodSetGroup& group);
  // Flavors for all resources of the group of `resource`; empty = none fits.
  FlavorChoices find_flavors(const PodSetGroup& group, ResourceId resource, PodSetResult& status);
  std::optional<Reason> mismatch(const PodSetGroup& group, const GroupRecord& resources,
                                 FlavorId flavor) const;
  std::optional<Reason> excluded(const PodSetGroup& group, FlavorId flavor,
                                 const ResourceList& requests) const;
  // `held` is what a replaced slice gives back.
  Quality fit(FrId fr, Amount request, Amount held, SlimVector<Reason>& reasons,
              PendingReason& no_fit);
  int32_t first_to_try(const PodSetGroup& group, ResourceId resource) const;
  Amount replaced_request(const PodSetGroup& group, ResourceId resource) const;
  FlavorId replaced_flavor(const PodSetGroup& group, ResourceId resource) const;
  bool may_preempt_while_borrowing() const;

  Overlay& overlay_;
  World& world_;
  WorkloadId id_;
  const WorkloadRecord& record_;
  const Workload& workload_;
  const QueueRecord& queue_;
  QueueId queue_id_;
  const AssignOptions& options_;
  SlimVector<PodSetResult> results_;
  Assignment assignment_;
};

void Assigner::collect_requests() {
  ResourceId pods = world_.names.resource("pods");
  bool covers_pods = queue_.group_of(pods) != nullptr;
  for (size_t i = 0; i < workload_.pod_sets.size(); ++i) {
    PodSetResult result;
    result.index = i;
    result.count = options_.counts.empty()
                       ? effective_count(world_, workload_, workload_.pod_sets[i])
                       : options_.counts[i];
    for (const auto& [resource, amount] : world_.shapes[record_.shapes[i]].requests)
      result.requests.emplace_back(resource, amount * result.count);
    if (covers_pods) {
      erase_if(result.requests, [&](const auto& e) { return e.first == pods; });
      world_.names.add(result.requests, pods, Amount(result.count));
    }
    if (record_.reservation)
      keep_admission(world_, *record_.reservation, workload_.pod_sets[i], result);
    results_.push_back(std::move(result));
  }
}

Assignment Assigner::run() {
  collect_requests();
  assignment_.scan.queue_generation = world_.generation_of(queue_id_);
  assignment_.scan.cycle = world_.cycle;
  assignment_.scan.digest = record_.digest;
  if (workload_.pod_sets.size() == 1) return finish(assign_group({{0}, results_.front().requests}));
  std::vector<PodSetGroup> groups;
  std::vector<std::string> names;
  for (size_t i = 0; i < workload_.pod_sets.size(); ++i) {
    const PodSet& ps = workload_.pod_sets[i];
    std::string name =
        ps.topology && !ps.topology->pod_set_group.empty() ? ps.topology->pod_set_group : "";
    size_t g =
        name.empty()
            ? names.size()
            : static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (g == names.size()) {
      names.push_back(name);
      groups.emplace_back();
    }
    groups[g].members.push_back(i);
    for (const auto& [resource, amount] : results_[i].requests)
      world_.names.add(groups[g].requests, resource, amount);
  }
  for (const PodSetGroup& group : groups)
    if (!assign_group(group)) return finish(false);
  return finish(true);
}

Assignment Assigner::finish(bool assigned) {
  if (assigned && world_.gate(Gate::kTopologyAwareScheduling) &&
      assignment_.mode() != FitMode::kNoFit)
    assign_topology(overlay_, id_, queue_id_, options_.replaced, assignment_);
  return std::move(assignment_);
}

bool Assigner::known_anywhere(ResourceId resource) const {
  return std::any_of(world_.queues.begin(), world_.queues.end(), [&](const QueueRecord& q) {
    return q.exists && q.group_of(resource) != nullptr;
  });
}

bool Assigner::assign_group(const PodSetGroup& group) {
  PodSetResult status;  // of the whole group
  FlavorChoices flavors;
  bool failed = false;
  bool kept = !results_[group.members.front()].flavors.empty();
  auto unavailable = [&](ResourceId resource) {
    failed = true;
    status.no_fit = PendingReason::kNoMatchingFlavor;
    status.reasons = {
        {ReasonKind::kResourceUnavailable, {}, world_.names.text(resource), {}, {}, {}, {}}};
  };
  bool all_covered = world_.settings.ignore_undeclared && world_.gate(Gate::kQuotaCheckStrategy);
  // The first resource group that fails speaks alone. First come resources that no ClusterQueue
  // knows, then the others; each from the last by name to the first.
  for (size_t i = group.requests.size(); i-- > 0 && !kept && !failed && !all_covered;) {
    const auto& [resource, amount] = group.requests[i];
    if (!amount.is_zero() && queue_.group_of(resource) == nullptr && !known_anywhere(resource))
      unavailable(resource);
  }
  for (size_t i = group.requests.size(); i-- > 0 && !kept && !failed;) {
    const auto& [resource, amount] = group.requests[i];
    if (std::any_of(flavors.begin(), flavors.end(),
                    [&](const auto& f) { return f.resource == resource; }))
      continue;
    if (queue_.group_of(resource) == nullptr) {
      if (!amount.is_zero() && !all_covered) unavailable(resource);
      continue;
    }
    PodSetResult found;
    FlavorChoices choices = find_flavors(group, resource, found);
    status.no_fit = more_severe(status.no_fit, found.no_fit);
    append(status.attempts, std::move(found.attempts));
    failed = choices.empty();
    if (failed) status.reasons.clear();
    append(status.reasons, std::move(found.reasons));
    for (const FlavorChoice& choice : choices) flavors.push_back(choice);
  }
  if (failed) flavors.clear();
  for (size_t member : group.members) {
    PodSetResult& result = results_[member];
    bool last = member == group.members.back();
    if (!kept) {
      for (const FlavorChoice& choice : flavors)
        if (std::any_of(result.requests.begin(), result.requests.end(),
                        [&](const auto& e) { return e.first == choice.resource; }))
          result.flavors.push_back(choice);
      std::sort(result.flavors.begin(), result.flavors.end(), [&](const auto& a, const auto& b) {
        return world_.names.text(a.resource) < world_.names.text(b.resource);
      });
      result.reasons = last ? std::move(status.reasons) : status.reasons;
      result.attempts = last ? std::move(status.attempts) : status.attempts;
      result.no_fit = status.no_fit;
    }
    ScanProgress::Tried tried;
    for (const FlavorChoice& choice : result.flavors) {
      assignment_.borrow = std::max(assignment_.borrow, choice.borrow);
      add(assignment_.quota, world_.names.fr(choice.flavor, choice.resource),
          get(result.requests, choice.resource));
      tried.emplace_back(choice.resource, choice.tried);
    }
    assignment_.scan.tried.push_back(std::move(tried));
    if (results_.size() == 1)
      assignment_.pod_sets = std::move(results_);
    else
      assignment_.pod_sets.push_back(std::move(result));
  }
  return !failed;
}

// Never behind the last flavor: who looks at none would need none.
int32_t Assigner::first_to_try(const PodSetGroup& group, ResourceId resource) const {
  if (!world_.gate(Gate::kFlavorFungibility) || !record_.scan || options_.pinned != nullptr)
    return 0;
  size_t index = group.members.front();
  if (index >= record_.scan->tried.size()) return 0;
  for (const auto& [r, tried] : record_.scan->tried[index])
    if (r == resource) {
      const auto flavors = static_cast<int32_t>(queue_.group_of(resource)->flavors.size());
      return tried + 1 < flavors ? tried + 1 : 0;
    }
  return 0;
}

std::optional<Reason> Assigner::excluded(const PodSetGroup& group, FlavorId flavor,
                                         const ResourceList& requests) const {
  Reason reason;
  reason.flavor = world_.names.text(flavor);
  if (options_.pinned != nullptr) {
    for (const auto& [resource, amount] : requests) {
      for (size_t member : group.members) {
        if (member >= options_.pinned->pod_sets.size()) continue;
        const FlavorChoice* nominated = options_.pinned->pod_sets[member].choice(resource);
        if (nominated == nullptr || nominated->flavor == flavor) continue;
        reason.kind = ReasonKind::kPinned;
        reason.resource = world_.names.text(resource);
        return reason;
      }
    }
  }
  const auto& allowed = workload_.allowed_flavors;
  if (world_.gate(Gate::kConcurrentAdmission) && !allowed.empty() &&
      std::find(allowed.begin(), allowed.end(), reason.flavor) == allowed.end()) {
    reason.kind = ReasonKind::kNotAllowed;
    return reason;
  }
  return std::nullopt;
}

std::optional<Reason> Assigner::mismatch(const PodSetGroup& group, const GroupRecord& resources,
                                         FlavorId flavor) const {
  bool topology = std::any_of(group.members.begin(), group.members.end(), [&](size_t i) {
    return requests_topology(world_, workload_.pod_sets[i]);
  });
  for (size_t member : group.members)
    if (auto reason = flavor_mismatch(world_, queue_, resources, flavor, workload_,
                                      workload_.pod_sets[member], topology))
      return reason;
  return std::nullopt;
}

Amount Assigner::replaced_request(const PodSetGroup& group, ResourceId resource) const {
  if (!options_.replaced.valid() || !world_.record(options_.replaced).reservation) return Amount();
  Amount sum;
  for (const PodSetAssignment& ps :
       world_.record(options_.replaced).reservation->admission->pod_sets)
    for (size_t member : group.members)
      if (ps.name == workload_.pod_sets[member].name)
        sum += Amount(amount_of(ps.usage, world_.names.text(resource)));
  return sum;
}

FlavorId Assigner::replaced_flavor(const PodSetGroup& group, ResourceId resource) const {
  if (!options_.replaced.valid() || !world_.record(options_.replaced).reservation)
    return FlavorId();
  for (const PodSetAssignment& ps :
       world_.record(options_.replaced).reservation->admission->pod_sets) {
    if (ps.name != workload_.pod_sets[group.members.front()].name) continue;
    for (const auto& [r, flavor] : ps.flavors)
      if (r == world_.names.text(resource)) return world_.names.find_flavor(flavor);
  }
  return FlavorId();
}

bool Assigner::may_preempt_while_borrowing() const {
  return queue_.spec.preemption.borrow.lower_priority ||
         (world_.settings.fair_sharing &&
          queue_.spec.preemption.reclaim != ReclaimWithinCohort::kNever);
}

Quality Assigner::fit(FrId fr, Amount request, Amount held, SlimVector<Reason>& reasons,
                      PendingReason& no_fit) {
  const Forest& forest = world_.forest;
  const FlavorResource& parts = world_.names.parts(fr);
  Amount assumed = get(assignment_.quota, fr);
  Amount value = assumed + request - held;
  Amount capacity = forest.potential_available(queue_.node, fr);
  Reason reason;
  reason.flavor = world_.names.text(parts.flavor);
  reason.resource = world_.names.text(parts.resource);
  if (value > capacity) {
    reason.kind = ReasonKind::kExceedsCapacity;
    reason.a = assumed;
    reason.b = value - assumed;
    reason.c = capacity;
    reasons.push_back(std::move(reason));
    no_fit = more_severe(no_fit, PendingReason::kExceedsMaxQuota);
    return {PreemptMode::kNoFit, 0};
  }
  Forest::Subtree subtree = forest.lowest_subtree_that_fits(queue_.node, fr, value);
  Amount available = forest.available(queue_.node, fr);
  if (value <= available) return {PreemptMode::kFit, subtree.height};
  reason.kind = ReasonKind::kWaitingForQuota;
  reason.a = value - available;
  reasons.push_back(std::move(reason));
  no_fit = more_severe(no_fit, PendingReason::kWaitingForQuota);
  if (value <= forest.nominal(queue_.node, fr) || subtree.below_root ||
      may_preempt_while_borrowing()) {
    Simulation simulation = simulate_preemption(overlay_, id_, queue_id_, fr, value,
                                                &assignment_.searches.emplace_back());
    return {simulation.mode, simulation.borrow};
  }
  return {PreemptMode::kNoFit, subtree.height};
}

FlavorChoices Assigner::find_flavors(const PodSetGroup& group, ResourceId resource,
                                     PodSetResult& status) {
  const GroupRecord& resources = *queue_.group_of(resource);
  const Fungibility& fungibility = queue_.spec.fungibility;
  bool fungible = world_.gate(Gate::kFlavorFungibility);
  ResourceList requests;
  for (const auto& entry : group.requests)
    if (std::find(resources.covered.begin(), resources.covered.end(), entry.first) !=
        resources.covered.end())
      requests.push_back(entry);
  SlimVector<Reason> reasons;
  FlavorChoices best;
  Quality best_quality;
  PendingReason least_severe = PendingReason::kNone;
  auto note_no_fit = [&](PendingReason r) {
    if (least_severe == PendingReason::kNone || severity(r) < severity(least_severe))
      least_severe = r;
  };
  int32_t attempted = -1;
  for (int32_t i = first_to_try(group, resource);
       i < static_cast<int32_t>(resources.flavors.size()); ++i) {
    attempted = i;
    FlavorId flavor = resources.flavors[static_cast<size_t>(i)];
    FlavorAttempt attempt;
    attempt.no_fit = PendingReason::kNone;
    attempt.flavor = world_.names.text(flavor);
    std::optional<Reason> no = excluded(group, flavor, requests);
    if (!no) no = mismatch(group, resources, flavor);
    if (no) {
      attempt.no_fit = PendingReason::kNoMatchingFlavor;
      attempt.reasons.push_back(*no);
      reasons.push_back(std::move(*no));
      note_no_fit(PendingReason::kNoMatchingFlavor);
      status.attempts.push_back(std::move(attempt));
      continue;
    }
    FlavorChoices choices;
    Quality representative{PreemptMode::kFit, 0};
    for (const auto& [r, amount] : requests) {
      FlavorId old = replaced_flavor(group, r);
      Quality quality;
      bool other_flavor = old.valid() && old != flavor;
      if (other_flavor) {
        attempt.reasons.push_back(
            {ReasonKind::kSliceFlavor, attempt.flavor, {}, world_.names.text(old), {}, {}, {}});
        attempt.no_fit = PendingReason::kNoMatchingFlavor;
      }
      // Its quota is looked at all the same, with nothing of the original workload to count on.
      Amount held = old == flavor ? replaced_request(group, r) : Amount();
      quality = fit(world_.names.fr(flavor, r), amount, held, attempt.reasons, attempt.no_fit);
      if (other_flavor) quality = {};
      attempt.borrow = std::max(attempt.borrow, quality.borrow);
      if (worse(quality, representative, fungibility.preference)) representative = quality;
      choices.push_back({r, flavor, quality.mode, quality.borrow, -1});
    }
    attempt.mode = representative.mode;
    for (const Reason& reason : attempt.reasons) reasons.push_back(reason);
    if (representative.mode == PreemptMode::kNoFit) {
      note_no_fit(attempt.no_fit);
      choices.clear();
    }
    status.attempts.push_back(std::move(attempt));
    if (fungible && !try_next(representative, fungibility)) {
      best = std::move(choices);
      best_quality = representative;
      break;
    }
    bool prefer = fungible ? better(representative, best_quality, fungibility.preference)
                           : representative.mode > best_quality.mode;
    if (prefer) {
      best = std::move(choices);
      best_quality = representative;
    }
    if (!fungible && best_quality.mode == PreemptMode::kFit) break;
  }
  status.no_fit = least_severe;
  bool at_end = attempted == static_cast<int32_t>(resources.flavors.size()) - 1;
  for (FlavorChoice& choice : best) choice.tried = !fungible ? 0 : (at_end ? -1 : attempted);
  if (best_quality.mode != PreemptMode::kFit) append(status.reasons, std::move(reasons));
  return best;
}

}  // namespace

int severity(PendingReason reason) {
  switch (reason) {
    case PendingReason::kNoMatchingFlavor:
      return 4;
    case PendingReason::kExceedsMaxQuota:
      return 3;
    case PendingReason::kWaitingForQuota:
      return 2;
    case PendingReason::kTopologyPlacementFailed:
      return 1;
    case PendingReason::kNone:
    case PendingReason::kPendingEvaluation:
    case PendingReason::kWaitingForPreemptedWorkloads:
    case PendingReason::kMisconfigured:
    case PendingReason::kSuspended:
    case PendingReason::kWaitingForPodsReady:
    case PendingReason::kAdmissionGated:
      return 0;
  }
  return 0;
}

Assignment assign_flavors(Overlay& overlay, WorkloadId id, QueueId queue,
                          const AssignOptions& options) {
  return Assigner(overlay, id, queue, options).run();
}

}  // namespace kueue::engine
