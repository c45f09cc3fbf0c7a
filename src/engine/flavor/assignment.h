// Assignment: which flavors a workload would get, how well they fit, and why others do not. Spec:
// behaviour.md 5 and 6.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/explanation.h"
#include "engine/overlay.h"

namespace kueue::engine {

struct FlavorChoice {
  ResourceId resource;
  FlavorId flavor;
  PreemptMode mode = PreemptMode::kNoFit;
  int32_t borrow = 0;
  int32_t tried = -1;  // index where the scan stopped, -1 = at the last flavor
};

using FlavorChoices = InlineVector<FlavorChoice, 2>;

FitMode fit_mode(PreemptMode mode);

struct PodSetResult {
  size_t index = 0;  // in the workload
  int32_t count = 0;
  ResourceList requests;  // totals
  FlavorChoices flavors;  // by resource name
  SlimVector<Reason> reasons;
  SlimVector<FlavorAttempt> attempts;
  std::string error;
  PendingReason no_fit = PendingReason::kNone;
  std::shared_ptr<const TopologyAssignment> topology;
  DelayedTopology delayed = DelayedTopology::kNone;
  bool mode_by_places = false;  // topology placement has set the modes of the flavors

  bool clean() const { return reasons.empty() && error.empty(); }
  FitMode mode() const;
  const FlavorChoice* choice(ResourceId resource) const;
};

struct Victim {
  WorkloadId id;
  PreemptReason reason = PreemptReason::kNone;
};

// What a search for victims asked for one flavor and resource, and found.
struct VictimSearch {
  FrId fr;
  Amount amount;
  std::vector<Victim> victims;
};

struct Assignment {
  SlimVector<PodSetResult> pod_sets;
  Usage quota;
  int32_t borrow = 0;
  ScanProgress scan;
  SlimVector<VictimSearch> searches;  // when its flavors were judged
  bool deferred = false;              // a Fit that has to wait for preemptions of others

  FitMode mode() const;
  // The text of the condition; "" when everything fits.
  std::string message(const Workload& workload) const;
  // The word for QuotaReserved=False of a NoFit.
  PendingReason pending_reason() const;
};

struct AssignOptions {
  std::vector<int32_t> counts;         // per pod set, instead of the workload's; empty = as it is
  const Assignment* pinned = nullptr;  // only flavors of this earlier nomination
  WorkloadId replaced;                 // slice that the workload replaces
};

// Finds flavors against the state that `overlay` shows. Changes nothing in it.
Assignment assign_flavors(Overlay& overlay, WorkloadId id, QueueId queue,
                          const AssignOptions& options);

// How much a reason weighs when several compete (behaviour.md 6, "NoFit reason severity").
int severity(PendingReason reason);

// What the assignment would charge; of the quota nothing when the workload already holds a
// reservation, and of the places only what is more than it has.
Charge charge_of(const World& world, WorkloadId id, const Assignment& assignment);

}  // namespace kueue::engine
