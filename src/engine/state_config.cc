// How changes of configuration objects enter the tables: flavors, checks, topologies, cohorts,
// queues, namespaces.
#include <algorithm>

#include "engine/queue/activity.h"
#include "engine/queue/queueing.h"
#include "engine/quota/reservations.h"
#include "engine/state_apply.h"

namespace kueue::engine {
namespace {

std::vector<QuotaSpec> quota_specs(World& world, const std::vector<ResourceGroup>& groups) {
  std::vector<QuotaSpec> out;
  for (const ResourceGroup& group : groups)
    for (const FlavorQuotas& flavor : group.flavors)
      for (const ResourceQuota& q : flavor.resources)
        out.push_back(
            {world.names.fr(world.names.flavor(flavor.flavor), world.names.resource(q.resource)),
             q.nominal, q.borrowing_limit, q.lending_limit});
  return out;
}

bool uses_flavor(const QueueRecord& q, FlavorId flavor) {
  for (const GroupRecord& group : q.groups)
    if (std::find(group.flavors.begin(), group.flavors.end(), flavor) != group.flavors.end())
      return true;
  return false;
}

// Recomputes activity of all queues; asks for retries of those that became active, and of those
// that `also` names.
void refresh_queues(World& world, const std::function<bool(const QueueRecord&)>& also) {
  for (size_t i = 0; i < world.queues.size(); ++i) {
    QueueId id(i);
    QueueRecord& q = world.queues[id];
    if (!q.exists) continue;
    bool was = q.activity.active;
    refresh_activity(world, id);
    if ((!was && q.activity.active) || (also && also(q))) request_retry_of_queue(world, id);
  }
  world.touch_all();
}

void rebuild_groups(World& world, QueueRecord& q) {
  q.groups.clear();
  for (const ResourceGroup& group : q.spec.groups) {
    GroupRecord record;
    std::vector<std::string> covered = group.covered;
    std::sort(covered.begin(), covered.end());
    for (const std::string& resource : covered)
      record.covered.push_back(world.names.resource(resource));
    for (const FlavorQuotas& flavor : group.flavors) {
      record.flavors.push_back(world.names.flavor(flavor.flavor));
      world.flavors.ensure(record.flavors.back());
    }
    q.groups.push_back(std::move(record));
  }
}

// Where scans of flavors stopped says nothing once there are other flavors.
void forget_scans(World& world, LocalId local) {
  for (WorkloadId id : world.locals[local].members) world.record(id).scan.reset();
}

void push_members(World& world, LocalId local) {
  forget_scans(world, local);
  std::vector<WorkloadId> members = world.locals[local].members;
  for (WorkloadId id : members) push_from_local_queue(world, id);
}

// Other flavors, or in another order.
bool scans_differ(const std::vector<ResourceGroup>& a, const std::vector<ResourceGroup>& b) {
  const auto alike = [](const auto& x, const auto& y, auto same) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
  };
  return !alike(a, b, [&](const ResourceGroup& x, const ResourceGroup& y) {
    return x.covered == y.covered &&
           alike(x.flavors, y.flavors,
                 [](const FlavorQuotas& f, const FlavorQuotas& g) { return f.flavor == g.flavor; });
  });
}

void withdraw_members(World& world, LocalId local) {
  std::vector<WorkloadId> members = world.locals[local].members;
  for (WorkloadId id : members) remove_from_queue(world, id);
}

}  // namespace

QueueId ensure_queue(World& world, const Text& name) {
  auto [it, inserted] = world.queue_ids.try_emplace(name);
  if (inserted) {
    it->second = world.queues.push(QueueRecord());
    QueueRecord& q = world.queues[it->second];
    q.name = q.spec.name = name;
    q.pending = PendingQueue(&world.pending_keys);
    q.node = world.forest.queue_node(name);
    if (world.queue_of_node.size() <= q.node.value) world.queue_of_node.resize(q.node.value + 1);
    world.queue_of_node[q.node.value] = it->second;
  }
  return it->second;
}

LocalId ensure_local(World& world, std::string_view ns, std::string_view name) {
  LocalId id = world.find_local(ns, name);
  if (id.valid()) return id;
  id = world.locals.push(LocalRecord());
  world.locals[id].key = {std::string(ns), std::string(name)};
  world.local_usage.push_back(0);
  world.local_ids.insert(ns, name, id);
  return id;
}

void apply_event(World& world, const NamespaceChanged& e) {
  auto it = world.namespaces.find(e.name);
  if (it != world.namespaces.end() && it->second == e.labels) return;
  std::optional<Labels> before;
  if (it != world.namespaces.end()) before = it->second;
  world.namespaces[e.name] = e.labels;
  world.touch_all();
  for (size_t i = 0; i < world.queues.size(); ++i) {
    const QueueRecord& q = world.queues[QueueId(i)];
    if (!q.exists || !q.spec.namespace_selector) continue;
    bool matched = before && matches(*q.spec.namespace_selector, *before);
    if (!matched && matches(*q.spec.namespace_selector, e.labels))
      request_retry_of_queue(world, QueueId(i));
  }
}

void apply_event(World& world, const NamespaceDeleted& e) {
  world.namespaces.erase(e.name);
  world.touch_all();
}

void apply_event(World& world, const FlavorChanged& e) {
  FlavorId id = world.names.flavor(e.flavor.name);
  FlavorRecord& record = world.flavors.ensure(id);
  bool relevant = record.exists && (record.spec.taints != e.flavor.taints ||
                                    record.spec.tolerations != e.flavor.tolerations ||
                                    record.spec.node_labels != e.flavor.node_labels);
  bool topology = !e.flavor.topology.empty() &&
                  (relevant || !record.exists || record.spec.topology != e.flavor.topology);
  record.exists = true;
  record.spec = e.flavor;
  topology_changed(world);
  refresh_queues(world, [&](const QueueRecord& q) { return relevant && uses_flavor(q, id); });
  if (topology) request_retry_everywhere(world, world.settings.retry_batch);
}

void apply_event(World& world, const FlavorDeleted& e) {
  FlavorId id = world.names.find_flavor(e.name);
  if (!id.valid() || !world.flavors.contains(id)) return;
  world.flavors[id] = FlavorRecord();
  topology_changed(world);
  refresh_queues(world, nullptr);
}

void apply_event(World& world, const CheckChanged& e) {
  world.checks[e.check.name] = e.check;
  refresh_queues(world, [&](const QueueRecord& q) {
    return std::any_of(q.spec.checks.begin(), q.spec.checks.end(),
                       [&](const CheckRule& rule) { return rule.check == e.check.name; });
  });
}

void apply_event(World& world, const CheckDeleted& e) {
  if (world.checks.erase(e.name) > 0) refresh_queues(world, nullptr);
}

void apply_event(World& world, const TopologyChanged& e) {
  auto it = world.topologies.find(e.topology.name);
  bool relevant = it == world.topologies.end() || it->second.levels != e.topology.levels;
  world.topologies[e.topology.name] = e.topology;
  topology_changed(world);
  refresh_queues(world, [&](const QueueRecord& q) {
    if (!relevant) return false;
    for (const GroupRecord& group : q.groups)
      for (FlavorId flavor : group.flavors)
        if (world.flavors[flavor].spec.topology == e.topology.name) return true;
    return false;
  });
}

void apply_event(World& world, const TopologyDeleted& e) {
  if (world.topologies.erase(e.name) == 0) return;
  topology_changed(world);
  refresh_queues(world, nullptr);
}

void apply_event(World& world, const CohortChanged& e) {
  world.cohorts[e.cohort.name] = e.cohort;
  QuotaId node = world.forest.cohort_node(e.cohort.name);
  world.forest.settle();
  QuotaId before = world.forest.at(node).root;
  world.forest.set(node, e.cohort.parent, quota_specs(world, e.cohort.groups),
                   e.cohort.fair_weight);
  world.forest.settle();
  if (world.forest.at(node).root != before)
    request_retry(world, before, world.settings.retry_batch);
  request_retry(world, node, world.settings.retry_batch);
  refresh_queues(world, nullptr);
}

void apply_event(World& world, const CohortDeleted& e) {
  world.cohorts.erase(e.name);
  QuotaId node = world.forest.find_cohort(e.name);
  if (!node.valid() || !world.forest.at(node).exists) return;
  world.forest.settle();
  QuotaId before = world.forest.at(node).root;
  world.forest.remove(node);
  world.forest.settle();
  request_retry(world, before, world.settings.retry_batch);
  request_retry(world, node, world.settings.retry_batch);
  refresh_queues(world, nullptr);
}

void apply_event(World& world, const ClusterQueueChanged& e) {
  QueueId id = ensure_queue(world, e.queue.name);
  QueueRecord& q = world.queues[id];
  bool created = !q.exists;
  world.forest.settle();
  QuotaId before = world.forest.at(q.node).root;
  q.exists = true;
  if (scans_differ(q.spec.groups, e.queue.groups))
    for (LocalId local : q.locals) forget_scans(world, local);
  q.spec = e.queue;
  rebuild_groups(world, q);
  world.forest.set(q.node, e.queue.cohort, quota_specs(world, e.queue.groups), e.queue.fair_weight);
  if (created) count_reservations(world, id, true);
  world.forest.settle();
  bool fair = world.settings.admission_fair_sharing && world.gate(Gate::kAdmissionFairSharing) &&
              e.queue.usage_based_fairness;
  q.pending.set_fairness(fair ? &world.local_usage : nullptr);
  refresh_activity(world, id);
  if (created)
    for (LocalId local : std::set<LocalId>(q.locals)) push_members(world, local);
  if (before != world.forest.at(q.node).root) {
    request_retry(world, before, world.settings.retry_batch);
    world.touch_root(before);
  }
  request_retry_of_queue(world, id);
  world.changed_queues.insert(id);
  world.touch_tree(id);
}

void apply_event(World& world, const ClusterQueueDeleted& e) {
  QueueId id = world.find_queue(e.name);
  if (!id.valid() || !world.queues[id].exists) return;
  QueueRecord& q = world.queues[id];
  for (LocalId local : std::set<LocalId>(q.locals)) withdraw_members(world, local);
  count_reservations(world, id, false);
  world.forest.settle();
  QuotaId before = world.forest.at(q.node).root;
  q.exists = false;
  q.spec = ClusterQueue();
  q.spec.name = e.name;
  q.groups.clear();
  q.activity = QueueActivity();
  q.active = false;
  q.preemptor = WorkloadId();
  q.preemptor_sticky = false;
  world.forest.remove(q.node);
  world.forest.settle();
  if (before != q.node) request_retry(world, before, world.settings.retry_batch);
  world.changed_queues.insert(id);
  world.touch_all();
}

void apply_event(World& world, const LocalQueueChanged& e) {
  LocalId id = ensure_local(world, e.queue.key.namespace_, e.queue.key.name);
  LocalRecord& local = world.locals[id];
  QueueId queue = ensure_queue(world, e.queue.cluster_queue);
  bool queues = e.queue.stop == StopPolicy::kNone;
  bool moved = local.queue != queue;
  bool was = local.queues;
  local.spec = e.queue;
  local.exists = true;
  if (local.queues && (!queues || moved)) withdraw_members(world, id);
  if (moved && local.queue.valid()) world.queues[local.queue].locals.erase(id);
  local.queue = queue;
  local.queues = queues;
  world.queues[queue].locals.insert(id);
  refresh_local_usage(world, id);
  if (queues && (!was || moved)) push_members(world, id);
  world.changed_locals.insert(id);
  world.touch_tree(queue);
}

void apply_event(World& world, const LocalQueueDeleted& e) {
  LocalId id = world.find_local(e.key);
  if (!id.valid() || !world.locals[id].exists) return;
  withdraw_members(world, id);
  LocalRecord& local = world.locals[id];
  if (local.queue.valid()) world.queues[local.queue].locals.erase(id);
  local.exists = false;
  local.queues = false;
  local.queue = QueueId();
  world.ledger.drop(id);
  refresh_local_usage(world, id);
  world.changed_locals.insert(id);
}

}  // namespace kueue::engine
