// Entry: one head on its way through a scheduling cycle.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "engine/flavor/assignment.h"
#include "engine/preempt/preempt.h"
#include "engine/queue/queueing.h"

namespace kueue::engine {

struct Entry {
  Head head;
  QueueId queue;
  // What orders it, as it was when the cycle began.
  int64_t priority = 0;  // effective
  Instant timestamp;
  bool holds_quota = false;
  bool nominated = false;
  Assignment assignment;
  std::vector<Victim> victims;
  WorkloadId replaced;  // slice that it replaces, still holding quota
  EntryStatus status = EntryStatus::kNotNominated;
  RequeueReason requeue = RequeueReason::kGeneric;
  PendingReason pending = PendingReason::kPendingEvaluation;
  std::string message;
  bool silent = false;  // neither status nor event (already in the cache)
  bool blocked_on_gates = false;
  bool waits_for_pods_ready = false;
  // It left less for later entries, or had less because of earlier ones.
  bool contends = false;

  WorkloadId id() const { return head.id; }
};

// Room for the entries of a cycle, kept from one to the next.
struct CycleScratch {
  std::vector<Entry> entries;
  std::vector<Entry> rejected;
  std::vector<Entry*> done;

  void clear() {
    entries.clear();
    rejected.clear();
    done.clear();
  }
};

// What a cycle knows while it goes through its entries.
struct Cycle {
  Overlay& overlay;
  Plan& plan;
  bool explain = false;                 // also what is admitted
  std::set<WorkloadId> preempted = {};  // victims of this cycle so far
  std::map<std::string, int32_t> skips = {};
  std::vector<std::pair<std::string, RecomputeResult>> recomputations = {};

  World& world() { return overlay.world(); }
};

// Why the entry cannot even be looked at: fills message and reasons, and says false
// (behaviour.md 4.3).
bool may_be_nominated(World& world, Entry& entry);
// Assignment and victims (behaviour.md 5).
void nominate(Overlay& overlay, Entry& entry);
// The same with flavors pinned to the earlier nomination.
void nominate_again(Overlay& overlay, Entry& entry);
// Decides about the entry, given all that went before it (behaviour.md 4.5).
void process(Cycle& cycle, Entry& entry);
class FairTournament;  // cycle/fair_order.h

// The order of entries; call next() after each processed one.
class EntryOrder {
 public:
  EntryOrder(Cycle& cycle, std::vector<Entry>& entries);
  ~EntryOrder();
  // nullptr at the end.
  Entry* next();

 private:
  Entry* next_fair();
  Cycle& cycle_;
  std::vector<Entry*> left_;
  size_t position_ = 0;
  std::unique_ptr<FairTournament> tree_;  // of the tree at hand
};

// The workload that this one replaces, when it still holds quota.
WorkloadId replaced_slice(const World& world, WorkloadId id);
// Builds and applies the admission (assume), and the command for it.
void admit(Cycle& cycle, Entry& entry);
// Tells the victims to go; returns how many are on their way.
int32_t preempt(Cycle& cycle, Entry& entry);
void evict_for_failed_replacement(Cycle& cycle, Entry& entry);

}  // namespace kueue::engine
