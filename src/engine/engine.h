// The admission engine: State takes events in and answers questions, plan() runs one scheduling
// cycle. Pure and deterministic: no clock, no IO, no threads, no log. One thread owns a State.
//
// How to run it: apply() every change of the API objects; call plan() when has_work() and after
// each plan() that says keep_going; write its commands; apply AdmissionFailed / EvictionFailed for
// writes that failed; apply TimePassed at next_wakeup().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/explanation.h"
#include "engine/model/commands.h"
#include "engine/model/events.h"
#include "engine/settings.h"

namespace kueue::engine {

struct World;  // all tables of the engine (engine/world.h)

struct CycleInput {
  Instant now;
  // Look at every head, also at blocked ones for which nothing has changed.
  bool every_head = false;
  // Explain admissions as well; else Plan::why has decisions about those that were not admitted.
  bool explain = true;
};

struct Plan {
  std::vector<Command> commands;  // in the order they were decided
  Explanation why;
  int32_t looked_at = 0;  // workloads
  // Something was assumed or evicted (or there were no heads): the next cycle may find more at
  // once.
  bool keep_going = true;
};

// Why a ClusterQueue admits nothing.
struct QueueActivity {
  bool known = false;
  bool active = false;
  std::string reason;   // of the Active condition: Ready, Terminating, Stopped, FlavorNotFound, …
  std::string message;  // of the Active condition
};

struct ResourceUsage {
  std::string resource;
  Amount total;
  Amount borrowed;
};
struct FlavorUsage {
  std::string flavor;
  std::vector<ResourceUsage> resources;  // sorted by name
};

struct ClusterQueueStatus {
  int32_t pending_active = 0;  // in the heap, in flight included
  int32_t pending_inadmissible = 0;
  // Different scheduling hashes among them; 0 while the gate SchedulingEquivalenceHashing is off.
  int32_t hashes_active = 0;
  int32_t hashes_inadmissible = 0;
  ResourceAmounts pending_requests;  // of all pending workloads, sorted by resource
  int32_t reserving = 0;             // workloads with a reservation, admitted ones included
  int32_t admitted = 0;
  std::vector<FlavorUsage>
      reservation;                 // every flavor and resource of the spec, spec order of flavors
  std::vector<FlavorUsage> usage;  // the part that is admitted
  int64_t weighted_share = 0;      // rounded up; max when infinite
  double exact_share = 0;          // before rounding; NaN when infinite
};

struct LocalQueueStatus {
  bool known = false;
  int32_t pending = 0;
  int32_t pending_inadmissible = 0;  // the part of `pending` that waits for a change
  int32_t reserving = 0;
  int32_t admitted = 0;
  std::vector<FlavorUsage> reservation;  // borrowed is not set
  std::vector<FlavorUsage> usage;
  std::vector<std::string> flavors;  // flavors of its ClusterQueue, in order
};

struct CohortStatus {
  bool known = false;
  bool in_cycle = false;
  int64_t weighted_share = 0;
  double exact_share = 0;
};

struct PendingWorkload {
  Key key;
  std::string uid;
  std::string local_queue;
  int64_t priority = 0;
  Instant created;
  int32_t position_in_cluster_queue = 0;  // from 0
  int32_t position_in_local_queue = 0;
};

struct AfsUsage {
  bool known = false;
  std::vector<std::pair<std::string, Nanos>> consumed;  // cpu in cores; sorted by resource
  std::vector<std::pair<Key, std::vector<std::pair<std::string, Nanos>>>> penalties;
  Instant last_update;
  double value = 0;  // weighed, over the weight of the queue: what orders LocalQueues
};

enum class WorkloadPlace : uint8_t {
  kUnknown,       // never seen, or in no queue
  kActive,        // in the heap of its ClusterQueue
  kInadmissible,  // waits for a change
  kReserved,      // holds quota (assumed or written)
};

class State {
 public:
  explicit State(Settings settings);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Takes an event in. Total; cost grows with what the event touches, never with the number of
  // workloads beyond that.
  void apply(const Event& event);
  // CHECKs what must always hold (see engine/invariants.cc). For tests and simulation: costs a pass
  // over everything.
  void check_invariants() const;

  // True when plan() would look at some workload now: a retry of a blocked head waits for a change
  // (decisions 5).
  bool has_work() const;
  // When TimePassed should be applied next; nothing = only events matter.
  std::optional<Instant> next_wakeup() const;
  // The latest time it was told, unless the clock was set back since (TimePassed).
  Instant now() const;

  // --- questions. Unknown names give zero values.
  QueueActivity cluster_queue_activity(const std::string& name) const;
  ClusterQueueStatus cluster_queue_status(const std::string& name) const;
  LocalQueueStatus local_queue_status(const Key& key) const;
  CohortStatus cohort_status(const std::string& name) const;
  // Names of all ClusterQueues whose status may have changed since the last call; LocalQueues
  // likewise.
  std::vector<std::string> take_changed_cluster_queues();
  std::vector<Key> take_changed_local_queues();
  // Pending workloads in queue order, heap and inadmissible together (visibility).
  std::vector<PendingWorkload> pending(const std::string& cluster_queue) const;
  WorkloadPlace place(const Key& key) const;
  // The reason another workload of equal scheduling hash got, when this one was set aside because
  // of it.
  std::optional<PendingReason> bypass_reason(const Key& key) const;
  // The admission that the engine holds for a workload, nullptr when it has none.
  const Admission* admission(const Key& key) const;
  // Checks that the workload needs: before a reservation those that cover all flavors of its
  // ClusterQueue, with one those of the assigned flavors (behaviour.md 14). Sorted.
  std::vector<std::string> required_checks(const Workload& workload) const;
  // Pod set totals as status.resourceRequests shows them.
  std::vector<std::pair<std::string, ResourceAmounts>> resource_requests(const Key& key) const;
  // Workloads that wait in any queue, or hold quota, in a namespace / with this flavor / of this
  // queue. Sorted.
  std::vector<Key> workloads_in_namespace(const std::string& name) const;
  std::vector<Key> workloads_of_cluster_queue(const std::string& name) const;
  bool flavor_in_use(const std::string& name) const;  // some ClusterQueue names it
  bool check_in_use(const std::string& name) const;
  bool topology_in_use(const std::string& name) const;  // some flavor names it
  AfsUsage afs_usage(const Key& local_queue) const;

  // For tests, dumps and comparison with the vectors.
  std::vector<std::pair<std::string, std::vector<Key>>> active_by_queue() const;
  std::vector<std::pair<std::string, std::vector<Key>>> inadmissible_by_queue() const;
  std::vector<std::pair<std::string, Key>> sticky_by_queue() const;
  std::vector<std::pair<std::string, std::vector<Key>>> reserved_by_queue() const;
  std::vector<Key> second_pass_ready() const;
  std::vector<Key> second_pass_waiting() const;
  // "clusterQueue/NAME" or "cohort/NAME" to "flavor/resource" to reserved amount, zeros left out.
  // Sorted.
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, Amount>>>> tree_usage()
      const;

  const Settings& settings() const;
  World& world() { return *world_; }
  const World& world() const { return *world_; }

 private:
  std::unique_ptr<World> world_;
};

// One scheduling cycle (behaviour.md 4). Deterministic: the same events and inputs give the same
// plan. All its effects on the State (assumed admissions, requeues) have happened when it returns.
Plan plan(State& state, const CycleInput& input);

}  // namespace kueue::engine
