// Admission fair sharing: penalties and consumed usage of LocalQueues (behaviour.md 11).
#pragma once

#include "engine/world.h"

namespace kueue::engine {

// The queue orders its LocalQueues by usage.
bool orders_by_usage(const World& world, QueueId queue);
// A workload was assumed: what it requests counts against its LocalQueue until it is admitted.
void push_penalty(World& world, WorkloadId id, QueueId queue, const ResourceList& total);
// The workload failed, ended or moved before it was admitted.
void forget_penalty(World& world, WorkloadId id);
// The workload was admitted: its penalty becomes consumed usage.
void settle_penalty(World& world, WorkloadId id);

}  // namespace kueue::engine
