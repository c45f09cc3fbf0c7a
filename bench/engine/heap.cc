// Counts what goes through operator new: how much is alive, and how much was ever asked for.
#include <jemalloc/jemalloc.h>

#include <cstdlib>
#include <new>

#include "lab.h"

namespace {
kueue::engine::bench::Heap counters;

void* counted(std::size_t size) {
  void* p = std::malloc(size);
  if (p == nullptr) std::abort();
  std::size_t real = nallocx(size == 0 ? 1 : size, 0);
  counters.total += real;
  ++counters.count;
  counters.live += static_cast<int64_t>(real);
  return p;
}

// The same for what asks for more than the usual alignment.
void* counted(std::size_t size, std::align_val_t align) {
  const auto to = static_cast<std::size_t>(align);
  void* p = std::aligned_alloc(to, (size + to - 1) / to * to);
  if (p == nullptr) std::abort();
  counters.total += malloc_usable_size(p);
  ++counters.count;
  counters.live += static_cast<int64_t>(malloc_usable_size(p));
  return p;
}

// As jemalloc's own operator delete: with the size known it need not look up the pointer.
void uncounted(void* p, std::size_t size) {
  if (p == nullptr) return;
  counters.live -= static_cast<int64_t>(nallocx(size, 0));
  sdallocx(p, size, 0);
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
void operator delete(void* p, std::size_t size) noexcept { uncounted(p, size); }
void operator delete[](void* p, std::size_t size) noexcept { uncounted(p, size); }
void* operator new(std::size_t size, std::align_val_t align) { return counted(size, align); }
void* operator new[](std::size_t size, std::align_val_t align) { return counted(size, align); }
void operator delete(void* p, std::align_val_t) noexcept { uncounted(p); }
void operator delete[](void* p, std::align_val_t) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { uncounted(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { uncounted(p); }

namespace kueue::engine::bench {
Heap heap() { return counters; }
}  // namespace kueue::engine::bench
