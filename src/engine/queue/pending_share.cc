#include "engine/queue/pending_share.h"

#include <algorithm>

#include "engine/queue/digest.h"

namespace kueue::engine {
namespace {

void add(ResourceList& list, ResourceId id, Amount amount) {
  auto at = std::lower_bound(list.begin(), list.end(), id,
                             [](const auto& entry, ResourceId want) { return entry.first < want; });
  if (at != list.end() && at->first == id) {
    at->second += amount;
    if (at->second.is_zero()) list.erase(at);
  } else {
    list.emplace(at, id, amount);
  }
}

void count(World& world, QueueId queue, LocalId local, bool aside, const Digest& digest,
           int32_t by) {
  if (aside && local.valid()) world.locals[local].inadmissible += by;
  if (!digest.known()) return;
  QueueRecord& q = world.queues[queue];
  auto& hashes = aside ? q.hashes_inadmissible : q.hashes_active;
  auto [it, inserted] = hashes.try_emplace(digest, 0);
  it->second += by;
  if (it->second == 0) hashes.erase(it);
}

}  // namespace

void shift_pending_share(World& world, QueueId queue, const LotKey& lot, size_t moved, bool aside) {
  auto n = static_cast<int32_t>(moved);
  count(world, queue, lot.local, !aside, lot.digest, -n);
  count(world, queue, lot.local, aside, lot.digest, n);
  world.changed_queues.insert(queue);
  world.changed_locals.insert(lot.local);
}

void add_pending_share(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  QueueRecord& q = world.queues[r.queue];
  auto share = std::make_unique<PendingShare>();
  share->digest = r.digest;
  for (size_t i = 0; i < r.shapes.size(); ++i) {
    const int32_t count = effective_count(world, *r.object, r.object->pod_sets[i]);
    for (const auto& [resource, amount] : world.shapes[r.shapes[i]].requests)
      add(share->requests, resource, amount * count);
  }
  for (const auto& [resource, amount] : share->requests) add(q.pending_requests, resource, amount);
  count(world, r.queue, r.local, q.pending.aside(id), share->digest, 1);
  r.pending_share = std::move(share);
}

void take_pending_share(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  if (r.pending_share == nullptr) return;
  QueueRecord& q = world.queues[r.queue];
  bool aside = r.place == Place::kWaiting && q.pending.aside(id);  // one in flight is active
  for (const auto& [resource, amount] : r.pending_share->requests)
    add(q.pending_requests, resource, Amount() - amount);
  count(world, r.queue, r.local, aside, r.pending_share->digest, -1);
  r.pending_share.reset();
}

}  // namespace kueue::engine
