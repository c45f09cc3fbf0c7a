// Places the pods of an assignment in the topology, and carries over what an admission already
// decided.
#pragma once

#include <functional>

#include "engine/flavor/assignment.h"

namespace kueue::engine {

// Flavors (as Fit) and placement of a workload that already holds a reservation (second pass).
void keep_admission(World& world, const Reservation& reservation, const PodSet& pod_set,
                    PodSetResult& result);
// Adds topology assignments; may lower modes and add reasons (behaviour.md 6 "After quota").
// Says whether all places that the assignment asks for can be found in what the overlay shows;
// unset = it asks for none.
std::function<bool()> placement_check(Overlay& overlay, WorkloadId id, QueueId queue,
                                      const Assignment& assignment);
void assign_topology(Overlay& overlay, WorkloadId id, QueueId queue, WorkloadId replaced,
                     Assignment& assignment);

}  // namespace kueue::engine
