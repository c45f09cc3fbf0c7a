// Rules that both orders of a cycle share: -1 = a goes first, 1 = b, 0 = the rule does not say.
#pragma once

#include "engine/cycle/entry.h"

namespace kueue::engine {

int by_time_and_name(const World& world, const Entry& a, const Entry& b);
int by_priority(const World& world, const Entry& a, const Entry& b);
int by_preemptor(const World& world, const Entry& a, const Entry& b);
// The whole classical order.
bool classical_before(const World& world, const Entry& a, const Entry& b);

}  // namespace kueue::engine
