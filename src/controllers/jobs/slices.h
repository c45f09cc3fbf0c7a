// Slices: the Workloads of an elastic job, whose pods may become more or fewer while it runs. One
// holds quota, another may wait to take its place. Pure. behaviour 16.
#pragma once

#include <string>
#include <vector>

#include "base/feature_gates.h"
#include "controllers/jobs/job.h"
#include "controllers/stores.h"

namespace kueue::controllers::jobs {

// The annotation says so, and the gate is on.
bool is_elastic(const api::meta::ObjectMeta& job, const FeatureGates& gates);

// The name of the first of the slices that follow each other: what they and their pods share.
std::string slice_name(const v1beta2::Workload& workload);

// "namespace/name" of the slice that this one replaces, "" = none.
std::string replaced_slice(const v1beta2::Workload& workload);

struct SliceChoice {
  WorkloadPointer selected;  // null when there is none
  WorkloadPointer held;      // holds the quota that `selected` is to take over, null when none does
  // To be finished: a slice with a newer one in its place, and those that nobody waits for.
  std::vector<WorkloadPointer> replaced;
  std::vector<WorkloadPointer> out_of_sync;
};
// Of the unfinished slices of one job, in any order: the latest with a reservation that no other
// with one has replaced, and what waits to replace it; one that is evicted counts only when
// something waits to replace it. Without such a one the latest that is not evicted.
SliceChoice choose_slice(std::vector<WorkloadPointer> unfinished);

enum class SliceChange {
  kNone,
  kInPlace,  // the slice may have these counts
  kReplace,  // it holds quota for fewer pods: a new slice must ask for the rest
  kOther,    // pod sets of other names
};
SliceChange slice_change(const v1beta2::Workload& slice,
                         const std::vector<v1beta2::PodSet>& pod_sets);

}  // namespace kueue::controllers::jobs
