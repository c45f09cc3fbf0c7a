// A page of the workloads that wait in a queue, for those who show them. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace kueue::controllers {

// `limit` workloads from `offset` on that wait in the ClusterQueue, in queue order; only those of
// `local` when it is given.
std::vector<engine::PendingWorkload> pending_page(const engine::State& state,
                                                  const std::string& cluster_queue,
                                                  const engine::Key* local, size_t offset,
                                                  size_t limit);

}  // namespace kueue::controllers
