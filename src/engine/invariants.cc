// What must always hold between the tables; checked after each step in tests and simulation.
#include <algorithm>
#include <map>

#include "base/check.h"
#include "engine/queue/queueing.h"
#include "engine/topology/tree.h"
#include "engine/world.h"

namespace kueue::engine {
namespace {

void check_places(const World& world, WorkloadId id) {
  const WorkloadRecord& r = world.record(id);
  KUEUE_CHECK(r.place != Place::kInFlight, "a workload is in flight outside of a cycle");
  KUEUE_CHECK(r.place == Place::kNone || !r.reservation,
              "a workload waits and holds quota at once");
  KUEUE_CHECK(world.find(r.object->key) == id, "a workload is not found by its name");
  KUEUE_CHECK(!r.eviction_sent || r.reservation, "who holds nothing was told to go");
  KUEUE_CHECK(r.not_ready == (r.reservation && !r.object->is_true(ConditionType::kPodsReady)),
              "it is not known whose pods are not ready");
  KUEUE_CHECK(!r.local.valid() || world.locals[r.local].members[r.local_position] == id,
              "a LocalQueue does not know its members");
  KUEUE_CHECK(r.shapes.size() == r.object->pod_sets.size(), "a pod set has no shape");
  for (size_t i = 0; i < r.shapes.size(); ++i)
    KUEUE_CHECK(world.shapes[r.shapes[i]].pod == r.object->pod_sets[i].pod,
                "a pod set has the shape of another one");
  KUEUE_CHECK(r.pending_share.valid() == (r.place != Place::kNone),
              "numbers of what waits are not those of who waits");
  if (r.object->replaces) {
    auto found = world.replacers.find(*r.object->replaces);
    KUEUE_CHECK(found != world.replacers.end() && found->second.contains(id),
                "a slice is not known by the one that it replaces");
  }
  if (r.place == Place::kNone) return;
  const QueueRecord& q = world.queues[r.queue];
  KUEUE_CHECK(q.exists, "a workload waits in a queue that does not exist");
  KUEUE_CHECK(q.pending.contains(id), "queue and record disagree");
  const PendingKey& key = world.pending_keys[id];
  KUEUE_CHECK(key.priority == r.object->effective_priority() &&
                  key.timestamp == queue_timestamp(world, *r.object) &&
                  key.sticky == (q.preemptor == id && q.preemptor_sticky),
              "a workload waits where it stood before a change");
}

// What waits in a queue, by digest and resource.
struct Waiting {
  std::set<Digest> active, aside;
  std::map<ResourceId, Amount> requests;
};

// One pass over all workloads, for the sums below.
std::vector<Waiting> waiting_by_queue(const World& world) {
  std::vector<Waiting> out(world.queues.size());
  for (size_t i = 0; i < world.workloads.size(); ++i) {
    const WorkloadRecord& r = world.record(WorkloadId(i));
    if (!r.object || r.place == Place::kNone) continue;
    Waiting& w = out[r.queue.value];
    const PendingShare& share = world.shares[r.pending_share];
    if (share.digest.known())
      (world.queues[r.queue].pending.aside(WorkloadId(i)) ? w.aside : w.active)
          .insert(share.digest);
    for (const auto& [resource, amount] : share.requests) w.requests[resource] += amount;
  }
  return out;
}

void check_waiting(const World& world, QueueId id, const Waiting& expected) {
  const QueueRecord& q = world.queues[id];
  q.pending.check();
  const std::vector<QueueId> nonempty = world.nonempty.ids();
  KUEUE_CHECK(std::binary_search(nonempty.begin(), nonempty.end(), id) == !q.pending.empty(),
              "it is not known which queues have a head");
  KUEUE_CHECK(static_cast<size_t>(q.pending.kinds(false)) == expected.active.size() &&
                  static_cast<size_t>(q.pending.kinds(true)) == expected.aside.size(),
              "kinds of workloads that wait are counted wrongly");
  size_t nonzero = 0;
  for (const auto& [resource, amount] : expected.requests) {
    if (amount.is_unlimited()) return;  // a sum beyond counting cannot be taken down
    nonzero += amount.is_zero() ? 0 : 1;
    auto found = std::find_if(q.pending_requests.begin(), q.pending_requests.end(),
                              [&](const auto& entry) { return entry.first == resource; });
    KUEUE_CHECK(amount.is_zero() || (found != q.pending_requests.end() && found->second == amount),
                "what waits in a queue is summed up wrongly");
  }
  KUEUE_CHECK(nonzero == q.pending_requests.size(), "what waits in a queue is summed up wrongly");
}

void check_local(const World& world, const LocalRecord& local) {
  int32_t pending = 0, aside = 0, reserving = 0, admitted = 0;
  Usage usage, admitted_usage;
  for (WorkloadId id : local.members) {
    const WorkloadRecord& r = world.record(id);
    pending += r.place != Place::kNone ? 1 : 0;
    aside += r.place == Place::kWaiting && world.queues[r.queue].pending.aside(id) ? 1 : 0;
    if (!r.reservation) continue;
    ++reserving;
    add(usage, r.reservation->usage);
    if (!r.reservation->admitted) continue;
    ++admitted;
    add(admitted_usage, r.reservation->usage);
  }
  KUEUE_CHECK(pending == local.pending && aside == local.inadmissible &&
                  reserving == local.reserving && admitted == local.admitted,
              "counters of a LocalQueue are wrong");
  auto same = [](const Usage& sum, const Usage& expected) {
    return std::all_of(sum.begin(), sum.end(),
                       [&](const auto& e) { return get(expected, e.first) == e.second; }) &&
           std::all_of(expected.begin(), expected.end(),
                       [&](const auto& e) { return get(sum, e.first) == e.second; });
  };
  KUEUE_CHECK(same(local.usage, usage) && same(local.admitted_usage, admitted_usage),
              "usage of a LocalQueue is not the sum of its reservations");
}

void check_indexes(const World& world) {
  size_t live = 0, not_ready = 0, replacing = 0, known_replacing = 0;
  std::vector<uint32_t> shape_users(world.shapes.size()), share_users(world.shares.size());
  for (size_t i = 0; i < world.workloads.size(); ++i) {
    const WorkloadRecord& r = world.record(WorkloadId(i));
    if (!r.object) continue;
    ++live;
    not_ready += r.not_ready ? 1 : 0;
    replacing += r.object->replaces ? 1 : 0;
    for (ShapeId shape : r.shapes) ++shape_users[shape.value];
    if (r.pending_share.valid()) ++share_users[r.pending_share.value];
  }
  for (const auto& [key, ids] : world.replacers) known_replacing += ids.size();
  KUEUE_CHECK(live == world.workload_ids.size() &&
                  live + world.free_workloads.size() == world.workloads.size(),
              "names of workloads that are gone are kept");
  KUEUE_CHECK(not_ready == world.not_ready, "who is not ready is counted wrongly");
  KUEUE_CHECK(replacing == known_replacing, "a slice that is gone is to replace another one");
  for (size_t i = 0; i < shape_users.size(); ++i)
    KUEUE_CHECK(world.shapes[ShapeId(i)].users == shape_users[i], "users of a shape are lost");
  for (size_t i = 0; i < share_users.size(); ++i)
    KUEUE_CHECK(world.shares[ShareId(i)].users == share_users[i], "users of a share are lost");
  for (const auto& [id, entry] : world.second_pass)
    KUEUE_CHECK(world.record(id).object, "a workload that is gone has a second pass");
  for (const auto& [id, due] : world.delayed)
    KUEUE_CHECK(world.record(id).object, "a workload that is gone waits for its time");
}

void check_queue(World& world, QueueId id) {
  const QueueRecord& q = world.queues[id];
  Usage expected, of_admitted;
  int32_t admitted = 0;
  for (size_t i = 0; i < q.reserved.size(); ++i) {
    const WorkloadRecord& r = world.record(q.reserved[i]);
    KUEUE_CHECK(r.reservation && r.reservation->position == i && r.reservation->queue == id,
                "reservation list and record disagree");
    add(expected, r.reservation->usage);
    if (!r.reservation->admitted) continue;
    ++admitted;
    add(of_admitted, r.reservation->usage);
  }
  KUEUE_CHECK(admitted == q.admitted, "count of admitted workloads is wrong");
  for (const auto& [fr, amount] : of_admitted)
    KUEUE_CHECK(get(q.admitted_usage, fr) == amount,
                "usage of admitted workloads is not the sum of their reservations");
  for (const auto& [fr, amount] : q.admitted_usage)
    KUEUE_CHECK(get(of_admitted, fr) == amount, "a queue counts usage of nobody");
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
  for (const LocalRecord& local : world.locals) check_local(world, local);
  const std::vector<Waiting> waiting = waiting_by_queue(world);
  for (size_t i = 0; i < world.queues.size(); ++i) check_waiting(world, QueueId(i), waiting[i]);
  check_indexes(world);
}

}  // namespace kueue::engine
