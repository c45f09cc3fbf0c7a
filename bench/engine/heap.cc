// Counts what goes through operator new: how much is alive, and how much was ever asked for.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "lab.h"

namespace {
kueue::engine::bench::Heap counters;

void* counted(std::size_t size) {
  void* p = std::malloc(size);
  if (p == nullptr) std::abort();
  std::size_t real = malloc_usable_size(p);
  counters.total += real;
  ++counters.count;
  counters.live += static_cast<int64_t>(real);
  return p;
}

void uncounted(void* p) {
  if (p != nullptr) counters.live -= static_cast<int64_t>(malloc_usable_size(p));
  std::free(p);
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* p) noexcept { uncounted(p); }
void operator delete[](void* p) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t) noexcept { uncounted(p); }
void operator delete[](void* p, std::size_t) noexcept { uncounted(p); }

namespace kueue::engine::bench {
Heap heap() { return counters; }
}  // namespace kueue::engine::bench
