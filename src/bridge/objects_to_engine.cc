// Configuration objects, nodes, pods and the manager's Configuration -> engine values.
#include <algorithm>

#include "api/topology_assignment.h"
#include "bridge/convert.h"
#include "bridge/quantities.h"
#include "bridge/requests.h"
#include "bridge/to_engine.h"
#include "bridge/workload_status.h"

namespace kueue::bridge {
namespace {

engine::LabelRequirement requirement_of(const api::core::NodeSelectorRequirement& r) {
  return {r.key, r.operator_, r.values};
}

engine::StopPolicy stop_policy(const std::string& text) {
  if (text == "Hold") return engine::StopPolicy::kHold;
  return text == "HoldAndDrain" ? engine::StopPolicy::kHoldAndDrain : engine::StopPolicy::kNone;
}

double weight_of(const std::optional<api::v1beta2::FairSharing>& fair) {
  return fair && fair->weight ? fair->weight->as_double() : 1.0;
}

std::vector<engine::ResourceGroup> groups_of(
    const std::vector<api::v1beta2::ResourceGroup>& groups) {
  std::vector<engine::ResourceGroup> out;
  for (const api::v1beta2::ResourceGroup& group : groups) {
    engine::ResourceGroup g;
    g.covered = group.covered_resources;
    for (const api::v1beta2::FlavorQuotas& flavor : group.flavors) {
      engine::FlavorQuotas f{flavor.name, {}};
      for (const api::v1beta2::ResourceQuota& quota : flavor.resources) {
        engine::ResourceQuota q;
        q.resource = quota.name;
        q.nominal = quota_amount(quota.name, quota.nominal_quota);
        if (quota.borrowing_limit)
          q.borrowing_limit = quota_amount(quota.name, *quota.borrowing_limit);
        if (quota.lending_limit) q.lending_limit = quota_amount(quota.name, *quota.lending_limit);
        f.resources.push_back(std::move(q));
      }
      g.flavors.push_back(std::move(f));
    }
    out.push_back(std::move(g));
  }
  return out;
}

engine::Preemption preemption_of(const api::v1beta2::ClusterQueuePreemption& p) {
  engine::Preemption out;
  if (p.within_cluster_queue == "LowerPriority")
    out.within = engine::WithinClusterQueue::kLowerPriority;
  if (p.within_cluster_queue == "LowerOrNewerEqualPriority")
    out.within = engine::WithinClusterQueue::kLowerOrNewerEqualPriority;
  if (p.reclaim_within_cohort == "LowerPriority")
    out.reclaim = engine::ReclaimWithinCohort::kLowerPriority;
  if (p.reclaim_within_cohort == "Any") out.reclaim = engine::ReclaimWithinCohort::kAny;
  if (p.borrow_within_cohort) {
    out.borrow.lower_priority = p.borrow_within_cohort->policy == "LowerPriority";
    out.borrow.max_priority_threshold = p.borrow_within_cohort->max_priority_threshold;
  }
  return out;
}

// Empty words and the older ones (Borrow, Preempt) mean MayStopSearch; for preemption the default
// is TryNextFlavor.
engine::Fungibility fungibility_of(const api::v1beta2::FlavorFungibility& f) {
  using Policy = engine::FungibilityPolicy;
  engine::Fungibility out;
  out.when_can_borrow =
      f.when_can_borrow == "TryNextFlavor" ? Policy::kTryNextFlavor : Policy::kMayStopSearch;
  out.when_can_preempt = f.when_can_preempt == "MayStopSearch" || f.when_can_preempt == "Preempt"
                             ? Policy::kMayStopSearch
                             : Policy::kTryNextFlavor;
  if (f.preference == "PreemptionOverBorrowing")
    out.preference = engine::FungibilityPreference::kPreemptionOverBorrowing;
  return out;
}

bool is_true(const std::vector<api::meta::Condition>& conditions, const char* type) {
  return std::any_of(conditions.begin(), conditions.end(),
                     [&](const auto& c) { return c.type == type && c.status == "True"; });
}

bool placed_by_topology(const api::core::Pod& pod) {
  for (const char* key : {"podset-required-topology", "podset-preferred-topology",
                          "podset-unconstrained-topology", "podset-slice-required-topology"})
    if (pod.metadata.annotations.contains(std::string("kueue.x-k8s.io/") + key)) return true;
  return pod.metadata.labels.contains("kueue.x-k8s.io/tas");
}

engine::ResourceAmounts amounts(const ResourceMap& resources) {
  engine::ResourceAmounts out;
  for (const auto& [name, quantity] : resources)
    out.emplace_back(name, internal_amount(name, quantity));
  return out;
}

}  // namespace

std::vector<engine::Toleration> tolerations_of(const std::vector<api::core::Toleration>& list) {
  std::vector<engine::Toleration> out;
  for (const api::core::Toleration& t : list)
    out.push_back({t.key, t.operator_, t.value, t.effect});
  return out;
}

std::vector<engine::Taint> taints_of(const std::vector<api::core::Taint>& list) {
  std::vector<engine::Taint> out;
  for (const api::core::Taint& t : list) out.push_back({t.key, t.value, t.effect});
  return out;
}

engine::NodeSelectorTerm term_of(const api::core::NodeSelectorTerm& term) {
  engine::NodeSelectorTerm out;
  for (const auto& r : term.match_expressions) out.expressions.push_back(requirement_of(r));
  for (const auto& r : term.match_fields) out.fields.push_back(requirement_of(r));
  return out;
}

engine::LabelSelector selector_of(const api::meta::LabelSelector& selector) {
  engine::LabelSelector out;
  for (const auto& [key, value] : selector.match_labels)
    out.requirements.push_back({key, "In", {value}});
  for (const auto& r : selector.match_expressions)
    out.requirements.push_back({r.key, r.operator_, r.values});
  return out;
}

engine::ClusterQueue to_engine(const api::v1beta2::ClusterQueue& queue) {
  const api::v1beta2::ClusterQueueSpec& spec = queue.spec;
  engine::ClusterQueue out;
  out.name = queue.metadata.name;
  out.cohort = spec.cohort_name;
  out.strategy = spec.queueing_strategy == "StrictFIFO" ? engine::QueueingStrategy::kStrictFifo
                                                        : engine::QueueingStrategy::kBestEffortFifo;
  if (spec.namespace_selector) out.namespace_selector = selector_of(*spec.namespace_selector);
  out.groups = groups_of(spec.resource_groups);
  if (spec.preemption) out.preemption = preemption_of(*spec.preemption);
  if (spec.flavor_fungibility) out.fungibility = fungibility_of(*spec.flavor_fungibility);
  out.stop = stop_policy(spec.stop_policy);
  out.fair_weight = weight_of(spec.fair_sharing);
  out.usage_based_fairness = spec.admission_scope && spec.admission_scope->admission_mode ==
                                                         "UsageBasedAdmissionFairSharing";
  if (spec.admission_checks_strategy)
    for (const auto& rule : spec.admission_checks_strategy->admission_checks)
      out.checks.push_back({rule.name, rule.on_flavors});
  if (spec.concurrent_admission_policy) {
    engine::ConcurrentAdmission policy;
    policy.retain_first =
        spec.concurrent_admission_policy->migration.mode == "RetainFirstAdmission";
    if (spec.concurrent_admission_policy->migration.constraints)
      policy.last_acceptable_flavor =
          spec.concurrent_admission_policy->migration.constraints->last_acceptable_flavor_name;
    out.concurrent_admission = policy;
  }
  out.terminating = queue.metadata.deletion_timestamp.has_value();
  return out;
}

engine::Cohort to_engine(const api::v1beta2::Cohort& cohort) {
  return {cohort.metadata.name, cohort.spec.parent_name, groups_of(cohort.spec.resource_groups),
          weight_of(cohort.spec.fair_sharing)};
}

engine::LocalQueue to_engine(const api::v1beta2::LocalQueue& queue) {
  return {{queue.metadata.namespace_, queue.metadata.name},
          queue.spec.cluster_queue,
          stop_policy(queue.spec.stop_policy),
          weight_of(queue.spec.fair_sharing),
          queue.metadata.deletion_timestamp.has_value()};
}

engine::Flavor to_engine(const api::v1beta2::ResourceFlavor& flavor) {
  return {flavor.metadata.name,
          {flavor.spec.node_labels.begin(), flavor.spec.node_labels.end()},
          taints_of(flavor.spec.node_taints),
          tolerations_of(flavor.spec.tolerations),
          flavor.spec.topology_name};
}

engine::Topology to_engine(const api::v1beta2::Topology& topology) {
  engine::Topology out{topology.metadata.name, {}};
  for (const auto& level : topology.spec.levels) out.levels.push_back(level.node_label);
  return out;
}

engine::AdmissionCheck to_engine(const api::v1beta2::AdmissionCheck& check) {
  return {check.metadata.name, check.spec.controller_name,
          is_true(check.status.conditions, "Active")};
}

engine::Node to_engine(const api::core::Node& node) {
  engine::Node out;
  out.name = node.metadata.name;
  out.labels.assign(node.metadata.labels.begin(), node.metadata.labels.end());
  out.taints = taints_of(node.spec.taints);
  out.allocatable = amounts(node.status.allocatable);
  out.unschedulable = node.spec.unschedulable.value_or(false);
  out.ready = std::any_of(node.status.conditions.begin(), node.status.conditions.end(),
                          [](const auto& c) { return c.type == "Ready" && c.status == "True"; });
  return out;
}

engine::Event to_engine(const api::core::Pod& pod) {
  engine::Key key{pod.metadata.namespace_, pod.metadata.name};
  bool over = pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
  if (pod.spec.node_name.empty() || over || placed_by_topology(pod))
    return engine::ForeignPodDeleted{key};
  return engine::ForeignPodChanged{{key, pod.spec.node_name, amounts(pod_requests(pod.spec))}};
}

engine::Admission from_api(const api::v1beta2::Admission& admission) {
  engine::Admission out;
  out.cluster_queue = admission.cluster_queue;
  for (const api::v1beta2::PodSetAssignment& ps : admission.pod_set_assignments) {
    engine::PodSetAssignment a;
    a.name = ps.name;
    a.flavors.assign(ps.flavors.begin(), ps.flavors.end());
    a.usage = amounts(ps.resource_usage);
    a.count = ps.count;
    if (ps.topology_assignment)
      a.topology = std::make_shared<const engine::TopologyAssignment>(
          decode_topology(*ps.topology_assignment));
    if (ps.delayed_topology_request == "Pending") a.delayed = engine::DelayedTopology::kPending;
    if (ps.delayed_topology_request == "Ready") a.delayed = engine::DelayedTopology::kReady;
    out.pod_sets.push_back(std::move(a));
  }
  return out;
}

bool waits_for_pods_ready(const api::config::Configuration& config, const FeatureGates& gates) {
  return config.wait_for_pods_ready.has_value() && !gates.on(Gate::kDisableWaitForPodsReady);
}

engine::Settings engine_settings(const api::config::Configuration& config,
                                 const FeatureGates& gates) {
  engine::Settings out;
  out.gates = gates;
  if (config.fair_sharing) {
    engine::FairSharing fair;
    for (const std::string& strategy : config.fair_sharing->preemption_strategies)
      fair.strategies.push_back(strategy == "LessThanInitialShare"
                                    ? engine::FairPreemptionStrategy::kLessThanInitialShare
                                    : engine::FairPreemptionStrategy::kLessThanOrEqualToFinalShare);
    out.fair_sharing = fair;
  }
  if (config.admission_fair_sharing) {
    engine::AdmissionFairSharing afs;
    afs.half_life = config.admission_fair_sharing->usage_half_life_time.value_or(Duration());
    afs.sampling_interval =
        config.admission_fair_sharing->usage_sampling_interval.value_or(Duration::seconds(300));
    afs.resource_weights.assign(config.admission_fair_sharing->resource_weights.begin(),
                                config.admission_fair_sharing->resource_weights.end());
    out.admission_fair_sharing = afs;
  }
  if (config.resources)
    out.ignore_undeclared = config.resources->quota_check_strategy == "IgnoreUndeclared";
  if (waits_for_pods_ready(config, gates)) {
    out.block_admission = config.wait_for_pods_ready->block_admission.value_or(false);
    if (config.wait_for_pods_ready->requeuing_strategy)
      out.requeue_by_creation =
          config.wait_for_pods_ready->requeuing_strategy->timestamp == "Creation";
  }
  return out;
}

RequestRules request_rules(const api::config::Configuration& config) {
  RequestRules out;
  if (!config.resources) return out;
  out.exclude_prefixes = config.resources->exclude_resource_prefixes;
  for (const api::config::ResourceTransformation& t : config.resources->transformations) {
    Transformation rule{t.input, t.strategy != "Replace", t.multiply_by, {}};
    for (const auto& [resource, factor] : t.outputs)
      rule.outputs.push_back({resource, factor.to_string()});
    out.transformations.push_back(std::move(rule));
  }
  return out;
}

}  // namespace kueue::bridge
