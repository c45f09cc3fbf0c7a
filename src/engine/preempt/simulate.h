// Asks preemption what it could do for one flavor and resource (behaviour.md 6.3).
#pragma once

#include "engine/overlay.h"

namespace kueue::engine {

struct Simulation {
  PreemptMode mode = PreemptMode::kNoCandidates;
  int32_t borrow = 0;  // after the removal of the victims
};

Simulation simulate_preemption(Overlay& overlay, WorkloadId id, QueueId queue, FrId fr,
                               Amount amount);

}  // namespace kueue::engine
