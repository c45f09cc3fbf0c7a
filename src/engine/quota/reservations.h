// Reservations: the quota and the places that workloads hold, and the counters that follow from
// them.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

// What an admission charges: assigned flavors, scaled down when pods are reclaimable (behaviour.md
// 1).
Usage admission_usage(World& world, const Workload& workload, const Admission& admission);
// The pods of an admission by topology domain.
std::vector<PlacedPods> admission_places(World& world, WorkloadId id, const Admission& admission);

// Charges the workload to the queue; replaces a reservation that it has.
void reserve(World& world, WorkloadId id, QueueId queue, std::shared_ptr<const Admission> admission,
             bool assumed, bool admitted, Instant since);
// The same with what it charges, which may be of an older object.
void reserve_as(World& world, WorkloadId id, QueueId queue,
                std::shared_ptr<const Admission> admission, Usage usage,
                std::vector<PlacedPods> placed, bool assumed, bool admitted, Instant since);
// No-op when it has none.
void release(World& world, WorkloadId id);
// After the workload named another LocalQueue while it holds quota: that one counts it now.
void count_in_own_local(World& world, WorkloadId id);
// While anybody holds quota whose pods are not ready, blockAdmission holds everybody back.
void update_not_ready(World& world, WorkloadId id);
// Brings a reservation in line with the object as delivered; makes or drops it as the object says.
void sync_reservation(World& world, WorkloadId id);
// A ClusterQueue appeared or went: its reservations start or cease to count in its tree.
void count_reservations(World& world, QueueId queue, bool exists);

}  // namespace kueue::engine
