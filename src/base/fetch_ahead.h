// fetch_ahead: begins to bring an object into the caches while something else is done. For loops
// over more than the caches hold, whose next elements are known.
#pragma once

#include <cstddef>

namespace kueue {

// `object` may be null or gone: nothing is read.
template <typename T>
void fetch_ahead(const T* object) {
  constexpr size_t kLine = 64;
  const auto* at = reinterpret_cast<const char*>(object);
  for (size_t i = 0; i < sizeof(T); i += kLine) __builtin_prefetch(at + i);
}

}  // namespace kueue
