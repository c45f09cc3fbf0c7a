#include "controllers/local_queue/local_queue.h"

#include "bridge/quantities.h"
#include "controllers/metrics/custom_labels.h"
#include "controllers/names.h"
#include "controllers/scheduler/admission.h"
#include "controllers/workload/conditions.h"
#include "controllers/write.h"
#include "schema/codec.h"

namespace kueue::controllers {
namespace {

constexpr const char* kUnusable = "Can't submit new workloads to clusterQueue";

std::vector<v1beta2::LocalQueueFlavorUsage> to_api(const std::vector<engine::FlavorUsage>& usage) {
  std::vector<v1beta2::LocalQueueFlavorUsage> result;
  for (const engine::FlavorUsage& flavor : usage) {
    v1beta2::LocalQueueFlavorUsage& out = result.emplace_back();
    out.name = flavor.flavor;
    for (const engine::ResourceUsage& resource : flavor.resources)
      out.resources.push_back(
          {resource.resource, bridge::quantity_of(resource.resource, resource.total.value())});
  }
  return result;
}

struct Activity {
  bool active = false;
  std::string_view reason;
  std::string_view message;
};

Activity activity_of(const v1beta2::LocalQueue& queue, const engine::QueueActivity& target) {
  if (!queue.spec.stop_policy.empty() && queue.spec.stop_policy != "None")
    return {false, "Stopped", "LocalQueue is stopped"};
  if (!target.known) return {false, "ClusterQueueDoesNotExist", kUnusable};
  if (!target.active) return {false, "ClusterQueueIsInactive", kUnusable};
  return {true, "Ready", "Can submit new workloads to localQueue"};
}

}  // namespace

Result<kube::ReconcileResult> LocalQueueReconciler::reconcile(const kube::ObjectKey& key) {
  auto queue = context_.stores->local_queues.get(key);
  if (queue == nullptr) {
    context_.metrics->forget_local_queue(key.namespace_, key.name);
    return kube::ReconcileResult{};
  }
  View view = context_.admission->ask([&](const engine::State& state) {
    return View{.cluster_queue = state.cluster_queue_activity(queue->spec.cluster_queue),
                .status = state.local_queue_status({key.namespace_, key.name}),
                .sample = {}};
  });
  if (context_.options->engine.admission_fair_sharing.has_value() &&
      context_.gates().on(Gate::kAdmissionFairSharing))
    view.sample = context_.admission->sample_usage({key.namespace_, key.name});
  // Without its ClusterQueue nothing is queued yet, but waits all the same.
  if (!view.cluster_queue.known) view.status.pending = count_waiting(key);
  KUEUE_TRY(write_status(*queue, view));
  if (context_.gates().on(Gate::kLocalQueueMetrics)) report(*queue, view);
  if (view.sample.has_value()) return kube::ReconcileResult{view.sample->next};
  return kube::ReconcileResult{};
}

int32_t LocalQueueReconciler::count_waiting(const kube::ObjectKey& key) const {
  int32_t count = 0;
  for (const WorkloadPointer& workload :
       context_.stores->workloads.by_index(kByQueue, key.to_string()))
    if (!is_finished(*workload) && is_active(*workload) && !has_reservation(*workload)) ++count;
  return count;
}

Result<void> LocalQueueReconciler::write_status(const v1beta2::LocalQueue& queue,
                                                const View& view) {
  v1beta2::LocalQueue changed = queue;
  v1beta2::LocalQueueStatus& status = changed.status;
  status.pending_workloads = view.status.pending;
  status.reserving_workloads = view.status.reserving;
  status.admitted_workloads = view.status.admitted;
  status.flavors_reservation = to_api(view.status.reservation);
  status.flavors_usage = to_api(view.status.usage);
  if (view.sample.has_value() && view.sample->taken) {
    v1beta2::AdmissionFairSharingStatus consumed;
    for (const auto& [resource, amount] : view.sample->usage.consumed)
      consumed.consumed_resources[resource] = bridge::quantity_of_nanos(amount);
    consumed.last_update = view.sample->usage.last_update;
    if (!status.fair_sharing.has_value()) status.fair_sharing.emplace();
    status.fair_sharing->admission_fair_sharing_status = std::move(consumed);
  }
  const Activity activity = activity_of(queue, view.cluster_queue);
  set_condition(status.conditions, kActive, activity.active, activity.reason, activity.message,
                queue.metadata.generation.value_or(0), context_.now());
  return patch_status(context_, context_.stores->local_queues.core(),
                      {queue.metadata.namespace_, queue.metadata.name},
                      schema::encode(queue.status), schema::encode(changed.status));
}

void LocalQueueReconciler::report_by_workload_labels(const v1beta2::LocalQueue& queue,
                                                     bool active) {
  metrics::Metrics& m = *context_.metrics;
  const metrics::LabelValues about{queue.metadata.name, queue.metadata.namespace_};
  WorkloadCounts waiting(*context_.options), aside(*context_.options), admitted(*context_.options);
  const auto objects = context_.stores->workloads.by_index(
      kByQueue, queue.metadata.namespace_ + "/" + queue.metadata.name);
  const auto places = context_.admission->ask([&](const engine::State& state) {
    std::vector<engine::WorkloadPlace> out;
    for (const auto& object : objects)
      out.push_back(state.place({object->metadata.namespace_, object->metadata.name}));
    return out;
  });
  for (size_t i = 0; i < objects.size(); ++i) {
    const v1beta2::Workload& workload = *objects[i];
    if (places[i] == engine::WorkloadPlace::kActive ||
        places[i] == engine::WorkloadPlace::kInadmissible)
      (active && places[i] == engine::WorkloadPlace::kActive ? waiting : aside)
          .add(workload.metadata);
    if (is_admitted(workload) && !is_finished(workload)) admitted.add(workload.metadata);
  }
  waiting.report(m.local_queue_pending_workloads, {about[0], about[1], "active"});
  aside.report(m.local_queue_pending_workloads, {about[0], about[1], "inadmissible"});
  admitted.report(m.local_queue_admitted_active_workloads, about);
}

void LocalQueueReconciler::report(const v1beta2::LocalQueue& queue, const View& view) {
  metrics::Metrics& m = *context_.metrics;
  const std::string& name = queue.metadata.name;
  const std::string& space = queue.metadata.namespace_;
  const bool active = activity_of(queue, view.cluster_queue).active;
  m.local_queue_status.set({name, space, "True"}, active ? 1 : 0);
  m.local_queue_status.set({name, space, "False"}, active ? 0 : 1);
  m.local_queue_status.set({name, space, "Unknown"}, 0);
  const int32_t waiting =
      view.cluster_queue.active ? view.status.pending_inadmissible : view.status.pending;
  const bool split = has_workload_labels(*context_.options);
  if (split) report_by_workload_labels(queue, view.cluster_queue.active);
  // Of a queue that never had its ClusterQueue nothing is told; of one that lost it, that all wait.
  if (!split && (view.cluster_queue.known || m.local_queue_pending_workloads.erase_matching(
                                                 {{"name", name}, {"namespace", space}}) > 0)) {
    m.local_queue_pending_workloads.set({name, space, "active"}, view.status.pending - waiting);
    m.local_queue_pending_workloads.set({name, space, "inadmissible"}, waiting);
  }
  m.local_queue_reserving_active_workloads.set({name, space}, view.status.reserving);
  if (!split) m.local_queue_admitted_active_workloads.set({name, space}, view.status.admitted);
  if (view.sample.has_value() && view.sample->taken)
    m.local_queue_admission_fair_sharing_usage.set({name, space, queue.spec.cluster_queue},
                                                   view.sample->usage.value);
  const auto usage = [&](metrics::Family& family, const std::vector<engine::FlavorUsage>& all) {
    family.erase_matching({{"name", name}, {"namespace", space}});
    for (const engine::FlavorUsage& flavor : all) {
      for (const engine::ResourceUsage& resource : flavor.resources) {
        const double amount = static_cast<double>(resource.total.value());
        family.set({name, space, flavor.flavor, resource.resource},
                   resource.resource == "cpu" ? amount / 1000 : amount);
      }
    }
  };
  usage(m.local_queue_resource_reservation, view.status.reservation);
  usage(m.local_queue_resource_usage, view.status.usage);
}

}  // namespace kueue::controllers
