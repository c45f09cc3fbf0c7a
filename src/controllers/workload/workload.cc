#include "controllers/workload/workload.h"

#include <algorithm>
#include <array>

#include "controllers/finalizers.h"
#include "controllers/metrics/record.h"
#include "controllers/names.h"
#include "controllers/scheduler/admission.h"
#include "controllers/workload/conditions.h"
#include "controllers/write.h"
#include "json/patch.h"
#include "schema/codec.h"

namespace kueue::controllers {
namespace {

constexpr std::string_view kOwnerNotFoundText = "The workload's owner no longer exists";

bool deleting(const v1beta2::Workload& workload) {
  return workload.metadata.deletion_timestamp.has_value();
}

}  // namespace

WorkloadReconciler::WorkloadReconciler(Context& context,
                                       std::function<void(const kube::ObjectKey&)> enqueue)
    : context_(context),
      recorder_(context.recorder("kueue-workload-controller")),
      enqueue_(std::move(enqueue)) {}

Result<kube::ReconcileResult> WorkloadReconciler::reconcile(const kube::ObjectKey& key) {
  WorkloadPointer workload = context_.stores->workloads.get(key);
  if (workload == nullptr) return kube::ReconcileResult{};
  KUEUE_ASSIGN(const bool orphan, handle_orphan(*workload));
  if (orphan) return kube::ReconcileResult{};
  workload = context_.stores->workloads.get(key);
  if (workload == nullptr) return kube::ReconcileResult{};
  if (is_finished(*workload)) return handle_finished(*workload);
  if (deleting(*workload)) return kube::ReconcileResult{};
  if (is_active(*workload) && is_true(*workload, kDeactivationTarget)) {
    KUEUE_TRY(deactivate(*workload));
    return kube::ReconcileResult{};
  }
  KUEUE_ASSIGN(const bool checks_changed, sync_checks(*workload));
  if (checks_changed) return kube::ReconcileResult{};

  Outcome outcome;
  v1beta2::Workload before;
  bool wrote = false;
  KUEUE_ASSIGN(WorkloadPointer after,
               edit_status(context_, key, workload->metadata.uid, [&](v1beta2::Workload& current) {
                 outcome = {};
                 wrote = false;
                 if (is_finished(current)) return StatusEdit::kObsolete;
                 before = current;
                 if (!decide(current, outcome)) return StatusEdit::kUnchanged;
                 wrote = true;
                 return StatusEdit::kWrite;
               }));
  if (after == nullptr) return kube::ReconcileResult{};
  if (wrote) follow_up(before, *after, outcome);
  return kube::ReconcileResult{outcome.look_again};
}

// A Workload of ours whose owner is gone from its references.
Result<bool> WorkloadReconciler::handle_orphan(const v1beta2::Workload& workload) {
  if (!workload.metadata.owner_references.empty()) return false;
  const bool finish_orphans = context_.gates().on(Gate::kFinishOrphanedWorkloads) &&
                              workload.metadata.labels.contains(kJobUidLabel);
  if (!deleting(workload) && !finish_orphans) return false;
  if (!deleting(workload) && !is_finished(workload)) {
    KUEUE_ASSIGN([[maybe_unused]] const WorkloadPointer written,
                 edit_status(context_, {workload.metadata.namespace_, workload.metadata.name},
                             workload.metadata.uid, [&](v1beta2::Workload& current) {
                               if (is_finished(current)) return StatusEdit::kUnchanged;
                               bridge::finish(current, "OwnerNotFound", kOwnerNotFoundText,
                                              status_context());
                               return StatusEdit::kWrite;
                             }));
  }
  WorkloadPointer now =
      context_.stores->workloads.get({workload.metadata.namespace_, workload.metadata.name});
  if (now != nullptr)
    KUEUE_TRY(set_finalizer(context_, context_.stores->workloads.core(), now->metadata,
                            kResourceInUseFinalizer, false));
  return deleting(workload);
}

Result<kube::ReconcileResult> WorkloadReconciler::handle_finished(
    const v1beta2::Workload& workload) {
  const auto& retention = context_.options->retention_after_finished;
  if (!retention.has_value() || deleting(workload)) return kube::ReconcileResult{};
  const Duration left = transition_time(workload, kFinished) + *retention - context_.now();
  if (left.ns > 0) return kube::ReconcileResult{left};
  kube::DeleteOptions options;
  options.uid_precondition = workload.metadata.uid;
  kube::InformerCore& store = context_.stores->workloads.core();
  auto removed = context_.client->remove(
      store.resource(), {workload.metadata.namespace_, workload.metadata.name}, options);
  if (!removed.ok()) {
    if (removed.error().code == ErrorCode::kNotFound) return kube::ReconcileResult{};
    return removed.error();
  }
  recorder_.normal(reference_to(workload), "Deleted",
                   "Deleted finished workload due to elapsed retention");
  return kube::ReconcileResult{};
}

Result<void> WorkloadReconciler::deactivate(const v1beta2::Workload& workload) {
  json::Value patch;
  patch.at_path({"metadata", "resourceVersion"}) = workload.metadata.resource_version;
  patch.at_path({"spec", "active"}) = false;
  kube::InformerCore& store = context_.stores->workloads.core();
  auto written = context_.client->patch(store.resource(),
                                        {workload.metadata.namespace_, workload.metadata.name},
                                        kube::PatchType::kMerge, patch);
  if (!written.ok())
    return written.error().code == ErrorCode::kNotFound ? Result<void>() : written.error();
  store.absorb(*written);
  return {};
}

// The list of checks is not applied but patched: their controllers write the states in it.
Result<bool> WorkloadReconciler::sync_checks(const v1beta2::Workload& workload) {
  // A queue that is not known (yet) says nothing about checks.
  if (!is_active(workload) || is_evicted(workload) || queues_of(workload).cluster == nullptr)
    return false;
  const std::vector<std::string> needed = context_.admission->required_checks(workload);
  const auto& present = workload.status.admission_checks;
  const bool same =
      std::equal(needed.begin(), needed.end(), present.begin(), present.end(),
                 [](const std::string& name, const auto& check) { return name == check.name; });
  if (same) return false;
  std::vector<v1beta2::AdmissionCheckState> wanted;
  for (const std::string& name : needed) {
    const auto found = std::find_if(present.begin(), present.end(),
                                    [&](const auto& check) { return check.name == name; });
    if (found != present.end()) {
      wanted.push_back(*found);
      continue;
    }
    v1beta2::AdmissionCheckState& added = wanted.emplace_back();
    added.name = name;
    added.state = "Pending";
    added.last_transition_time = context_.now();
  }
  json::Value patch;
  patch.at_path({"metadata", "resourceVersion"}) = workload.metadata.resource_version;
  json::Value list = schema::encode(wanted);
  patch.at_path({"status", "admissionChecks"}) = wanted.empty() ? json::Value(nullptr) : list;
  KUEUE_TRY(merge_patch(context_, context_.stores->workloads.core(),
                        {workload.metadata.namespace_, workload.metadata.name}, "status", patch));
  return true;
}

void WorkloadReconciler::follow_up(const v1beta2::Workload& before, const v1beta2::Workload& after,
                                   const Outcome& outcome) const {
  const kube::ObjectReference about = reference_to(after);
  const auto emit = [&](const bridge::WorkloadEvent& event) {
    recorder_.emit(about, event.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
                   event.reason, event.reason, event.message);
  };
  for (const bridge::WorkloadEvent& event : outcome.events) emit(event);
  if (enqueue_ && is_true(before, kTerminationOverdue) != is_true(after, kTerminationOverdue))
    for (const WorkloadPointer& other : context_.stores->workloads.list())
      if (preempted_for(after, *other))
        enqueue_({other->metadata.namespace_, other->metadata.name});
  if (outcome.evicted.has_value()) {
    const Eviction& eviction = *outcome.evicted;
    record_evicted(context_, before, before.status.admission->cluster_queue, eviction.reason,
                   eviction.cause);
    // Only a deactivation names its cause in the event.
    emit(bridge::evicted_event({after.metadata.namespace_, after.metadata.name}, eviction.reason,
                               eviction.reason == kDeactivated ? eviction.cause : "",
                               eviction.message));
  }
  if (outcome.admitted) {
    const Instant reserved = transition_time(before, kQuotaReserved);
    const int64_t waited = std::max<int64_t>(0, (context_.now() - reserved).ns / 1'000'000'000);
    record_admitted(context_, before, before.status.admission->cluster_queue, reserved);
    recorder_.normal(about, "Admitted",
                     "Admitted by ClusterQueue " + before.status.admission->cluster_queue +
                         ", wait time since reservation was " + std::to_string(waited) + "s");
  }
}

}  // namespace kueue::controllers
