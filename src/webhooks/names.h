// Labels, annotations and finalizers that hooks read and write.
#pragma once

#include <string_view>

namespace kueue::webhooks {

inline constexpr std::string_view kQueueName = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kPriorityClass = "kueue.x-k8s.io/priority-class";
inline constexpr std::string_view kPrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name";
inline constexpr std::string_view kMaxExecTime = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr std::string_view kElasticJob = "kueue.x-k8s.io/elastic-job";
inline constexpr std::string_view kSliceReplacement =
    "kueue.x-k8s.io/workload-slice-replacement-for";
inline constexpr std::string_view kGatedBy = "kueue.x-k8s.io/admission-gated-by";
inline constexpr std::string_view kPriorityBoost = "kueue.x-k8s.io/priority-boost";
inline constexpr std::string_view kMinParallelism = "kueue.x-k8s.io/job-min-parallelism";
inline constexpr std::string_view kSyncCompletions =
    "kueue.x-k8s.io/job-completions-equal-parallelism";
inline constexpr std::string_view kRequiredTopology = "kueue.x-k8s.io/podset-required-topology";
inline constexpr std::string_view kPreferredTopology = "kueue.x-k8s.io/podset-preferred-topology";
inline constexpr std::string_view kUnconstrainedTopology =
    "kueue.x-k8s.io/podset-unconstrained-topology";
inline constexpr std::string_view kSliceTopology = "kueue.x-k8s.io/podset-slice-required-topology";
inline constexpr std::string_view kSliceSize = "kueue.x-k8s.io/podset-slice-size";
inline constexpr std::string_view kSliceConstraints =
    "kueue.x-k8s.io/podset-slice-required-topology-constraints";
inline constexpr std::string_view kPodSetGroup = "kueue.x-k8s.io/podset-group-name";
inline constexpr std::string_view kInUseFinalizer = "kueue.x-k8s.io/resource-in-use";
inline constexpr std::string_view kMultiKueueController = "kueue.x-k8s.io/multikueue";
inline constexpr std::string_view kDefaultName = "default";

}  // namespace kueue::webhooks
