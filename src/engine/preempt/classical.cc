// Classical preemption: within the ClusterQueue, reclaim from the cohort tree, and preemption while
// borrowing (behaviour.md 8).
#include <algorithm>

#include "engine/preempt/preempt.h"

namespace kueue::engine {
namespace {

enum class Class : uint8_t { kOwnQueue, kHierarchical, kWithoutBorrowing, kWhileBorrowing };

struct Candidate {
  CandidateRank rank;
  Class cls = Class::kOwnQueue;
  QuotaId common;  // lowest common ancestor with the preemptor; invalid for the own queue
};

bool within_quota(const PreemptContext& context, QuotaId node) {
  const Forest& forest = context.world().forest;
  return std::all_of(context.request.needed.begin(), context.request.needed.end(), [&](FrId fr) {
    return forest.usage(node, fr) <= forest.subtree_quota(node, fr);
  });
}

class Candidates {
 public:
  explicit Candidates(const PreemptContext& context) : context_(context), world_(context.world()) {
    collect_tree();
    collect_own();
    order();
  }
  const std::vector<Candidate>& all() const { return all_; }
  bool none_from_others() const { return hierarchical_.empty() && priority_.empty(); }
  bool none_hierarchical() const { return hierarchical_.empty(); }

 private:
  void collect_own() {
    VictimPolicy policy = within_policy(context_.queue);
    if (policy == VictimPolicy::kNever) return;
    for (WorkloadId id : context_.queue.reserved)
      if (usable(id, policy)) own_.push_back({rank_of(context_, id), Class::kOwnQueue, QuotaId()});
  }

  bool usable(WorkloadId id, VictimPolicy policy) const {
    return id != context_.request.preemptor && !context_.overlay.removed(id) &&
           uses_needed(context_, id) && satisfies(context_, id, policy);
  }

  // Walks from the parent to the root. Once a subtree holds the request, what is outside of it is
  // taken with advantage.
  void collect_tree() {
    const Forest& forest = world_.forest;
    if (reclaim_policy(context_.queue) == VictimPolicy::kNever ||
        !forest.has_parent(context_.node()))
      return;
    Usage remaining = context_.request.usage;
    bool advantage = fits_in_quota(context_.node(), remaining);
    QuotaId visited = context_.node();
    for (QuotaId node = forest.at(context_.node()).parent; node.valid();
         node = forest.at(node).parent) {
      collect_subtree(node, node, visited, advantage);
      bool fits = fits_in_quota(node, remaining);
      advantage = advantage || fits;
      visited = node;
    }
  }

  // Also takes what the node can give by itself off the remaining amounts.
  bool fits_in_quota(QuotaId node, Usage& remaining) const {
    const Forest& forest = world_.forest;
    bool fits = true;
    for (auto& [fr, amount] : remaining) {
      if (forest.borrowing_with(node, fr, amount)) fits = false;
      amount = kueue::max(Amount(), amount - forest.local_available(node, fr));
    }
    return fits;
  }

  void collect_subtree(QuotaId node, QuotaId common, QuotaId skip, bool advantage) {
    const QuotaNode& cohort = world_.forest.at(node);
    for (uint32_t position : cohort.borrowers) {
      QuotaId child = cohort.children[position];
      if (child == skip || within_quota(context_, child)) continue;
      if (!world_.forest.at(child).queue) {
        collect_subtree(child, common, skip, advantage);
        continue;
      }
      if (!world_.forest.at(child).active) continue;
      QueueId queue = world_.queue_of_node[child.value];
      for (WorkloadId id : world_.queues[queue].reserved) {
        if (!usable(id, reclaim_policy(context_.queue))) continue;
        Candidate candidate{rank_of(context_, id), classify(id, advantage), common};
        (advantage ? hierarchical_ : priority_).push_back(candidate);
      }
    }
  }

  Class classify(WorkloadId id, bool advantage) const {
    if (advantage) return Class::kHierarchical;
    const BorrowWithinCohort& borrow = context_.queue.spec.preemption.borrow;
    int64_t priority = world_.object(id).effective_priority();
    if (!borrow.lower_priority) return Class::kWithoutBorrowing;
    if (borrow.max_priority_threshold && priority > *borrow.max_priority_threshold)
      return Class::kWithoutBorrowing;
    if (priority >= world_.object(context_.request.preemptor).effective_priority())
      return Class::kWithoutBorrowing;
    return Class::kWhileBorrowing;
  }

  void order() {
    auto before = [](const Candidate& a, const Candidate& b) { return a.rank.before(b.rank); };
    for (auto* list : {&hierarchical_, &priority_, &own_})
      std::sort(list->begin(), list->end(), before);
    for (bool evicted : {true, false})
      for (auto* list : {&hierarchical_, &priority_, &own_})
        for (const Candidate& c : *list)
          if (c.rank.evicted == evicted) all_.push_back(c);
  }

  const PreemptContext& context_;
  const World& world_;
  std::vector<Candidate> hierarchical_;
  std::vector<Candidate> priority_;
  std::vector<Candidate> own_;
  std::vector<Candidate> all_;
};

// Still worth taking: its queue and what lies below the common ancestor still exceed their quota.
bool still_valid(const PreemptContext& context, const Candidate& c, bool allow_borrowing) {
  if (c.cls == Class::kOwnQueue) return true;
  if (allow_borrowing && c.cls == Class::kWithoutBorrowing) return false;
  const Forest& forest = context.world().forest;
  QuotaId node = context.world().queues[c.rank.queue].node;
  for (; node.valid() && node != c.common; node = forest.at(node).parent)
    if (within_quota(context, node)) return false;
  return true;
}

PreemptReason reason_of(Class cls) {
  switch (cls) {
    case Class::kOwnQueue:
      return PreemptReason::kInClusterQueue;
    case Class::kHierarchical:
    case Class::kWithoutBorrowing:
      return PreemptReason::kInCohortReclamation;
    case Class::kWhileBorrowing:
      return PreemptReason::kInCohortReclaimWhileBorrowing;
  }
  return PreemptReason::kNone;
}

bool under_nominal(const PreemptContext& context) {
  const Forest& forest = context.world().forest;
  return std::all_of(context.request.needed.begin(), context.request.needed.end(), [&](FrId fr) {
    return forest.usage(context.node(), fr) < forest.nominal(context.node(), fr);
  });
}

}  // namespace

std::vector<Victim> classical_victims(const PreemptContext& context) {
  Candidates candidates(context);
  bool forbidden = !context.queue.spec.preemption.borrow.lower_priority;
  std::vector<bool> attempts;  // may the preemptor borrow?
  if (candidates.none_from_others() || (forbidden && !under_nominal(context)))
    attempts = {true};
  else if (forbidden && candidates.none_hierarchical())
    attempts = {false, true};
  else
    attempts = {true, false};
  for (bool allow_borrowing : attempts) {
    Overlay::Mark mark = context.overlay.mark();
    std::vector<Victim> victims;
    for (const Candidate& c : candidates.all()) {
      if (!still_valid(context, c, allow_borrowing)) continue;
      context.overlay.remove(c.rank.id);
      victims.push_back({c.rank.id, reason_of(c.cls)});
      if (!preemptor_fits(context, allow_borrowing)) continue;
      fill_back(context, victims, allow_borrowing);
      return victims;
    }
    context.overlay.rollback(mark);
  }
  return {};
}

}  // namespace kueue::engine
