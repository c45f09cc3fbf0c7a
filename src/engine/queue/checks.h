// Which admission checks a workload needs (behaviour.md 14 "Checks needed").
#pragma once

#include "engine/world.h"

namespace kueue::engine {

// Those of the assigned flavors, sorted.
std::vector<std::string> checks_for_admission(const World& world, const Admission& admission);
std::vector<std::string> checks_for_admission(const World& world, QueueId queue,
                                              const Admission& admission);
// Before a reservation: those that cover all flavors of the queue, sorted.
std::vector<std::string> checks_for_queue(const World& world, QueueId queue);
// Some rule of the queue that applies to the flavor names a check of this controller.
bool has_check_of(const World& world, const QueueRecord& queue, FlavorId flavor,
                  const char* controller);

}  // namespace kueue::engine
