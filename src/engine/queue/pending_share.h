// What a waiting workload adds to the numbers shown for its queues. Kept as it was added, so that
// it is taken out again exactly, whatever became of the workload since.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

// `id` has its place in a queue now.
void add_pending_share(World& world, WorkloadId id);
// Before it leaves that place. No-op when nothing was added.
void take_pending_share(World& world, WorkloadId id);
// `count` workloads of this kind were set aside, or came back.
void shift_pending_share(World& world, QueueId queue, const LotKey& lot, size_t count, bool aside);

}  // namespace kueue::engine
