// Pod set infos: what an admission puts into pod templates, and what was there before.
// behaviour 15.
#pragma once

#include "controllers/context.h"
#include "controllers/jobs/job.h"
#include "controllers/stores.h"

namespace kueue::controllers::jobs {

// One info per pod set of the spec, from the admission: counts, labels and selectors of the
// assigned flavors, updates of admission checks. kNotFound when a flavor is not known (yet);
// kInvalid when the updates contradict each other.
Result<std::vector<PodSetInfo>> infos_of_admission(const Context& context,
                                                   const v1beta2::Workload& workload);

// Only the updates of admission checks for one pod set; kInvalid when they contradict each other.
Result<PodSetInfo> info_of_checks(const v1beta2::Workload& workload, const std::string& pod_set);

// What the templates of the spec hold: to go back to.
std::vector<PodSetInfo> infos_of_spec(const v1beta2::Workload& workload);

// Adds the info to a template. A key that is there with another value is kInvalid, but for the
// names of Workload and slice where one slice follows another; tolerations and gates are joined.
Result<void> merge_info(api::core::PodTemplateSpec& pod_template, const PodSetInfo& info,
                        const FeatureGates& gates);
// Sets labels, annotations, selector, tolerations and gates to those of the info; keeps the labels
// named in `kept`.
void restore_info(api::core::PodTemplateSpec& pod_template, const PodSetInfo& info,
                  const std::vector<std::string_view>& kept);

// Whether the template holds marks of a start that `original` does not have, and is not `original`
// with `info` merged into it (null: whatever it is). `kept` as in restore_info.
bool holds_other_start(const api::core::PodTemplateSpec& pod_template, const PodSetInfo& original,
                       const PodSetInfo* info, const std::vector<std::string_view>& kept,
                       const FeatureGates& gates);

// What the API server would refuse in a Workload and takes in a job: of environment variables of
// one name the last stays.
void sanitize(std::vector<v1beta2::PodSet>& pod_sets);

// No more reclaimable pods than the pod set has.
std::vector<v1beta2::ReclaimablePod> limited_to_pod_sets(
    const v1beta2::Workload& workload, std::vector<v1beta2::ReclaimablePod> reclaimable);
// What of `now` may be written. While quota is held counts do not shrink and none vanishes (api.md,
// Workload): what a partly admitted job would take back was not charged anyway. Only where an
// elastic pod set has shrunk since, less is right.
std::vector<v1beta2::ReclaimablePod> allowed_reclaimable(const v1beta2::Workload& workload,
                                                         std::vector<v1beta2::ReclaimablePod> now,
                                                         const FeatureGates& gates);
// The same pods, in whatever order.
bool same_reclaimable(std::vector<v1beta2::ReclaimablePod> a,
                      std::vector<v1beta2::ReclaimablePod> b);

struct TopologyHints {
  std::string_view pod_index_label;
  std::string_view sub_group_index_label = {};
  std::optional<int32_t> sub_group_count = {};
};
// The topology request that a template's annotations and the kind's labels make; absent when there
// is none. Errors name the annotation.
Result<Boxed<v1beta2::PodSetTopologyRequest>> topology_request(
    const api::core::PodTemplateSpec& pod_template, const TopologyHints& hints,
    const FeatureGates& gates);

}  // namespace kueue::controllers::jobs
