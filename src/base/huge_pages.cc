#include "base/huge_pages.h"

#include <jemalloc/jemalloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <string>

// Absent where another allocator is linked, as in builds with a sanitizer.
#pragma weak mallctl

namespace kueue {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

extent_hooks_t* system_hooks = nullptr;  // jemalloc's own; they live as long as the process
std::atomic<size_t> asked{0};            // of the system, in bytes

void* allocate(extent_hooks_t*, void* where, size_t size, size_t alignment, bool* zero,
               bool* commit, unsigned arena) {
  void* made = system_hooks->alloc(system_hooks, where, size, alignment, zero, commit, arena);
  if (made == nullptr) return nullptr;
  const size_t total = asked.fetch_add(size, std::memory_order_relaxed) + size;
  // Refused where the kernel has no huge pages: small ones do as well, only slower.
  if (total >= kHugePagesFrom && size >= kHugePage) madvise(made, size, MADV_HUGEPAGE);
  return made;
}

bool give_back(extent_hooks_t*, void* where, size_t size, bool committed, unsigned arena) {
  const bool kept = system_hooks->dalloc(system_hooks, where, size, committed, arena);
  if (!kept) asked.fetch_sub(size, std::memory_order_relaxed);
  return kept;
}

extent_hooks_t our_hooks;

template <typename T>
bool read(const char* name, T& value) {
  size_t size = sizeof value;
  return mallctl(name, &value, &size, nullptr, 0) == 0;
}

bool exchange_hooks(unsigned arena, extent_hooks_t** before, extent_hooks_t* now) {
  const std::string name = "arena." + std::to_string(arena) + ".extent_hooks";
  size_t size = sizeof *before;
  return mallctl(name.c_str(), before, &size, &now, sizeof now) == 0;
}

}  // namespace

bool use_huge_pages_when_large() {
  const char* decided = nullptr;
  unsigned arenas = 0;
  if (mallctl == nullptr || !read("opt.thp", decided) || std::strcmp(decided, "default") != 0 ||
      !read("arenas.narenas", arenas) || !read("arena.0.extent_hooks", system_hooks))
    return false;
  our_hooks = *system_hooks;
  our_hooks.alloc = &allocate;
  our_hooks.dalloc = &give_back;
  extent_hooks_t* before = nullptr;
  for (unsigned arena = 0; arena < arenas; ++arena)
    if (!exchange_hooks(arena, &before, &our_hooks)) return false;
  return true;
}

}  // namespace kueue
