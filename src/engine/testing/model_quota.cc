// The naive engine: trees and quota arithmetic (behaviour.md 7), shares (9), order in queues (2).
#include <algorithm>

#include "engine/testing/model.h"

namespace kueue::engine::testing {
namespace {

const std::vector<ResourceGroup>* groups_of(const Tables& t, const TreeNode& node) {
  if (node.queue) {
    auto it = t.queues.find(node.name);
    return it == t.queues.end() ? nullptr : &it->second.groups;
  }
  auto it = t.cohorts.find(node.name);
  return it == t.cohorts.end() ? nullptr : &it->second.groups;
}

}  // namespace

TreeNode Tables::parent(const TreeNode& node) const {
  if (node.queue) {
    auto it = queues.find(node.name);
    return {false, it == queues.end() ? "" : it->second.cohort};
  }
  auto it = cohorts.find(node.name);
  return {false, it == cohorts.end() ? "" : it->second.parent};
}

bool Tables::in_cycle(TreeNode node) const {
  for (size_t steps = 0; steps <= cohorts.size() + 2; ++steps) {
    node = parent(node);
    if (node.none()) return false;
  }
  return true;
}

TreeNode Tables::root(TreeNode node) const {
  while (!parent(node).none()) node = parent(node);
  return node;
}

std::vector<TreeNode> Tables::children(const TreeNode& node) const {
  std::vector<TreeNode> out;
  if (node.queue) return out;
  for (const auto& [name, cohort] : cohorts)
    if (cohort.parent == node.name) out.push_back({false, name});
  for (const auto& [name, queue] : queues)
    if (queue.cohort == node.name) out.push_back({true, name});
  return out;
}

std::vector<std::string> Tables::queues_below(const TreeNode& node) const {
  if (node.queue) return {node.name};
  std::vector<std::string> out;
  for (const TreeNode& child : children(node))
    for (const std::string& queue : queues_below(child)) out.push_back(queue);
  return out;
}

int Tables::height(const TreeNode& cohort) const {
  int highest = -1;
  size_t count = 0;
  for (const TreeNode& child : children(cohort)) {
    if (child.queue && !active(child.name)) continue;
    ++count;
    if (!child.queue) highest = std::max(highest, height(child));
  }
  return std::max(count > 0 ? 1 : 0, 1 + highest);
}

std::string Tables::path(TreeNode node) const {
  std::string out;
  for (; !node.none(); node = parent(node)) out = "/" + node.name + out;
  return out;
}

bool Tables::checks_fit_together(const ClusterQueue& q) const {
  int multikueue = 0, provisioning = 0;
  for (const CheckRule& rule : q.checks) {
    auto check = checks.find(rule.check);
    if (check == checks.end() || !check->second.active) return false;
    if (check->second.controller == kProvisioningController) ++provisioning;
    if (check->second.controller != kMultiKueueController) continue;
    ++multikueue;
    if (!rule.on_flavors.empty()) return false;
  }
  return multikueue == 0 || (multikueue == 1 && provisioning == 0);
}

bool Tables::checks_listed(const Workload& w, const Admission& admission) const {
  std::set<std::string> needed, listed;
  for (const CheckRule& rule : queues.at(admission.cluster_queue).checks) {
    std::set<std::string> used;
    for (const PodSetAssignment& a : admission.pod_sets)
      for (const auto& [resource, flavor] : a.flavors) used.insert(flavor);
    bool applies = rule.on_flavors.empty();
    for (const std::string& flavor : rule.on_flavors) applies = applies || used.contains(flavor);
    if (applies) needed.insert(rule.check);
  }
  for (const CheckStatus& check : w.checks) listed.insert(check.name);
  return std::includes(listed.begin(), listed.end(), needed.begin(), needed.end());
}

bool Tables::active(const std::string& name) const {
  auto it = queues.find(name);
  if (it == queues.end()) return false;
  const ClusterQueue& q = it->second;
  if (q.stop != StopPolicy::kNone || q.terminating || in_cycle({true, name})) return false;
  if (!checks_fit_together(q)) return false;
  for (const ResourceGroup& group : q.groups)
    for (const FlavorQuotas& flavor : group.flavors)
      if (!flavors.contains(flavor.flavor)) return false;
  return true;
}

std::vector<const ResourceQuota*> Snapshot::specs(const TreeNode& node, const Fr& fr) const {
  std::vector<const ResourceQuota*> out;
  const auto* groups = groups_of(*t, node);
  if (groups == nullptr) return out;
  for (const ResourceGroup& group : *groups)
    for (const FlavorQuotas& flavor : group.flavors)
      for (const ResourceQuota& quota : flavor.resources)
        if (flavor.flavor == fr.first && quota.resource == fr.second) out.push_back(&quota);
  return out;
}

Amount Snapshot::nominal(const TreeNode& node, const Fr& fr) const {
  auto all = specs(node, fr);
  return all.empty() ? Amount() : all.back()->nominal;
}

std::optional<Amount> Snapshot::borrowing_limit(const TreeNode& node, const Fr& fr) const {
  auto all = specs(node, fr);
  return all.empty() ? std::nullopt : all.back()->borrowing_limit;
}

// Own quota, and of each child what it does not keep to itself.
Amount Snapshot::subtree(const TreeNode& node, const Fr& fr) const {
  Amount sum = nominal(node, fr);
  for (const TreeNode& child : t->children(node)) sum += subtree(child, fr) - local(child, fr);
  return sum;
}

Amount Snapshot::local(const TreeNode& node, const Fr& fr) const {
  auto all = specs(node, fr);
  if (all.empty() || !all.back()->lending_limit) return Amount();
  return max(Amount(), subtree(node, fr) - *all.back()->lending_limit);
}

Amount Snapshot::usage(const TreeNode& node, const Fr& fr) const {
  Amount sum;
  if (!node.queue) {
    for (const TreeNode& child : t->children(node))
      sum += max(Amount(), usage(child, fr) - local(child, fr));
    return sum;
  }
  for (const auto& [key, item] : t->items)
    if (item.held && item.held->queue == node.name && !removed.contains(key))
      if (auto it = item.held->usage.find(fr); it != item.held->usage.end()) sum += it->second;
  for (const auto& [queue, amounts] : extra)
    if (queue == node.name)
      if (auto it = amounts.find(fr); it != amounts.end()) sum += it->second;
  return sum;
}

Amount Snapshot::local_available(const TreeNode& node, const Fr& fr) const {
  return max(Amount(), local(node, fr) - usage(node, fr));
}

Amount Snapshot::available_raw(const TreeNode& node, const Fr& fr) const {
  TreeNode up = t->parent(node);
  Amount s = subtree(node, fr), u = usage(node, fr), l = local(node, fr);
  if (up.none()) return s - u;
  Amount from_parent = available_raw(up, fr);
  if (auto limit = borrowing_limit(node, fr))
    from_parent = min(from_parent, (s - l) - max(Amount(), u - l) + *limit);
  return local_available(node, fr) + from_parent;
}

Amount Snapshot::available(const std::string& queue, const Fr& fr) const {
  return max(Amount(), available_raw({true, queue}, fr));
}

Amount Snapshot::potential(const TreeNode& node, const Fr& fr) const {
  TreeNode up = t->parent(node);
  if (up.none()) return subtree(node, fr);
  Amount most = local(node, fr) + potential(up, fr);
  if (auto limit = borrowing_limit(node, fr)) most = min(most, subtree(node, fr) + *limit);
  return most;
}

bool Snapshot::borrowing_with(const TreeNode& node, const Fr& fr, Amount more) const {
  return (node.queue ? nominal(node, fr) : subtree(node, fr)) < usage(node, fr) + more;
}

// Height of the lowest subtree that holds v, and whether there is more of the tree above it.
std::pair<int, bool> Snapshot::lowest_subtree(const std::string& queue, const Fr& fr,
                                              Amount v) const {
  TreeNode node{true, queue};
  TreeNode up = t->parent(node);
  if (up.none()) return {0, false};
  if (!borrowing_with(node, fr, v)) return {0, true};
  Amount remaining = v - local_available(node, fr);
  for (node = up;; node = up) {
    up = t->parent(node);
    if (!borrowing_with(node, fr, remaining)) return {t->height(node), !up.none()};
    if (up.none()) return {t->height(node), false};
    remaining -= local_available(node, fr);
  }
}

std::set<Fr> Snapshot::all_frs(const TreeNode& node) const {
  std::set<Fr> out;
  if (const auto* groups = groups_of(*t, node))
    for (const ResourceGroup& group : *groups)
      for (const FlavorQuotas& flavor : group.flavors)
        for (const ResourceQuota& quota : flavor.resources)
          out.insert({flavor.flavor, quota.resource});
  if (node.queue) {
    for (const auto& [key, item] : t->items)
      if (item.held && item.held->queue == node.name)
        for (const auto& [fr, amount] : item.held->usage) out.insert(fr);
    for (const auto& [queue, amounts] : extra)
      if (queue == node.name)
        for (const auto& [fr, amount] : amounts) out.insert(fr);
  }
  for (const TreeNode& child : t->children(node))
    for (const Fr& fr : all_frs(child)) out.insert(fr);
  return out;
}

ModelShare share_of(const Snapshot& s, const TreeNode& node) {
  ModelShare out;
  if (node.queue)
    out.weight = s.t->queues.at(node.name).fair_weight;
  else if (auto it = s.t->cohorts.find(node.name); it != s.t->cohorts.end())
    out.weight = it->second.fair_weight;
  TreeNode up = s.t->parent(node);
  if (up.none()) return out;
  std::map<std::string, Amount> over, lendable;
  for (const Fr& fr : s.all_frs(s.t->root(node))) {
    lendable[fr.second] += s.potential(up, fr);
    Amount extra = s.usage(node, fr) - s.subtree(node, fr);
    if (extra > Amount()) over[fr.second] += extra;
  }
  for (const auto& [resource, amount] : over) {
    out.borrowing = true;
    if (lendable[resource] <= Amount()) continue;
    double ratio = static_cast<double>(amount.value()) * 1000 /
                   static_cast<double>(lendable[resource].value());
    out.ratio = std::max(out.ratio, ratio);
  }
  return out;
}

int compare_shares(const ModelShare& a, const ModelShare& b) {
  bool a_infinite = a.weight == 0 && a.ratio > 0, b_infinite = b.weight == 0 && b.ratio > 0;
  if (a_infinite != b_infinite) return a_infinite ? 1 : -1;
  double x = a.ratio, y = b.ratio;
  if (!a_infinite) {
    x = a.weight == 0 ? 0 : x / a.weight;
    y = b.weight == 0 ? 0 : y / b.weight;
  }
  return x < y ? -1 : (x > y ? 1 : 0);
}

bool Tables::admissible(const Workload& w) const {
  return !(gate(Gate::kAdmissionGatedBy) && !w.admission_gated_by.empty()) && !w.finished() &&
         w.active && !w.is_true(ConditionType::kQuotaReserved) && !w.on_hold() &&
         !w.concurrent_admission_parent;
}

bool Tables::backoff_expired(const Workload& w) const {
  return !w.is_false(ConditionType::kRequeued) && (!w.requeue_at || *w.requeue_at <= now);
}

Instant Tables::timestamp(const Workload& w) const {
  const Condition* evicted = w.condition(ConditionType::kEvicted);
  bool is_evicted = evicted != nullptr && evicted->status == ConditionStatus::kTrue;
  if (is_evicted && evicted->reason == "PodsReadyTimeout" && !settings.requeue_by_creation)
    return evicted->since;
  if (is_evicted && evicted->reason == "AdmissionCheck") return evicted->since;
  const Condition* preempted = w.condition(ConditionType::kPreempted);
  if (!gate(Gate::kPrioritySortingWithinCohort) && preempted != nullptr &&
      preempted->status == ConditionStatus::kTrue &&
      preempted->reason == "InCohortReclaimWhileBorrowing")
    return preempted->since + Duration::millis(1);
  return w.created;
}

std::string Tables::target_queue(const Workload& w) const {
  auto local = locals.find({w.key.namespace_, w.queue_name});
  if (local == locals.end() || local->second.stop != StopPolicy::kNone) return "";
  return queues.contains(local->second.cluster_queue) ? local->second.cluster_queue : "";
}

int32_t Tables::effective_count(const Workload& w, const PodSet& ps) const {
  if (gate(Gate::kReclaimablePods))
    for (const auto& [name, count] : w.reclaimable)
      if (name == ps.name) return std::max(0, ps.count - count);
  return ps.count;
}

std::string Tables::digest(const Workload& w) const {
  if (!gate(Gate::kSchedulingEquivalenceHashing)) return "";
  std::string out = std::to_string(w.effective_priority());
  for (const PodSet& ps : w.pod_sets) {
    out += "|" + ps.name + "|" + ps.pod->shape + "|" + std::to_string(effective_count(w, ps)) +
           "|" + std::to_string(ps.min_count.value_or(-1));
    for (const auto& [resource, amount] : ps.pod->requests)
      out += "|" + resource + "=" + std::to_string(amount);
    if (ps.topology) out += "|shares=" + ps.topology->pod_set_group;
  }
  if (gate(Gate::kConcurrentAdmission))
    for (const std::string& flavor : w.allowed_flavors) out += "|may=" + flavor;
  return out;
}

bool Tables::fair_queue(const std::string& queue) const {
  auto it = queues.find(queue);
  return settings.admission_fair_sharing && gate(Gate::kAdmissionFairSharing) &&
         it != queues.end() && it->second.usage_based_fairness;
}

double Tables::local_usage(const Workload& w) const {
  Key key{w.key.namespace_, w.queue_name};
  auto it = consumed.find(key);
  auto local = locals.find(key);
  double weight = local == locals.end() ? 1 : local->second.fair_weight;
  return it == consumed.end() ? 0 : it->second / weight;
}

bool Tables::pops_before(const Item& a, const Item& b) const {
  const Workload& x = *a.w;
  const Workload& y = *b.w;
  if (fair_queue(a.waits_in) && local_usage(x) != local_usage(y))
    return local_usage(x) < local_usage(y);
  const QueueState& q = states.at(a.waits_in);
  bool x_sticky = q.sticky && q.preemptor == x.key, y_sticky = q.sticky && q.preemptor == y.key;
  if (x_sticky != y_sticky) return x_sticky;
  if (x.effective_priority() != y.effective_priority())
    return x.effective_priority() > y.effective_priority();
  if (timestamp(x) != timestamp(y)) return timestamp(x) < timestamp(y);
  return x.uid != y.uid ? x.uid < y.uid : x.key < y.key;
}

}  // namespace kueue::engine::testing
