#include "controllers/cluster_queue/cluster_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "bridge/quantities.h"
#include "controllers/finalizers.h"
#include "controllers/metrics/custom_labels.h"
#include "controllers/metrics/record.h"
#include "controllers/metrics/workload_tally.h"
#include "controllers/names.h"
#include "controllers/scheduler/admission.h"
#include "controllers/workload/conditions.h"
#include "controllers/write.h"
#include "schema/codec.h"

namespace kueue::controllers {
namespace {

std::vector<v1beta2::FlavorUsage> to_api(const std::vector<engine::FlavorUsage>& usage) {
  std::vector<v1beta2::FlavorUsage> result;
  for (const engine::FlavorUsage& flavor : usage) {
    v1beta2::FlavorUsage out;
    out.name = flavor.flavor;
    for (const engine::ResourceUsage& resource : flavor.resources) {
      v1beta2::ResourceUsage& item = out.resources.emplace_back();
      item.name = resource.resource;
      item.total = bridge::quantity_of(resource.resource, resource.total.value());
      item.borrowed = bridge::quantity_of(resource.resource, resource.borrowed.value());
    }
    result.push_back(std::move(out));
  }
  return result;
}

double limit_value(std::string_view resource, const std::optional<api::Quantity>& limit) {
  if (!limit.has_value()) return std::numeric_limits<double>::infinity();
  return metric_value(resource, bridge::quota_amount(resource, *limit));
}

}  // namespace

ClusterQueueReconciler::View ClusterQueueReconciler::look(const std::string& name) const {
  const auto queue = context_.stores->cluster_queues.get({"", name});
  return context_.admission->ask([&](const engine::State& state) {
    return View{state.cluster_queue_activity(name), state.cluster_queue_status(name),
                queue != nullptr && state.cohort_status(queue->spec.cohort_name).in_cycle};
  });
}

Result<kube::ReconcileResult> ClusterQueueReconciler::reconcile(const kube::ObjectKey& key) {
  auto queue = context_.stores->cluster_queues.get(key);
  if (queue == nullptr) {
    context_.metrics->forget_cluster_queue(key.name);
    context_.tally->report_again(key.name);  // of those that wait for it
    return kube::ReconcileResult{};
  }
  const View view = look(key.name);
  kube::InformerCore& store = context_.stores->cluster_queues.core();
  if (queue->metadata.deletion_timestamp.has_value()) {
    if (view.status.reserving == 0) {
      KUEUE_TRY(set_finalizer(context_, store, queue->metadata, kResourceInUseFinalizer, false));
      return kube::ReconcileResult{};
    }
  } else {
    KUEUE_TRY(set_finalizer(context_, store, queue->metadata, kResourceInUseFinalizer, true));
    queue = context_.stores->cluster_queues.get(key);
    if (queue == nullptr) return kube::ReconcileResult{};
  }
  KUEUE_TRY(write_status(*queue, view));
  report(*queue, view);
  return kube::ReconcileResult{};
}

Result<void> ClusterQueueReconciler::write_status(const v1beta2::ClusterQueue& queue,
                                                  const View& view) {
  v1beta2::ClusterQueue changed = queue;
  v1beta2::ClusterQueueStatus& status = changed.status;
  status.pending_workloads = view.status.pending_active + view.status.pending_inadmissible;
  status.reserving_workloads = view.status.reserving;
  status.admitted_workloads = view.status.admitted;
  status.flavors_reservation = to_api(view.status.reservation);
  status.flavors_usage = to_api(view.status.usage);
  if (context_.options->engine.fair_sharing.has_value()) {
    status.fair_sharing = v1beta2::FairSharingStatus{view.status.weighted_share};
  } else {
    status.fair_sharing.reset();
  }
  set_condition(status.conditions, kActive, view.activity.active, view.activity.reason,
                view.activity.message, queue.metadata.generation.value_or(0), context_.now());
  return patch_status(context_, context_.stores->cluster_queues.core(), {"", queue.metadata.name},
                      schema::encode(queue.status), schema::encode(changed.status));
}

void ClusterQueueReconciler::report(const v1beta2::ClusterQueue& queue, const View& view) {
  metrics::Metrics& m = *context_.metrics;
  const std::string& name = queue.metadata.name;
  const std::string now = queue.metadata.deletion_timestamp.has_value() ? "terminating"
                          : view.activity.active                        ? "active"
                                                                        : "pending";
  for (const char* status : {"pending", "active", "terminating"})
    m.cluster_queue_status.set({name, status}, status == now ? 1 : 0);
  // An inactive queue looks at nobody: what it holds is as good as inadmissible.
  const int32_t waiting = view.status.pending_active + view.status.pending_inadmissible;
  if (has_workload_labels(*context_.options)) {
    report_by_workload_labels(name, view.activity.active);
  } else {
    m.pending_workloads.set({name, "active"},
                            view.activity.active ? view.status.pending_active : 0);
    m.pending_workloads.set({name, "inadmissible"},
                            view.activity.active ? view.status.pending_inadmissible : waiting);
    m.admitted_active_workloads.set({name}, view.status.admitted);
  }
  if (context_.gates().on(Gate::kSchedulingEquivalenceHashing)) {
    const int32_t hashes = view.status.hashes_active + view.status.hashes_inadmissible;
    m.pending_scheduling_hashes.set({name, "active"},
                                    view.activity.active ? view.status.hashes_active : 0);
    m.pending_scheduling_hashes.set(
        {name, "inadmissible"}, view.activity.active ? view.status.hashes_inadmissible : hashes);
  }
  m.cluster_queue_resource_pending.erase_matching({{"cluster_queue", name}});
  for (const auto& [resource, amount] : view.status.pending_requests)
    m.cluster_queue_resource_pending.set({name, resource}, metric_value(resource, Amount(amount)));
  m.reserving_active_workloads.set({name}, view.status.reserving);

  const std::vector<std::string> path = cohort_path(*context_.stores, name);
  const std::string root = path.empty() ? "" : path.back();
  m.cluster_queue_info.erase_matching({{"cluster_queue", name}});
  if (!view.in_cycle) m.cluster_queue_info.set({name, queue.spec.cohort_name, root}, 1);
  if (context_.options->engine.fair_sharing.has_value()) {
    m.cluster_queue_weighted_share.set({name, queue.spec.cohort_name}, view.status.exact_share);
  }
  if (context_.options->enable_cluster_queue_resources)
    report_quota(queue, view, queue.spec.cohort_name);
}

void ClusterQueueReconciler::report_by_workload_labels(const std::string& name, bool active) {
  metrics::Metrics& m = *context_.metrics;
  WorkloadCounts waiting(*context_.options), aside(*context_.options), admitted(*context_.options);
  const auto pending = context_.admission->ask([&](const engine::State& state) {
    std::vector<std::pair<engine::Key, bool>> out;
    for (engine::PendingWorkload& one : state.pending(name)) {
      const bool in_heap = state.place(one.key) == engine::WorkloadPlace::kActive;
      out.emplace_back(std::move(one.key), in_heap);
    }
    return out;
  });
  for (const auto& [key, in_heap] : pending)
    if (const auto object = context_.stores->workloads.get({key.namespace_, key.name}))
      (active && in_heap ? waiting : aside).add(object->metadata);
  for (const auto& object : context_.stores->workloads.by_index(kByClusterQueue, name))
    if (is_admitted(*object) && !is_finished(*object)) admitted.add(object->metadata);
  waiting.report(m.pending_workloads, {name, "active"});
  aside.report(m.pending_workloads, {name, "inadmissible"});
  admitted.report(m.admitted_active_workloads, {name});
}

void ClusterQueueReconciler::report_quota(const v1beta2::ClusterQueue& queue, const View& view,
                                          const std::string& cohort) {
  metrics::Metrics& m = *context_.metrics;
  const std::string& name = queue.metadata.name;
  for (metrics::Family* family :
       {&m.cluster_queue_nominal_quota, &m.cluster_queue_borrowing_limit,
        &m.cluster_queue_lending_limit, &m.cluster_queue_resource_reservation,
        &m.cluster_queue_resource_usage})
    family->erase_matching({{"cluster_queue", name}});
  for (const v1beta2::ResourceGroup& group : queue.spec.resource_groups) {
    for (const v1beta2::FlavorQuotas& flavor : group.flavors) {
      for (const v1beta2::ResourceQuota& quota : flavor.resources) {
        const metrics::LabelValues labels{cohort, name, flavor.name, quota.name};
        m.cluster_queue_nominal_quota.set(
            labels,
            metric_value(quota.name, bridge::quota_amount(quota.name, quota.nominal_quota)));
        m.cluster_queue_borrowing_limit.set(labels, limit_value(quota.name, quota.borrowing_limit));
        m.cluster_queue_lending_limit.set(labels, limit_value(quota.name, quota.lending_limit));
      }
    }
  }
  const auto usage = [&](metrics::Family& family, const std::vector<engine::FlavorUsage>& all) {
    for (const engine::FlavorUsage& flavor : all)
      for (const engine::ResourceUsage& resource : flavor.resources)
        family.set({cohort, name, flavor.flavor, resource.resource},
                   metric_value(resource.resource, resource.total));
  };
  usage(m.cluster_queue_resource_reservation, view.status.reservation);
  usage(m.cluster_queue_resource_usage, view.status.usage);
}

}  // namespace kueue::controllers
