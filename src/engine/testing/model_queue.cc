// The naive engine: events, who waits where, who comes back when (behaviour.md 3).
#include <algorithm>

#include "engine/testing/model.h"

namespace kueue::engine::testing {
namespace {

// What a scan of flavors goes through.
std::vector<std::vector<std::string>> flavor_names(const ClusterQueue& queue) {
  std::vector<std::vector<std::string>> names;
  for (const ResourceGroup& group : queue.groups) {
    names.push_back(group.covered);
    names.emplace_back();
    for (const FlavorQuotas& flavor : group.flavors) names.back().push_back(flavor.flavor);
  }
  return names;
}

enum class Phase { kPending, kReserved, kAdmitted, kFinished };

Phase phase(const Workload& w) {
  if (w.finished()) return Phase::kFinished;
  if (w.admitted()) return Phase::kAdmitted;
  return w.is_true(ConditionType::kQuotaReserved) ? Phase::kReserved : Phase::kPending;
}

bool same_condition(const Workload& a, const Workload& b, ConditionType type) {
  const Condition* x = a.condition(type);
  const Condition* y = b.condition(type);
  return x == nullptr || y == nullptr ? x == y : *x == *y;
}

bool same_gates(const Workload& a, const Workload& b) {
  std::vector<bool> x, y;
  for (const PreemptionGate& gate : a.preemption_gates) x.push_back(gate.open);
  for (const PreemptionGate& gate : b.preemption_gates) y.push_back(gate.open);
  return x == y;
}

bool spec_or_reclaimable_changed(const Workload& a, const Workload& b) {
  if (a.priority != b.priority || a.active != b.active || a.queue_name != b.queue_name ||
      a.boost_text != b.boost_text || a.reclaimable != b.reclaimable ||
      a.pod_sets.size() != b.pod_sets.size())
    return true;
  for (size_t i = 0; i < a.pod_sets.size(); ++i)
    if (a.pod_sets[i].count != b.pod_sets[i].count || !(*a.pod_sets[i].pod == *b.pod_sets[i].pod) ||
        a.pod_sets[i].min_count != b.pod_sets[i].min_count)
      return true;
  return false;
}

bool selects_namespace(const Tables& t, const std::string& queue, const Workload& w) {
  const ClusterQueue& q = t.queues.at(queue);
  auto labels = t.namespaces.find(w.key.namespace_);
  return labels != t.namespaces.end() && q.namespace_selector &&
         matches(*q.namespace_selector, labels->second);
}

bool names_flavor(const ClusterQueue& q, const std::string& flavor) {
  for (const ResourceGroup& group : q.groups)
    for (const FlavorQuotas& f : group.flavors)
      if (f.flavor == flavor) return true;
  return false;
}

bool names_check(const ClusterQueue& q, const std::string& check) {
  for (const CheckRule& rule : q.checks)
    if (rule.check == check) return true;
  return false;
}

}  // namespace

Model::Model(Settings settings) { t_.settings = std::move(settings); }

std::map<std::string, bool> Model::activity() const {
  std::map<std::string, bool> out;
  for (const auto& [name, queue] : t_.queues) out[name] = t_.active(name);
  return out;
}

template <typename Change>
void Model::reconfigure(const Change& change) {
  auto before = activity();
  change();
  for (const auto& [name, active] : activity())
    if (active && before.contains(name) && !before[name]) ask_retry({true, name});
}

void Model::ask_retry(const TreeNode& node) {
  TreeNode root = t_.root(node);
  Instant due = t_.now + t_.settings.retry_batch;
  auto [it, inserted] = t_.retries.try_emplace(root, due);
  if (!inserted) it->second = std::min(it->second, due);
}

void Model::ask_retry_for(const Item& item) {
  if (item.held && t_.queues.contains(item.held->queue)) ask_retry({true, item.held->queue});
  auto local = t_.locals.find({item.w->key.namespace_, item.w->queue_name});
  if (local != t_.locals.end() && t_.queues.contains(local->second.cluster_queue))
    ask_retry({true, local->second.cluster_queue});
}

void Model::run_retries(bool all) {
  std::set<TreeNode> roots;
  for (auto it = t_.retries.begin(); it != t_.retries.end();) {
    if (all || it->second <= t_.now) {
      roots.insert(t_.root(it->first));
      it = t_.retries.erase(it);
    } else {
      ++it;
    }
  }
  for (const TreeNode& root : roots)
    for (const std::string& name : t_.queues_below(root)) {
      if (!t_.queues.contains(name)) continue;
      QueueState& state = t_.states[name];
      state.retried_at = state.pops;
      state.bypass.clear();
      const ClusterQueue& q = t_.queues.at(name);
      for (auto& [key, item] : t_.items) {
        auto labels = t_.namespaces.find(key.namespace_);
        if (item.place == Item::Place::kInadmissible && item.waits_in == name &&
            labels != t_.namespaces.end() && q.namespace_selector &&
            matches(*q.namespace_selector, labels->second) && t_.backoff_expired(*item.w))
          item.place = Item::Place::kActive;
      }
    }
}

void Model::leave_queue(Item& item) {
  item.place = Item::Place::kNone;
  for (auto& [name, state] : t_.states)
    if (state.preemptor == item.w->key) {
      state.preemptor.reset();
      state.sticky = false;
    }
}

void Model::push_or_update(Item& item, const Workload* before) {
  const Workload& w = *item.w;
  std::string target = t_.target_queue(w);
  if (target.empty() || !t_.admissible(w)) return leave_queue(item);
  bool was_active = item.place == Item::Place::kActive && item.waits_in == target;
  if (item.place == Item::Place::kInadmissible && item.waits_in == target && before != nullptr &&
      !spec_or_reclaimable_changed(*before, w) &&
      (before->generation == w.generation || !selects_namespace(t_, target, w)) &&
      same_condition(*before, w, ConditionType::kEvicted) &&
      same_condition(*before, w, ConditionType::kRequeued) && same_gates(*before, w))
    return;
  item.waits_in = target;
  bool aside = !was_active && !t_.backoff_expired(w);
  std::string digest = t_.digest(w);
  if (!was_active && !digest.empty() && t_.states[target].bypass.contains(digest) &&
      t_.queues.at(target).strategy == QueueingStrategy::kBestEffortFifo)
    aside = true;
  item.place = aside ? Item::Place::kInadmissible : Item::Place::kActive;
}

void Model::push_member(Item& item) {
  std::string target = t_.target_queue(*item.w);
  if (target.empty() || item.held || !t_.admissible(*item.w)) return;
  item.place = Item::Place::kActive;
  item.waits_in = target;
}

FrAmounts Model::admission_usage(const Workload& w, const Admission& admission) const {
  FrAmounts out;
  for (const PodSetAssignment& a : admission.pod_sets) {
    int32_t granted = a.count.value_or(0), left = granted;
    for (const PodSet& ps : w.pod_sets)
      if (ps.name == a.name) left = std::min(left, t_.effective_count(w, ps));
    for (const auto& [resource, flavor] : a.flavors) {
      int64_t amount = amount_of(a.usage, resource);
      if (left < granted) amount = amount / granted * left;
      out[{flavor, resource}] += Amount(amount);
    }
  }
  return out;
}

void Model::hold(Item& item, const std::string& queue, const Admission& admission, bool assumed,
                 bool admitted, Instant since) {
  item.held = Held{queue, admission, admission_usage(*item.w, admission), since, assumed, admitted};
  t_.states[queue];
}

// More fits in the whole tree now.
void Model::release(Item& item) {
  if (!item.held) return;
  TreeNode node{true, item.held->queue};
  for (const std::string& name : t_.queues_below(t_.root(node))) ++t_.states[name].generation;
  item.held.reset();
  item.eviction_sent = false;
}

void Model::release_for_others(Item& item) {
  ask_retry_for(item);
  release(item);
}

void Model::sync_held(Item& item) {
  const Workload& w = *item.w;
  if (!w.reserved() || w.finished()) return release(item);
  const bool told_to_go = item.eviction_sent;
  release(item);  // also an update: whoever scans flavors starts anew
  item.eviction_sent = told_to_go;
  hold(item, w.admission->cluster_queue, *w.admission, false, w.admitted(),
       w.condition(ConditionType::kQuotaReserved)->since);
}

void Model::workload_changed(const std::shared_ptr<const Workload>& w) {
  auto it = t_.items.find(w->key);
  if (it != t_.items.end() && it->second.w->uid != w->uid) {
    workload_deleted(w->key);
    it = t_.items.end();
  }
  bool created = it == t_.items.end();
  Item& item = t_.items[w->key];
  std::shared_ptr<const Workload> before = item.w;
  if (before && (!t_.gate(Gate::kFlavorFungibilityPreserveScanProgress) ||
                 t_.digest(*before) != t_.digest(*w)))
    item.scan.reset();
  if (before && before->queue_name != w->queue_name) {
    leave_queue(item);
    item.scan.reset();
  }
  item.w = w;
  if (w->evicted() || !item.held) item.eviction_sent = false;
  if (!created) return workload_updated(item, *before);
  if (w->finished()) return;
  if (w->is_true(ConditionType::kQuotaReserved))
    sync_held(item);
  else
    push_or_update(item, nullptr);
}

void Model::workload_updated(Item& item, const Workload& before) {
  const Workload& w = *item.w;
  Phase was = phase(before), is = phase(w);
  if (is == Phase::kFinished || !w.active) {
    leave_queue(item);
    t_.delayed.erase(w.key);
    release_for_others(item);
  } else if (was == Phase::kPending && is == Phase::kPending) {
    if (!item.held) push_or_update(item, &before);
  } else if (was == Phase::kPending || was == Phase::kFinished) {
    leave_queue(item);
    t_.delayed.erase(w.key);
    item.scan.reset();
    sync_held(item);
  } else if (is == Phase::kPending) {
    leave_queue(item);
    release_for_others(item);
    item.scan.reset();
    if (w.requeue_at && *w.requeue_at > t_.now)
      t_.delayed[w.key] = *w.requeue_at;
    else
      push_or_update(item, nullptr);
  } else {
    bool fewer = false, more = false;
    for (const PodSet& was_set : before.pod_sets)
      for (const PodSet& is_set : w.pod_sets) {
        if (was_set.name != is_set.name) continue;
        fewer = fewer || is_set.count < was_set.count;
        more = more || is_set.count > was_set.count;
      }
    leave_queue(item);
    sync_held(item);
    if ((is == Phase::kAdmitted && before.reclaimable != w.reclaimable) ||
        (w.elastic && fewer && !more) || before.priority != w.priority)
      ask_retry_for(item);
  }
}

void Model::workload_deleted(const Key& key) {
  auto it = t_.items.find(key);
  if (it == t_.items.end()) return;
  leave_queue(it->second);
  release_for_others(it->second);
  t_.delayed.erase(key);
  t_.items.erase(it);
}

void Model::requeue(Item& item, RequeueReason reason, PendingReason pending) {
  const Workload& w = *item.w;
  std::string target = t_.target_queue(w);
  if (target.empty() || !t_.admissible(w)) return leave_queue(item);
  const ClusterQueue& q = t_.queues.at(target);
  QueueState& state = t_.states[target];
  bool strict = q.strategy == QueueingStrategy::kStrictFifo;
  if (reason == RequeueReason::kPendingPreemption || reason == RequeueReason::kPendingMigration) {
    state.preemptor = w.key;
    state.preemptor_generation = w.generation;
    state.sticky = !strict;
  }
  bool at_once = strict ? reason != RequeueReason::kNamespaceMismatch
                        : reason == RequeueReason::kFailedAfterNomination ||
                              reason == RequeueReason::kPendingPreemption ||
                              reason == RequeueReason::kPendingMigration ||
                              reason == RequeueReason::kPreemptionFailed;
  bool untried = item.scan && item.scan->has_untried();
  item.waits_in = target;
  if (t_.backoff_expired(w) && (at_once || state.retried_at >= state.pops || untried)) {
    item.place = Item::Place::kActive;
    return;
  }
  item.place = Item::Place::kInadmissible;
  std::string digest = t_.digest(w);
  if (digest.empty() || strict ||
      (reason != RequeueReason::kNoFit && reason != RequeueReason::kPreemptionNoCandidates))
    return;
  state.bypass[digest] =
      pending == PendingReason::kNone ? PendingReason::kPendingEvaluation : pending;
  for (auto& [key, other] : t_.items)
    if (other.place == Item::Place::kActive && other.waits_in == target &&
        t_.digest(*other.w) == digest)
      other.place = Item::Place::kInadmissible;
}

// Cohorts and queues.
void Model::apply_to_trees(const Event& event) {
  if (const auto* c = std::get_if<CohortChanged>(&event)) {
    TreeNode node{false, c->cohort.name};
    TreeNode before = t_.root(node);
    std::vector<std::string> touched = t_.queues_below(before);
    reconfigure([&] { t_.cohorts[c->cohort.name] = c->cohort; });
    TreeNode after = t_.root(node);
    for (const std::string& name : t_.queues_below(after)) touched.push_back(name);
    for (const std::string& name : touched) ++t_.states[name].generation;
    ask_retry(before);
    ask_retry(after);
  } else if (const auto* cd = std::get_if<CohortDeleted>(&event)) {
    if (!t_.cohorts.contains(cd->name)) return;
    TreeNode node{false, cd->name};
    TreeNode before = t_.root(node);
    std::vector<std::string> touched = t_.queues_below(before);
    reconfigure([&] { t_.cohorts.erase(cd->name); });
    for (const std::string& name : touched) ++t_.states[name].generation;
    ask_retry(before);
    ask_retry(node);
  } else if (const auto* q = std::get_if<ClusterQueueChanged>(&event)) {
    bool created = !t_.queues.contains(q->queue.name);
    TreeNode node{true, q->queue.name};
    TreeNode before = t_.root(node);
    std::vector<std::string> touched = t_.queues_below(before);
    if (!created && flavor_names(t_.queues[q->queue.name]) != flavor_names(q->queue))
      for (auto& [key, item] : t_.items)
        if (t_.target_queue(*item.w) == q->queue.name) item.scan.reset();
    t_.queues[q->queue.name] = q->queue;
    t_.states[q->queue.name];
    for (const std::string& name : t_.queues_below(t_.root(node))) touched.push_back(name);
    for (const std::string& name : touched) ++t_.states[name].generation;
    if (created) push_members(q->queue.name);
    if (before != node) ask_retry(before);
    ask_retry(node);
  } else if (const auto* qd = std::get_if<ClusterQueueDeleted>(&event)) {
    if (!t_.queues.contains(qd->name)) return;
    TreeNode node{true, qd->name};
    TreeNode before = t_.root(node);
    for (auto& [key, item] : t_.items)
      if (item.place != Item::Place::kNone && item.waits_in == qd->name) leave_queue(item);
    for (const std::string& name : t_.queues_below(before)) ++t_.states[name].generation;
    t_.queues.erase(qd->name);
    t_.states[qd->name].preemptor.reset();
    t_.states[qd->name].sticky = false;
    if (before != node) ask_retry(before);
  } else if (const auto* l = std::get_if<LocalQueueChanged>(&event)) {
    auto old = t_.locals.find(l->queue.key);
    bool was = old != t_.locals.end() && old->second.stop == StopPolicy::kNone;
    bool moved = old != t_.locals.end() && old->second.cluster_queue != l->queue.cluster_queue;
    bool now = l->queue.stop == StopPolicy::kNone;
    t_.locals[l->queue.key] = l->queue;
    for (auto& [key, item] : t_.items) {
      if (Key{key.namespace_, item.w->queue_name} != l->queue.key) continue;
      if (was && (!now || moved)) leave_queue(item);
      if (!now || (was && !moved)) continue;
      item.scan.reset();
      push_member(item);
    }
  } else if (const auto* ld = std::get_if<LocalQueueDeleted>(&event)) {
    if (t_.locals.erase(ld->key) > 0)
      for (auto& [key, item] : t_.items)
        if (Key{key.namespace_, item.w->queue_name} == ld->key) leave_queue(item);
  }
}

void Model::apply(const Event& event) {
  apply_to_trees(event);
  if (const auto* e = std::get_if<TimePassed>(&event)) {
    t_.now = std::max(t_.now, e->now);
    for (auto it = t_.delayed.begin(); it != t_.delayed.end();) {
      if (it->second > t_.now) {
        ++it;
        continue;
      }
      Item& item = t_.items.at(it->first);
      it = t_.delayed.erase(it);
      if (!item.held) push_or_update(item, nullptr);
    }
    run_retries(false);
  } else if (std::holds_alternative<FlushRetries>(event)) {
    run_retries(true);
  } else if (const auto* n = std::get_if<NamespaceChanged>(&event)) {
    std::set<std::string> matched;
    auto matching = [&] {
      std::set<std::string> out;
      auto labels = t_.namespaces.find(n->name);
      for (const auto& [name, q] : t_.queues)
        if (labels != t_.namespaces.end() && q.namespace_selector &&
            matches(*q.namespace_selector, labels->second))
          out.insert(name);
      return out;
    };
    matched = matching();
    t_.namespaces[n->name] = n->labels;
    for (const std::string& name : matching())
      if (!matched.contains(name)) ask_retry({true, name});
  } else if (const auto* f = std::get_if<FlavorChanged>(&event)) {
    auto old = t_.flavors.find(f->flavor.name);
    bool relevant = old != t_.flavors.end() && (old->second.taints != f->flavor.taints ||
                                                old->second.tolerations != f->flavor.tolerations ||
                                                old->second.node_labels != f->flavor.node_labels);
    reconfigure([&] { t_.flavors[f->flavor.name] = f->flavor; });
    for (const auto& [name, q] : t_.queues)
      if (relevant && names_flavor(q, f->flavor.name)) ask_retry({true, name});
  } else if (const auto* fd = std::get_if<FlavorDeleted>(&event)) {
    reconfigure([&] { t_.flavors.erase(fd->name); });
  } else if (const auto* c = std::get_if<CheckChanged>(&event)) {
    reconfigure([&] { t_.checks[c->check.name] = c->check; });
    for (const auto& [name, q] : t_.queues)
      if (names_check(q, c->check.name)) ask_retry({true, name});
  } else if (const auto* cd = std::get_if<CheckDeleted>(&event)) {
    reconfigure([&] { t_.checks.erase(cd->name); });
  } else if (const auto* w = std::get_if<WorkloadChanged>(&event)) {
    workload_changed(w->workload);
  } else if (const auto* wd = std::get_if<WorkloadDeleted>(&event)) {
    workload_deleted(wd->key);
  } else if (const auto* a = std::get_if<AdmissionFailed>(&event)) {
    auto it = t_.items.find(a->key);
    if (it == t_.items.end() || !it->second.held || !it->second.held->assumed) return;
    release(it->second);
    if (!a->not_found)
      requeue(it->second, RequeueReason::kFailedAfterNomination, PendingReason::kPendingEvaluation);
  } else if (const auto* ef = std::get_if<EvictionFailed>(&event)) {
    if (auto it = t_.items.find(ef->key); it != t_.items.end()) it->second.eviction_sent = false;
  } else if (const auto* u = std::get_if<ConsumedUsage>(&event)) {
    double value = 0;
    for (const auto& [resource, amount] : u->consumed) value += static_cast<double>(amount) / 1e9;
    t_.consumed[u->local_queue] = value;
  }
}

void Model::push_members(const std::string& queue) {
  for (auto& [key, item] : t_.items)
    if (t_.target_queue(*item.w) == queue) {
      item.scan.reset();
      push_member(item);
    }
}

std::string Model::state_text() const {
  std::string out;
  auto list = [&](const char* title, auto&& belongs) {
    std::map<std::string, std::vector<Key>> by_queue;
    for (const auto& [key, item] : t_.items)
      if (std::string queue = belongs(item); !queue.empty()) by_queue[queue].push_back(key);
    for (const auto& [queue, keys] : by_queue) {
      out += std::string(title) + " " + queue + ":";
      for (const Key& key : keys) out += " " + key.name;
      out += "\n";
    }
  };
  auto waiting = [](Item::Place place) {
    return [place](const Item& item) { return item.place == place ? item.waits_in : ""; };
  };
  list("active", waiting(Item::Place::kActive));
  list("inadmissible", waiting(Item::Place::kInadmissible));
  list("reserved", [&](const Item& item) {
    return item.held && t_.queues.contains(item.held->queue) ? item.held->queue : "";
  });
  for (const auto& [name, state] : t_.states)
    if (state.preemptor && state.sticky)
      out += "sticky " + name + ": " + state.preemptor->name + "\n";
  Snapshot s{&t_, {}, {}};
  std::set<TreeNode> nodes;
  for (const auto& [name, queue] : t_.queues)
    for (TreeNode n{true, name}; !n.none(); n = t_.parent(n)) nodes.insert(n);
  std::map<std::string, std::string> usage;
  for (const TreeNode& node : nodes) {
    std::map<std::string, Amount> amounts;
    for (const Fr& fr : s.all_frs(t_.root(node)))
      if (Amount u = s.usage(node, fr); !u.is_zero()) amounts[fr.first + "/" + fr.second] = u;
    std::string& text = usage[(node.queue ? "clusterQueue/" : "cohort/") + node.name];
    for (const auto& [fr, amount] : amounts)
      text += " " + fr + "=" + std::to_string(amount.value());
  }
  for (const auto& [node, text] : usage)
    if (!text.empty()) out += "usage " + node + ":" + text + "\n";
  return out + "second pass ready: - waiting: -\n";
}

}  // namespace kueue::engine::testing
