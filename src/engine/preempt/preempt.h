// Preemption: which running workloads have to go so that one more fits. Spec: behaviour.md 8
// (classical) and 9 (fair sharing). All of it works on the overlay and leaves it as it was.
#pragma once

#include <functional>
#include <vector>

#include "engine/flavor/assignment.h"
#include "engine/overlay.h"

namespace kueue::engine {

struct PreemptRequest {
  WorkloadId preemptor;
  QueueId queue;
  Usage usage;                       // what the preemptor would charge
  std::vector<FrId> needed;          // the flavor-resources that need preemption
  std::function<bool()> places_fit;  // topology placement succeeds now; unset = no topology
};

// A minimal set of victims, in the order of removal; empty = preemption cannot help.
std::vector<Victim> find_victims(Overlay& overlay, const PreemptRequest& request);

// For an assignment whose mode is Preempt. A search that was made when its flavors were judged, on
// the same overlay, is not made again.
std::vector<Victim> find_victims(Overlay& overlay, WorkloadId id, QueueId queue,
                                 const Assignment& assignment);

// --- shared by both kinds
struct PreemptContext {
  Overlay& overlay;
  const PreemptRequest& request;
  const QueueRecord& queue;

  const World& world() const { return overlay.world(); }
  QuotaId node() const { return queue.node; }
};

enum class VictimPolicy : uint8_t { kNever, kLowerPriority, kLowerOrNewerEqualPriority, kAny };
bool satisfies(const PreemptContext& context, WorkloadId candidate, VictimPolicy policy);
VictimPolicy within_policy(const QueueRecord& queue);
VictimPolicy reclaim_policy(const QueueRecord& queue);
// It holds some of what is needed, and its end is still counted on.
bool uses_needed(const PreemptContext& context, WorkloadId candidate);
// The candidate holds its quota although it was told to go.
bool already_evicted(const World& world, WorkloadId id);
// What orders candidates: evicted ones first, those of other queues, those of LocalQueues that used
// more, lower priority, shorter running.
struct CandidateRank {
  WorkloadId id;
  bool evicted = false;
  bool own = false;  // of the preemptor's queue
  QueueId queue;
  double usage = 0;  // of its LocalQueue, where that counts
  int64_t priority = 0;
  Instant since;
  const Workload* object = nullptr;

  bool before(const CandidateRank& other) const;
};
CandidateRank rank_of(const PreemptContext& context, WorkloadId candidate);
// Order in which candidates are considered: true when a comes before b.
bool candidate_before(const PreemptContext& context, WorkloadId a, WorkloadId b);
// Everything fits in what the overlay shows.
bool preemptor_fits(const PreemptContext& context, bool allow_borrowing);
// Puts victims back that turn out not to be needed, from the second-last to the first; restores
// nothing else.
void fill_back(const PreemptContext& context, std::vector<Victim>& victims, bool allow_borrowing);

std::vector<Victim> classical_victims(const PreemptContext& context);
std::vector<Victim> fair_victims(const PreemptContext& context);

}  // namespace kueue::engine
