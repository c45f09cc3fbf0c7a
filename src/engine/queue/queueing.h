// Queueing: which workloads wait where, who is next, who comes back and when. Spec: behaviour.md
// sections 2, 3 and 12.
#pragma once

#include <vector>

#include "engine/world.h"

namespace kueue::engine {

// May wait in a queue: active, unfinished, without reservation, not gated, not on hold.
bool admissible(const World& world, const Workload& workload);
bool backoff_expired(const World& world, const Workload& workload);
// The time that orders the workload in its queue.
Instant queue_timestamp(const World& world, const Workload& workload);

// Puts the workload where it belongs after it was created or changed. `before` is its previous
// version, null when it is new or comes back from a reservation.
void push_or_update(World& world, WorkloadId id, const Workload* before);
// Its LocalQueue or ClusterQueue appeared: to the heap, also while its back-off lasts, as after a
// start.
void push_from_local_queue(World& world, WorkloadId id);
// Makes it wait there, whatever speaks against it (a restored state).
void make_waiting(World& world, WorkloadId id, QueueId queue, bool aside);
// Takes it out of heap and inadmissible set, and forgets that it was a preemptor.
void remove_from_queue(World& world, WorkloadId id);

struct Head {
  WorkloadId id;
  QueueId queue;  // where it waits; none in a second pass
  bool second_pass = false;
  int32_t iteration = 0;
  bool is_preemptor = false;
};
// All ready second-pass entries, which it takes, and the head of every active queue, which is left
// to take_head(). With `skip_blocked`, heads stay where they are when nothing has changed that
// could matter since they were last looked at.
std::vector<Head> find_heads(World& world, bool skip_blocked);
// Takes one of find_heads() out of its queue, in flight. No-op in a second pass.
void take_head(World& world, Head& head);
// True when find_heads(skip_blocked) would return something.
bool heads_available(World& world);
// A popped head that goes nowhere: it was admitted, or it should not have waited.
void leave_flight(World& world, WorkloadId id);
// Back to the queue after a cycle that did not admit it.
void requeue(World& world, WorkloadId id, RequeueReason reason, PendingReason pending);

// Asks for a retry of the inadmissible workloads of the queue's (or the cohort's) tree after
// `delay`.
void request_retry(World& world, QuotaId node, Duration delay);
void request_retry_of_queue(World& world, QueueId queue);
void request_retry_everywhere(World& world, Duration delay);
// Of all queues that have flavors of topologies. One entry for all, under no node: it is asked for
// whenever pods leave their places.
void request_retry_of_places(World& world, Duration delay);
// Runs the requests that are due (or all of them).
void run_retries(World& world, bool all);

bool needs_second_pass(const World& world, WorkloadId id);
// Enters the second-pass queue when the workload needs it, with the delay of this iteration. True
// when it does.
bool queue_second_pass(World& world, WorkloadId id, int32_t iteration);
void leave_second_pass(World& world, WorkloadId id);

}  // namespace kueue::engine
