#include "engine/queue/pending_share.h"

#include <algorithm>

#include "engine/queue/digest.h"

namespace kueue::engine {
namespace {

void add(ResourceList& list, ResourceId id, Amount amount) {
  if (amount.is_zero()) return;  // sums that are zero are not listed
  auto at = std::lower_bound(list.begin(), list.end(), id,
                             [](const auto& entry, ResourceId want) { return entry.first < want; });
  if (at != list.end() && at->first == id) {
    at->second += amount;
    if (at->second.is_zero()) list.erase(at);
  } else {
    list.emplace(at, id, amount);
  }
}

void count_aside(World& world, LocalId local, int32_t by) {
  if (local.valid()) world.locals[local].inadmissible += by;
}

uint64_t hash_of(const PendingShare& share) {
  uint64_t hash = share.digest.a;
  for (const auto& [resource, amount] : share.requests)
    hash =
        (hash ^ resource.value ^ static_cast<uint64_t>(amount.value()) << 8) * 0x9e3779b97f4a7c15u;
  return hash;
}

// The id of such a share, with one user more.
ShareId use_share(World& world, PendingShare share) {
  uint64_t hash = hash_of(share);
  auto [first, last] = world.share_ids.equal_range(hash);
  for (; first != last; ++first) {
    PendingShare& known = world.shares[first->second];
    if (known.digest != share.digest || !(known.requests == share.requests)) continue;
    ++known.users;
    return first->second;
  }
  share.users = 1;
  ShareId id;
  if (world.free_shares.empty()) {
    id = world.shares.push(std::move(share));
  } else {
    id = world.free_shares.back();
    world.free_shares.pop_back();
    world.shares[id] = std::move(share);
  }
  world.share_ids.emplace(hash, id);
  return id;
}

void drop_share(World& world, ShareId id) {
  PendingShare& share = world.shares[id];
  if (--share.users > 0) return;
  auto at = world.share_ids.equal_range(hash_of(share)).first;
  while (at->second != id) ++at;
  world.share_ids.erase(at);
  world.free_shares.push_back(id);
}

// A sum that has reached the largest amount says nothing about its parts.
void recount(World& world, QueueId queue) {
  QueueRecord& q = world.queues[queue];
  q.pending_requests.clear();
  for (LocalId local : q.locals)
    for (WorkloadId id : world.locals[local].members) {
      const WorkloadRecord& r = world.record(id);
      if (r.queue != queue || !r.pending_share.valid()) continue;
      for (const auto& [resource, amount] : world.shares[r.pending_share].requests)
        add(q.pending_requests, resource, amount);
    }
}

}  // namespace

void shift_pending_share(World& world, QueueId queue, const LotKey& lot, size_t moved, bool aside) {
  auto n = static_cast<int32_t>(moved);
  count_aside(world, lot.local, aside ? n : -n);
  world.changed_queues.insert(queue);
  world.changed_locals.insert(lot.local);
}

void add_pending_share(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  QueueRecord& q = world.queues[r.queue];
  PendingShare share;
  share.digest = r.digest;
  for (size_t i = 0; i < r.shapes.size(); ++i) {
    const int32_t count = effective_count(world, *r.object, r.object->pod_sets[i]);
    for (const auto& [resource, amount] : world.shapes[r.shapes[i]].requests)
      add(share.requests, resource, amount * count);
  }
  for (const auto& [resource, amount] : share.requests) add(q.pending_requests, resource, amount);
  if (q.pending.aside(id)) count_aside(world, r.local, 1);
  r.pending_share = use_share(world, std::move(share));
}

void take_pending_share(World& world, WorkloadId id) {
  WorkloadRecord& r = world.record(id);
  if (!r.pending_share.valid()) return;
  const PendingShare& share = world.shares[r.pending_share];
  QueueRecord& q = world.queues[r.queue];
  bool aside = r.place == Place::kWaiting && q.pending.aside(id);  // one in flight is active
  const bool lost = std::any_of(q.pending_requests.begin(), q.pending_requests.end(),
                                [](const auto& entry) { return entry.second.is_unlimited(); });
  for (const auto& [resource, amount] : share.requests)
    add(q.pending_requests, resource, Amount() - amount);
  if (aside) count_aside(world, r.local, -1);
  drop_share(world, r.pending_share);
  r.pending_share = ShareId();
  if (lost) recount(world, r.queue);
}

}  // namespace kueue::engine
