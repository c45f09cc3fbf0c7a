#include "controllers/cohort/cohort.h"

#include <algorithm>
#include <limits>

#include "bridge/quantities.h"
#include "controllers/metrics/record.h"
#include "controllers/scheduler/admission.h"
#include "controllers/write.h"
#include "engine/engine.h"

namespace kueue::controllers {
namespace {

// Adds what a child offers to its parent: its quota without the part that its lending limit keeps
// back.
void add_offered(std::map<std::pair<std::string, std::string>, Amount>& parent,
                 const std::map<std::pair<std::string, std::string>, Amount>& child,
                 const std::vector<v1beta2::ResourceGroup>& groups) {
  std::map<std::pair<std::string, std::string>, Amount> offered = child;
  for (const v1beta2::ResourceGroup& group : groups) {
    for (const v1beta2::FlavorQuotas& flavor : group.flavors) {
      for (const v1beta2::ResourceQuota& quota : flavor.resources) {
        if (!quota.lending_limit.has_value()) continue;
        Amount& amount = offered[{flavor.name, quota.name}];
        amount = std::min(amount, bridge::quota_amount(quota.name, *quota.lending_limit));
      }
    }
  }
  for (const auto& [key, amount] : offered) parent[key] += amount;
}

std::map<std::pair<std::string, std::string>, Amount> own_quota(
    const std::vector<v1beta2::ResourceGroup>& groups) {
  std::map<std::pair<std::string, std::string>, Amount> result;
  for (const v1beta2::ResourceGroup& group : groups)
    for (const v1beta2::FlavorQuotas& flavor : group.flavors)
      for (const v1beta2::ResourceQuota& quota : flavor.resources)
        result[{flavor.name, quota.name}] = bridge::quota_amount(quota.name, quota.nominal_quota);
  return result;
}

}  // namespace

CohortReconciler::Subtree CohortReconciler::subtree_of(const std::string& name,
                                                       std::set<std::string>& seen) const {
  Subtree tree;
  if (!seen.insert(name).second) return tree;
  if (auto cohort = context_.stores->cohorts.get({"", name})) {
    tree.empty = false;
    tree.quota = own_quota(cohort->spec.resource_groups);
  }
  for (const auto& queue : context_.stores->cluster_queues.list()) {
    if (queue->spec.cohort_name != name) continue;
    tree.empty = false;
    add_offered(tree.quota, own_quota(queue->spec.resource_groups), queue->spec.resource_groups);
    const engine::ClusterQueueStatus status =
        context_.admission->ask([&](const engine::State& state) {
          return state.cluster_queue_status(queue->metadata.name);
        });
    tree.admitted[queue->metadata.name] = status.admitted;
    for (const engine::FlavorUsage& flavor : status.reservation)
      for (const engine::ResourceUsage& resource : flavor.resources)
        tree.reservations[{flavor.flavor, resource.resource}] += resource.total;
  }
  for (const auto& child : context_.stores->cohorts.list()) {
    if (child->spec.parent_name != name) continue;
    tree.empty = false;
    const Subtree below = subtree_of(child->metadata.name, seen);
    add_offered(tree.quota, below.quota, child->spec.resource_groups);
    tree.admitted.insert(below.admitted.begin(), below.admitted.end());
    for (const auto& [key, amount] : below.reservations) tree.reservations[key] += amount;
  }
  return tree;
}

bool CohortReconciler::is_parent(const std::string& name) const {
  const auto cohorts = context_.stores->cohorts.list();
  return std::any_of(cohorts.begin(), cohorts.end(),
                     [&](const auto& cohort) { return cohort->spec.parent_name == name; });
}

bool CohortReconciler::silent(const std::string& name, bool exists, const Subtree& tree) {
  std::lock_guard lock(mutex_);
  if (exists) {
    seen_.insert(name);
    deleted_.erase(name);
    return false;
  }
  if (seen_.erase(name) > 0) {
    context_.metrics->forget_cohort(name);
    deleted_[name] = tree;
    return true;
  }
  const auto deleted = deleted_.find(name);
  if (deleted == deleted_.end()) return false;
  if (deleted->second == tree) return true;
  deleted_.erase(deleted);
  return false;
}

void CohortReconciler::report(const std::string& name, const v1beta2::Cohort* cohort) {
  metrics::Metrics& m = *context_.metrics;
  std::set<std::string> seen;
  const Subtree tree = subtree_of(name, seen);
  if (silent(name, cohort != nullptr, tree)) return;
  if (tree.empty) {
    m.forget_cohort(name);
    return;
  }
  for (metrics::Family* family :
       {&m.cohort_info, &m.cohort_subtree_quota, &m.cohort_subtree_resource_reservations,
        &m.cohort_subtree_admitted_active_workloads})
    family->erase_matching({{"cohort", name}});
  if (cohort != nullptr) {
    std::string root = name;
    std::string next = cohort->spec.parent_name;
    std::set<std::string> above{name};
    while (!next.empty() && above.insert(next).second) {
      root = next;
      auto parent = context_.stores->cohorts.get({"", next});
      next = parent == nullptr ? "" : parent->spec.parent_name;
    }
    m.cohort_info.set({name, cohort->spec.parent_name, root}, 1);
  }
  // A parent is told of although nobody made it; a cohort that only ClusterQueues name is not.
  if (cohort == nullptr && is_parent(name)) m.cohort_info.set({name, "", name}, 1);
  for (const auto& [key, amount] : tree.quota)
    m.cohort_subtree_quota.set({name, key.first, key.second}, metric_value(key.second, amount));
  for (const auto& [key, amount] : tree.reservations)
    m.cohort_subtree_resource_reservations.set({name, key.first, key.second},
                                               metric_value(key.second, amount));
  for (const auto& [queue, count] : tree.admitted)
    m.cohort_subtree_admitted_active_workloads.set({name, queue}, count);
}

Result<kube::ReconcileResult> CohortReconciler::reconcile(const kube::ObjectKey& key) {
  auto cohort = context_.stores->cohorts.get(key);
  const engine::CohortStatus view = context_.admission->ask(
      [&](const engine::State& state) { return state.cohort_status(key.name); });
  if (view.in_cycle) {  // no tree, no numbers
    context_.metrics->forget_cohort(key.name);
    return kube::ReconcileResult{};
  }
  if (context_.gates().on(Gate::kMetricsForCohorts)) report(key.name, cohort.get());
  if (!context_.options->engine.fair_sharing.has_value()) return write_empty_status(cohort.get());
  if (!view.known && cohort == nullptr) {
    // The engine may have known it a moment longer than the store.
    context_.metrics->forget_cohort(key.name);
    return kube::ReconcileResult{};
  }
  context_.metrics->cohort_weighted_share.set({key.name}, view.exact_share);
  if (cohort == nullptr) return kube::ReconcileResult{};
  if (cohort->status.fair_sharing.has_value() &&
      cohort->status.fair_sharing->weighted_share == view.weighted_share)
    return kube::ReconcileResult{};
  json::Value document;
  document.at_path({"status", "fairSharing", "weightedShare"}) = view.weighted_share;
  return write_status(key, document);
}

// Without fair sharing the status is there and empty. Once for each Cohort: on one that has it
// already the patch changes nothing.
Result<kube::ReconcileResult> CohortReconciler::write_empty_status(const v1beta2::Cohort* cohort) {
  if (cohort == nullptr || cohort->metadata.deletion_timestamp.has_value())
    return kube::ReconcileResult{};
  {
    std::lock_guard lock(mutex_);
    std::string& written = status_written_[cohort->metadata.name];
    if (written == cohort->metadata.uid) return kube::ReconcileResult{};
    written = cohort->metadata.uid;
  }
  json::Value document;
  document["status"] = json::Value::object();
  Result<kube::ReconcileResult> result = write_status({"", cohort->metadata.name}, document);
  if (!result.ok()) {
    std::lock_guard lock(mutex_);
    status_written_.erase(cohort->metadata.name);
  }
  return result;
}

Result<kube::ReconcileResult> CohortReconciler::write_status(const kube::ObjectKey& key,
                                                             const json::Value& document) {
  KUEUE_TRY(merge_patch(context_, context_.stores->cohorts.core(), key, "status", document));
  return kube::ReconcileResult{};
}

}  // namespace kueue::controllers
