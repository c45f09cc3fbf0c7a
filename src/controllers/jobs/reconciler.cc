#include "controllers/jobs/reconciler.h"

#include <algorithm>

#include "bridge/workload_status.h"
#include "controllers/finalizers.h"
#include "controllers/jobs/pod_set_info.h"
#include "controllers/metrics/record.h"
#include "controllers/names.h"
#include "controllers/workload/conditions.h"
#include "controllers/workload/status_writer.h"
#include "json/patch.h"
#include "schema/codec.h"

namespace kueue::controllers::jobs {
namespace {

constexpr int kMaxNesting = 10;
constexpr int kStopSteps = 4;  // more than any kind needs in one go

}  // namespace

JobReconciler::JobReconciler(Context& context, JobKind& kind,
                             const std::vector<std::unique_ptr<JobKind>>& kinds)
    : context_(context),
      kind_(kind),
      kinds_(kinds),
      recorder_(context.recorder(std::string(kind.framework()) + "-kueue-controller")) {}

kube::ObjectReference JobReconciler::reference(const Job& job) const {
  return {.api_version = kind_.resource().api_version(),
          .kind = kind_.resource().kind,
          .namespace_ = job.metadata().namespace_,
          .name = job.metadata().name,
          .uid = job.metadata().uid,
          .resource_version = job.metadata().resource_version};
}

kube::ObjectKey JobReconciler::key_of(const Job& job) const {
  return {job.metadata().namespace_, job.metadata().name};
}

std::string JobReconciler::queue_name(const Job& job) const {
  auto found = job.metadata().labels.find(kQueueNameLabel);
  return found == job.metadata().labels.end() ? "" : found->second;
}

WorkloadPointer JobReconciler::newest(const v1beta2::Workload& workload) const {
  return context_.stores->workloads.get({workload.metadata.namespace_, workload.metadata.name});
}

Result<bool> JobReconciler::managed_namespace(const std::string& name) const {
  auto found = context_.stores->namespaces.get({"", name});
  wire::LabelMap labels;
  if (found != nullptr) labels.insert(found->metadata.labels.begin(), found->metadata.labels.end());
  return context_.options->managed_jobs_namespace_selector.matches(labels);
}

JobReconciler::Next JobReconciler::reconcile(const kube::ObjectKey& key) {
  KUEUE_TRY(settle_doubt(key));
  std::unique_ptr<Job> job = kind_.get(key);
  if (job == nullptr || job->metadata().deletion_timestamp.has_value())
    return finalize(key, job.get());
  {
    std::lock_guard lock(mutex_);
    gone_since_.erase(key);
  }
  KUEUE_TRY(release_predecessors(*job));
  KUEUE_ASSIGN(const bool managed, managed_namespace(key.namespace_));
  if (!managed) return kube::ReconcileResult{};
  if (const std::unique_ptr<Job> ancestor = ancestor_of(*job))
    return follow_ancestor(*job, *ancestor);
  if (queue_name(*job).empty() && !context_.options->manage_jobs_without_queue_name)
    return kube::ReconcileResult{};

  KUEUE_ASSIGN(Matching matching, ensure_one_workload(*job));
  if (matching.stop_pass) return kube::ReconcileResult{};
  // What ensure_one_workload wrote to the job is in the cache already.
  job = kind_.get(key);
  if (job == nullptr) return kube::ReconcileResult{};
  if (matching.workload == nullptr) {
    if (job->finished().has_value() || job->active()) return kube::ReconcileResult{};
    KUEUE_TRY(create_workload(*job));
    return kube::ReconcileResult{};
  }
  KUEUE_ASSIGN(WorkloadPointer workload,
               sync_priority_and_gates(*job, std::move(matching.workload)));
  return steer(*job, std::move(workload));
}

std::unique_ptr<Job> JobReconciler::ancestor_of(const Job& job) const {
  std::unique_ptr<Job> top;
  std::unique_ptr<Job> at;  // the last one on the way up
  for (int depth = 0;; ++depth) {
    const auto* owner = controller_of((at == nullptr ? job : *at).metadata());
    if (owner == nullptr) return top;
    if (depth == kMaxNesting) {
      recorder_.warning(reference(job), "JobNestingTooDeep",
                        "Terminated search for Kueue-managed Job because ancestor depth exceeded "
                        "limit of " +
                            std::to_string(kMaxNesting));
      return top;
    }
    const kube::ObjectKey key{job.metadata().namespace_, owner->name};
    const auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& k) {
      return owner->kind == k->resource().kind &&
             owner->api_version.substr(0, owner->api_version.find('/')) == k->resource().group;
    });
    if (kind == kinds_.end()) return top;
    std::unique_ptr<Job> next = (*kind)->get(key);
    if (next == nullptr || next->metadata().uid != owner->uid) return top;
    if (!queue_name(*next).empty() || context_.options->manage_jobs_without_queue_name)
      top = (*kind)->get(key);
    at = std::move(next);
  }
}

// A child runs when the job above it runs.
JobReconciler::Next JobReconciler::follow_ancestor(const Job& job, const Job& ancestor) {
  if (job.suspended() || job.finished().has_value()) return kube::ReconcileResult{};
  WorkloadPointer latest;
  for (const WorkloadPointer& workload :
       context_.stores->workloads.by_index(kByOwner, ancestor.metadata().uid)) {
    if (is_finished(*workload)) continue;
    if (latest == nullptr ||
        workload->metadata.creation_timestamp > latest->metadata.creation_timestamp)
      latest = workload;
  }
  if (latest != nullptr && is_admitted(*latest)) return kube::ReconcileResult{};
  KUEUE_TRY(write_job(job, job.suspended_document(), false));
  recorder_.normal(reference(job), "Suspended", "Kueue managed child job suspended");
  return kube::ReconcileResult{};
}

// The job is gone or going: its Workloads end, so that their quota is free.
JobReconciler::Next JobReconciler::finalize(const kube::ObjectKey& key, const Job* job) {
  const auto workloads = context_.stores->workloads.by_index(
      kByOwnerName, owner_index_key(kind_.resource().kind, kind_.resource().api_version(),
                                    key.namespace_, key.name));
  kube::ReconcileResult result;
  for (const WorkloadPointer& workload : workloads) {
    const auto* owner = controller_of(workload->metadata);
    if (job != nullptr && owner->uid != job->metadata().uid) continue;
    if (workload->metadata.finalizers.empty()) continue;
    if (job == nullptr && !workload->metadata.deletion_timestamp.has_value()) {
      // The garbage collector is about to delete it; where there is none, we go on after a while.
      std::lock_guard lock(mutex_);
      const Instant since = gone_since_.try_emplace(key, context_.now()).first->second;
      const Duration left = orphan_grace_ - (context_.now() - since);
      if (left.ns > 0) {
        result.requeue_after = left;
        continue;
      }
    }
    if (context_.gates().on(Gate::kFinishOrphanedWorkloads) && !is_finished(*workload) &&
        !workload->metadata.deletion_timestamp.has_value())
      KUEUE_TRY(finish(*workload, "OwnerNotFound", "The workload's owner no longer exists"));
    if (WorkloadPointer now = newest(*workload)) KUEUE_TRY(remove_finalizer(*now));
  }
  if (!result.requeue_after.has_value()) {
    std::lock_guard lock(mutex_);
    gone_since_.erase(key);
  }
  return result;
}

Result<void> JobReconciler::release_predecessors(const Job& job) {
  const kube::ObjectKey key = key_of(job);
  for (const WorkloadPointer& workload : context_.stores->workloads.by_index(
           kByOwnerName, owner_index_key(kind_.resource().kind, kind_.resource().api_version(),
                                         key.namespace_, key.name))) {
    const std::string& owner = controller_of(workload->metadata)->uid;
    if (owner == job.metadata().uid || workload->metadata.finalizers.empty() ||
        !workload->metadata.deletion_timestamp.has_value())
      continue;
    // The cache of jobs may be behind that of workloads: then the owner is the newer one.
    auto live = context_.client->get(kind_.resource(), key);
    if (!live.ok() && live.error().code != ErrorCode::kNotFound) return live.error();
    if (live.ok() && live->get_string({"metadata", "uid"}) == owner) continue;
    KUEUE_TRY(remove_finalizer(*workload));
  }
  return {};
}

JobReconciler::Next JobReconciler::steer(const Job& job, WorkloadPointer workload) {
  if (is_finished(*workload)) {
    KUEUE_TRY(remove_finalizer(*workload));
    return kube::ReconcileResult{};
  }
  if (workload->metadata.deletion_timestamp.has_value()) {
    KUEUE_ASSIGN(const bool stopped, stop(job, workload.get(), "Workload is deleted"));
    if (stopped) KUEUE_TRY(remove_finalizer(*workload));
    return kube::ReconcileResult{};
  }
  if (const std::optional<Completion> completion = job.finished()) {
    KUEUE_TRY(finish(*workload, completion->success ? "Succeeded" : "Failed", completion->message));
    recorder_.normal(reference(job), "FinishedWorkload",
                     "Workload '" + workload->metadata.namespace_ + "/" + workload->metadata.name +
                         "' is declared finished");
    return kube::ReconcileResult{};
  }
  // A pass ends with a write to the Workload: the next one goes on from what was written.
  if (context_.gates().on(Gate::kReclaimablePods)) {
    KUEUE_ASSIGN(const bool wrote, sync_reclaimable(job, *workload));
    if (wrote) return kube::ReconcileResult{};
  }
  if (context_.options->wait_for_pods_ready.has_value() &&
      context_.options->jobs_wait_for_pods_ready &&
      !context_.gates().on(Gate::kDisableWaitForPodsReady)) {
    KUEUE_ASSIGN(const bool wrote, sync_pods_ready(job, *workload));
    if (wrote) return kube::ReconcileResult{};
  }

  if (is_evicted(*workload)) return after_eviction(job, *workload);
  if (!job.suspended()) {
    // A stop that was interrupted is ended first, whatever was decided meanwhile: else the job
    // would hold its quota and never run.
    if (is_admitted(*workload) && !job.stopping()) return kube::ReconcileResult{};
    // What runs, runs on the quota of the slice before this one.
    if (const WorkloadPointer holder = replaced_holder(job, *workload)) {
      if (is_evicted(*holder)) return after_eviction(job, *holder);
      if (is_admitted(*holder) && !job.stopping()) return kube::ReconcileResult{};
    }
    KUEUE_ASSIGN([[maybe_unused]] const bool stopped,
                 stop(job, workload.get(), "Not admitted by cluster queue"));
    return kube::ReconcileResult{};
  }
  if (is_admitted(*workload)) return start(job, *workload);
  report_checks(job, *workload);
  KUEUE_TRY(follow_queue(job, *workload));
  return kube::ReconcileResult{};
}

Result<void> JobReconciler::follow_queue(const Job& job, const v1beta2::Workload& workload) {
  if (has_reservation(workload) || workload.spec.queue_name == queue_name(job)) return {};
  json::Value patch;
  patch.at_path({"spec", "queueName"}) = queue_name(job);
  KUEUE_TRY(patch_workload(workload, std::move(patch)));
  return {};
}

JobReconciler::Next JobReconciler::after_eviction(const Job& job,
                                                  const v1beta2::Workload& workload) {
  const api::meta::Condition& evicted = *find_condition(workload, kEvicted);
  KUEUE_ASSIGN(const bool stopped, stop(job, &workload, evicted.message));
  if (!stopped) return kube::ReconcileResult{};
  const bridge::StatusContext status{context_.now(), &context_.gates()};
  v1beta2::Workload before;
  bool released = false;
  KUEUE_ASSIGN(WorkloadPointer written,
               edit_status(context_, {workload.metadata.namespace_, workload.metadata.name},
                           workload.metadata.uid, [&](v1beta2::Workload& current) {
                             if (!is_evicted(current) || is_finished(current))
                               return StatusEdit::kObsolete;
                             before = current;
                             if (!has_reservation(current)) return StatusEdit::kUnchanged;
                             if (!bridge::finish_eviction(current, status))
                               return StatusEdit::kUnchanged;
                             released = true;
                             return StatusEdit::kWrite;
                           }));
  if (written != nullptr && released) record_released(context_, before, *written);
  if (written != nullptr) KUEUE_TRY(follow_queue(job, *written));
  return retain_after_deactivation(job, workload);
}

// A job that Kueue itself switched off is deleted when it was kept long enough.
JobReconciler::Next JobReconciler::retain_after_deactivation(const Job& job,
                                                             const v1beta2::Workload& workload) {
  const auto& retention = context_.options->retention_after_deactivated;
  const api::meta::Condition& evicted = *find_condition(workload, kEvicted);
  if (!retention.has_value() || is_active(workload) ||
      !evicted.reason.starts_with("DeactivatedDueTo"))
    return kube::ReconcileResult{};
  const Duration left =
      evicted.last_transition_time.value_or(Instant{}) + *retention - context_.now();
  if (left.ns > 0) return kube::ReconcileResult{left};
  kube::DeleteOptions options;
  options.propagation = "Background";
  options.uid_precondition = job.metadata().uid;
  auto removed = context_.client->remove(kind_.resource(), key_of(job), options);
  if (!removed.ok()) {
    if (removed.error().code == ErrorCode::kNotFound) return kube::ReconcileResult{};
    return removed.error();
  }
  recorder_.normal(reference(job), "Deleted", "Deleted job: deactivation retention period expired");
  return kube::ReconcileResult{};
}

JobReconciler::Next JobReconciler::start(const Job& job, const v1beta2::Workload& workload) {
  Result<std::vector<PodSetInfo>> infos = infos_of_admission(context_, workload);
  // Started before and suspended by its user: what was put in then goes first.
  if ((infos.ok() || infos.error().code == ErrorCode::kInvalid) &&
      job.left_from_start(infos_of_spec(workload),
                          infos.ok() ? *infos : std::vector<PodSetInfo>())) {
    KUEUE_ASSIGN([[maybe_unused]] const bool stopped,
                 stop(job, &workload, "Restoring pod templates of an earlier start"));
    return kube::ReconcileResult{};
  }
  Result<json::Value> target =
      infos.ok() ? job.started(*infos) : Result<json::Value>(infos.error());
  if (!target.ok()) {
    if (target.error().code != ErrorCode::kInvalid) return target.error();
    // It will never work: trying again would hold the quota for nothing.
    KUEUE_TRY(finish(workload, "FailedToStart", target.error().message));
    return kube::ReconcileResult{};
  }
  KUEUE_TRY(write_job(job, *target, false));
  recorder_.normal(reference(job), "Started",
                   "Admitted by clusterQueue " + workload.status.admission->cluster_queue);
  return kube::ReconcileResult{};
}

Result<bool> JobReconciler::stop(const Job& job, const v1beta2::Workload* workload,
                                 const std::string& message) {
  return stop(job, workload == nullptr ? std::vector<PodSetInfo>() : infos_of_spec(*workload),
              message);
}

Result<bool> JobReconciler::stop(const Job& job, const std::vector<PodSetInfo>& original,
                                 const std::string& message) {
  std::unique_ptr<Job> current;
  const Job* now = &job;
  for (int i = 0; i < kStopSteps; ++i) {
    const StopStep step = now->stop(original);
    switch (step.kind) {
      case StopStep::Kind::kDone:
        return !now->active();
      case StopStep::Kind::kWait:
        return false;
      case StopStep::Kind::kWrite:
        break;
    }
    const bool first = i == 0 && !step.status && !now->document().get_bool({"spec", "suspend"});
    KUEUE_TRY(write_job(*now, step.target, step.status));
    if (first) recorder_.normal(reference(job), "Stopped", message);
    current = kind_.get(key_of(job));
    if (current == nullptr) return false;
    now = current.get();
  }
  return false;
}

Result<void> JobReconciler::write_job(const Job& job, const json::Value& target, bool status) {
  json::Value patch = json::make_merge_patch(job.document(), target);
  patch.at_path({"metadata", "resourceVersion"}) = job.metadata().resource_version;
  kube::WriteOptions options;
  if (status) options.subresource = "status";
  auto written = context_.client->patch(kind_.resource(), key_of(job), kube::PatchType::kMerge,
                                        patch, options);
  if (!written.ok()) {
    std::lock_guard lock(mutex_);
    doubtful_.insert(key_of(job));
    return written.error();
  }
  kind_.store().absorb(*written);
  return {};
}

// A job that was started, or changed by somebody else, without our knowing must not pass for one
// that is stopped: its quota would be given away while it runs.
Result<void> JobReconciler::settle_doubt(const kube::ObjectKey& key) {
  {
    std::lock_guard lock(mutex_);
    if (!doubtful_.contains(key)) return {};
  }
  auto live = context_.client->get(kind_.resource(), key);
  if (!live.ok() && live.error().code != ErrorCode::kNotFound) return live.error();
  if (live.ok()) kind_.store().absorb(*live);
  std::lock_guard lock(mutex_);
  doubtful_.erase(key);
  return {};
}

// Says once what the checks of a workload that waits for them say.
void JobReconciler::report_checks(const Job& job, const v1beta2::Workload& workload) {
  if (!has_reservation(workload)) return;
  const auto& checks = workload.status.admission_checks;
  // All ready: the next word is that the job starts.
  if (std::all_of(checks.begin(), checks.end(),
                  [](const auto& check) { return check.state == "Ready"; }))
    return;
  std::string text;
  for (const v1beta2::AdmissionCheckState& check : workload.status.admission_checks) {
    if (check.message.empty()) continue;
    if (!text.empty()) text += "; ";
    text += check.name + ": " + check.message;
  }
  {
    std::lock_guard lock(mutex_);
    std::string& reported = reported_checks_[workload.metadata.uid];
    if (text.empty()) reported_checks_.erase(workload.metadata.uid);
    if (text.empty() || text == reported) return;
    reported = text;
  }
  recorder_.normal(reference(job), "UpdatedAdmissionCheck", text);
}

Result<void> JobReconciler::finish(const v1beta2::Workload& workload, std::string_view reason,
                                   const std::string& message) {
  const bridge::StatusContext status{context_.now(), &context_.gates()};
  KUEUE_ASSIGN([[maybe_unused]] const WorkloadPointer written,
               edit_status(context_, {workload.metadata.namespace_, workload.metadata.name},
                           workload.metadata.uid, [&](v1beta2::Workload& current) {
                             if (is_finished(current)) return StatusEdit::kUnchanged;
                             bridge::finish(current, reason, message, status);
                             return StatusEdit::kWrite;
                           }));
  return {};
}

Result<void> JobReconciler::remove_finalizer(const v1beta2::Workload& workload) {
  return set_finalizer(context_, context_.stores->workloads.core(), workload.metadata,
                       kResourceInUseFinalizer, false);
}

Result<WorkloadPointer> JobReconciler::patch_workload(const v1beta2::Workload& workload,
                                                      json::Value patch) {
  patch.at_path({"metadata", "resourceVersion"}) = workload.metadata.resource_version;
  const kube::ObjectKey key{workload.metadata.namespace_, workload.metadata.name};
  KUEUE_ASSIGN(json::Value document,
               context_.client->patch(kube::Resource::of(v1beta2::Workload::resource()), key,
                                      kube::PatchType::kMerge, patch));
  context_.stores->workloads.absorb(document);
  KUEUE_ASSIGN(v1beta2::Workload decoded, schema::decode<v1beta2::Workload>(document));
  return WorkloadPointer(std::make_shared<const v1beta2::Workload>(std::move(decoded)));
}

// Written by a field manager of its own, so that it meets no other writer.
Result<bool> JobReconciler::sync_pods_ready(const Job& job, const v1beta2::Workload& workload) {
  const api::meta::Condition* current = find_condition(workload, kPodsReady);
  const bool was_ready = current != nullptr && current->status == "True";
  const std::string reason = current == nullptr ? "" : current->reason;
  const bool admitted = is_admitted(workload);
  v1beta2::Workload copy = workload;
  bool ready = false;
  std::string_view now = kWaitForStart;
  if (admitted && job.pods_ready()) {
    ready = true;
    const bool recovered = reason == "Recovered" || reason == kWaitForRecovery;
    now = recovered ? "Recovered" : "Started";
  } else if (admitted && (was_ready || reason == kWaitForRecovery)) {
    now = kWaitForRecovery;
  }
  const std::string_view message = ready ? "All pods reached readiness and the workload is running"
                                   : now == kWaitForRecovery
                                       ? "At least one pod has failed, waiting for recovery"
                                       : "Not all pods are ready or succeeded";
  if (current != nullptr && was_ready == ready && reason == now && current->message == message)
    return false;
  set_condition(copy.status.conditions, kPodsReady, ready, now, message,
                workload.metadata.generation.value_or(0), context_.now());
  if (context_.gates().on(Gate::kWorkloadRequestUseMergePatch)) {
    KUEUE_ASSIGN([[maybe_unused]] const WorkloadPointer patched,
                 write_status(context_, workload, copy));
    if (ready && now == "Started") record_ready(context_, workload);
    return true;
  }
  KUEUE_TRY(
      apply_status_field(context_, workload, kPodsReadyManager, "conditions",
                         json::Value::array({schema::encode(*find_condition(copy, kPodsReady))})));
  if (ready && now == "Started") record_ready(context_, workload);
  return true;
}

Result<bool> JobReconciler::sync_reclaimable(const Job& job, const v1beta2::Workload& workload) {
  const auto& before = workload.status.reclaimable_pods;
  std::vector<v1beta2::ReclaimablePod> now = allowed_reclaimable(
      workload, limited_to_pod_sets(workload, job.reclaimable_pods()), context_.gates());
  if (same_reclaimable(now, before)) return false;
  if (context_.gates().on(Gate::kWorkloadRequestUseMergePatch)) {
    v1beta2::Workload copy = workload;
    copy.status.reclaimable_pods = std::move(now);
    KUEUE_ASSIGN([[maybe_unused]] const WorkloadPointer patched,
                 write_status(context_, workload, copy));
    return true;
  }
  KUEUE_TRY(apply_status_field(context_, workload, kReclaimableManager, "reclaimablePods",
                               now.empty() ? json::Value() : schema::encode(now)));
  // What others own stays: then there is nothing new to look at.
  const WorkloadPointer written = newest(workload);
  return written == nullptr || !same_reclaimable(written->status.reclaimable_pods, before);
}

}  // namespace kueue::controllers::jobs
