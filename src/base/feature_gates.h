// Feature gates: which optional behaviours are on. The table of all gates (name, default, stage,
// dependencies) and a value type that holds one setting of them. Plain data; copies are cheap; a
// const value may be read from any thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kueue {

// Every gate, in the order of the table in feature_gates.cc.
#define KUEUE_FEATURE_GATES(X)                         \
  X(PartialAdmission)                                  \
  X(FlavorFungibility)                                 \
  X(VisibilityOnDemand)                                \
  X(DisableWaitForPodsReady)                           \
  X(PrioritySortingWithinCohort)                       \
  X(FairSharingPreemptWithinNominal)                   \
  X(FairSharingPrioritizeNonBorrowing)                 \
  X(MultiKueue)                                        \
  X(TopologyAwareScheduling)                           \
  X(LocalQueueMetrics)                                 \
  X(TASProfileMixed)                                   \
  X(AdmissionFairSharing)                              \
  X(TASFailedNodeReplacement)                          \
  X(TASFailedNodeReplacementFailFast)                  \
  X(TASReplaceNodeOnPodTermination)                    \
  X(ElasticJobsViaWorkloadSlices)                      \
  X(ElasticJobsViaWorkloadSlicesWithTAS)               \
  X(SkipReassignmentForPodOwnedWorkloads)              \
  X(TASReplaceNodeDueToNotReadyOverFixedTime)          \
  X(ManagedJobsNamespaceSelectorAlwaysRespected)       \
  X(TASBalancedPlacement)                              \
  X(TASAssignmentsEncodingByHostnamePrefix)            \
  X(KueueDRAIntegration)                               \
  X(KueueDRAIntegrationExtendedResource)               \
  X(KueueDRAIntegrationPartitionableDevices)           \
  X(KueueDRARejectWorkloadsWhenDRADisabled)            \
  X(KueueDRAIntegrationConsumableCapacity)             \
  X(MultiKueueAdaptersForCustomJobs)                   \
  X(WorkloadRequestUseMergePatch)                      \
  X(MultiKueueKubeConfigPathValidation)                \
  X(ReclaimablePods)                                   \
  X(MultiKueueClusterProfile)                          \
  X(FailureRecoveryPolicy)                             \
  X(TLSOptions)                                        \
  X(RemoveFinalizersWithStrictPatch)                   \
  X(TASReplaceNodeOnNodeTaints)                        \
  X(AssignQueueLabelsForPods)                          \
  X(TASMultiLayerTopology)                             \
  X(SchedulingEquivalenceHashing)                      \
  X(CustomMetricLabels)                                \
  X(SparkApplicationIntegration)                       \
  X(MultiKueueOrchestratedPreemption)                  \
  X(PriorityBoost)                                     \
  X(ShortWorkloadNames)                                \
  X(FastQuotaReleaseInPodIntegration)                  \
  X(AdmissionGatedBy)                                  \
  X(RejectUpdatesToCQWithInvalidOnFlavors)             \
  X(FinishOrphanedWorkloads)                           \
  X(MultiKueueIncrementalDispatcherConfig)             \
  X(MultiKueueIncrementalDispatcherRespectConfigOrder) \
  X(ConcurrentAdmission)                               \
  X(QuotaCheckStrategy)                                \
  X(MetricForWorkloadCreationLatency)                  \
  X(TASRespectNodeAffinityPreferred)                   \
  X(MultiKueueManagerQuotaAutomation)                  \
  X(WorkloadIdentifierAnnotations)                     \
  X(MetricsForCohorts)                                 \
  X(TASHandleOverlappingFlavors)                       \
  X(PodIntegrationValidateGroupOwner)                  \
  X(ValidateRayAndSparkJobUpdates)                     \
  X(WorkloadPriorityClassDefaulting)                   \
  X(CleanupProvisioningRequestsOnEviction)             \
  X(UnadmittedWorkloadsObservability)                  \
  X(TASRecomputeAssignmentWithinSchedulingCycle)       \
  X(DeferRayServiceFinalizationForRedisCleanup)        \
  X(TASCacheNodeMatchResults)                          \
  X(TASCachingRemainingResources)                      \
  X(VectorizedResourceRequests)                        \
  X(UnadmittedWorkloadsExplicitStatus)                 \
  X(TASCacheTopologyTree)                              \
  X(WorkloadValidateResourcesAreNonNegative)           \
  X(TASValidateWorkloadSliceSize)                      \
  X(WorkloadValidationForPodSetMetadata)               \
  X(LWSImmutableGroupSize)                             \
  X(FlavorFungibilityPreserveScanProgress)             \
  X(SkipAncestorCheckForDeletedWorkloads)              \
  X(MultiKueueRemoteSpecSync)                          \
  X(RecomputeAssignmentUponPreemptionTargetsOverlap)   \
  X(SchedulerLibraryIntegration)                       \
  X(PrioritizePreemptorWorkloads)

enum class Gate : uint8_t {
#define KUEUE_GATE(name) k##name,
  KUEUE_FEATURE_GATES(KUEUE_GATE)
#undef KUEUE_GATE
};

enum class GateStage : uint8_t { kAlpha, kBeta, kGa, kDeprecated };

struct GateSpec {
  Gate gate;
  std::string_view name;
  bool default_on;
  GateStage stage;
  bool locked;                       // its value cannot be changed
  std::string_view since;            // version of the current stage, "0.17"
  std::span<const Gate> depends_on;  // all must be on when this one is
};

// All gates, indexed by Gate.
std::span<const GateSpec> feature_gate_table();
const GateSpec& gate_spec(Gate gate);
// nullptr when there is no gate of that name.
const GateSpec* find_gate(std::string_view name);

// One setting of all gates. A new value has the defaults.
class FeatureGates {
 public:
  FeatureGates();

  bool on(Gate gate) const { return bits_.test(static_cast<size_t>(gate)); }
  // Sets without looking at locks and dependencies; for tests and defaults of other programs.
  void force(Gate gate, bool value) { bits_.set(static_cast<size_t>(gate), value); }

  // By name. kInvalid for an unknown name (with the nearest known one) and for a locked gate that
  // would change.
  Result<void> set(std::string_view name, bool value);
  // "A=true,B=false": Kubernetes' flag syntax. Blanks around items are ignored, "" sets nothing.
  // All or nothing. Values: true, false, and what Go's ParseBool takes (1, 0, t, f, T, F, TRUE,
  // FALSE, True, False). Also the special names AllAlpha and AllBeta, applied before the others.
  // Checks dependencies at the end.
  Result<void> parse(std::string_view text);
  // kInvalid naming the first gate (table order) that is on while one it depends on is off.
  Result<void> check_dependencies() const;
  // "A=true,B=false" of all gates whose value is not the default, in name order.
  std::string non_default() const;

  bool operator==(const FeatureGates&) const = default;

 private:
  std::bitset<128> bits_;
};

// The candidate nearest to `word` by edit distance, or "" when none is near (more than a third of
// its length away). Ties go to the first.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace kueue
