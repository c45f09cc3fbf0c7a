#include "base/feature_gates.h"

#include <algorithm>
#include <array>
#include <vector>

namespace kueue {
namespace {

constexpr GateStage kAlpha = GateStage::kAlpha;
constexpr GateStage kBeta = GateStage::kBeta;
constexpr GateStage kGa = GateStage::kGa;
constexpr GateStage kDeprecated = GateStage::kDeprecated;

constexpr Gate kOnTas[] = {Gate::kTopologyAwareScheduling};
constexpr Gate kOnReplacement[] = {Gate::kTASFailedNodeReplacement, Gate::kTopologyAwareScheduling};
constexpr Gate kOnElasticTas[] = {Gate::kElasticJobsViaWorkloadSlices,
                                  Gate::kTopologyAwareScheduling};
constexpr Gate kOnObservability[] = {Gate::kUnadmittedWorkloadsObservability};
constexpr Gate kOnDra[] = {Gate::kKueueDRAIntegration};
constexpr Gate kOnFungibility[] = {Gate::kFlavorFungibility};

#define GATE(name) Gate::k##name, #name
constexpr GateSpec kTable[] = {
    {GATE(PartialAdmission), true, kBeta, false, "0.5", {}},
    {GATE(FlavorFungibility), true, kBeta, false, "0.5", {}},
    {GATE(VisibilityOnDemand), true, kBeta, false, "0.9", {}},
    {GATE(DisableWaitForPodsReady), false, kAlpha, false, "0.19", {}},
    {GATE(PrioritySortingWithinCohort), true, kBeta, false, "0.6", {}},
    {GATE(FairSharingPreemptWithinNominal), true, kBeta, false, "0.17", {}},
    {GATE(FairSharingPrioritizeNonBorrowing), true, kBeta, false, "0.17", {}},
    {GATE(MultiKueue), true, kBeta, false, "0.9", {}},
    {GATE(TopologyAwareScheduling), true, kBeta, false, "0.14", {}},
    {GATE(LocalQueueMetrics), true, kBeta, false, "0.17", {}},
    {GATE(TASProfileMixed), true, kBeta, false, "0.15", kOnTas},
    {GATE(AdmissionFairSharing), true, kBeta, false, "0.15", {}},
    {GATE(TASFailedNodeReplacement), true, kBeta, false, "0.14", kOnTas},
    {GATE(TASFailedNodeReplacementFailFast), true, kBeta, false, "0.14", kOnReplacement},
    {GATE(TASReplaceNodeOnPodTermination), true, kBeta, false, "0.14", kOnReplacement},
    {GATE(ElasticJobsViaWorkloadSlices), true, kBeta, false, "0.18", {}},
    {GATE(ElasticJobsViaWorkloadSlicesWithTAS), false, kAlpha, false, "0.17", kOnElasticTas},
    {GATE(SkipReassignmentForPodOwnedWorkloads), true, kBeta, false, "0.19", {}},
    {GATE(TASReplaceNodeDueToNotReadyOverFixedTime), false, kDeprecated, false, "0.19",
     kOnReplacement},
    {GATE(ManagedJobsNamespaceSelectorAlwaysRespected), true, kGa, true, "0.19", {}},
    {GATE(TASBalancedPlacement), false, kAlpha, false, "0.15", kOnTas},
    {GATE(TASAssignmentsEncodingByHostnamePrefix), true, kBeta, false, "0.19", {}},
    {GATE(KueueDRAIntegration), true, kBeta, false, "0.18", {}},
    {GATE(KueueDRAIntegrationExtendedResource), true, kBeta, false, "0.19", kOnDra},
    {GATE(KueueDRAIntegrationPartitionableDevices), true, kBeta, false, "0.19", kOnDra},
    {GATE(KueueDRARejectWorkloadsWhenDRADisabled), true, kBeta, false, "0.18", {}},
    {GATE(KueueDRAIntegrationConsumableCapacity), false, kAlpha, false, "0.19", kOnDra},
    {GATE(MultiKueueAdaptersForCustomJobs), true, kBeta, false, "0.15", {}},
    {GATE(WorkloadRequestUseMergePatch), false, kAlpha, false, "0.14", {}},
    {GATE(MultiKueueKubeConfigPathValidation), true, kBeta, false, "0.20", {}},
    {GATE(ReclaimablePods), true, kBeta, false, "0.15", {}},
    {GATE(MultiKueueClusterProfile), false, kAlpha, false, "0.15", {}},
    {GATE(FailureRecoveryPolicy), false, kAlpha, false, "0.15", {}},
    {GATE(TLSOptions), true, kGa, true, "0.20", {}},
    {GATE(RemoveFinalizersWithStrictPatch), true, kBeta, false, "0.17", {}},
    {GATE(TASReplaceNodeOnNodeTaints), true, kBeta, false, "0.17", kOnTas},
    {GATE(AssignQueueLabelsForPods), true, kBeta, false, "0.17", {}},
    {GATE(TASMultiLayerTopology), true, kBeta, false, "0.19", kOnTas},
    {GATE(SchedulingEquivalenceHashing), true, kBeta, false, "0.18", {}},
    {GATE(CustomMetricLabels), false, kAlpha, false, "0.17", {}},
    {GATE(SparkApplicationIntegration), false, kAlpha, false, "0.17", {}},
    {GATE(MultiKueueOrchestratedPreemption), false, kAlpha, false, "0.17", {}},
    {GATE(PriorityBoost), false, kAlpha, false, "0.17", {}},
    {GATE(ShortWorkloadNames), false, kAlpha, false, "0.17", {}},
    {GATE(FastQuotaReleaseInPodIntegration), false, kAlpha, false, "0.17", {}},
    {GATE(AdmissionGatedBy), true, kBeta, false, "0.19", {}},
    {GATE(RejectUpdatesToCQWithInvalidOnFlavors), false, kAlpha, false, "0.18", {}},
    {GATE(FinishOrphanedWorkloads), true, kBeta, false, "0.18", {}},
    {GATE(MultiKueueIncrementalDispatcherConfig), true, kBeta, false, "0.19", {}},
    {GATE(MultiKueueIncrementalDispatcherRespectConfigOrder), true, kBeta, false, "0.19", {}},
    {GATE(ConcurrentAdmission), false, kAlpha, false, "0.18", {}},
    {GATE(QuotaCheckStrategy), true, kBeta, false, "0.19", {}},
    {GATE(MetricForWorkloadCreationLatency), true, kBeta, false, "0.18", {}},
    {GATE(TASRespectNodeAffinityPreferred), false, kAlpha, false, "0.18", kOnTas},
    {GATE(MultiKueueManagerQuotaAutomation), false, kAlpha, false, "0.18", {}},
    {GATE(WorkloadIdentifierAnnotations), true, kBeta, false, "0.18", {}},
    {GATE(MetricsForCohorts), true, kBeta, false, "0.18", {}},
    {GATE(TASHandleOverlappingFlavors), true, kBeta, false, "0.18", kOnTas},
    {GATE(PodIntegrationValidateGroupOwner), true, kBeta, false, "0.18", {}},
    {GATE(ValidateRayAndSparkJobUpdates), true, kBeta, false, "0.18", {}},
    {GATE(WorkloadPriorityClassDefaulting), true, kBeta, false, "0.20", {}},
    {GATE(CleanupProvisioningRequestsOnEviction), true, kBeta, false, "0.19", {}},
    {GATE(UnadmittedWorkloadsObservability), true, kBeta, false, "0.19", {}},
    {GATE(TASRecomputeAssignmentWithinSchedulingCycle), true, kBeta, false, "0.19", kOnTas},
    {GATE(DeferRayServiceFinalizationForRedisCleanup), true, kBeta, false, "0.19", {}},
    {GATE(TASCacheNodeMatchResults), true, kBeta, false, "0.19", {}},
    {GATE(TASCachingRemainingResources), true, kBeta, false, "0.19", {}},
    {GATE(VectorizedResourceRequests), true, kBeta, false, "0.19", {}},
    {GATE(UnadmittedWorkloadsExplicitStatus), false, kBeta, false, "0.19", kOnObservability},
    {GATE(TASCacheTopologyTree), true, kBeta, false, "0.20", {}},
    {GATE(WorkloadValidateResourcesAreNonNegative), true, kBeta, false, "0.20", {}},
    {GATE(TASValidateWorkloadSliceSize), true, kBeta, false, "0.20", {}},
    {GATE(WorkloadValidationForPodSetMetadata), true, kBeta, false, "0.20", {}},
    {GATE(LWSImmutableGroupSize), true, kBeta, false, "0.20", {}},
    {GATE(FlavorFungibilityPreserveScanProgress), true, kBeta, false, "0.20", kOnFungibility},
    {GATE(SkipAncestorCheckForDeletedWorkloads), true, kBeta, false, "0.20", {}},
    {GATE(MultiKueueRemoteSpecSync), true, kBeta, false, "0.20", {}},
    {GATE(RecomputeAssignmentUponPreemptionTargetsOverlap), true, kBeta, false, "0.20", {}},
    {GATE(SchedulerLibraryIntegration), false, kAlpha, false, "0.19", {}},
    {GATE(PrioritizePreemptorWorkloads), false, kAlpha, false, "0.20", {}},
};
#undef GATE

constexpr bool table_is_in_order() {
  for (size_t i = 0; i < std::size(kTable); ++i)
    if (static_cast<size_t>(kTable[i].gate) != i) return false;
  return static_cast<size_t>(Gate::kPrioritizePreemptorWorkloads) + 1 == std::size(kTable);
}
static_assert(table_is_in_order(), "the table must list the gates in the order of the enum");

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

bool parse_bool(std::string_view s, bool& out) {
  for (std::string_view t : {"1", "t", "T", "true", "TRUE", "True"})
    if (s == t) return out = true, true;
  for (std::string_view f : {"0", "f", "F", "false", "FALSE", "False"})
    if (s == f) return out = false, true;
  return false;
}

Error unknown_gate(std::string_view name) {
  std::vector<std::string_view> names;
  for (const GateSpec& spec : kTable) names.push_back(spec.name);
  std::string message = "unknown feature gate: " + std::string(name);
  if (std::string_view near = nearest_word(name, names); !near.empty())
    message += ", did you mean " + std::string(near) + "?";
  return make_error(ErrorCode::kInvalid, std::move(message));
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::span<const GateSpec> feature_gate_table() { return kTable; }

const GateSpec& gate_spec(Gate gate) { return kTable[static_cast<size_t>(gate)]; }

const GateSpec* find_gate(std::string_view name) {
  for (const GateSpec& spec : kTable)
    if (spec.name == name) return &spec;
  return nullptr;
}

FeatureGates::FeatureGates() {
  for (const GateSpec& spec : kTable) force(spec.gate, spec.default_on);
}

Result<void> FeatureGates::set(std::string_view name, bool value) {
  const GateSpec* spec = find_gate(name);
  if (spec == nullptr) return unknown_gate(name);
  if (spec->locked && value != spec->default_on)
    return make_error(ErrorCode::kInvalid, "cannot set feature gate " + std::string(name) + " to " +
                                               (value ? "true" : "false") +
                                               ", feature is locked to " +
                                               (spec->default_on ? "true" : "false"));
  force(spec->gate, value);
  return {};
}

Result<void> FeatureGates::parse(std::string_view text) {
  struct Setting {
    std::string_view name;
    bool value;
  };
  std::vector<Setting> settings;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view item = trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (item.empty()) continue;
    size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      return make_error(ErrorCode::kInvalid, "missing bool value for feature gate " +
                                                 std::string(item) + ": want NAME=true|false");
    Setting setting{trim(item.substr(0, equals)), false};
    std::string_view value = trim(item.substr(equals + 1));
    if (!parse_bool(value, setting.value))
      return make_error(ErrorCode::kInvalid, "invalid value of feature gate " +
                                                 std::string(setting.name) + ": \"" +
                                                 std::string(value) + "\", want true or false");
    settings.push_back(setting);
  }
  FeatureGates next = *this;
  for (const Setting& s : settings) {
    if (s.name != "AllAlpha" && s.name != "AllBeta") continue;
    GateStage stage = s.name == "AllAlpha" ? kAlpha : kBeta;
    for (const GateSpec& spec : kTable)
      if (spec.stage == stage && !spec.locked) next.force(spec.gate, s.value);
  }
  for (const Setting& s : settings)
    if (s.name != "AllAlpha" && s.name != "AllBeta") KUEUE_TRY(next.set(s.name, s.value));
  KUEUE_TRY(next.check_dependencies());
  *this = next;
  return {};
}

Result<void> FeatureGates::check_dependencies() const {
  for (const GateSpec& spec : kTable) {
    if (!on(spec.gate)) continue;
    for (Gate need : spec.depends_on)
      if (!on(need))
        return make_error(ErrorCode::kInvalid, "feature gate " + std::string(spec.name) +
                                                   " is enabled, but depends on " +
                                                   std::string(gate_spec(need).name) +
                                                   ", which is disabled");
  }
  return {};
}

std::string FeatureGates::non_default() const {
  std::vector<const GateSpec*> changed;
  for (const GateSpec& spec : kTable)
    if (on(spec.gate) != spec.default_on) changed.push_back(&spec);
  std::sort(changed.begin(), changed.end(), [](auto* a, auto* b) { return a->name < b->name; });
  std::string out;
  for (const GateSpec* spec : changed) {
    if (!out.empty()) out += ',';
    out += std::string(spec->name) + (on(spec->gate) ? "=true" : "=false");
  }
  return out;
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t best_distance = word.size() / 3 + 1;
  for (std::string_view candidate : candidates) {
    size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace kueue
