// Asks preemption what it could do for one flavor and resource (behaviour.md 6.3).
#pragma once

#include "engine/flavor/assignment.h"

namespace kueue::engine {

struct Simulation {
  PreemptMode mode = PreemptMode::kNoCandidates;
  int32_t borrow = 0;  // after the removal of the victims
};

// Leaves the victims found in `search`, when given.
Simulation simulate_preemption(Overlay& overlay, WorkloadId id, QueueId queue, FrId fr,
                               Amount amount, VictimSearch* search = nullptr);

}  // namespace kueue::engine
