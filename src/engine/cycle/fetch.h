// What a loop over heads or entries will touch soon is asked for in time. With thousands of queues
// a cycle touches more than the caches hold, and without this it waits for memory most of the time.
// Each loop asks for what it touches and no more: lines that are on their way are few at a time.
#pragma once

#include <vector>

#include "base/fetch_ahead.h"
#include "engine/cycle/entry.h"

namespace kueue::engine {

// How far ahead of the loop: the record comes first, then what it points to, then what that
// points to.
inline constexpr size_t kFetchRecord = 12, kFetchObject = 8, kFetchParts = 4;

// Call before the loop that nominates comes to `heads[i]`.
inline void fetch_heads(const World& world, const std::vector<Head>& heads, size_t i) {
  if (i + kFetchRecord < heads.size()) {
    const Head& head = heads[i + kFetchRecord];
    fetch_ahead(&world.record(head.id));
    fetch_ahead(&world.pending_keys[head.id]);
    if (head.queue.valid()) world.queues[head.queue].fetch();
  }
  if (i + kFetchObject < heads.size()) {
    const Head& head = heads[i + kFetchObject];
    fetch_ahead(world.record(head.id).object.get());
    if (head.queue.valid()) {
      const QueueRecord& queue = world.queues[head.queue];
      queue.pending.fetch_lot(head.id);
      fetch_ahead(queue.groups.data());
      world.forest.at(queue.node).fetch();
    }
  }
  if (i + kFetchParts < heads.size()) {
    const Head& head = heads[i + kFetchParts];
    fetch_ahead(world.object(head.id).pod_sets.data());
    if (head.queue.valid()) {
      const QueueRecord& queue = world.queues[head.queue];
      queue.pending.fetch_members(head.id);
      fetch_ahead(world.forest.at(queue.node).cells.data());
    }
  }
}

// The same for the loops over entries. `finishing`: what was decided is written down.
inline void fetch_entries(const World& world, const std::vector<Entry*>& entries, size_t i,
                          bool finishing) {
  constexpr size_t kEntry = 20;
  if (i + kEntry < entries.size()) fetch_ahead(entries[i + kEntry]);
  if (i + kFetchRecord < entries.size()) {
    const Entry& entry = *entries[i + kFetchRecord];
    fetch_ahead(&world.record(entry.id()));
    world.queues[entry.queue].fetch();
    if (!finishing) fetch_ahead(entry.assignment.pod_sets.data());
  }
  if (i + kFetchObject < entries.size()) {
    const Entry& entry = *entries[i + kFetchObject];
    const WorkloadRecord& r = world.record(entry.id());
    const QueueRecord& queue = world.queues[entry.queue];
    fetch_ahead(r.object.get());
    world.forest.at(queue.node).fetch();
    if (finishing) {
      if (r.local.valid()) world.locals[r.local].fetch();
      fetch_ahead(&world.forest.own_usage(queue.node));
      fetch_ahead(queue.reserved.data() + queue.reserved.size());
    }
  }
  if (i + kFetchParts < entries.size()) {
    const Entry& entry = *entries[i + kFetchParts];
    fetch_ahead(world.object(entry.id()).pod_sets.data());
    fetch_ahead(world.forest.at(world.queues[entry.queue].node).cells.data());
  }
}

}  // namespace kueue::engine
