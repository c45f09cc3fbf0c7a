// Concurrent admission inside the cycle: variants of one workload, each for other flavors
// (behaviour.md 17, 4.5a, 4.5m).
#pragma once

#include "engine/cycle/entry.h"

namespace kueue::engine {

// A sibling for a flavor that the queue prefers is admitted already.
bool favorable_variant_admitted(const World& world, const Entry& entry);
// A sibling for a less preferred flavor is admitted: it has to go first. True when the entry was
// settled by that.
bool migrate_variant(Cycle& cycle, Entry& entry);

}  // namespace kueue::engine
