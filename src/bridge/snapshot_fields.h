// The members of every struct in a snapshot, by name: one list for writing and reading. `visit` is
// called with each name and member. Internal to the snapshot codec.
#pragma once

#include "engine/snapshot.h"

namespace kueue::engine {

constexpr int64_t last_of(FairPreemptionStrategy) { return 1; }
constexpr int64_t last_of(StopPolicy) { return 2; }
constexpr int64_t last_of(QueueingStrategy) { return 1; }
constexpr int64_t last_of(WithinClusterQueue) { return 2; }
constexpr int64_t last_of(ReclaimWithinCohort) { return 2; }
constexpr int64_t last_of(FungibilityPolicy) { return 1; }
constexpr int64_t last_of(FungibilityPreference) { return 1; }
constexpr int64_t last_of(ConditionType) {
  return static_cast<int64_t>(ConditionType::kWaitingForReplacementPods);
}
constexpr int64_t last_of(ConditionStatus) { return 2; }
constexpr int64_t last_of(DelayedTopology) { return 2; }
constexpr int64_t last_of(CheckState) { return 3; }
constexpr int64_t last_of(PendingReason) {
  return static_cast<int64_t>(PendingReason::kAdmissionGated);
}

template <typename V>
void fields(V& visit, FairSharing& x) {
  visit("strategies", x.strategies);
}
template <typename V>
void fields(V& visit, AdmissionFairSharing& x) {
  visit("halfLife", x.half_life);
  visit("samplingInterval", x.sampling_interval);
  visit("resourceWeights", x.resource_weights);
}
template <typename V>
void fields(V& visit, Settings& x) {
  visit("featureGates", x.gates);
  visit("fairSharing", x.fair_sharing);
  visit("admissionFairSharing", x.admission_fair_sharing);
  visit("ignoreUndeclared", x.ignore_undeclared);
  visit("requeueByCreation", x.requeue_by_creation);
  visit("blockAdmission", x.block_admission);
  visit("retryBatch", x.retry_batch);
  visit("podRetryBatch", x.pod_retry_batch);
}

template <typename V>
void fields(V& visit, Key& x) {
  visit("namespace", x.namespace_);
  visit("name", x.name);
}
template <typename V>
void fields(V& visit, Taint& x) {
  visit("key", x.key);
  visit("value", x.value);
  visit("effect", x.effect);
}
template <typename V>
void fields(V& visit, Toleration& x) {
  visit("key", x.key);
  visit("operator", x.op);
  visit("value", x.value);
  visit("effect", x.effect);
}
template <typename V>
void fields(V& visit, LabelRequirement& x) {
  visit("key", x.key);
  visit("operator", x.op);
  visit("values", x.values);
}
template <typename V>
void fields(V& visit, LabelSelector& x) {
  visit("requirements", x.requirements);
}
template <typename V>
void fields(V& visit, NodeSelectorTerm& x) {
  visit("expressions", x.expressions);
  visit("fields", x.fields);
}
template <typename V>
void fields(V& visit, PreferredTerm& x) {
  visit("weight", x.weight);
  visit("term", x.term);
}
template <typename V>
void fields(V& visit, PodTemplate& x) {
  visit("requests", x.requests);
  visit("rawRequests", x.raw_requests);
  visit("nodeSelector", x.node_selector);
  visit("tolerations", x.tolerations);
  visit("requiredAffinity", x.required_affinity);
  visit("preferredAffinity", x.preferred_affinity);
  visit("shape", x.shape);
}

template <typename V>
void fields(V& visit, Flavor& x) {
  visit("name", x.name);
  visit("nodeLabels", x.node_labels);
  visit("taints", x.taints);
  visit("tolerations", x.tolerations);
  visit("topology", x.topology);
}
template <typename V>
void fields(V& visit, ResourceQuota& x) {
  visit("resource", x.resource);
  visit("nominal", x.nominal);
  visit("borrowingLimit", x.borrowing_limit);
  visit("lendingLimit", x.lending_limit);
}
template <typename V>
void fields(V& visit, FlavorQuotas& x) {
  visit("flavor", x.flavor);
  visit("resources", x.resources);
}
template <typename V>
void fields(V& visit, ResourceGroup& x) {
  visit("covered", x.covered);
  visit("flavors", x.flavors);
}
template <typename V>
void fields(V& visit, BorrowWithinCohort& x) {
  visit("lowerPriority", x.lower_priority);
  visit("maxPriorityThreshold", x.max_priority_threshold);
}
template <typename V>
void fields(V& visit, Preemption& x) {
  visit("within", x.within);
  visit("reclaim", x.reclaim);
  visit("borrow", x.borrow);
}
template <typename V>
void fields(V& visit, Fungibility& x) {
  visit("whenCanBorrow", x.when_can_borrow);
  visit("whenCanPreempt", x.when_can_preempt);
  visit("preference", x.preference);
}
template <typename V>
void fields(V& visit, CheckRule& x) {
  visit("check", x.check);
  visit("onFlavors", x.on_flavors);
}
template <typename V>
void fields(V& visit, ConcurrentAdmission& x) {
  visit("retainFirst", x.retain_first);
  visit("lastAcceptableFlavor", x.last_acceptable_flavor);
}
template <typename V>
void fields(V& visit, ClusterQueue& x) {
  visit("name", x.name);
  visit("cohort", x.cohort);
  visit("strategy", x.strategy);
  visit("namespaceSelector", x.namespace_selector);
  visit("groups", x.groups);
  visit("preemption", x.preemption);
  visit("fungibility", x.fungibility);
  visit("stop", x.stop);
  visit("fairWeight", x.fair_weight);
  visit("usageBasedFairness", x.usage_based_fairness);
  visit("checks", x.checks);
  visit("concurrentAdmission", x.concurrent_admission);
  visit("terminating", x.terminating);
}
template <typename V>
void fields(V& visit, Cohort& x) {
  visit("name", x.name);
  visit("parent", x.parent);
  visit("groups", x.groups);
  visit("fairWeight", x.fair_weight);
}
template <typename V>
void fields(V& visit, LocalQueue& x) {
  visit("key", x.key);
  visit("clusterQueue", x.cluster_queue);
  visit("stop", x.stop);
  visit("fairWeight", x.fair_weight);
  visit("terminating", x.terminating);
}
template <typename V>
void fields(V& visit, AdmissionCheck& x) {
  visit("name", x.name);
  visit("controller", x.controller);
  visit("active", x.active);
}
template <typename V>
void fields(V& visit, Topology& x) {
  visit("name", x.name);
  visit("levels", x.levels);
}
template <typename V>
void fields(V& visit, Node& x) {
  visit("name", x.name);
  visit("labels", x.labels);
  visit("taints", x.taints);
  visit("allocatable", x.allocatable);
  visit("ready", x.ready);
  visit("unschedulable", x.unschedulable);
}
template <typename V>
void fields(V& visit, ForeignPod& x) {
  visit("key", x.key);
  visit("node", x.node);
  visit("requests", x.requests);
}

template <typename V>
void fields(V& visit, Condition& x) {
  visit("type", x.type);
  visit("status", x.status);
  visit("reason", x.reason);
  visit("message", x.message);
  visit("since", x.since);
}
template <typename V>
void fields(V& visit, SliceConstraint& x) {
  visit("topology", x.topology);
  visit("size", x.size);
}
template <typename V>
void fields(V& visit, TopologyRequest& x) {
  visit("required", x.required);
  visit("preferred", x.preferred);
  visit("unconstrained", x.unconstrained);
  visit("podSetGroup", x.pod_set_group);
  visit("sliceTopology", x.slice_topology);
  visit("sliceSize", x.slice_size);
  visit("sliceLayers", x.slice_layers);
}
template <typename V>
void fields(V& visit, PodSet& x) {
  visit("name", x.name);
  visit("count", x.count);
  visit("minCount", x.min_count);
  visit("template", x.pod);
  visit("topology", x.topology);
}
template <typename V>
void fields(V& visit, TopologyDomain& x) {
  visit("values", x.values);
  visit("count", x.count);
}
template <typename V>
void fields(V& visit, TopologyAssignment& x) {
  visit("levels", x.levels);
  visit("domains", x.domains);
}
template <typename V>
void fields(V& visit, PodSetAssignment& x) {
  visit("name", x.name);
  visit("flavors", x.flavors);
  visit("usage", x.usage);
  visit("count", x.count);
  visit("topology", x.topology);
  visit("delayed", x.delayed);
}
template <typename V>
void fields(V& visit, Admission& x) {
  visit("clusterQueue", x.cluster_queue);
  visit("podSets", x.pod_sets);
}
template <typename V>
void fields(V& visit, PodSetUpdate& x) {
  visit("name", x.name);
  visit("nodeSelector", x.node_selector);
  visit("tolerations", x.tolerations);
}
template <typename V>
void fields(V& visit, CheckStatus& x) {
  visit("name", x.name);
  visit("state", x.state);
  visit("updates", x.updates);
}
template <typename V>
void fields(V& visit, PreemptionGate& x) {
  visit("name", x.name);
  visit("open", x.open);
}
template <typename V>
void fields(V& visit, Workload& x) {
  visit("key", x.key);
  visit("uid", x.uid);
  visit("generation", x.generation);
  visit("created", x.created);
  visit("queueName", x.queue_name);
  visit("active", x.active);
  visit("priority", x.priority);
  visit("namesPriority", x.names_priority);
  visit("boost", x.boost);
  visit("boostText", x.boost_text);
  visit("podSets", x.pod_sets);
  visit("jobUid", x.job_uid);
  visit("admissionGatedBy", x.admission_gated_by);
  visit("allowedFlavors", x.allowed_flavors);
  visit("concurrentAdmissionParent", x.concurrent_admission_parent);
  visit("variantParentUid", x.variant_parent_uid);
  visit("elastic", x.elastic);
  visit("sliceName", x.slice_name);
  visit("replaces", x.replaces);
  visit("podOwned", x.pod_owned);
  visit("multikueue", x.multikueue);
  visit("misconfigured", x.misconfigured);
  visit("conditions", x.conditions);
  visit("admission", x.admission);
  visit("checks", x.checks);
  visit("requeueAt", x.requeue_at);
  visit("reclaimable", x.reclaimable);
  visit("unhealthyNodes", x.unhealthy_nodes);
  visit("preemptionGates", x.preemption_gates);
  visit("clusterName", x.cluster_name);
  visit("givenUp", x.given_up);
  visit("preemptedAgain", x.preempted_again);
}

template <typename V>
void fields(V& visit, SnapshotCharge& x) {
  visit("flavor", x.flavor);
  visit("resource", x.resource);
  visit("amount", x.amount);
}
template <typename V>
void fields(V& visit, SnapshotPlaces& x) {
  visit("flavor", x.flavor);
  visit("values", x.values);
  visit("perPod", x.per_pod);
  visit("count", x.count);
}
template <typename V>
void fields(V& visit, SnapshotReservation& x) {
  visit("admission", x.admission);
  visit("since", x.since);
  visit("assumed", x.assumed);
  visit("admitted", x.admitted);
  visit("charges", x.charges);
  visit("places", x.places);
}
template <typename V>
void fields(V& visit, SnapshotScan& x) {
  visit("tried", x.tried);
  visit("queueGeneration", x.queue_generation);
  visit("cycle", x.cycle);
  visit("digest", x.digest);
}
template <typename V>
void fields(V& visit, SnapshotSecondPass& x) {
  visit("due", x.due);
  visit("iteration", x.iteration);
  visit("ready", x.ready);
}
template <typename V>
void fields(V& visit, SnapshotWorkload& x) {
  visit("object", x.object);
  visit("waits", x.waits);
  visit("aside", x.aside);
  visit("seen", x.seen);
  visit("looks", x.looks);
  visit("keepsItsPlace", x.keeps_its_place);
  visit("lookedInPart", x.looked_in_part);
  visit("contends", x.contends);
  visit("contendsForPlaces", x.contends_for_places);
  visit("reservation", x.reservation);
  visit("scan", x.scan);
  visit("secondPass", x.second_pass);
  visit("delayed", x.delayed);
  visit("evictionSent", x.eviction_sent);
  visit("sliceFinishSent", x.slice_finish_sent);
}
template <typename V>
void fields(V& visit, SnapshotQueue& x) {
  visit("name", x.name);
  visit("generation", x.generation);
  visit("popCycle", x.pop_cycle);
  visit("retryCycle", x.retry_cycle);
  visit("preemptor", x.preemptor);
  visit("preemptorGeneration", x.preemptor_generation);
  visit("preemptorSticky", x.preemptor_sticky);
  visit("bypass", x.bypass);
}
template <typename V>
void fields(V& visit, SnapshotRetry& x) {
  visit("node", x.node);
  visit("queue", x.queue);
  visit("due", x.due);
}
template <typename V>
void fields(V& visit, SnapshotAccount& x) {
  visit("localQueue", x.local_queue);
  visit("consumed", x.consumed);
  visit("penalties", x.penalties);
  visit("lastUpdate", x.last_update);
}
template <typename V>
void fields(V& visit, Snapshot& x) {
  visit("settings", x.settings);
  visit("now", x.now);
  visit("cycle", x.cycle);
  visit("namespaces", x.namespaces);
  visit("nodes", x.nodes);
  visit("pods", x.pods);
  visit("admissionChecks", x.checks);
  visit("flavors", x.flavors);
  visit("topologies", x.topologies);
  visit("cohorts", x.cohorts);
  visit("clusterQueues", x.queues);
  visit("localQueues", x.local_queues);
  visit("workloads", x.workloads);
  visit("queueStates", x.queue_states);
  visit("retries", x.retries);
  visit("ledger", x.ledger);
}

}  // namespace kueue::engine
