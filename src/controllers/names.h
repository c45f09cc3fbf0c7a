// Names that users see: labels, annotations, finalizers, condition types and reasons, field
// managers. Constants only. labels-conditions-events 1 and 2.
#pragma once

#include <string_view>

namespace kueue::controllers {

// Labels and annotations.
inline constexpr std::string_view kQueueNameLabel = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kPriorityClassLabel = "kueue.x-k8s.io/priority-class";
inline constexpr std::string_view kMaxExecTimeLabel = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr std::string_view kPrebuiltWorkloadLabel = "kueue.x-k8s.io/prebuilt-workload-name";
inline constexpr std::string_view kJobUidLabel = "kueue.x-k8s.io/job-uid";
inline constexpr std::string_view kPodSetLabel = "kueue.x-k8s.io/podset";
inline constexpr std::string_view kClusterQueueLabel = "kueue.x-k8s.io/cluster-queue-name";
inline constexpr std::string_view kLocalQueueLabel = "kueue.x-k8s.io/local-queue-name";
inline constexpr std::string_view kManagedLabel = "kueue.x-k8s.io/managed";
inline constexpr std::string_view kMultiKueueOriginLabel = "kueue.x-k8s.io/multikueue-origin";
inline constexpr std::string_view kWorkerPodLabel = "kueue.x-k8s.io/multikueue-worker-workload-pod";
inline constexpr std::string_view kWorkloadAnnotation = "kueue.x-k8s.io/workload";
inline constexpr std::string_view kPriorityBoostAnnotation = "kueue.x-k8s.io/priority-boost";
inline constexpr std::string_view kAdmissionGatedByAnnotation = "kueue.x-k8s.io/admission-gated-by";
inline constexpr std::string_view kElasticJobAnnotation = "kueue.x-k8s.io/elastic-job";
inline constexpr std::string_view kSliceNameAnnotation = "kueue.x-k8s.io/workload-slice-name";
inline constexpr std::string_view kSliceReplacementAnnotation =
    "kueue.x-k8s.io/workload-slice-replacement-for";
inline constexpr std::string_view kMinParallelismAnnotation = "kueue.x-k8s.io/job-min-parallelism";
inline constexpr std::string_view kCompletionsSyncAnnotation =
    "kueue.x-k8s.io/job-completions-equal-parallelism";
inline constexpr std::string_view kStoppingAnnotation = "kueue.x-k8s.io/stopping";
inline constexpr std::string_view kSafeToDeleteAnnotation =
    "kueue.x-k8s.io/safe-to-forcefully-delete";
inline constexpr std::string_view kProvReqPrefix = "provreq.kueue.x-k8s.io/";
inline constexpr std::string_view kRequiredTopologyAnnotation =
    "kueue.x-k8s.io/podset-required-topology";
inline constexpr std::string_view kPreferredTopologyAnnotation =
    "kueue.x-k8s.io/podset-preferred-topology";
inline constexpr std::string_view kUnconstrainedTopologyAnnotation =
    "kueue.x-k8s.io/podset-unconstrained-topology";
inline constexpr std::string_view kSliceRequiredTopologyAnnotation =
    "kueue.x-k8s.io/podset-slice-required-topology";
inline constexpr std::string_view kSliceSizeAnnotation = "kueue.x-k8s.io/podset-slice-size";
inline constexpr std::string_view kSliceConstraintsAnnotation =
    "kueue.x-k8s.io/podset-slice-required-topology-constraints";
inline constexpr std::string_view kPodSetGroupAnnotation = "kueue.x-k8s.io/podset-group-name";
inline constexpr std::string_view kElasticJobGate = "kueue.x-k8s.io/elastic-job";
inline constexpr std::string_view kTopologyGate = "kueue.x-k8s.io/topology";
inline constexpr std::string_view kResourceInUseFinalizer = "kueue.x-k8s.io/resource-in-use";
inline constexpr std::string_view kJobCompletionIndexLabel =
    "batch.kubernetes.io/job-completion-index";

// Field managers of server-side apply.
inline constexpr std::string_view kAdmissionManager = "kueue-admission";
inline constexpr std::string_view kReclaimableManager = "kueue-reclaimable-pods";
inline constexpr std::string_view kPodsReadyManager = "kueue-job-controller-PodsReady";

// Condition types of a Workload.
inline constexpr std::string_view kQuotaReserved = "QuotaReserved";
inline constexpr std::string_view kAdmitted = "Admitted";
inline constexpr std::string_view kEvicted = "Evicted";
inline constexpr std::string_view kPreempted = "Preempted";
inline constexpr std::string_view kRequeued = "Requeued";
inline constexpr std::string_view kFinished = "Finished";
inline constexpr std::string_view kPodsReady = "PodsReady";
inline constexpr std::string_view kDeactivationTarget = "DeactivationTarget";
inline constexpr std::string_view kBlockedOnPreemptionGates = "BlockedOnPreemptionGates";
inline constexpr std::string_view kWaitingForReplacementPods = "WaitingForReplacementPods";
// Ours, and only where Extensions ask for them: of a Workload that was told to go and is still
// there when its time is over, and of the one that preempted it.
inline constexpr std::string_view kTerminationOverdue = "kueue-cpp.dev/TerminationOverdue";
inline constexpr std::string_view kPreemptionOverdue = "kueue-cpp.dev/PreemptionOverdue";
// Condition type of queues and checks.
inline constexpr std::string_view kActive = "Active";

// Reasons.
inline constexpr std::string_view kPendingEvaluation = "PendingEvaluation";
inline constexpr std::string_view kMisconfigured = "Misconfigured";
inline constexpr std::string_view kSuspended = "Suspended";
inline constexpr std::string_view kAdmissionGated = "AdmissionGated";
inline constexpr std::string_view kDeactivated = "Deactivated";
inline constexpr std::string_view kOnHold = "OnHold";
inline constexpr std::string_view kWaitingForQuota = "WaitingForQuota";
inline constexpr std::string_view kPodsReadyTimeout = "PodsReadyTimeout";
inline constexpr std::string_view kAdmissionCheck = "AdmissionCheck";
inline constexpr std::string_view kClusterQueueStopped = "ClusterQueueStopped";
inline constexpr std::string_view kLocalQueueStopped = "LocalQueueStopped";
inline constexpr std::string_view kNodeFailures = "NodeFailures";
inline constexpr std::string_view kWaitForStart = "WaitForStart";
inline constexpr std::string_view kWaitForRecovery = "WaitForRecovery";

}  // namespace kueue::controllers
