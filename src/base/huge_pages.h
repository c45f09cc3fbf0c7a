// Huge pages for a heap that has become large.
#pragma once

#include <cstddef>

namespace kueue {

// Memory the allocator has asked the system for before it is given huge pages. Below it a process
// stays small: a huge page of which a part is used takes 2 MiB all the same.
inline constexpr size_t kHugePagesFrom = size_t{64} << 20;

// From kHugePagesFrom on, what the heap grows by is asked of the system in huge pages. A cycle that
// visits thousands of queues touches more pages than the processor remembers translations for;
// with huge pages the same cycle runs up to twice as fast (docs/performance.md). Call once, early
// in main(). Returns whether the allocator can do it: false in builds with a sanitizer, and where
// MALLOC_CONF has already decided (thp:always, thp:never).
bool use_huge_pages_when_large();

}  // namespace kueue
