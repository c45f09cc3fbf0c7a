// Explanation: why a cycle decided as it did, as data. Condition messages, the CLI, the dashboard
// and the simulator render the same value. Every workload that a cycle looked at has one entry,
// admitted ones only when CycleInput::explain asks for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/amount.h"
#include "engine/model/commands.h"

namespace kueue::engine {

// How well a flavor (or a whole assignment) fits; worst first.
enum class FitMode : uint8_t { kNoFit, kPreempt, kDeferredFit, kFit };
const char* fit_mode_text(FitMode mode);

// What simulated preemption says about one flavor and resource.
enum class PreemptMode : uint8_t { kNoFit, kNoCandidates, kPreempt, kReclaim, kFit };
const char* preempt_mode_text(PreemptMode mode);

enum class ReasonKind : uint8_t {
  kFlavorMissing,        // flavor
  kTaint,                // flavor, detail = taint
  kAffinity,             // flavor
  kResourceUnavailable,  // resource: no group covers it
  kExceedsCapacity,      // resource, flavor, a = already assumed, b = request, c = capacity
  kWaitingForQuota,      // resource, flavor, a = missing amount
  kPinned,               // flavor, resource: another flavor was nominated
  kNotAllowed,           // flavor: the variant may not use it
  kSliceFlavor,          // flavor, detail = flavor of the original slice
  kTopology,             // detail = complete text
};

// One rule that failed, and by how much.
struct Reason {
  ReasonKind kind = ReasonKind::kTopology;
  Text flavor;
  Text resource;
  std::string detail;
  Amount a;
  Amount b;
  Amount c;
};
// The sentence that goes into the condition message.
std::string render(const Reason& reason);

struct FlavorAttempt {
  Text flavor;
  PreemptMode mode = PreemptMode::kNoFit;
  PendingReason no_fit = PendingReason::kWaitingForQuota;
  int32_t borrow = 0;  // height of the subtree that has to lend, 0 = own quota is enough
  SlimVector<Reason> reasons;
};

struct PodSetExplanation {
  Text pod_set;
  SlimVector<FlavorAttempt> flavors;  // in the order they were tried
  SlimVector<Reason> reasons;         // all reasons in order, as the message lists them
  std::string error;                  // "" unless the assignment failed as a whole
};

struct Target {
  Key key;
  Uid uid;
  PreemptReason reason = PreemptReason::kNone;
};

enum class EntryStatus : uint8_t {
  kNotNominated,
  kNominated,
  kSkipped,
  kEvicted,
  kAssumed,
  kPreemptionGated
};
const char* entry_status_text(EntryStatus status);

struct Decision {
  Key key;
  Text cluster_queue;
  bool nominated = false;  // false = rejected before flavors were looked at
  FitMode mode = FitMode::kNoFit;
  int32_t borrow = 0;
  EntryStatus status = EntryStatus::kNotNominated;
  RequeueReason requeue = RequeueReason::kGeneric;
  PendingReason pending = PendingReason::kPendingEvaluation;
  std::string message;
  bool is_preemptor = false;
  SlimVector<Target> targets;
  SlimVector<PodSetExplanation> pod_sets;
};

enum class RecomputeResult : uint8_t { kNewTargets, kDeferredFit, kSkipped };
const char* recompute_result_text(RecomputeResult result);  // new_targets, deferred_fit, skipped

struct Explanation {
  std::vector<Decision> decisions;  // in the order they were made
  std::vector<std::pair<std::string, int32_t>>
      preemption_skips;  // ClusterQueue -> entries skipped, sorted
  std::vector<std::pair<std::string, RecomputeResult>>
      recomputations;  // one per recomputation, in order
};

}  // namespace kueue::engine
