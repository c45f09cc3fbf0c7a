// The configuration objects as the engine sees them: flavors, queues, cohorts, checks, topologies,
// nodes. Plain values; amounts in internal units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/amount.h"
#include "base/time.h"
#include "engine/model/pod.h"
#include "engine/model/workload.h"

namespace kueue::engine {

enum class StopPolicy : uint8_t { kNone, kHold, kHoldAndDrain };
enum class QueueingStrategy : uint8_t { kBestEffortFifo, kStrictFifo };
enum class WithinClusterQueue : uint8_t { kNever, kLowerPriority, kLowerOrNewerEqualPriority };
enum class ReclaimWithinCohort : uint8_t { kNever, kLowerPriority, kAny };
enum class FungibilityPolicy : uint8_t { kMayStopSearch, kTryNextFlavor };
enum class FungibilityPreference : uint8_t { kBorrowingOverPreemption, kPreemptionOverBorrowing };

struct Flavor {
  std::string name;
  Labels node_labels;
  std::vector<Taint> taints;
  std::vector<Toleration> tolerations;
  std::string topology;  // "" = not a topology flavor
};

struct ResourceQuota {
  std::string resource;
  Amount nominal;
  std::optional<Amount> borrowing_limit;  // absent = no limit
  std::optional<Amount> lending_limit;    // absent = everything may be lent
};

struct FlavorQuotas {
  std::string flavor;
  std::vector<ResourceQuota> resources;
};

struct ResourceGroup {
  std::vector<std::string> covered;
  std::vector<FlavorQuotas> flavors;  // in order of preference
};

struct BorrowWithinCohort {
  bool lower_priority = false;  // policy LowerPriority; false = Never
  std::optional<int32_t> max_priority_threshold;
};

struct Preemption {
  WithinClusterQueue within = WithinClusterQueue::kNever;
  ReclaimWithinCohort reclaim = ReclaimWithinCohort::kNever;
  BorrowWithinCohort borrow;
};

struct Fungibility {
  FungibilityPolicy when_can_borrow = FungibilityPolicy::kMayStopSearch;
  FungibilityPolicy when_can_preempt = FungibilityPolicy::kTryNextFlavor;
  FungibilityPreference preference = FungibilityPreference::kBorrowingOverPreemption;
};

// One entry of a ClusterQueue's admission checks strategy.
struct CheckRule {
  std::string check;
  std::vector<std::string> on_flavors;  // empty = all flavors of the queue
};

struct ConcurrentAdmission {
  bool retain_first = false;           // mode RetainFirstAdmission; false = TryPreferredFlavors
  std::string last_acceptable_flavor;  // "" = no constraint
};

// What each cycle reads stands first (engine/world.h).
struct ClusterQueue {
  QueueingStrategy strategy = QueueingStrategy::kBestEffortFifo;
  StopPolicy stop = StopPolicy::kNone;
  bool usage_based_fairness = false;  // admissionScope UsageBasedAdmissionFairSharing
  bool terminating = false;
  Fungibility fungibility;
  Preemption preemption;
  double fair_weight = 1;
  std::optional<LabelSelector> namespace_selector;  // absent = no namespace
  std::vector<CheckRule> checks;
  std::string name;
  std::string cohort;  // "" = none
  std::vector<ResourceGroup> groups;
  std::optional<ConcurrentAdmission> concurrent_admission;
};

struct Cohort {
  std::string name;
  std::string parent;  // "" = root
  std::vector<ResourceGroup> groups;
  double fair_weight = 1;
};

struct LocalQueue {
  Key key;
  std::string cluster_queue;
  StopPolicy stop = StopPolicy::kNone;
  double fair_weight = 1;
  bool terminating = false;
};

struct AdmissionCheck {
  std::string name;
  std::string controller;
  bool active = true;
};

struct Topology {
  std::string name;
  std::vector<std::string> levels;  // node labels, outermost first
};

struct Node {
  std::string name;
  Labels labels;
  std::vector<Taint> taints;
  ResourceAmounts allocatable;
  bool ready = true;
  bool unschedulable = false;
};

// A pod that uses a node without being placed by us.
struct ForeignPod {
  Key key;
  std::string node;
  ResourceAmounts requests;  // without the pod itself
  bool operator==(const ForeignPod&) const = default;
};

inline constexpr const char* kMultiKueueController = "kueue.x-k8s.io/multikueue";
inline constexpr const char* kProvisioningController = "kueue.x-k8s.io/provisioning-request";

}  // namespace kueue::engine
