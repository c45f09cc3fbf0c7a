#include "base/text.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace kueue {

const std::string Text::kEmpty;

struct Text::Shared {
  std::atomic<uint32_t> holders{1};
  std::string text;
};

// By the string of the value.
struct Text::Table {
  std::mutex mutex;
  std::unordered_map<std::string_view, Shared*> texts;
};

// Never destroyed: texts may outlive every static object.
Text::Table& Text::table() {
  static auto* const kTable = new Table();
  return *kTable;
}

Text::Shared* Text::take(std::string_view text) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  if (auto it = all.texts.find(text); it != all.texts.end()) {
    it->second->holders.fetch_add(1, std::memory_order_relaxed);
    return it->second;
  }
  auto shared = std::make_unique<Shared>();
  shared->text = text;
  all.texts.emplace(shared->text, shared.get());
  return shared.release();
}

void Text::hold(Shared* shared) { shared->holders.fetch_add(1, std::memory_order_relaxed); }

// The last holder goes under the lock, so that nobody finds what is about to vanish.
void Text::drop(Shared* shared) {
  uint32_t holders = shared->holders.load(std::memory_order_relaxed);
  while (holders > 1)
    if (shared->holders.compare_exchange_weak(holders, holders - 1, std::memory_order_acq_rel))
      return;
  Table& all = table();
  std::lock_guard lock(all.mutex);
  if (shared->holders.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  all.texts.erase(shared->text);
  delete shared;
}

const std::string& Text::string_of(const Shared* shared) { return shared->text; }

}  // namespace kueue
