// The scheduling digest of a workload, and the pod counts that requests are made of.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

// count - min(reclaimable, count).
int32_t effective_count(const World& world, const Workload& workload, const PodSet& pod_set);
// Unknown (never equal to a known one) while the gate SchedulingEquivalenceHashing is off.
Digest scheduling_digest(const World& world, const Workload& workload);
// All that the digest is made of is the same; cheaper than to make one.
bool digests_alike(const Workload& a, const Workload& b);
// By value: what their pods ask for may change without a new generation, with a LimitRange or a
// RuntimeClass.
bool same_pod_sets(const Workload& a, const Workload& b);

}  // namespace kueue::engine
