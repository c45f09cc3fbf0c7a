// Whether a flavor suits the pods of a pod set: taints, node affinity, topology (behaviour.md 6.2).
#pragma once

#include <optional>

#include "engine/explanation.h"
#include "engine/world.h"

namespace kueue::engine {

// The reason why not; nothing when it suits.
std::optional<Reason> flavor_mismatch(const World& world, const QueueRecord& queue,
                                      const GroupRecord& group, FlavorId flavor,
                                      const Workload& workload, const PodSet& pod_set,
                                      bool group_requests_topology);
// The pod set asks for topology in its own words.
bool requests_topology(const World& world, const PodSet& pod_set);
// Every flavor of the queue is a topology flavor, so that every pod set is placed.
bool topology_implied(const World& world, const QueueRecord& queue);

}  // namespace kueue::engine
