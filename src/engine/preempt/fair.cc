// Fair-sharing preemption: takes from whoever has the largest share, as long as the strategy allows
// (behaviour.md 9).
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "engine/fairshare/share.h"
#include "engine/preempt/preempt.h"

namespace kueue::engine {
namespace {

using CandidateLists =
    std::map<uint32_t, std::vector<WorkloadId>>;  // by quota node of the queue; first = next

class FairPreemption {
 public:
  explicit FairPreemption(const PreemptContext& context)
      : context_(context), world_(context.world()), forest_(world_.forest) {}

  std::vector<Victim> run();

 private:
  std::vector<WorkloadId> collect() const;
  bool borrows_needed(QuotaId queue) const;
  CandidateLists by_queue(const std::vector<WorkloadId>& candidates) const;
  void start(CandidateLists lists);
  // The queue to take from next; invalid when there is none left.
  QuotaId next_queue();
  QuotaId next_below(QuotaId cohort);
  std::vector<QuotaId> contenders(QuotaId cohort) const;
  WorkloadId pop(QuotaId queue);
  bool has_candidates(QuotaId queue) const;
  bool on_own_path(QuotaId node) const;
  bool first_pass(FairPreemptionStrategy strategy);
  bool second_pass();
  bool take(WorkloadId id, PreemptReason reason);
  bool fits();
  bool within_nominal() const;
  // The children of the lowest common ancestor on the preemptor's and on the target's side.
  std::pair<QuotaId, QuotaId> below_common(QuotaId target) const;
  // Kept until somebody below goes.
  const Share& share(QuotaId node);
  void forget_shares(WorkloadId gone);
  Share share_without(QuotaId node, WorkloadId id);

  const PreemptContext& context_;
  const World& world_;
  const Forest& forest_;
  std::unordered_map<uint32_t, Share> shares_;  // by quota node
  CandidateLists lists_;
  std::set<uint32_t> pruned_;
  std::vector<Victim> victims_;
  std::vector<WorkloadId> retry_;
  bool nominal_ = false;  // within nominal quota with the preemptor, before anybody goes
};

bool FairPreemption::borrows_needed(QuotaId queue) const {
  return std::any_of(context_.request.needed.begin(), context_.request.needed.end(), [&](FrId fr) {
    return forest_.usage(queue, fr) > forest_.nominal(queue, fr);
  });
}

std::vector<WorkloadId> FairPreemption::collect() const {
  std::vector<CandidateRank> ranks;
  auto take_from = [&](const QueueRecord& queue, VictimPolicy policy) {
    for (WorkloadId id : queue.reserved)
      if (id != context_.request.preemptor && !context_.overlay.removed(id) &&
          satisfies(context_, id, policy) && uses_needed(context_, id))
        ranks.push_back(rank_of(context_, id));
  };
  if (VictimPolicy policy = within_policy(context_.queue); policy != VictimPolicy::kNever)
    take_from(context_.queue, policy);
  VictimPolicy policy = reclaim_policy(context_.queue);
  if (forest_.has_parent(context_.node()) && policy != VictimPolicy::kNever)
    for (QuotaId node : forest_.queues_below(forest_.at(context_.node()).root))
      if (node != context_.node() && forest_.at(node).active && borrows_needed(node))
        take_from(world_.queues[world_.queue_of_node[node.value]], policy);
  std::sort(ranks.begin(), ranks.end(),
            [](const CandidateRank& a, const CandidateRank& b) { return a.before(b); });
  std::vector<WorkloadId> out;
  out.reserve(ranks.size());
  for (const CandidateRank& rank : ranks) out.push_back(rank.id);
  return out;
}

CandidateLists FairPreemption::by_queue(const std::vector<WorkloadId>& candidates) const {
  CandidateLists lists;
  for (WorkloadId id : candidates)
    lists[world_.queues[world_.record(id).reservation->queue].node.value].push_back(id);
  for (auto& [node, list] : lists) std::reverse(list.begin(), list.end());  // popped from the back
  return lists;
}

void FairPreemption::start(CandidateLists lists) {
  lists_ = std::move(lists);
  pruned_.clear();
}

bool FairPreemption::has_candidates(QuotaId queue) const {
  auto it = lists_.find(queue.value);
  return it != lists_.end() && !it->second.empty();
}

WorkloadId FairPreemption::pop(QuotaId queue) {
  std::vector<WorkloadId>& list = lists_[queue.value];
  WorkloadId id = list.back();
  list.pop_back();
  return id;
}

bool FairPreemption::on_own_path(QuotaId node) const {
  for (QuotaId id = context_.node(); id.valid(); id = forest_.at(id).parent)
    if (id == node) return true;
  return false;
}

QuotaId FairPreemption::next_queue() {
  if (!forest_.has_parent(context_.node()))
    return has_candidates(context_.node()) ? context_.node() : QuotaId();
  QuotaId root = forest_.at(context_.node()).root;
  while (!pruned_.contains(root.value))
    if (QuotaId queue = next_below(root); queue.valid()) return queue;
  return QuotaId();
}

// Who may have to give: children that borrow, and the one on the preemptor's own path, in order.
std::vector<QuotaId> FairPreemption::contenders(QuotaId cohort) const {
  const QuotaNode& node = forest_.at(cohort);
  QuotaId own = context_.node();
  while (own.valid() && forest_.at(own).parent != cohort) own = forest_.at(own).parent;
  bool own_is_in = !own.valid();
  std::vector<QuotaId> out;
  out.reserve(node.borrowers.size() + 1);
  for (uint32_t position : node.borrowers) {
    QuotaId child = node.children[position];
    if (!own_is_in && forest_.at(own).position <= position) {
      if (child != own) out.push_back(own);
      own_is_in = true;
    }
    out.push_back(child);
  }
  if (!own_is_in) out.push_back(own);
  return out;
}

QuotaId FairPreemption::next_below(QuotaId cohort) {
  QuotaId best_queue, best_cohort;
  Share queue_share, cohort_share;
  for (QuotaId child : contenders(cohort)) {
    if (pruned_.contains(child.value) || (forest_.at(child).queue && !forest_.at(child).active))
      continue;
    Share s = share(child);
    if (forest_.at(child).queue) {
      if ((!s.borrowing && child != context_.node()) || !has_candidates(child)) {
        pruned_.insert(child.value);
        continue;
      }
      int order = best_queue.valid() ? compare(s, queue_share) : 1;
      bool earlier = order == 0 && candidate_before(context_, lists_[child.value].back(),
                                                    lists_[best_queue.value].back());
      if (order <= 0 && !earlier) continue;
      best_queue = child;
      queue_share = s;
    } else {
      if (!s.borrowing && !on_own_path(child)) {
        pruned_.insert(child.value);
        continue;
      }
      if (best_cohort.valid() && compare(s, cohort_share) <= 0) continue;
      best_cohort = child;
      cohort_share = s;
    }
  }
  if (!best_queue.valid() && !best_cohort.valid()) {
    pruned_.insert(cohort.value);
    return QuotaId();
  }
  if (best_cohort.valid() && (!best_queue.valid() || compare(cohort_share, queue_share) >= 0))
    return next_below(best_cohort);
  return best_queue;
}

std::pair<QuotaId, QuotaId> FairPreemption::below_common(QuotaId target) const {
  QuotaId own = context_.node();
  while (forest_.at(own).depth > forest_.at(target).depth) own = forest_.at(own).parent;
  while (forest_.at(target).depth > forest_.at(own).depth) target = forest_.at(target).parent;
  while (forest_.at(own).parent != forest_.at(target).parent) {
    own = forest_.at(own).parent;
    target = forest_.at(target).parent;
  }
  return {own, target};
}

const Share& FairPreemption::share(QuotaId node) {
  auto [it, fresh] = shares_.try_emplace(node.value);
  if (fresh) it->second = share_of(world_.names, forest_, node);
  return it->second;
}

void FairPreemption::forget_shares(WorkloadId gone) {
  QuotaId node = world_.queues[world_.record(gone).reservation->queue].node;
  for (; node.valid(); node = forest_.at(node).parent) shares_.erase(node.value);
}

Share FairPreemption::share_without(QuotaId node, WorkloadId id) {
  Overlay::Mark mark = context_.overlay.mark();
  context_.overlay.remove(id);
  Share s = share_of(world_.names, forest_, node);
  context_.overlay.rollback(mark);
  return s;
}

bool FairPreemption::within_nominal() const {
  return world_.gate(Gate::kFairSharingPreemptWithinNominal) &&
         std::all_of(context_.request.needed.begin(), context_.request.needed.end(), [&](FrId fr) {
           return forest_.usage(context_.node(), fr) <= forest_.nominal(context_.node(), fr);
         });
}

bool FairPreemption::fits() {
  Overlay::Mark mark = context_.overlay.mark();
  context_.overlay.discharge(context_.request.queue, {context_.request.usage, {}});
  bool result = preemptor_fits(context_, true);
  context_.overlay.rollback(mark);
  return result;
}

bool FairPreemption::take(WorkloadId id, PreemptReason reason) {
  context_.overlay.remove(id);
  forget_shares(id);
  victims_.push_back({id, reason});
  return fits();
}

bool FairPreemption::first_pass(FairPreemptionStrategy strategy) {
  for (QuotaId queue = next_queue(); queue.valid(); queue = next_queue()) {
    if (queue == context_.node()) {
      if (take(pop(queue), PreemptReason::kInClusterQueue)) return true;
      continue;
    }
    if (nominal_) {
      if (take(pop(queue), PreemptReason::kInCohortReclamation)) return true;
      continue;
    }
    auto [own, target] = below_common(queue);
    Share own_share = share(own);
    Share old_share = share(target);
    while (has_candidates(queue)) {
      WorkloadId id = pop(queue);
      bool pass = strategy == FairPreemptionStrategy::kLessThanOrEqualToFinalShare
                      ? compare(own_share, share_without(target, id)) <= 0
                      : compare(own_share, old_share) < 0;
      if (!pass) {
        retry_.push_back(id);
        continue;
      }
      if (take(id, PreemptReason::kInCohortFairSharing)) return true;
      break;  // shares have changed: pick again
    }
  }
  return false;
}

bool FairPreemption::second_pass() {
  start(by_queue(retry_));
  for (QuotaId queue = next_queue(); queue.valid(); queue = next_queue()) {
    if (queue != context_.node()) {
      auto [own, target] = below_common(queue);
      if (compare(share(own), share(target)) < 0 &&
          take(pop(queue), PreemptReason::kInCohortFairSharing))
        return true;
    }
    lists_.erase(queue.value);  // one chance per queue
  }
  return false;
}

std::vector<Victim> FairPreemption::run() {
  std::vector<WorkloadId> candidates = collect();
  if (candidates.empty()) return {};
  const std::vector<FairPreemptionStrategy>& configured = world_.settings.fair_sharing->strategies;
  bool both = configured.empty() || configured.size() > 1;
  FairPreemptionStrategy first = configured.empty()
                                     ? FairPreemptionStrategy::kLessThanOrEqualToFinalShare
                                     : configured.front();
  // Shares are those with the preemptor in.
  Charge preemptor{context_.request.usage, {}};
  context_.overlay.charge(context_.request.queue, preemptor);
  start(by_queue(candidates));
  nominal_ = within_nominal();
  if (!first_pass(first) && !(both && second_pass())) return {};
  context_.overlay.discharge(context_.request.queue, preemptor);
  fill_back(context_, victims_, true);
  return std::move(victims_);
}

}  // namespace

std::vector<Victim> fair_victims(const PreemptContext& context) {
  return FairPreemption(context).run();
}

}  // namespace kueue::engine
