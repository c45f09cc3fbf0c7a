// Workload as the engine sees it: what decides about order, requests, place and state. The bridge
// makes it from the API object; texts are the API's own. Plain values, and compact ones: a million
// may wait, and most members of most of them are empty.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/boxed.h"
#include "base/slim_vector.h"
#include "base/text.h"
#include "base/time.h"
#include "base/uid.h"
#include "engine/model/pod.h"

namespace kueue::engine {

struct Key {
  Text namespace_;
  std::string name;
  auto operator<=>(const Key&) const = default;
  std::string text() const { return namespace_ + "/" + name; }
};

enum class ConditionType : uint8_t {
  kQuotaReserved,
  kAdmitted,
  kEvicted,
  kPreempted,
  kRequeued,
  kFinished,
  kPodsReady,
  kDeactivationTarget,
  kBlockedOnPreemptionGates,
  kWaitingForReplacementPods,
};

enum class ConditionStatus : uint8_t { kFalse, kTrue, kUnknown };

struct Condition {
  ConditionType type = ConditionType::kQuotaReserved;
  ConditionStatus status = ConditionStatus::kFalse;
  Text reason;
  std::string message;
  Instant since;  // lastTransitionTime
  bool operator==(const Condition&) const = default;
};

struct SliceConstraint {
  std::string topology;  // node label of the level
  int32_t size = 1;
  bool operator==(const SliceConstraint&) const = default;
};

struct TopologyRequest {
  std::optional<std::string> required;
  std::optional<std::string> preferred;
  std::optional<bool> unconstrained;
  std::string pod_set_group;                  // "" = none
  std::optional<std::string> slice_topology;  // podSetSliceRequiredTopology
  std::optional<int32_t> slice_size;          // podSetSliceSize
  std::vector<SliceConstraint> slice_layers;  // podsetSliceRequiredTopologyConstraints
  bool operator==(const TopologyRequest&) const = default;
};

struct PodSet {
  Text name;
  int32_t count = 0;
  std::optional<int32_t> min_count;
  std::shared_ptr<const PodTemplate> pod;  // never null
  Boxed<TopologyRequest> topology;
};

struct TopologyDomain {
  std::vector<std::string> values;  // one per level
  int32_t count = 0;
  bool operator==(const TopologyDomain&) const = default;
};

struct TopologyAssignment {
  std::vector<std::string> levels;
  std::vector<TopologyDomain> domains;  // order is part of the result
  bool operator==(const TopologyAssignment&) const = default;
};

enum class DelayedTopology : uint8_t { kNone, kPending, kReady };

struct PodSetAssignment {
  Text name;
  SlimVector<std::pair<Text, Text>> flavors;  // resource -> flavor, sorted by resource
  ResourceAmounts usage;                      // of all pods together
  std::optional<int32_t> count;
  std::shared_ptr<const TopologyAssignment> topology;  // null = none
  DelayedTopology delayed = DelayedTopology::kNone;
};

struct Admission {
  Text cluster_queue;
  SlimVector<PodSetAssignment> pod_sets;
};

enum class CheckState : uint8_t { kPending, kReady, kRetry, kRejected };

struct PodSetUpdate {
  std::string name;  // pod set
  Labels node_selector;
  std::vector<Toleration> tolerations;
};

struct CheckStatus {
  std::string name;
  CheckState state = CheckState::kPending;
  std::vector<PodSetUpdate> updates;
};

struct PreemptionGate {
  std::string name;
  bool open = false;
};

struct Workload {
  Key key;
  Uid uid;
  int64_t generation = 0;
  Instant created;  // zero = older than everything
  Text queue_name;
  int64_t priority = 0;  // spec.priority
  int64_t boost = 0;     // annotation, only while the gate PriorityBoost is on
  Text boost_text;       // the annotation as it stands
  bool active = true;
  bool names_priority = false;  // the spec has one
  bool concurrent_admission_parent = false;
  bool elastic = false;
  bool pod_owned = false;   // its one owner is a Pod, and it is no group
  bool multikueue = false;  // has a MultiKueue check by its ClusterQueue's strategy
  // Told to go long ago and still there: nobody waits for its quota any more, and it is no victim.
  bool given_up = false;
  bool preempted_again = false;  // twice or more, by status.schedulingStats
  SlimVector<PodSet> pod_sets;

  Text job_uid;                             // label job-uid
  Text admission_gated_by;                  // annotation; non-empty = not admissible
  SlimVector<std::string> allowed_flavors;  // annotation of variants; empty = all
  Text variant_parent_uid;                  // controller owner if that is a parent Workload
  Text slice_name;                          // first slice of the chain
  Boxed<Key> replaces;                      // slice that this one replaces

  // Why it can never be admitted as it is ("" = fine): requests above limits, LimitRange, DRA.
  // Checked at nomination.
  Text misconfigured;

  SlimVector<Condition> conditions;  // those of ConditionType; at most one per type
  Boxed<Admission> admission;
  SlimVector<CheckStatus> checks;
  Boxed<Instant> requeue_at;
  SlimVector<std::pair<Text, int32_t>> reclaimable;  // pod set -> count
  SlimVector<std::string> unhealthy_nodes;
  SlimVector<PreemptionGate> preemption_gates;  // spec, with the state from status
  Text cluster_name;                            // MultiKueue worker

  // nullptr when absent.
  const Condition* condition(ConditionType type) const;
  bool is_true(ConditionType type) const;
  bool is_false(ConditionType type) const;
  bool finished() const { return is_true(ConditionType::kFinished); }
  // An active reservation: QuotaReserved=True with an admission.
  bool reserved() const;
  bool admitted() const { return is_true(ConditionType::kAdmitted); }
  bool evicted() const { return is_true(ConditionType::kEvicted); }
  // QuotaReserved=False with reason OnHold.
  bool on_hold() const;
  bool has_closed_preemption_gate() const;
  // It was preempted for the workload of this uid, has no quota since, and it was not the first
  // time that it was preempted.
  bool preempted_again_for(const std::string& preemptor_uid) const;
  // priority + boost.
  int64_t effective_priority() const { return priority + boost; }
};

// How the message of the Preempted condition begins, as far as it names the preemptor
// (labels-conditions-events.md 4).
std::string preempted_for_text(const std::string& preemptor_uid);

}  // namespace kueue::engine
