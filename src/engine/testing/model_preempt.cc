// The naive engine: who has to go (behaviour.md 8 and 9).
#include <algorithm>

#include "engine/testing/model.h"

namespace kueue::engine::testing {
namespace {

const Workload& object(const Tables& t, const Key& key) { return *t.items.at(key).w; }
const Held& held(const Tables& t, const Key& key) { return *t.items.at(key).held; }
bool evicted(const Tables& t, const Key& key) {
  return object(t, key).evicted() && !held(t, key).assumed;
}

struct Search {
  Snapshot s;  // as the search goes on
  const Tables& t;
  Key preemptor;
  std::string queue;
  FrAmounts usage;
  std::set<Fr> needed;
  const ClusterQueue& spec() const { return t.queues.at(queue); }
  TreeNode node() const { return {true, queue}; }

  bool within_quota(const TreeNode& n) const {
    for (const Fr& fr : needed)
      if (s.usage(n, fr) > s.subtree(n, fr)) return false;
    return true;
  }
  bool fits(bool may_borrow) const {
    for (const auto& [fr, amount] : usage) {
      if (amount > s.available(queue, fr)) return false;
      if (!may_borrow && s.borrowing_with(node(), fr, amount)) return false;
    }
    return true;
  }
  bool uses_needed(const Key& key) const {
    for (const auto& [fr, amount] : held(t, key).usage)
      if (amount > Amount() && needed.contains(fr)) return true;
    return false;
  }
  std::vector<Key> holders(const std::string& of) const {
    std::vector<Key> out;
    for (const auto& [key, item] : t.items)
      if (item.held && item.held->queue == of && key != preemptor && !s.removed.contains(key) &&
          uses_needed(key))
        out.push_back(key);
    return out;
  }
  bool own_may_go(const Key& key) const {
    return policy_allows(t, object(t, preemptor), object(t, key), spec().preemption.within);
  }
  bool other_may_go(const Key& key) const {
    return policy_allows(object(t, preemptor), object(t, key), spec().preemption.reclaim);
  }
};

void sort_candidates(const Search& x, std::vector<Key>& keys) {
  std::sort(keys.begin(), keys.end(),
            [&](const Key& a, const Key& b) { return candidate_before(x.t, x.queue, a, b); });
}

// From the second-last to the first: who is not needed stays.
void fill_back(Search& x, std::vector<ModelVictim>& found, bool may_borrow) {
  for (int i = static_cast<int>(found.size()) - 2; i >= 0; --i) {
    auto at = static_cast<size_t>(i);
    x.s.removed.erase(found[at].key);
    if (x.fits(may_borrow)) {
      found[at] = found.back();
      found.pop_back();
    } else {
      x.s.removed.insert(found[at].key);
    }
  }
}

struct Candidate {
  Key key;
  enum Class { kOwn, kHierarchical, kNotBorrowing, kBorrowing } cls = kOwn;
  TreeNode common;
};

// The request fits into the node's quota; what the node itself can give is taken off.
bool fits_in_quota(const Search& x, const TreeNode& node, FrAmounts& remaining) {
  bool fits = true;
  for (auto& [fr, amount] : remaining) {
    if (x.s.borrowing_with(node, fr, amount)) fits = false;
    amount = max(Amount(), amount - x.s.local_available(node, fr));
  }
  return fits;
}

void collect(const Search& x, const TreeNode& node, const TreeNode& skip, const TreeNode& common,
             bool advantage, std::vector<Candidate>& out) {
  for (const TreeNode& child : x.t.children(node)) {
    if (child == skip || x.within_quota(child)) continue;
    if (!child.queue) {
      collect(x, child, skip, common, advantage, out);
      continue;
    }
    if (!x.t.active(child.name)) continue;
    for (const Key& key : x.holders(child.name)) {
      if (!x.other_may_go(key)) continue;
      Candidate c{key, Candidate::kHierarchical, common};
      if (!advantage) {
        const BorrowWithinCohort& borrow = x.spec().preemption.borrow;
        int64_t theirs = object(x.t, key).effective_priority();
        bool low = borrow.lower_priority &&
                   theirs < object(x.t, x.preemptor).effective_priority() &&
                   (!borrow.max_priority_threshold || theirs <= *borrow.max_priority_threshold);
        c.cls = low ? Candidate::kBorrowing : Candidate::kNotBorrowing;
      }
      out.push_back(c);
    }
  }
}

std::vector<Candidate> classical_candidates(const Search& x) {
  std::vector<Candidate> all;
  if (x.spec().preemption.within != WithinClusterQueue::kNever)
    for (const Key& key : x.holders(x.queue))
      if (x.own_may_go(key)) all.push_back({key, Candidate::kOwn, {}});
  TreeNode up = x.t.parent(x.node());
  if (x.spec().preemption.reclaim != ReclaimWithinCohort::kNever && !up.none()) {
    FrAmounts remaining = x.usage;
    bool advantage = fits_in_quota(x, x.node(), remaining);
    TreeNode visited = x.node();
    for (; !up.none(); up = x.t.parent(up)) {
      collect(x, up, visited, up, advantage, all);
      if (fits_in_quota(x, up, remaining)) advantage = true;
      visited = up;
    }
  }
  auto rank = [&](const Candidate& c) {
    int cls = c.cls == Candidate::kHierarchical ? 0 : (c.cls == Candidate::kOwn ? 2 : 1);
    return (evicted(x.t, c.key) ? 0 : 3) + cls;
  };
  std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : candidate_before(x.t, x.queue, a.key, b.key);
  });
  return all;
}

bool still_exceeds(const Search& x, const Candidate& c) {
  for (TreeNode n{true, held(x.t, c.key).queue}; n != c.common; n = x.t.parent(n))
    if (x.within_quota(n)) return false;
  return true;
}

PreemptReason reason_of(Candidate::Class cls) {
  if (cls == Candidate::kOwn) return PreemptReason::kInClusterQueue;
  return cls == Candidate::kBorrowing ? PreemptReason::kInCohortReclaimWhileBorrowing
                                      : PreemptReason::kInCohortReclamation;
}

std::vector<ModelVictim> classical(const Search& start) {
  std::vector<Candidate> all = classical_candidates(start);
  bool others = false, hierarchical = false;
  for (const Candidate& c : all) {
    others = others || c.cls != Candidate::kOwn;
    hierarchical = hierarchical || c.cls == Candidate::kHierarchical;
  }
  bool forbidden = !start.spec().preemption.borrow.lower_priority;
  bool at_nominal = false;
  for (const Fr& fr : start.needed)
    if (start.s.usage(start.node(), fr) >= start.s.nominal(start.node(), fr)) at_nominal = true;
  std::vector<bool> attempts{true, false};
  if (!others || (forbidden && at_nominal))
    attempts = {true};
  else if (forbidden && !hierarchical)
    attempts = {false, true};
  for (bool may_borrow : attempts) {
    Search x = start;
    std::vector<ModelVictim> found;
    for (const Candidate& c : all) {
      if (may_borrow && c.cls == Candidate::kNotBorrowing) continue;
      if (c.cls != Candidate::kOwn && !still_exceeds(x, c)) continue;
      x.s.removed.insert(c.key);
      found.push_back({c.key, reason_of(c.cls)});
      if (!x.fits(may_borrow)) continue;
      fill_back(x, found, may_borrow);
      return found;
    }
  }
  return {};
}

class Fair {
 public:
  explicit Fair(const Search& start) : x_(start), t_(start.t) {}

  std::vector<ModelVictim> run() {
    std::vector<Key> all;
    if (x_.spec().preemption.within != WithinClusterQueue::kNever)
      for (const Key& key : x_.holders(x_.queue))
        if (x_.own_may_go(key)) all.push_back(key);
    TreeNode root = t_.root(x_.node());
    if (x_.spec().preemption.reclaim != ReclaimWithinCohort::kNever)
      for (const std::string& queue : t_.queues_below(root))
        if (queue != x_.queue && t_.active(queue) && borrows_needed(queue))
          for (const Key& key : x_.holders(queue))
            if (x_.other_may_go(key)) all.push_back(key);
    if (all.empty()) return {};
    sort_candidates(x_, all);
    begin(all);
    x_.s.extra.emplace_back(x_.queue, x_.usage);
    const auto& strategies = t_.settings.fair_sharing->strategies;
    nominal_ = within_nominal();
    bool initial =
        !strategies.empty() && strategies.front() == FairPreemptionStrategy::kLessThanInitialShare;
    bool fits = first_pass(initial);
    if (!fits && strategies.size() != 1) fits = second_pass();
    x_.s.extra.pop_back();
    if (!fits) return {};
    fill_back(x_, found_, true);
    return found_;
  }

 private:
  bool borrows_needed(const std::string& queue) const {
    for (const Fr& fr : x_.needed)
      if (x_.s.usage({true, queue}, fr) > x_.s.nominal({true, queue}, fr)) return true;
    return false;
  }

  void begin(const std::vector<Key>& all) {
    left_.clear();
    pruned_.clear();
    for (const Key& key : all) left_[held(t_, key).queue].push_back(key);
  }

  // Adds the victim; true when the preemptor fits then.
  bool take(const Key& key, PreemptReason reason) {
    x_.s.removed.insert(key);
    found_.push_back({key, reason});
    Search without = x_;
    without.s.extra.pop_back();
    return without.fits(true);
  }

  Key pop(const std::string& queue) {
    Key key = left_[queue].front();
    left_[queue].erase(left_[queue].begin());
    return key;
  }

  bool on_own_path(const TreeNode& node) const {
    for (TreeNode n = x_.node(); !n.none(); n = t_.parent(n))
      if (n == node) return true;
    return false;
  }

  std::string next_queue() {
    TreeNode root = t_.root(x_.node());
    if (root == x_.node()) return left_[x_.queue].empty() ? "" : x_.queue;
    while (!pruned_.contains(root))
      if (std::string queue = next_below(root); !queue.empty()) return queue;
    return "";
  }

  std::string next_below(const TreeNode& cohort) {
    std::optional<TreeNode> best_queue, best_cohort;
    for (const TreeNode& child : t_.children(cohort)) {
      if (pruned_.contains(child)) continue;
      ModelShare share = share_of(x_.s, child);
      if (!child.queue) {
        if (!share.borrowing && !on_own_path(child))
          pruned_.insert(child);
        else if (!best_cohort || compare_shares(share, share_of(x_.s, *best_cohort)) > 0)
          best_cohort = child;
        continue;
      }
      if (!t_.active(child.name)) continue;
      bool own = child == x_.node();
      if (left_[child.name].empty() || (!share.borrowing && !own)) {
        pruned_.insert(child);
        continue;
      }
      if (best_queue) {
        int order = compare_shares(share, share_of(x_.s, *best_queue));
        bool earlier = candidate_before(t_, x_.queue, left_[child.name].front(),
                                        left_[best_queue->name].front());
        if (order < 0 || (order == 0 && !earlier)) continue;
      }
      best_queue = child;
    }
    if (!best_queue && !best_cohort) {
      pruned_.insert(cohort);
      return "";
    }
    if (best_cohort && (!best_queue || compare_shares(share_of(x_.s, *best_cohort),
                                                      share_of(x_.s, *best_queue)) >= 0))
      return next_below(*best_cohort);
    return best_queue->name;
  }

  // The two children of the lowest common ancestor.
  std::pair<TreeNode, TreeNode> below_common(const std::string& queue) const {
    for (TreeNode a = x_.node(); !a.none(); a = t_.parent(a))
      for (TreeNode b{true, queue}; !b.none(); b = t_.parent(b))
        if (t_.parent(a) == t_.parent(b)) return {a, b};
    return {};
  }

  bool within_nominal() const {
    if (!t_.gate(Gate::kFairSharingPreemptWithinNominal)) return false;
    for (const Fr& fr : x_.needed)
      if (x_.s.usage(x_.node(), fr) > x_.s.nominal(x_.node(), fr)) return false;
    return true;
  }

  bool first_pass(bool initial) {
    for (std::string queue = next_queue(); !queue.empty(); queue = next_queue()) {
      if (queue == x_.queue) {
        if (take(pop(queue), PreemptReason::kInClusterQueue)) return true;
        continue;
      }
      if (nominal_) {
        if (take(pop(queue), PreemptReason::kInCohortReclamation)) return true;
        continue;
      }
      auto [mine, theirs] = below_common(queue);
      ModelShare my_share = share_of(x_.s, mine), old_share = share_of(x_.s, theirs);
      bool taken = false, fits = false;
      while (!taken && !left_[queue].empty()) {
        Key key = pop(queue);
        Snapshot without = x_.s;
        without.removed.insert(key);
        bool pass = initial ? compare_shares(my_share, old_share) < 0
                            : compare_shares(my_share, share_of(without, theirs)) <= 0;
        if (pass) {
          taken = true;
          fits = take(key, PreemptReason::kInCohortFairSharing);
        } else {
          retry_.push_back(key);
        }
      }
      if (fits) return true;
    }
    return false;
  }

  bool second_pass() {
    begin(retry_);
    for (std::string queue = next_queue(); !queue.empty(); queue = next_queue()) {
      if (queue != x_.queue) {
        auto [mine, theirs] = below_common(queue);
        if (compare_shares(share_of(x_.s, mine), share_of(x_.s, theirs)) < 0 &&
            take(pop(queue), PreemptReason::kInCohortFairSharing))
          return true;
      }
      left_[queue].clear();  // one chance each
    }
    return false;
  }

  Search x_;
  const Tables& t_;
  bool nominal_ = false;  // with the preemptor, before anybody goes
  std::map<std::string, std::vector<Key>> left_;
  std::set<TreeNode> pruned_;
  std::vector<ModelVictim> found_;
  std::vector<Key> retry_;
};

}  // namespace

bool candidate_before(const Tables& t, const std::string& own_queue, const Key& a, const Key& b) {
  if (evicted(t, a) != evicted(t, b)) return evicted(t, a);
  const Held& x = held(t, a);
  const Held& y = held(t, b);
  bool a_own = x.queue == own_queue, b_own = y.queue == own_queue;
  if (a_own != b_own) return b_own;
  const Workload& v = object(t, a);
  const Workload& w = object(t, b);
  if (x.queue == y.queue && t.fair_queue(x.queue) && t.local_usage(v) != t.local_usage(w))
    return t.local_usage(v) > t.local_usage(w);
  if (v.effective_priority() != w.effective_priority())
    return v.effective_priority() < w.effective_priority();
  if (x.since != y.since) return x.since > y.since;
  return v.uid != w.uid ? v.uid < w.uid : v.key < w.key;
}

bool policy_allows(const Tables& t, const Workload& p, const Workload& c,
                   WithinClusterQueue policy) {
  int64_t mine = p.effective_priority(), theirs = c.effective_priority();
  if (policy == WithinClusterQueue::kNever) return false;
  if (policy == WithinClusterQueue::kLowerPriority) return mine > theirs;
  return mine > theirs || (mine == theirs && t.timestamp(p) < t.timestamp(c));
}

bool policy_allows(const Workload& p, const Workload& c, ReclaimWithinCohort policy) {
  if (policy == ReclaimWithinCohort::kNever) return false;
  return policy == ReclaimWithinCohort::kAny || p.effective_priority() > c.effective_priority();
}

std::vector<ModelVictim> victims(const Snapshot& s, const Key& preemptor, const std::string& queue,
                                 const FrAmounts& usage, const std::set<Fr>& needed) {
  Search start{s, *s.t, preemptor, queue, usage, needed};
  return s.t->settings.fair_sharing ? Fair(start).run() : classical(start);
}

}  // namespace kueue::engine::testing
