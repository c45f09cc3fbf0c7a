// fetch_ahead: begins to bring an object into the caches while something else is done. For loops
// over more than the caches hold, whose next elements are known.
#pragma once

#include <cstddef>

namespace kueue {

// From `begin` on, up to `end`. They may be null or gone: nothing is read.
inline void fetch_ahead(const void* begin, const void* end) {
  constexpr size_t kLine = 64;
  for (const auto* at = static_cast<const char*>(begin); at < end; at += kLine)
    __builtin_prefetch(at);
}

template <typename T>
void fetch_ahead(const T* object) {
  fetch_ahead(object, object + 1);
}

}  // namespace kueue
