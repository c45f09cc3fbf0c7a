#include "engine/cycle/variants.h"

#include <algorithm>

namespace kueue::engine {
namespace {

// Position of the variant's flavor in the queue's order; -1 when it names none.
int32_t flavor_rank(const World& world, const QueueRecord& queue, const std::string& flavor) {
  int32_t rank = 0;
  for (const GroupRecord& group : queue.groups)
    for (FlavorId id : group.flavors) {
      if (world.names.text(id) == flavor) return rank;
      ++rank;
    }
  return -1;
}

int32_t variant_rank(const World& world, const QueueRecord& queue, const Workload& w) {
  return w.allowed_flavors.empty() ? -1 : flavor_rank(world, queue, w.allowed_flavors.front());
}

bool takes_part(const World& world, const Workload& w) {
  return world.gate(Gate::kConcurrentAdmission) && !w.variant_parent_uid.empty();
}

// The admitted sibling, if there is one.
WorkloadId admitted_sibling(const World& world, const Entry& entry) {
  const Workload& w = world.object(entry.id());
  WorkloadId found;
  for (WorkloadId id : world.queues[entry.queue].reserved) {
    const WorkloadRecord& r = world.record(id);
    if (id == entry.id() || r.object->variant_parent_uid != w.variant_parent_uid ||
        !r.reservation->admitted)
      continue;
    if (!found.valid() || r.object->key < world.object(found).key) found = id;
  }
  return found;
}

}  // namespace

bool favorable_variant_admitted(const World& world, const Entry& entry) {
  const Workload& w = world.object(entry.id());
  if (!takes_part(world, w) || entry.head.second_pass) return false;
  WorkloadId sibling = admitted_sibling(world, entry);
  if (!sibling.valid()) return false;
  const QueueRecord& queue = world.queues[entry.queue];
  return variant_rank(world, queue, world.object(sibling)) < variant_rank(world, queue, w);
}

bool migrate_variant(Cycle& cycle, Entry& entry) {
  World& world = cycle.world();
  const Workload& w = world.object(entry.id());
  if (!takes_part(world, w) || entry.head.second_pass) return false;
  WorkloadId sibling = admitted_sibling(world, entry);
  if (!sibling.valid()) return false;
  const QueueRecord& queue = world.queues[entry.queue];
  if (queue.spec.concurrent_admission &&
      !queue.spec.concurrent_admission->last_acceptable_flavor.empty()) {
    int32_t last =
        flavor_rank(world, queue, queue.spec.concurrent_admission->last_acceptable_flavor);
    if (last >= 0 && variant_rank(world, queue, w) > last) {
      entry.message = "Target flavor is below LastAcceptableFlavorName";
      entry.pending = PendingReason::kPendingEvaluation;
      return true;
    }
  }
  WorkloadRecord& r = world.record(sibling);
  if (!already_evicted(world, sibling) && !r.eviction_sent) {
    r.eviction_sent = true;
    Evict out;
    out.key = r.object->key;
    out.uid = r.object->uid;
    out.cluster_queue = queue.name;
    out.reason = EvictReason::kFlavorMigration;
    out.message = "Evicted to accommodate a workload (UID: " + w.uid.str() +
                  ") due to migration to more favorable resource flavor";
    out.preemptor = std::make_shared<const Preemptor>(Preemptor{w.key, queue.name});
    cycle.plan.commands.push_back(std::move(out));
  }
  world.record(entry.id()).scan.reset();
  cycle.world().record(entry.id()).scan.reset();  // it waits for this flavor
  entry.message += ". Pending the migration of 1 workload(s)";
  entry.requeue = RequeueReason::kPendingMigration;
  entry.pending = PendingReason::kWaitingForPreemptedWorkloads;
  return true;
}

}  // namespace kueue::engine
