// The naive engine: one cycle over every head (behaviour.md 4, 5, 10).
#include <algorithm>

#include "engine/testing/model.h"

namespace kueue::engine::testing {
namespace {

struct Entry {
  Key key;
  std::string queue;
  bool preemptor = false;
  ModelAssignment assignment;
  std::vector<ModelVictim> victims;
  std::optional<Key> replaced;
  Decision d;
  bool blocked_on_gates = false;
};

class Round {
 public:
  Round(Tables& t, Plan& plan) : t_(t), plan_(plan), s_{&t, {}, {}} {}

  void nominate(Entry& e) {
    Item& item = t_.items.at(e.key);
    const Workload& w = *item.w;
    if (item.scan) {
      bool outdated = t_.states.at(e.queue).generation != item.scan->generation;
      if (t_.gate(Gate::kFlavorFungibilityPreserveScanProgress)) {
        if (item.scan->digest != t_.digest(w))
          outdated = true;
        else if (t_.cycle - item.scan->cycle <= 1)
          outdated = false;
      }
      if (outdated) item.scan.reset();
    }
    if (t_.gate(Gate::kElasticJobsViaWorkloadSlices) && w.elastic && w.replaces)
      if (auto old = t_.items.find(*w.replaces);
          old != t_.items.end() && old->second.held && !old->second.w->finished())
        e.replaced = *w.replaces;
    e.d.nominated = true;
    compute(s_, e, nullptr);
    item.scan = e.assignment.scan;
  }

  Entry* next(std::vector<Entry*>& left) {
    if (left.empty()) return nullptr;
    Entry* best = t_.settings.fair_sharing ? tournament(left) : left.front();
    if (!t_.settings.fair_sharing)
      for (Entry* e : left)
        if (classical_before(*e, *best)) best = e;
    std::erase(left, best);
    return best;
  }

  void process(Entry& e) {
    settle(e);
    e.d.mode = e.assignment.mode();
    e.d.borrow = e.assignment.borrow;
  }

 private:
  void settle(Entry& e) {
    if (auto sibling = admitted_sibling(e);
        sibling && rank(e.queue, *sibling) < rank(e.queue, e.key)) {
      skip(e, "A more favorable variant is already admitted");
      e.d.pending = PendingReason::kPendingEvaluation;
      return;
    }
    bool fits = fits_now(e);
    if (overlaps(e) && t_.gate(Gate::kRecomputeAssignmentUponPreemptionTargetsOverlap)) {
      Item& item = t_.items.at(e.key);
      item.scan.reset();
      Snapshot without = s_;
      without.removed.insert(preempted_.begin(), preempted_.end());
      ModelAssignment nominated = e.assignment;
      compute(without, e, &nominated);
      item.scan = e.assignment.scan;
      e.assignment.deferred = e.assignment.mode() == FitMode::kFit;
      RecomputeResult result = RecomputeResult::kSkipped;
      if (e.assignment.deferred) result = RecomputeResult::kDeferredFit;
      if (e.assignment.mode() == FitMode::kPreempt && !e.victims.empty())
        result = RecomputeResult::kNewTargets;
      plan_.why.recomputations.emplace_back(e.queue, result);
      fits = fits_now(e);
    }
    decide(e, fits);
  }

  // Variants: where the flavor of one stands in the order of the queue, -1 = nowhere.
  int rank(const std::string& queue, const std::string& flavor) const {
    int at = 0;
    for (const ResourceGroup& group : t_.queues.at(queue).groups)
      for (const FlavorQuotas& f : group.flavors) {
        if (f.flavor == flavor) return at;
        ++at;
      }
    return -1;
  }

  int rank(const std::string& queue, const Key& variant) const {
    const auto& allowed = t_.items.at(variant).w->allowed_flavors;
    return allowed.empty() ? -1 : rank(queue, std::string(allowed.front()));
  }

  std::optional<Key> admitted_sibling(const Entry& e) const {
    const Workload& w = *t_.items.at(e.key).w;
    if (!t_.gate(Gate::kConcurrentAdmission) || w.variant_parent_uid.empty()) return std::nullopt;
    for (const auto& [key, item] : t_.items)
      if (key != e.key && item.held && item.held->queue == e.queue && item.held->admitted &&
          item.w->variant_parent_uid == w.variant_parent_uid)
        return key;
    return std::nullopt;
  }

  // The sibling with the lesser flavor goes first, if the queue wants that flavor at all.
  void migrate(Entry& e, const Key& sibling) {
    const auto& policy = t_.queues.at(e.queue).concurrent_admission;
    if (policy && !policy->last_acceptable_flavor.empty()) {
      const int last = rank(e.queue, policy->last_acceptable_flavor);
      if (last >= 0 && rank(e.queue, e.key) > last) {
        e.d.message = "Target flavor is below LastAcceptableFlavorName";
        e.d.pending = PendingReason::kPendingEvaluation;
        return;
      }
    }
    Item& old = t_.items.at(sibling);
    if (!old.eviction_sent && !(old.w->evicted() && !old.held->assumed)) {
      old.eviction_sent = true;
      Evict out;
      out.key = sibling;
      out.reason = EvictReason::kFlavorMigration;
      out.preemptor = std::make_shared<const Preemptor>(Preemptor{e.key, {}});
      plan_.commands.push_back(out);
    }
    t_.items.at(e.key).scan.reset();
    e.d.message += ". Pending the migration of 1 workload(s)";
    e.d.requeue = RequeueReason::kPendingMigration;
    e.d.pending = PendingReason::kWaitingForPreemptedWorkloads;
  }

  bool gated(const Entry& e) const {
    if (!t_.gate(Gate::kConcurrentAdmission) && !t_.gate(Gate::kMultiKueueOrchestratedPreemption))
      return false;
    for (const PreemptionGate& gate : t_.items.at(e.key).w->preemption_gates)
      if (!gate.open) return true;
    return false;
  }

  ModelAssignment attempt(const Snapshot& s, const Entry& e, const std::vector<int32_t>& counts,
                          const ModelAssignment* pinned, std::vector<ModelVictim>& found) {
    ModelAssignment a = assign(s, {&t_.items.at(e.key), e.queue, counts, pinned, e.replaced});
    found.clear();
    if (a.mode() != FitMode::kPreempt) return a;
    std::set<Fr> needed;
    for (const ModelPodSet& ps : a.pod_sets)
      for (const auto& [resource, chosen] : ps.flavors)
        if (chosen.mode != PreemptMode::kFit) needed.insert({chosen.flavor, resource});
    // Kueue chooses victims by what the pods request, not by how many pods there are.
    FrAmounts usage = a.usage;
    std::erase_if(usage, [](const auto& entry) { return entry.first.second == "pods"; });
    found = victims(s, e.key, e.queue, usage, needed);
    return a;
  }

  static bool feasible(const ModelAssignment& a, const std::vector<ModelVictim>& found) {
    return a.mode() == FitMode::kFit || (a.mode() == FitMode::kPreempt && !found.empty());
  }

  void compute(const Snapshot& s, Entry& e, const ModelAssignment* pinned) {
    const Workload& w = *t_.items.at(e.key).w;
    ModelAssignment a = attempt(s, e, {}, pinned, e.victims);
    std::vector<int64_t> deltas;
    int64_t total = 0;
    for (const PodSet& ps : w.pod_sets) {
      deltas.push_back(std::max(0, ps.count - ps.min_count.value_or(ps.count)));
      total += deltas.back();
    }
    if (!feasible(a, e.victims) && t_.gate(Gate::kPartialAdmission) && total > 0) {
      auto at = [&](int64_t step, std::vector<ModelVictim>& found) {
        std::vector<int32_t> counts;
        for (size_t i = 0; i < deltas.size(); ++i)
          counts.push_back(w.pod_sets[i].count - static_cast<int32_t>(deltas[i] * step / total));
        return attempt(s, e, counts, pinned, found);
      };
      int64_t low = 0, high = total + 1;  // the smallest step that is feasible, by halving
      std::vector<ModelVictim> found;
      while (low < high) {
        int64_t middle = (low + high) / 2;
        ModelAssignment fewer = at(middle, found);
        if (feasible(fewer, found))
          high = middle;
        else
          low = middle + 1;
      }
      if (low <= total) {
        ModelAssignment fewer = at(low, found);
        if (feasible(fewer, found)) {
          a = fewer;
          e.victims = found;
        }
      }
    }
    // The replaced slice goes with whoever else has to go; alone it does not make room.
    if (e.replaced && feasible(a, e.victims)) {
      bool listed = false;
      for (const ModelVictim& v : e.victims) listed = listed || v.key == *e.replaced;
      if (!listed) e.victims.push_back({*e.replaced, PreemptReason::kNone});
    }
    e.assignment = a;
    e.d.message = a.message(w);
  }

  bool overlaps(const Entry& e) const {
    for (const ModelVictim& v : e.victims)
      if (preempted_.contains(v.key)) return true;
    return false;
  }

  bool fits_now(const Entry& e) const {
    Snapshot s = s_;
    s.removed.insert(preempted_.begin(), preempted_.end());
    for (const ModelVictim& v : e.victims) s.removed.insert(v.key);
    for (const auto& [fr, amount] : e.assignment.usage)
      if (amount > s.available(e.queue, fr)) return false;
    return true;
  }

  void skip(Entry& e, const std::string& message) {
    e.d.status = EntryStatus::kSkipped;
    e.d.message = message;
    e.d.pending = PendingReason::kWaitingForQuota;
    if (!t_.gate(Gate::kFlavorFungibilityPreserveScanProgress)) t_.items.at(e.key).scan.reset();
  }

  void keep(Entry& e) {
    e.d.requeue = RequeueReason::kPreemptionNoCandidates;
    e.d.pending = PendingReason::kWaitingForQuota;
    const ClusterQueue& q = t_.queues.at(e.queue);
    bool prioritized = t_.gate(Gate::kPrioritizePreemptorWorkloads) && e.preemptor;
    if (q.preemption.reclaim == ReclaimWithinCohort::kAny && !prioritized) return;
    FrAmounts kept;
    TreeNode node{true, e.queue};
    for (const auto& [fr, amount] : e.assignment.usage) {
      Amount free = s_.nominal(node, fr) - s_.usage(node, fr);
      if (e.assignment.borrow == 0) {
        kept[fr] = max(Amount(), min(amount, free));
      } else {
        auto limit = s_.borrowing_limit(node, fr);
        kept[fr] = limit ? min(amount, free + *limit) : amount;
      }
    }
    s_.extra.emplace_back(e.queue, kept);
  }

  bool real_victims(const Entry& e) const {
    for (const ModelVictim& v : e.victims)
      if (e.replaced != v.key) return true;
    return false;
  }

  void decide(Entry& e, bool fits) {
    Item& item = t_.items.at(e.key);
    FitMode mode = e.assignment.mode();
    if (mode == FitMode::kNoFit) {
      e.d.requeue = RequeueReason::kNoFit;
      e.d.pending = e.assignment.pending();
      return;
    }
    if (mode == FitMode::kPreempt && e.victims.empty()) return keep(e);
    if (mode == FitMode::kPreempt && real_victims(e) && gated(e)) {
      e.d.status = EntryStatus::kPreemptionGated;
      e.d.requeue = RequeueReason::kPreemptionGated;
      e.d.pending = PendingReason::kAdmissionGated;
      e.d.message = "Workload requires preemption, but it's gated";
      e.blocked_on_gates = true;
      item.scan.reset();
      return;
    }
    if (mode == FitMode::kDeferredFit) {
      e.d.message =
          "Workload has overlapping preemption targets with another workload, but will fit after "
          "these preemptions complete";
      e.d.requeue = RequeueReason::kPendingPreemption;
      e.d.pending = PendingReason::kWaitingForPreemptedWorkloads;
      item.scan.reset();
      s_.extra.emplace_back(e.queue, e.assignment.usage);
      return;
    }
    if (overlaps(e))
      return skip(e, "Workload has overlapping preemption targets with another workload");
    if (!fits) return skip(e, "Workload no longer fits after processing another workload");
    for (const ModelVictim& v : e.victims) preempted_.insert(v.key);
    s_.extra.emplace_back(e.queue, e.assignment.usage);
    if (mode == FitMode::kPreempt) return preempt(e);
    if (t_.settings.block_admission && somebody_not_ready()) {
      e.d.status = EntryStatus::kSkipped;
      e.d.pending = PendingReason::kWaitingForPodsReady;
      e.d.message = "waiting for all admitted workloads to be in PodsReady condition";
      item.scan.reset();
      return;
    }
    if (auto sibling = admitted_sibling(e)) return migrate(e, *sibling);
    admit(e);
  }

  bool somebody_not_ready() const {
    for (const auto& [key, item] : t_.items)
      if (item.held && !item.w->is_true(ConditionType::kPodsReady)) return true;
    for (const Command& c : plan_.commands)
      if (std::holds_alternative<Admit>(c)) return true;
    return false;
  }

  void preempt(Entry& e) {
    t_.items.at(e.key).scan.reset();
    int count = 0;
    for (const ModelVictim& v : e.victims) {
      if (e.replaced == v.key) continue;
      ++count;
      Item& victim = t_.items.at(v.key);
      if (victim.eviction_sent || (victim.w->evicted() && !victim.held->assumed)) continue;
      victim.eviction_sent = true;
      Evict out;
      out.key = v.key;
      out.preempt_reason = v.reason;
      out.preemptor = std::make_shared<const Preemptor>(Preemptor{e.key, {}});
      plan_.commands.push_back(out);
    }
    e.d.message += ". Pending the preemption of " + std::to_string(count) + " workload(s)";
    e.d.requeue = RequeueReason::kPendingPreemption;
    e.d.pending = PendingReason::kWaitingForPreemptedWorkloads;
  }

  void admit(Entry& e) {
    const Workload& w = *t_.items.at(e.key).w;
    e.d.status = EntryStatus::kAssumed;
    e.d.message.clear();
    Admit out;
    out.key = e.key;
    Admission admission{e.queue, {}};
    for (const ModelPodSet& ps : e.assignment.pod_sets) {
      PodSetAssignment a;
      a.name = w.pod_sets[ps.index].name;
      a.count = ps.count;
      for (const auto& [resource, chosen] : ps.flavors) {
        a.flavors.emplace_back(resource, chosen.flavor);
        a.usage.emplace_back(resource, ps.requests.at(resource).value());
      }
      admission.pod_sets.push_back(a);
    }
    out.admitted = t_.checks_listed(w, admission);
    for (const CheckStatus& check : w.checks)
      out.admitted = out.admitted && check.state == CheckState::kReady;
    out.admission = std::make_shared<const Admission>(std::move(admission));
    if (e.replaced) out.replaced_slice = *e.replaced;
    plan_.commands.push_back(out);
  }

  int by_time_and_name(const Entry& a, const Entry& b) const {
    const Workload& x = *t_.items.at(a.key).w;
    const Workload& y = *t_.items.at(b.key).w;
    if (t_.timestamp(x) != t_.timestamp(y)) return t_.timestamp(x) < t_.timestamp(y) ? -1 : 1;
    return a.key < b.key ? -1 : (b.key < a.key ? 1 : 0);
  }

  int by_gates(const Entry& a, const Entry& b) const {
    if (t_.gate(Gate::kPrioritizePreemptorWorkloads) && a.preemptor != b.preemptor)
      return a.preemptor ? -1 : 1;
    return 0;
  }

  int by_priority(const Entry& a, const Entry& b) const {
    int64_t x = t_.items.at(a.key).w->effective_priority();
    int64_t y = t_.items.at(b.key).w->effective_priority();
    if (!t_.gate(Gate::kPrioritySortingWithinCohort) || x == y) return 0;
    return x > y ? -1 : 1;
  }

  bool classical_before(const Entry& a, const Entry& b) const {
    if (int c = by_gates(a, b); c != 0) return c < 0;
    if (a.assignment.borrow != b.assignment.borrow)
      return a.assignment.borrow < b.assignment.borrow;
    if (int c = by_priority(a, b); c != 0) return c < 0;
    return by_time_and_name(a, b) < 0;
  }

  // The winner below a node; `at` is how the winner shows itself at the node's parent.
  Entry* winner(const TreeNode& node, const std::vector<Entry*>& field) {
    if (node.queue) {
      for (Entry* e : field)
        if (e->queue == node.name) return e;
      return nullptr;
    }
    Entry* best = nullptr;
    TreeNode best_child;
    for (const TreeNode& child : t_.children(node)) {
      Entry* e = winner(child, field);
      if (e == nullptr) continue;
      if (best == nullptr || fair_before(*e, child, *best, best_child)) {
        best = e;
        best_child = child;
      }
    }
    return best;
  }

  bool fair_before(const Entry& a, const TreeNode& a_node, const Entry& b,
                   const TreeNode& b_node) const {
    if (int c = by_gates(a, b); c != 0) return c < 0;
    Snapshot with_a = s_, with_b = s_;
    with_a.extra.emplace_back(a.queue, a.assignment.usage);
    with_b.extra.emplace_back(b.queue, b.assignment.usage);
    if (t_.gate(Gate::kFairSharingPrioritizeNonBorrowing)) {
      bool x = borrows(with_a, a_node, a), y = borrows(with_b, b_node, b);
      if (x != y) return y;
    }
    int c = compare_shares(share_of(with_a, a_node), share_of(with_b, b_node));
    if (c != 0) return c < 0;
    if (int p = by_priority(a, b); p != 0) return p < 0;
    return by_time_and_name(a, b) < 0;
  }

  static bool borrows(const Snapshot& s, const TreeNode& node, const Entry& e) {
    for (const auto& [fr, amount] : e.assignment.usage)
      if (s.borrowing_with(node, fr, Amount())) return true;
    return false;
  }

  // Trees one after the other by the name of their root, in each the tournament.
  Entry* tournament(const std::vector<Entry*>& left) {
    std::map<std::pair<std::string, bool>, TreeNode> roots;
    for (Entry* e : left) {
      TreeNode root = t_.root({true, e->queue});
      roots[{root.name, root.queue}] = root;
    }
    return winner(roots.begin()->second, left);
  }

  Tables& t_;
  Plan& plan_;
  Snapshot s_;
  std::set<Key> preempted_;
};

bool rejected(const Tables& t, Entry& e) {
  const Workload& w = *t.items.at(e.key).w;
  const ClusterQueue& q = t.queues.at(e.queue);
  for (const CheckStatus& check : w.checks)
    if (check.state == CheckState::kRetry || check.state == CheckState::kRejected) {
      e.d.pending = PendingReason::kPendingEvaluation;
      e.d.message = "The workload has failed admission checks";
      return true;
    }
  auto labels = t.namespaces.find(w.key.namespace_);
  if (labels != t.namespaces.end() && q.namespace_selector &&
      matches(*q.namespace_selector, labels->second))
    return false;
  e.d.requeue = RequeueReason::kNamespaceMismatch;
  e.d.pending = PendingReason::kMisconfigured;
  e.d.message = labels == t.namespaces.end()
                    ? "namespace " + w.key.namespace_ + " not found"
                    : "workload namespace doesn't match ClusterQueue selector";
  return true;
}

}  // namespace

// Of this queue, waiting in it, not set aside.
Item* Model::find_active_preemptor(const std::string& queue) {
  const std::optional<Key>& preemptor = t_.states[queue].preemptor;
  auto it = preemptor ? t_.items.find(*preemptor) : t_.items.end();
  if (it == t_.items.end()) return nullptr;
  Item& item = it->second;
  return item.place == Item::Place::kActive && item.waits_in == queue ? &item : nullptr;
}

Plan Model::plan(Instant now) {
  t_.now = std::max(t_.now, now);
  ++t_.cycle;
  Plan out;
  std::vector<Entry> entries, turned_away;
  for (const auto& [name, queue] : t_.queues) {
    if (!t_.active(name)) continue;
    Item* head = nullptr;
    for (auto& [key, item] : t_.items)
      if (item.place == Item::Place::kActive && item.waits_in == name &&
          (head == nullptr || t_.pops_before(item, *head)))
        head = &item;
    if (head == nullptr) continue;
    QueueState& state = t_.states[name];
    if (Item* waits = t_.fair_queue(name) ? find_active_preemptor(name) : nullptr)
      if (head->w->preempted_again_for(waits->w->uid)) head = waits;
    head->place = Item::Place::kFlight;
    ++state.pops;
    Entry e;
    e.key = head->w->key;
    e.queue = name;
    e.preemptor = state.preemptor == e.key && state.preemptor_generation == head->w->generation;
    (rejected(t_, e) ? turned_away : entries).push_back(e);
  }
  Round round(t_, out);
  std::vector<Entry*> left, done;
  for (Entry& e : entries) {
    round.nominate(e);
    left.push_back(&e);
  }
  while (Entry* e = round.next(left)) {
    round.process(*e);
    done.push_back(e);
  }
  std::sort(turned_away.begin(), turned_away.end(),
            [](const Entry& a, const Entry& b) { return a.key < b.key; });
  for (Entry& e : turned_away) done.push_back(&e);
  for (const Command& c : out.commands)
    if (const auto* a = std::get_if<Admit>(&c)) {
      Item& item = t_.items.at(a->key);
      item.place = Item::Place::kNone;
      hold(item, a->admission->cluster_queue, *a->admission, true, a->admitted, t_.now);
    }
  for (Entry* e : done) {
    e->d.key = e->key;
    e->d.cluster_queue = e->queue;
    if (e->d.status != EntryStatus::kAssumed) {
      if (e->d.status != EntryStatus::kNotNominated && e->d.requeue == RequeueReason::kGeneric)
        e->d.requeue = RequeueReason::kFailedAfterNomination;
      requeue(t_.items.at(e->key), e->d.requeue, e->d.pending);
    }
    if (e->blocked_on_gates) {
      SetPending told;
      told.key = e->key;
      told.blocked_on_gates = true;
      out.commands.push_back(told);
    }
    out.why.decisions.push_back(e->d);
  }
  return out;
}

}  // namespace kueue::engine::testing
