// Commands: what a cycle decided, as values. The engine has already taken each one into account
// (assume first); who runs the engine writes them to the API and reports failures back (events.h).
// Texts are complete, to the letter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/model/objects.h"

namespace kueue::engine {

// Reason of QuotaReserved=False. reason_text() gives the granular word, legacy_reason_text() the
// one that is written while the gate UnadmittedWorkloadsObservability is off.
enum class PendingReason : uint8_t {
  kNone,  // no rule names a reason: the resource is not covered, or the assignment failed as a
          // whole
  kPendingEvaluation,
  kNoMatchingFlavor,
  kExceedsMaxQuota,
  kWaitingForQuota,
  kTopologyPlacementFailed,
  kWaitingForPreemptedWorkloads,
  kMisconfigured,
  kSuspended,
  kWaitingForPodsReady,
  kAdmissionGated,
};
const char* reason_text(PendingReason reason);
const char* legacy_reason_text(PendingReason reason);

// Why a workload went back to its queue (labels-conditions-events.md 6).
enum class RequeueReason : uint8_t {
  kGeneric,
  kFailedAfterNomination,
  kNamespaceMismatch,
  kPreemptionGated,
  kPendingPreemption,
  kPendingMigration,
  kPreemptionFailed,
  kNoFit,
  kPreemptionNoCandidates,
};
const char* requeue_reason_text(RequeueReason reason);  // "" for kGeneric

enum class EvictReason : uint8_t { kPreempted, kNodeFailures, kFlavorMigration };
const char* evict_reason_text(EvictReason reason);

enum class PreemptReason : uint8_t {
  kNone,
  kInClusterQueue,
  kInCohortReclamation,
  kInCohortFairSharing,
  kInCohortReclaimWhileBorrowing,
};
const char* preempt_reason_text(PreemptReason reason);

// Reserve quota: write status.admission, QuotaReserved=True and, when `admitted`, Admitted=True.
struct Admit {
  Key key;
  Uid uid;
  std::shared_ptr<const Admission> admission;  // never null
  bool settles_admitted = false;  // status lists every check that the assigned flavors need
  bool admitted = false;          // all checks that the assigned flavors need are Ready
  bool second_pass =
      false;  // it had a reservation; only the topology is new, unhealthyNodes is cleared
  Text flavors_considered;    // for the event, "" = nothing to say
  Boxed<Key> replaced_slice;  // to be finished as replaced once this is written
  Text cluster_name;          // copied from the replaced slice, "" = none
};

// Whom a victim makes room for; one value for all of its victims.
struct Preemptor {
  Key key;
  Text cluster_queue;
};

// Take the quota of a running workload: write Evicted (and Preempted); its job stops, then the
// reservation is released.
struct Evict {
  Key key;
  Uid uid;
  Text cluster_queue;
  EvictReason reason = EvictReason::kPreempted;
  PreemptReason preempt_reason = PreemptReason::kNone;
  std::string message;  // of the Evicted and Preempted conditions
  std::string
      priorities;  // "preemptor effective priority: …; preemptee effective priority: …", for events
  std::shared_ptr<const Preemptor> preemptor;  // null unless preempted or migrated
};

// Not now: write QuotaReserved=False with this reason and message (and the Admitted and
// resourceRequests that go with it) when `write`; send a Warning event with the message when
// `event`.
struct SetPending {
  Key key;
  Uid uid;
  Text cluster_queue;
  PendingReason reason = PendingReason::kPendingEvaluation;
  std::string message;
  bool write = true;
  bool blocked_on_gates = false;    // also BlockedOnPreemptionGates=True
  bool second_pass_failed = false;  // event SecondPassFailed and nothing else
  SlimVector<std::pair<Text, ResourceAmounts>> resource_requests;  // per pod set, totals
};

using Command = std::variant<Admit, Evict, SetPending>;

}  // namespace kueue::engine
