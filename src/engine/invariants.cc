// What must always hold between the tables; checked after each step in tests and simulation.
#include <algorithm>

#include "base/check.h"
#include "engine/topology/tree.h"
#include "engine/world.h"

namespace kueue::engine {
namespace {

void check_places(const World& world, WorkloadId id) {
  const WorkloadRecord& r = world.record(id);
  KUEUE_CHECK(r.place != Place::kInFlight, "a workload is in flight outside of a cycle");
  KUEUE_CHECK(r.place == Place::kNone || !r.reservation,
              "a workload waits and holds quota at once");
  if (r.place == Place::kNone) return;
  const QueueRecord& q = world.queues[r.queue];
  KUEUE_CHECK(q.exists, "a workload waits in a queue that does not exist");
  KUEUE_CHECK(q.pending.contains(id), "queue and record disagree");
}

void check_queue(World& world, QueueId id) {
  const QueueRecord& q = world.queues[id];
  Usage expected;
  int32_t admitted = 0;
  for (size_t i = 0; i < q.reserved.size(); ++i) {
    const WorkloadRecord& r = world.record(q.reserved[i]);
    KUEUE_CHECK(r.reservation && r.reservation->position == i && r.reservation->queue == id,
                "reservation list and record disagree");
    add(expected, r.reservation->usage);
    admitted += r.reservation->admitted ? 1 : 0;
  }
  KUEUE_CHECK(admitted == q.admitted, "count of admitted workloads is wrong");
  if (!q.exists) return;
  for (const auto& [fr, amount] : expected)
    KUEUE_CHECK(get(world.forest.own_usage(q.node), fr) == amount,
                "a queue's usage is not the sum of its reservations");
  for (const auto& [fr, amount] : world.forest.own_usage(q.node)) {
    KUEUE_CHECK(get(expected, fr) == amount, "a queue charges for nothing");
    if (!world.forest.at(q.node).in_cycle)
      KUEUE_CHECK(world.forest.usage(q.node, fr) == amount, "cell and usage of a queue disagree");
  }
}

void check_cohort(const World& world, QuotaId id) {
  const QuotaNode& node = world.forest.at(id);
  for (size_t i = 0; i < node.children.size() && !node.in_cycle; ++i) {
    const QuotaNode& child = world.forest.at(node.children[i]);
    bool borrows = std::any_of(child.cells.begin(), child.cells.end(),
                               [](const QuotaCell& c) { return c.usage > c.subtree; });
    KUEUE_CHECK(child.position == i && node.borrowers.contains(child.position) == borrows,
                "a cohort does not know which of its children borrow");
  }
  if (node.queue || node.in_cycle) return;
  for (size_t ix = 0; ix < node.cells.size(); ++ix) {
    Amount sum;
    for (QuotaId child : node.children) {
      const QuotaCell& c = world.forest.at(child).cells[ix];
      sum += max(Amount(), c.usage - c.local);
    }
    KUEUE_CHECK(node.cells[ix].usage == sum,
                "a cohort's usage is not what reaches it from its children");
  }
}

}  // namespace

void State::check_invariants() const {
  World& world = *world_;
  world.forest.settle();
  KUEUE_CHECK(world.forest.journal_mark() == 0, "a what-if was not taken back");
  for (size_t i = 0; i < world.workloads.size(); ++i)
    if (world.record(WorkloadId(i)).object) check_places(world, WorkloadId(i));
  for (size_t i = 0; i < world.queues.size(); ++i) check_queue(world, QueueId(i));
  for (QuotaId id : world.forest.used_nodes()) check_cohort(world, id);
  check_topology(world);
  for (size_t i = 0; i < world.locals.size(); ++i) {
    const LocalRecord& local = world.locals[LocalId(i)];
    int32_t pending = 0, reserving = 0;
    for (WorkloadId id : local.members) {
      pending += world.record(id).place != Place::kNone ? 1 : 0;
      reserving += world.record(id).reservation ? 1 : 0;
    }
    KUEUE_CHECK(pending == local.pending && reserving == local.reserving,
                "counters of a LocalQueue are wrong");
  }
}

}  // namespace kueue::engine
