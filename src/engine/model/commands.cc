#include "engine/model/commands.h"

#include "engine/explanation.h"

namespace kueue::engine {

const char* reason_text(PendingReason reason) {
  switch (reason) {
    case PendingReason::kNone:
      return "";
    case PendingReason::kPendingEvaluation:
      return "PendingEvaluation";
    case PendingReason::kNoMatchingFlavor:
      return "NoMatchingFlavor";
    case PendingReason::kExceedsMaxQuota:
      return "ExceedsMaxQuota";
    case PendingReason::kWaitingForQuota:
      return "WaitingForQuota";
    case PendingReason::kTopologyPlacementFailed:
      return "TopologyPlacementFailed";
    case PendingReason::kWaitingForPreemptedWorkloads:
      return "WaitingForPreemptedWorkloads";
    case PendingReason::kMisconfigured:
      return "Misconfigured";
    case PendingReason::kSuspended:
      return "Suspended";
    case PendingReason::kWaitingForPodsReady:
      return "WaitingForPodsReady";
    case PendingReason::kAdmissionGated:
      return "AdmissionGated";
  }
  return "";
}

const char* legacy_reason_text(PendingReason reason) {
  switch (reason) {
    case PendingReason::kMisconfigured:
    case PendingReason::kSuspended:
      return "Inadmissible";
    case PendingReason::kWaitingForPodsReady:
      return "Waiting";
    case PendingReason::kAdmissionGated:
      return "AdmissionGated";
    case PendingReason::kNone:
    case PendingReason::kPendingEvaluation:
    case PendingReason::kNoMatchingFlavor:
    case PendingReason::kExceedsMaxQuota:
    case PendingReason::kWaitingForQuota:
    case PendingReason::kTopologyPlacementFailed:
    case PendingReason::kWaitingForPreemptedWorkloads:
      return "Pending";
  }
  return "";
}

const char* requeue_reason_text(RequeueReason reason) {
  switch (reason) {
    case RequeueReason::kGeneric:
      return "";
    case RequeueReason::kFailedAfterNomination:
      return "FailedAfterNomination";
    case RequeueReason::kNamespaceMismatch:
      return "NamespaceMismatch";
    case RequeueReason::kPreemptionGated:
      return "PreemptionGated";
    case RequeueReason::kPendingPreemption:
      return "PendingPreemption";
    case RequeueReason::kPendingMigration:
      return "PendingMigration";
    case RequeueReason::kPreemptionFailed:
      return "PreemptionFailed";
    case RequeueReason::kNoFit:
      return "NoFit";
    case RequeueReason::kPreemptionNoCandidates:
      return "PreemptionNoCandidates";
  }
  return "";
}

const char* evict_reason_text(EvictReason reason) {
  switch (reason) {
    case EvictReason::kPreempted:
      return "Preempted";
    case EvictReason::kNodeFailures:
      return "NodeFailures";
    case EvictReason::kFlavorMigration:
      return "FlavorMigration";
  }
  return "";
}

const char* preempt_reason_text(PreemptReason reason) {
  switch (reason) {
    case PreemptReason::kNone:
      return "";
    case PreemptReason::kInClusterQueue:
      return "InClusterQueue";
    case PreemptReason::kInCohortReclamation:
      return "InCohortReclamation";
    case PreemptReason::kInCohortFairSharing:
      return "InCohortFairSharing";
    case PreemptReason::kInCohortReclaimWhileBorrowing:
      return "InCohortReclaimWhileBorrowing";
  }
  return "";
}

const char* fit_mode_text(FitMode mode) {
  switch (mode) {
    case FitMode::kNoFit:
      return "NoFit";
    case FitMode::kPreempt:
      return "Preempt";
    case FitMode::kDeferredFit:
      return "DeferredFit";
    case FitMode::kFit:
      return "Fit";
  }
  return "";
}

const char* preempt_mode_text(PreemptMode mode) {
  switch (mode) {
    case PreemptMode::kNoFit:
      return "NoFit";
    case PreemptMode::kNoCandidates:
      return "NoCandidates";
    case PreemptMode::kPreempt:
      return "Preempt";
    case PreemptMode::kReclaim:
      return "Reclaim";
    case PreemptMode::kFit:
      return "Fit";
  }
  return "";
}

const char* entry_status_text(EntryStatus status) {
  switch (status) {
    case EntryStatus::kNotNominated:
      return "";
    case EntryStatus::kNominated:
      return "nominated";
    case EntryStatus::kSkipped:
      return "skipped";
    case EntryStatus::kEvicted:
      return "evicted";
    case EntryStatus::kAssumed:
      return "assumed";
    case EntryStatus::kPreemptionGated:
      return "preemptionGated";
  }
  return "";
}

const char* recompute_result_text(RecomputeResult result) {
  switch (result) {
    case RecomputeResult::kNewTargets:
      return "new_targets";
    case RecomputeResult::kDeferredFit:
      return "deferred_fit";
    case RecomputeResult::kSkipped:
      return "skipped";
  }
  return "";
}

}  // namespace kueue::engine
