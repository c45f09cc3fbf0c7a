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

}  // namespace

void add_pending_share(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  QueueRecord& q = world.queues[r.queue];
  auto share = std::make_unique<PendingShare>();
  share->inadmissible = r.place == Place::kInadmissible;
  share->digest = r.digest;
  for (size_t i = 0; i < r.shapes.size(); ++i) {
    const int32_t count = effective_count(world, *r.object, r.object->pod_sets[i]);
    for (const auto& [resource, amount] : world.shapes[r.shapes[i]].requests)
      add(share->requests, resource, amount * count);
  }
  for (const auto& [resource, amount] : share->requests) add(q.pending_requests, resource, amount);
  if (share->digest.known())
    ++(share->inadmissible ? q.hashes_inadmissible : q.hashes_active)[share->digest];
  if (share->inadmissible && r.local.valid()) ++world.locals[r.local].inadmissible;
  r.pending_share = std::move(share);
}

void take_pending_share(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  if (r.pending_share == nullptr) return;
  QueueRecord& q = world.queues[r.queue];
  for (const auto& [resource, amount] : r.pending_share->requests)
    add(q.pending_requests, resource, Amount() - amount);
  if (r.pending_share->digest.known()) {
    auto& hashes = r.pending_share->inadmissible ? q.hashes_inadmissible : q.hashes_active;
    auto found = hashes.find(r.pending_share->digest);
    if (found != hashes.end() && --found->second == 0) hashes.erase(found);
  }
  if (r.pending_share->inadmissible && r.local.valid()) --world.locals[r.local].inadmissible;
  r.pending_share.reset();
}

}  // namespace kueue::engine
