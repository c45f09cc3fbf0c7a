// When a waiting workload would start, played forward from what is known to end: running workloads
// leave at their ends, those that stand before it in its queue take their quota first. An upper
// bound as long as nobody comes with a higher claim. Asking changes nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace kueue::engine {

// The longest that a workload still runs (one that holds quota) or would run (one that waits);
// nullopt = no limit is known.
using TimeLeft = std::function<std::optional<Duration>(const Key& key)>;

struct StartEstimate {
  std::optional<Instant> at;  // absent: unknown, and why_not says why
  bool never = false;  // not even with all quota free: unless something changes; why_not says why
  std::string why_not;
  int32_t before = 0;         // workloads of its queue that were let in before it
  std::vector<Key> after;     // whose ends were waited for, in order of time
  std::vector<Key> unending;  // unknown only: they hold what it needs and have no known end; sorted
};

// Of a workload that waits in an active queue. Looks at no more than some hundred steps: beyond
// that the answer is unknown.
StartEstimate estimate_start(State& state, const Key& workload, Instant now, const TimeLeft& left);

}  // namespace kueue::engine
