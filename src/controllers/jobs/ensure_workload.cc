#include <algorithm>
#include <charconv>

#include "controllers/jobs/naming.h"
#include "controllers/jobs/pod_set_info.h"
#include "controllers/jobs/reconciler.h"
#include "controllers/jobs/slices.h"
#include "controllers/names.h"
#include "controllers/workload/conditions.h"
#include "schema/codec.h"

namespace kueue::controllers::jobs {
namespace {

std::string label_or_annotation(const api::meta::ObjectMeta& meta, std::string_view name) {
  if (auto found = meta.labels.find(name); found != meta.labels.end()) return found->second;
  if (auto found = meta.annotations.find(name); found != meta.annotations.end())
    return found->second;
  return "";
}

std::string map_value(const schema::Map<std::string>& map, std::string_view key) {
  auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

std::optional<int32_t> max_execution_time(const Job& job) {
  const std::string text = map_value(job.metadata().labels, kMaxExecTimeLabel);
  int32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
      value <= 0)
    return std::nullopt;
  return value;
}

// Documents, because a written and a left out empty struct mean the same.
bool same(const auto& a, const auto& b) { return schema::encode(a) == schema::encode(b); }

bool same_pod_sets(const std::vector<v1beta2::PodSet>& a, const std::vector<v1beta2::PodSet>& b,
                   bool ignore_tolerations) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].count.value_or(1) != b[i].count.value_or(1) || a[i].min_count != b[i].min_count)
      return false;
    const auto left_pod = a[i].template_.open(), right_pod = b[i].template_.open();
    const api::core::PodSpec &left = left_pod->spec, &right = right_pod->spec;
    if (!same(left.containers, right.containers) ||
        !same(left.init_containers, right.init_containers))
      return false;
    if (!ignore_tolerations && !same(left.tolerations, right.tolerations)) return false;
  }
  return true;
}

bool is_label_value(std::string_view text) {
  const auto alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (text.size() > 63) return false;
  if (text.empty()) return true;
  return alnum(text.front()) && alnum(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

// To go back to what the Workload's spec holds, but for counts: one that is not that of the
// admission is what the user wants now.
std::vector<PodSetInfo> infos_under(const v1beta2::Workload& workload,
                                    const std::vector<v1beta2::PodSet>& pod_sets) {
  std::vector<PodSetInfo> infos = infos_of_spec(workload);
  if (infos.size() != pod_sets.size()) return infos;
  for (size_t i = 0; i < infos.size(); ++i) {
    const int32_t now = pod_sets[i].count.value_or(1);
    bool admitted = false;
    if (workload.status.admission.has_value())
      for (const auto& assignment : workload.status.admission->pod_set_assignments)
        admitted = admitted || (assignment.name == infos[i].name && assignment.count == now);
    if (!admitted) infos[i].count = now;
  }
  return infos;
}

constexpr std::string_view kWorkloadPriorityClassKind = "WorkloadPriorityClass";

}  // namespace

bool JobReconciler::equivalent(const Job& job, const std::vector<v1beta2::PodSet>& pod_sets,
                               const v1beta2::Workload& workload) const {
  if (workload.spec.maximum_execution_time_seconds != max_execution_time(job)) return false;
  const bool admitted = is_admitted(workload);
  if (has_reservation(workload)) {
    std::vector<v1beta2::PodSet> running = workload.spec.pod_sets;
    for (v1beta2::PodSet& pod_set : running) {
      if (!pod_set.min_count.has_value()) continue;
      for (const auto& assignment : workload.status.admission->pod_set_assignments)
        if (assignment.name == pod_set.name && assignment.count.has_value())
          pod_set.count = assignment.count;
    }
    if (same_pod_sets(pod_sets, running, admitted)) return true;
    if (!job.suspended()) return false;
  }
  return same_pod_sets(pod_sets, workload.spec.pod_sets, admitted);
}

Result<JobReconciler::Matching> JobReconciler::ensure_one_workload(const Job& job) {
  const std::string prebuilt = label_or_annotation(job.metadata(), kPrebuiltWorkloadLabel);
  if (!prebuilt.empty()) return ensure_prebuilt(job, prebuilt);
  if (is_elastic(job.metadata(), context_.gates())) {
    bool compatible = false;
    KUEUE_ASSIGN(Matching matching, follow_slices(job, &compatible));
    if (compatible) return matching;
  }

  const auto owned = context_.stores->workloads.by_index(kByOwner, job.metadata().uid);
  if (owned.empty()) {
    if (job.suspended() || job.finished().has_value()) return Matching{};
    KUEUE_ASSIGN(const bool stopped,
                 stop(job, nullptr, "Missing Workload; unable to restore pod templates"));
    return Matching{nullptr, !stopped};
  }
  KUEUE_ASSIGN(std::vector<v1beta2::PodSet> pod_sets, job.pod_sets());
  sanitize(pod_sets);
  WorkloadPointer match;
  std::vector<WorkloadPointer> others;
  for (const WorkloadPointer& workload : owned) {
    if (match == nullptr && (is_finished(*workload) || job.finished().has_value() ||
                             equivalent(job, pod_sets, *workload))) {
      match = workload;
    } else {
      others.push_back(workload);
    }
  }
  if (match == nullptr && job.suspended()) {
    // Suspended by its user, and changed: its templates go back to what they were while there is
    // something that tells.
    const std::vector<PodSetInfo> original = infos_under(*others.front(), pod_sets);
    if (job.left_from_start(original, {})) {
      KUEUE_ASSIGN([[maybe_unused]] const bool stopped,
                   stop(job, original, "Restoring pod templates of an earlier start"));
      return Matching{nullptr, true};
    }
  }
  if (match == nullptr && job.suspended() && !has_reservation(*others.front()) &&
      !others.front()->metadata.deletion_timestamp.has_value()) {
    // More reclaimable pods than the new spec has are refused.
    if (context_.gates().on(Gate::kReclaimablePods)) {
      KUEUE_ASSIGN(const bool wrote, sync_reclaimable(job, *others.front()));
      if (wrote) return Matching{nullptr, true};
    }
    KUEUE_ASSIGN(match, update_to_match(job, std::move(pod_sets), *others.front()));
    others.erase(others.begin());
  }
  if (match == nullptr && !job.suspended() && !job.finished().has_value()) {
    KUEUE_ASSIGN(
        const bool stopped,
        stop(job, others.front().get(),
             "No matching Workload; restoring pod templates according to existent Workload"));
    if (!stopped) return Matching{nullptr, true};
  }
  if (match == nullptr && others.front()->metadata.deletion_timestamp.has_value()) {
    // It only waits for us to let it go.
    match = others.front();
    others.erase(others.begin());
  }
  if (others.empty()) return Matching{std::move(match), false};
  for (const WorkloadPointer& workload : others) KUEUE_TRY(remove_workload(job, *workload));
  return Matching{nullptr, true};
}

Result<JobReconciler::Matching> JobReconciler::ensure_prebuilt(const Job& job,
                                                               const std::string& name) {
  const kube::ObjectKey key{job.metadata().namespace_, name};
  WorkloadPointer workload = context_.stores->workloads.get(key);
  if (workload == nullptr) {
    if (!job.suspended() && !job.finished().has_value()) {
      KUEUE_ASSIGN([[maybe_unused]] const bool stopped, stop(job, nullptr, "missing workload"));
    }
    return Matching{nullptr, true};
  }
  const auto* owner = controller_of(workload->metadata);
  if (owner != nullptr && owner->uid != job.metadata().uid) {
    if (!job.suspended() && !job.finished().has_value()) {
      KUEUE_ASSIGN([[maybe_unused]] const bool stopped, stop(job, nullptr, "missing workload"));
    }
    return make_error(ErrorCode::kConflict, "workload " + key.to_string() + " belongs to " +
                                                owner->kind + " " + owner->name);
  }
  if (owner == nullptr) {
    v1beta2::Workload copy = *workload;
    copy.metadata.owner_references.push_back({kind_.resource().api_version(), true, true,
                                              kind_.resource().kind, job.metadata().name,
                                              job.metadata().uid});
    json::Value patch;
    patch.at_path({"metadata", "ownerReferences"}) = schema::encode(copy.metadata.owner_references);
    if (is_label_value(job.metadata().uid))
      patch.at_path({"metadata", "labels", kJobUidLabel}) = job.metadata().uid;
    KUEUE_ASSIGN(workload, patch_workload(*workload, std::move(patch)));
  }
  KUEUE_ASSIGN(std::vector<v1beta2::PodSet> pod_sets, job.pod_sets());
  sanitize(pod_sets);
  if (!is_finished(*workload) && !equivalent(job, pod_sets, *workload)) {
    KUEUE_TRY(
        finish(*workload, "OutOfSync", "The prebuilt workload is out of sync with its user job"));
    if (!job.suspended() || job.left_from_start(infos_of_spec(*workload), {})) {
      KUEUE_ASSIGN([[maybe_unused]] const bool stopped,
                   stop(job, workload.get(), "missing workload"));
    }
    return Matching{nullptr, true};
  }
  return Matching{std::move(workload), false};
}

Result<WorkloadPointer> JobReconciler::update_to_match(const Job& job,
                                                       std::vector<v1beta2::PodSet> pod_sets,
                                                       const v1beta2::Workload& workload) {
  KUEUE_ASSIGN(v1beta2::Workload wanted, construct_workload(job));
  wanted.spec.pod_sets = std::move(pod_sets);
  wanted.spec.active = workload.spec.active;
  json::Value spec = schema::encode(wanted.spec);
  // What the new spec does not have must go.
  const json::Value old = schema::encode(workload.spec);
  for (const auto& [name, value] : old.as_object())
    if (spec.find(name) == nullptr) spec[name] = nullptr;
  json::Value patch;
  patch["spec"] = std::move(spec);
  KUEUE_ASSIGN(WorkloadPointer written, patch_workload(workload, std::move(patch)));
  recorder_.normal(reference(job), "UpdatedWorkload",
                   "Updated not matching Workload for suspended job: " +
                       workload.metadata.namespace_ + "/" + workload.metadata.name);
  return written;
}

Result<void> JobReconciler::remove_workload(const Job& job, const v1beta2::Workload& workload) {
  // Deleted first, let go then: interrupted in between it shows that it goes. One that stays
  // without finalizer could be taken up again and vanish under its running job.
  const kube::ObjectKey key{workload.metadata.namespace_, workload.metadata.name};
  kube::DeleteOptions options;
  options.uid_precondition = workload.metadata.uid;
  auto removed =
      context_.client->remove(kube::Resource::of(v1beta2::Workload::resource()), key, options);
  if (!removed.ok()) {
    if (removed.error().code == ErrorCode::kNotFound) return {};
    return removed.error();
  }
  // A look at the cache that still shows it would start the job with a reservation that is no more.
  kube::InformerCore& store = context_.stores->workloads.core();
  const json::Value* finalizers = removed->find_path({"metadata", "finalizers"});
  if (finalizers != nullptr && finalizers->is_array() && !finalizers->as_array().empty()) {
    store.absorb(*removed);
    KUEUE_ASSIGN(const v1beta2::Workload going, schema::decode<v1beta2::Workload>(*removed));
    KUEUE_TRY(remove_finalizer(going));
  } else {
    store.forget(key, workload.metadata.uid);
  }
  recorder_.normal(reference(job), "DeletedWorkload",
                   "Deleted not matching Workload: " + workload.metadata.namespace_ + "/" +
                       workload.metadata.name);
  return {};
}

Result<JobReconciler::Priority> JobReconciler::priority_of(
    const Job& job, const std::vector<v1beta2::PodSet>& pod_sets) const {
  Priority priority;
  const std::string own = map_value(job.metadata().labels, kPriorityClassLabel);
  if (!own.empty()) {
    auto found = context_.stores->workload_priority_classes.get({"", own});
    if (found == nullptr) {
      recorder_.warning(reference(job), "WorkloadPriorityClassNotFound",
                        "WorkloadPriorityClass \"" + own + "\" not found");
      return make_error(ErrorCode::kNotFound,
                        "prepare workload priority: workloadpriorityclasses.kueue.x-k8s.io \"" +
                            own + "\" not found");
    }
    priority.value = found->value;
    priority.ref =
        v1beta2::PriorityClassRef{"kueue.x-k8s.io", std::string(kWorkloadPriorityClassKind), own};
    return priority;
  }
  std::string name = job.priority_class();
  for (const v1beta2::PodSet& pod_set : pod_sets)
    if (name.empty()) name = pod_set.template_.open()->spec.priority_class_name;
  std::shared_ptr<const api::scheduling::PriorityClass> found;
  if (!name.empty()) {
    found = context_.stores->priority_classes.get({"", name});
    if (found == nullptr)
      return make_error(ErrorCode::kNotFound,
                        "priorityclasses.scheduling.k8s.io \"" + name + "\" not found");
  } else {
    for (const auto& candidate : context_.stores->priority_classes.list()) {
      if (candidate->global_default.value_or(false) &&
          (found == nullptr || candidate->value.value_or(0) < found->value.value_or(0)))
        found = candidate;
    }
  }
  if (found == nullptr) return priority;
  priority.value = found->value.value_or(0);
  priority.ref =
      v1beta2::PriorityClassRef{"scheduling.k8s.io", "PriorityClass", found->metadata.name};
  return priority;
}

Result<v1beta2::Workload> JobReconciler::construct_workload(const Job& job) const {
  const api::meta::ObjectMeta& meta = job.metadata();
  KUEUE_ASSIGN(std::vector<v1beta2::PodSet> pod_sets, job.pod_sets());
  sanitize(pod_sets);
  KUEUE_ASSIGN(Priority priority, priority_of(job, pod_sets));
  v1beta2::Workload workload;
  const bool elastic = is_elastic(meta, context_.gates());
  workload.metadata.name =
      workload_name({kind_.resource().kind, kind_.resource().group, meta.name, meta.uid},
                    elastic ? std::to_string(meta.generation.value_or(0)) : "",
                    context_.gates().on(Gate::kShortWorkloadNames));
  if (elastic) {
    workload.metadata.annotations[std::string(kElasticJobAnnotation)] = "true";
    // The first of its chain, unless it replaces another.
    workload.metadata.annotations[std::string(kSliceNameAnnotation)] = workload.metadata.name;
  }
  workload.metadata.namespace_ = meta.namespace_;
  workload.metadata.finalizers = {std::string(kResourceInUseFinalizer)};
  workload.metadata.owner_references.push_back(
      {kind_.resource().api_version(), true, true, kind_.resource().kind, meta.name, meta.uid});
  if (is_label_value(meta.uid)) workload.metadata.labels[std::string(kJobUidLabel)] = meta.uid;
  for (const std::string& key : context_.options->labels_to_copy)
    if (auto found = meta.labels.find(key); found != meta.labels.end())
      workload.metadata.labels.insert(*found);
  for (const auto& [key, value] : meta.annotations) {
    const auto& copied = context_.options->annotations_to_copy;
    const bool wanted = key.starts_with(kProvReqPrefix) ||
                        std::find(copied.begin(), copied.end(), key) != copied.end() ||
                        (key == kAdmissionGatedByAnnotation && !value.empty() &&
                         context_.gates().on(Gate::kAdmissionGatedBy));
    if (wanted) workload.metadata.annotations[key] = value;
  }
  workload.spec.pod_sets = std::move(pod_sets);
  workload.spec.queue_name = queue_name(job);
  workload.spec.priority = priority.value;
  workload.spec.priority_class_ref = std::move(priority.ref);
  workload.spec.maximum_execution_time_seconds = max_execution_time(job);
  return workload;
}

Result<void> JobReconciler::create_workload(const Job& job, const v1beta2::Workload* replaced) {
  Result<v1beta2::Workload> workload = construct_workload(job);
  if (!workload.ok()) return workload.error();
  if (replaced != nullptr) {
    auto& annotations = workload->metadata.annotations;
    annotations[std::string(kSliceNameAnnotation)] = slice_name(*replaced);
    annotations[std::string(kSliceReplacementAnnotation)] =
        replaced->metadata.namespace_ + "/" + replaced->metadata.name;
  }
  const kube::Resource resource = kube::Resource::of(v1beta2::Workload::resource());
  const std::string full_name = workload->metadata.namespace_ + "/" + workload->metadata.name;
  auto created =
      context_.client->create(resource, workload->metadata.namespace_, schema::encode(*workload));
  if (!created.ok()) {
    if (created.error().code != ErrorCode::kAlreadyExists) return created.error();
    // Made before the cache showed it, by us or the manager before us.
    KUEUE_ASSIGN(
        json::Value existing,
        context_.client->get(resource, {workload->metadata.namespace_, workload->metadata.name}));
    context_.stores->workloads.absorb(existing);
    return {};
  }
  context_.stores->workloads.absorb(*created);
  recorder_.normal(reference(job), "CreatedWorkload", "Created Workload: " + full_name);
  // Of a job that was changed since, its creation says nothing.
  if (context_.gates().on(Gate::kMetricForWorkloadCreationLatency) &&
      job.metadata().generation.value_or(1) <= 1) {
    const Instant made = job.metadata().creation_timestamp.value_or(context_.now());
    const bool by_queue = context_.gates().on(Gate::kCustomMetricLabels);
    context_.metrics->workload_creation_latency_seconds.observe(
        {kind_.resource().kind, by_queue ? workload->metadata.namespace_ : "",
         by_queue ? workload->spec.queue_name : ""},
        std::max(0.0, (context_.now() - made).as_seconds()));
  }
  return {};
}

Result<WorkloadPointer> JobReconciler::sync_priority_and_gates(const Job& job,
                                                               WorkloadPointer workload) {
  if (is_finished(*workload)) return workload;
  if (context_.gates().on(Gate::kAdmissionGatedBy)) {
    const std::string wanted = map_value(job.metadata().annotations, kAdmissionGatedByAnnotation);
    const std::string has = map_value(workload->metadata.annotations, kAdmissionGatedByAnnotation);
    if (wanted != has) {
      json::Value patch;
      patch.at_path({"metadata", "annotations", kAdmissionGatedByAnnotation}) =
          wanted.empty() ? json::Value(nullptr) : json::Value(wanted);
      KUEUE_ASSIGN(workload, patch_workload(*workload, std::move(patch)));
      recorder_.normal(reference(job), "UpdatedWorkload",
                       "Updated workload AdmissionGatedBy to \"" + wanted + "\"");
    }
  }
  const std::string wanted = map_value(job.metadata().labels, kPriorityClassLabel);
  const auto& ref = workload->spec.priority_class_ref;
  if (wanted.empty()) return workload;
  if (ref.has_value() && (ref->kind != kWorkloadPriorityClassKind || ref->name == wanted))
    return workload;
  // A reservation keeps a workload from getting a class that it did not have.
  if (!ref.has_value() && has_reservation(*workload)) return workload;
  KUEUE_ASSIGN(Priority priority, priority_of(job, {}));
  json::Value patch;
  patch.at_path({"spec", "priority"}) = int64_t{priority.value};
  patch.at_path({"spec", "priorityClassRef"}) = schema::encode(*priority.ref);
  KUEUE_ASSIGN(WorkloadPointer written, patch_workload(*workload, std::move(patch)));
  recorder_.normal(reference(job), "UpdatedWorkload",
                   "Updated workload priority class: " + workload->metadata.namespace_ + "/" +
                       workload->metadata.name);
  return written;
}

}  // namespace kueue::controllers::jobs
