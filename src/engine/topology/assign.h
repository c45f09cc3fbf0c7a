// Places the pods of an assignment in the topology, and carries over what an admission already
// decided.
#pragma once

#include <functional>

#include "engine/flavor/assignment.h"
#include "engine/preempt/preempt.h"

namespace kueue::engine {

// Flavors (as Fit) and placement of a workload that already holds a reservation (second pass).
void keep_admission(World& world, const Reservation& reservation, const PodSet& pod_set,
                    PodSetResult& result);
// Adds topology assignments; may lower modes and add reasons (behaviour.md 6 "After quota").
void assign_topology(Overlay& overlay, WorkloadId id, QueueId queue, WorkloadId replaced,
                     Assignment& assignment);
// An assignment that has to preempt takes its places as well, so that nobody else does: with the
// victims gone, or on an empty topology when there are none (behaviour.md 5).
void reserve_places(Overlay& overlay, WorkloadId id, QueueId queue,
                    const std::vector<Victim>& victims, WorkloadId replaced,
                    Assignment& assignment);
// Says whether all places that the assignment asks for can be found in what the overlay shows;
// unset = it asks for none.
std::function<bool()> placement_check(Overlay& overlay, WorkloadId id, QueueId queue,
                                      const Assignment& assignment);

}  // namespace kueue::engine
