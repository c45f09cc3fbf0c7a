// What a loop over heads or entries will touch soon is asked for in time. With thousands of queues
// a cycle touches more than the caches hold, and without this it waits for memory most of the time.
#pragma once

#include <vector>

#include "base/fetch_ahead.h"
#include "engine/cycle/entry.h"

namespace kueue::engine {

// Call before the loop comes to `heads[i]`. The record comes first, then what it points to, then
// what that points to.
template <typename Heads, typename HeadOf>
void fetch_heads(const World& world, const Heads& heads, size_t i, HeadOf head_of) {
  constexpr size_t kRecord = 12, kObject = 8, kParts = 4;
  if (i + kRecord < heads.size()) {
    const Head& head = head_of(heads[i + kRecord]);
    fetch_ahead(&world.record(head.id));
    fetch_ahead(&world.pending_keys[head.id]);
    if (head.queue.valid()) world.queues[head.queue].fetch();
  }
  if (i + kObject < heads.size()) {
    const Head& head = head_of(heads[i + kObject]);
    const WorkloadRecord& r = world.record(head.id);
    fetch_ahead(r.object.get());
    if (r.local.valid()) fetch_ahead(&world.locals[r.local]);
    if (head.queue.valid()) {
      const QueueRecord& queue = world.queues[head.queue];
      queue.pending.fetch(head.id);
      fetch_ahead(queue.groups.data());
      fetch_ahead(&world.forest.at(queue.node));
    }
  }
  if (i + kParts < heads.size()) {
    const Head& head = head_of(heads[i + kParts]);
    fetch_ahead(world.object(head.id).pod_sets.data());
    if (head.queue.valid())
      fetch_ahead(world.forest.at(world.queues[head.queue].node).cells.data());
  }
}

// The same for entries in the order in which they are visited.
inline void fetch_entries(const World& world, const std::vector<Entry*>& entries, size_t i) {
  constexpr size_t kEntry = 20;
  if (i + kEntry < entries.size()) fetch_ahead(entries[i + kEntry]);
  fetch_heads(world, entries, i, [](const Entry* entry) -> const Head& { return entry->head; });
}

}  // namespace kueue::engine
