#include "controllers/jobs/slices.h"

#include <algorithm>
#include <map>

#include "controllers/jobs/pod_set_info.h"
#include "controllers/jobs/reconciler.h"
#include "controllers/names.h"
#include "controllers/workload/conditions.h"
#include "schema/codec.h"

namespace kueue::controllers::jobs {
namespace {

std::map<std::string, int32_t> counts_of(const std::vector<v1beta2::PodSet>& pod_sets) {
  std::map<std::string, int32_t> counts;
  for (const v1beta2::PodSet& set : pod_sets) counts[set.name] = set.count.value_or(1);
  return counts;
}

std::string full_name(const v1beta2::Workload& workload) {
  return workload.metadata.namespace_ + "/" + workload.metadata.name;
}

bool earlier(const WorkloadPointer& a, const WorkloadPointer& b) {
  const auto left = a->metadata.creation_timestamp, right = b->metadata.creation_timestamp;
  return left != right ? left < right : a->metadata.name < b->metadata.name;
}

}  // namespace

bool is_elastic(const api::meta::ObjectMeta& job, const FeatureGates& gates) {
  if (!gates.on(Gate::kElasticJobsViaWorkloadSlices)) return false;
  auto found = job.annotations.find(kElasticJobAnnotation);
  return found != job.annotations.end() && found->second == "true";
}

std::string slice_name(const v1beta2::Workload& workload) {
  auto first = workload.metadata.annotations.find(kSliceNameAnnotation);
  return first == workload.metadata.annotations.end() ? workload.metadata.name : first->second;
}

std::string replaced_slice(const v1beta2::Workload& workload) {
  auto found = workload.metadata.annotations.find(kSliceReplacementAnnotation);
  return found == workload.metadata.annotations.end() ? "" : found->second;
}

SliceChoice choose_slice(std::vector<WorkloadPointer> unfinished) {
  std::sort(unfinished.begin(), unfinished.end(), earlier);
  auto replaced_by_holder = [&](const v1beta2::Workload& slice) {
    return std::any_of(unfinished.begin(), unfinished.end(), [&](const WorkloadPointer& other) {
      return has_reservation(*other) && replaced_slice(*other) == full_name(slice);
    });
  };
  // One on its way out is still followed for the sake of what waits to take over its quota: that
  // stays with its pods until they are gone.
  auto may_hold = [&](const WorkloadPointer& slice) {
    return has_reservation(*slice) &&
           (!is_evicted(*slice) ||
            std::any_of(unfinished.begin(), unfinished.end(), [&](const WorkloadPointer& other) {
              return !has_reservation(*other) && replaced_slice(*other) == full_name(*slice);
            }));
  };
  WorkloadPointer holder, pending, waiting;
  for (const WorkloadPointer& slice : unfinished) {
    if (may_hold(slice)) {
      if (!replaced_by_holder(*slice)) holder = slice;
    } else if (waiting == nullptr || is_evicted(*waiting) || !is_evicted(*slice)) {
      waiting = slice;
    }
  }
  if (holder != nullptr)
    for (const WorkloadPointer& slice : unfinished)
      if (!has_reservation(*slice) && replaced_slice(*slice) == full_name(*holder)) pending = slice;
  SliceChoice out;
  out.selected = pending != nullptr ? pending : holder != nullptr ? holder : waiting;
  if (pending != nullptr) out.held = holder;
  for (const WorkloadPointer& slice : unfinished) {
    if (slice == out.selected || slice == out.held) continue;
    (replaced_by_holder(*slice) ? out.replaced : out.out_of_sync).push_back(slice);
  }
  return out;
}

SliceChange slice_change(const v1beta2::Workload& slice,
                         const std::vector<v1beta2::PodSet>& pod_sets) {
  const auto had = counts_of(slice.spec.pod_sets), wanted = counts_of(pod_sets);
  if (had.size() != wanted.size()) return SliceChange::kOther;
  bool more = false;
  for (const auto& [name, count] : wanted) {
    auto found = had.find(name);
    if (found == had.end()) return SliceChange::kOther;
    more = more || count > found->second;
  }
  if (had == wanted) return SliceChange::kNone;
  return more && has_reservation(slice) ? SliceChange::kReplace : SliceChange::kInPlace;
}

// --- of the reconciler

Result<JobReconciler::Matching> JobReconciler::follow_slices(const Job& job, bool* compatible) {
  *compatible = true;
  std::vector<WorkloadPointer> unfinished;
  WorkloadPointer ended;
  for (const WorkloadPointer& workload :
       context_.stores->workloads.by_index(kByOwner, job.metadata().uid)) {
    if (!is_finished(*workload)) {
      unfinished.push_back(workload);
      continue;
    }
    // With the job's end, or when somebody deletes them, those that others replaced are let go.
    if (job.finished().has_value() || workload->metadata.deletion_timestamp.has_value())
      KUEUE_TRY(remove_finalizer(*workload));
    if (ended == nullptr || earlier(ended, workload)) ended = workload;
  }
  if (unfinished.empty()) {
    *compatible = ended != nullptr;
    return Matching{ended, false};
  }
  const SliceChoice choice = choose_slice(std::move(unfinished));
  KUEUE_ASSIGN(std::vector<v1beta2::PodSet> pod_sets, job.pod_sets());
  sanitize(pod_sets);
  const SliceChange change =
      job.finished().has_value() || choice.selected->metadata.deletion_timestamp.has_value()
          ? SliceChange::kNone
          : slice_change(*choice.selected, pod_sets);
  if (change == SliceChange::kOther) {
    *compatible = false;
    return Matching{};
  }
  for (const WorkloadPointer& slice : choice.replaced)
    KUEUE_TRY(
        finish(*slice, "WorkloadSliceReplaced", "Replaced to accommodate a new workload slice"));
  for (const WorkloadPointer& slice : choice.out_of_sync)
    KUEUE_TRY(finish(*slice, "OutOfSync", "The workload slice is out of sync with its parent job"));
  switch (change) {
    case SliceChange::kNone:
    case SliceChange::kOther:
      return Matching{choice.selected, false};
    case SliceChange::kInPlace: {
      KUEUE_ASSIGN(WorkloadPointer written, scale_in_place(*choice.selected, pod_sets));
      return Matching{std::move(written), false};
    }
    case SliceChange::kReplace:
      break;
  }
  KUEUE_ASSIGN(WorkloadPointer old, sync_priority_and_gates(job, choice.selected));
  KUEUE_TRY(create_workload(job, old.get()));
  return Matching{nullptr, true};
}

Result<WorkloadPointer> JobReconciler::scale_in_place(
    const v1beta2::Workload& slice, const std::vector<v1beta2::PodSet>& pod_sets) {
  const auto counts = counts_of(pod_sets);
  std::vector<v1beta2::PodSet> scaled = slice.spec.pod_sets;
  for (v1beta2::PodSet& set : scaled) set.count = counts.at(set.name);
  json::Value patch;
  patch.at_path({"spec", "podSets"}) = schema::encode(scaled);
  return patch_workload(slice, std::move(patch));
}

WorkloadPointer JobReconciler::replaced_holder(const Job& job,
                                               const v1beta2::Workload& workload) const {
  const std::string name = replaced_slice(workload);
  if (name.empty() || !is_elastic(job.metadata(), context_.gates())) return nullptr;
  for (const WorkloadPointer& other :
       context_.stores->workloads.by_index(kByOwner, job.metadata().uid))
    if (full_name(*other) == name && !is_finished(*other) && has_reservation(*other)) return other;
  return nullptr;
}

}  // namespace kueue::controllers::jobs
