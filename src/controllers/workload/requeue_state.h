// When an evicted Workload may be queued again: what its checks ask for, and the tries so far.
// behaviour 12 and 14. Pure.
#pragma once

#include <optional>

#include "api/kueue.h"

namespace kueue::controllers {

// The latest time that checks in state Retry ask to wait until; nothing when none asks.
std::optional<Instant> retry_time(const api::v1beta2::Workload& workload);
// Not before `until`, or later when that was said before; `counts`: one more try. True when
// changed.
bool requeue_not_before(api::v1beta2::Workload& workload, Instant until, bool counts);

}  // namespace kueue::controllers
