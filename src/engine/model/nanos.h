// Billionths of a unit, wide enough for a billionth of any 64-bit amount.
#pragma once

namespace kueue::engine {

__extension__ typedef __int128 Nanos;

}  // namespace kueue::engine
