// State: the door to the World: dispatch of events, and answers to questions.
#include <algorithm>

#include "engine/engine.h"
#include "engine/fairshare/share.h"
#include "engine/queue/checks.h"
#include "engine/queue/digest.h"
#include "engine/queue/queueing.h"
#include "engine/state_apply.h"
#include "engine/world.h"

namespace kueue::engine {
namespace {

using Named = std::pair<std::string, std::vector<Key>>;

std::vector<Key> keys_of(const World& world, const std::vector<WorkloadId>& ids) {
  std::vector<Key> out;
  for (WorkloadId id : ids) out.push_back(world.object(id).key);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Named> by_queue(const World& world,
                            const std::function<std::vector<WorkloadId>(const QueueRecord&)>& of) {
  std::vector<Named> out;
  for (const QueueRecord& q : world.queues)
    if (std::vector<WorkloadId> ids = of(q); !ids.empty())
      out.emplace_back(q.spec.name, keys_of(world, ids));
  std::sort(out.begin(), out.end());
  return out;
}

// Every flavor and resource of the queue's spec, in spec order, with amounts from `usage`.
std::vector<FlavorUsage> flavor_usage(const World& world, const QueueRecord& q, const Usage& usage,
                                      bool borrowed) {
  std::vector<FlavorUsage> out;
  for (const ResourceGroup& group : q.spec.groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      FlavorUsage entry{flavor.flavor, {}};
      for (const ResourceQuota& quota : flavor.resources) {
        FlavorId f = world.names.find_flavor(flavor.flavor);
        ResourceId r = world.names.find_resource(quota.resource);
        Amount total;
        for (const auto& [fr, amount] : usage)
          if (world.names.parts(fr).flavor == f && world.names.parts(fr).resource == r)
            total += amount;
        bool in_cohort = borrowed && !q.spec.cohort.empty();
        entry.resources.push_back(
            {quota.resource, total, in_cohort ? max(Amount(), total - quota.nominal) : Amount()});
      }
      std::sort(entry.resources.begin(), entry.resources.end(),
                [](const auto& a, const auto& b) { return a.resource < b.resource; });
      out.push_back(std::move(entry));
    }
  }
  return out;
}

}  // namespace

State::State(Settings settings) : world_(std::make_unique<World>(std::move(settings))) {
  World* world = world_.get();
  world->forest.rebuilt = [world](QuotaId node) {
    if (node.value < world->queue_of_node.size() && world->queue_of_node[node.value].valid())
      world->queues[world->queue_of_node[node.value]].generation = ++world->reshapes << 32;
  };
}

State::~State() = default;

void State::apply(const Event& event) {
  std::visit([this](const auto& e) { apply_event(*world_, e); }, event);
}

bool State::has_work() const {
  world_->forest.settle();
  return heads_available(*world_);
}

std::optional<Instant> State::next_wakeup() const {
  std::optional<Instant> next;
  auto at = [&](Instant t) { next = next ? std::min(*next, t) : t; };
  for (const auto& [id, entry] : world_->second_pass)
    if (!entry.ready) at(entry.due);
  for (const auto& [id, due] : world_->delayed) at(due);
  for (const auto& [node, due] : world_->retries) at(due);
  return next;
}

Instant State::now() const { return world_->now; }

QueueActivity State::cluster_queue_activity(const std::string& name) const {
  QueueId id = world_->find_queue(name);
  return id.valid() ? world_->queues[id].activity : QueueActivity();
}

ClusterQueueStatus State::cluster_queue_status(const std::string& name) const {
  ClusterQueueStatus out;
  QueueId id = world_->find_queue(name);
  if (!id.valid()) return out;
  world_->forest.settle();
  const QueueRecord& q = world_->queues[id];
  out.pending_active = static_cast<int32_t>(q.pending.active());
  out.pending_inadmissible = static_cast<int32_t>(q.pending.set_aside());
  out.hashes_active = q.pending.kinds(false);
  out.hashes_inadmissible = q.pending.kinds(true);
  for (const auto& [resource, amount] : q.pending_requests)
    out.pending_requests.emplace_back(world_->names.text(resource), amount.value());
  std::sort(out.pending_requests.begin(), out.pending_requests.end());
  out.reserving = static_cast<int32_t>(q.reserved.size());
  out.admitted = q.admitted;
  out.reservation = flavor_usage(*world_, q, world_->forest.own_usage(q.node), true);
  out.usage = flavor_usage(*world_, q, q.admitted_usage, true);
  const Share share = share_of(world_->names, world_->forest, q.node);
  out.weighted_share = share.status_value();
  out.exact_share = share.exact_value();
  return out;
}

LocalQueueStatus State::local_queue_status(const Key& key) const {
  LocalQueueStatus out;
  LocalId id = world_->find_local(key);
  if (!id.valid() || !world_->locals[id].exists) return out;
  const LocalRecord& local = world_->locals[id];
  out.known = true;
  out.pending = local.pending;
  out.pending_inadmissible = local.inadmissible;
  out.reserving = local.reserving;
  out.admitted = local.admitted;
  if (!local.queue.valid()) return out;
  const QueueRecord& q = world_->queues[local.queue];
  out.reservation = flavor_usage(*world_, q, local.usage, false);
  out.usage = flavor_usage(*world_, q, local.admitted_usage, false);
  for (const GroupRecord& group : q.groups)
    for (FlavorId flavor : group.flavors) {
      const std::string& name = world_->names.text(flavor);
      if (std::find(out.flavors.begin(), out.flavors.end(), name) == out.flavors.end())
        out.flavors.push_back(name);
    }
  return out;
}

CohortStatus State::cohort_status(const std::string& name) const {
  CohortStatus out;
  world_->forest.settle();
  QuotaId node = world_->forest.find_cohort(name);
  if (!node.valid()) return out;
  out.known = world_->forest.at(node).exists || !world_->forest.at(node).children.empty();
  out.in_cycle = world_->forest.at(node).in_cycle;
  if (!out.in_cycle) {
    const Share share = share_of(world_->names, world_->forest, node);
    out.weighted_share = share.status_value();
    out.exact_share = share.exact_value();
  }
  return out;
}

std::vector<std::string> State::take_changed_cluster_queues() {
  std::vector<std::string> out;
  for (QueueId id : world_->changed_queues.take()) out.push_back(world_->queues[id].spec.name);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Key> State::take_changed_local_queues() {
  std::vector<Key> out;
  for (LocalId id : world_->changed_locals.take()) out.push_back(world_->locals[id].key);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<PendingWorkload> State::pending(const std::string& cluster_queue) const {
  std::vector<PendingWorkload> out;
  QueueId queue = world_->find_queue(cluster_queue);
  if (!queue.valid()) return out;
  const QueueRecord& q = world_->queues[queue];
  // Inadmissible ones stand among the others: where they would be if they were tried.
  struct Waiting {
    double usage;
    PendingKey key;
    WorkloadId id;
  };
  std::vector<Waiting> all;
  for (bool aside : {false, true})
    for (WorkloadId id : q.pending.members(aside)) {
      LocalId local = world_->record(id).local;
      all.push_back(
          {q.pending.fair() ? world_->local_usage[local.value] : 0, world_->pending_keys[id], id});
      if (aside) all.back().key.sticky = false;
    }
  // LocalQueues of equal usage compete workload by workload.
  std::sort(all.begin(), all.end(), [&](const Waiting& a, const Waiting& b) {
    return a.usage != b.usage ? a.usage < b.usage
                              : world_->pending_keys.before(a.id, a.key, b.id, b.key);
  });
  std::unordered_map<uint32_t, int32_t> position_in_local;
  for (const Waiting& waiting : all) {
    const Workload& w = world_->object(waiting.id);
    out.push_back({w.key, w.uid, w.queue_name, w.effective_priority(), w.created,
                   static_cast<int32_t>(out.size()),
                   position_in_local[world_->record(waiting.id).local.value]++});
  }
  return out;
}

WorkloadPlace State::place(const Key& key) const {
  WorkloadId id = world_->find(key);
  if (!id.valid()) return WorkloadPlace::kUnknown;
  const WorkloadRecord& r = world_->record(id);
  if (r.reservation) return WorkloadPlace::kReserved;
  switch (r.place) {
    case Place::kWaiting:
      return world_->queues[r.queue].pending.aside(id) ? WorkloadPlace::kInadmissible
                                                       : WorkloadPlace::kActive;
    case Place::kNone:
    case Place::kInFlight:
      return WorkloadPlace::kUnknown;
  }
  return WorkloadPlace::kUnknown;
}

std::optional<PendingReason> State::bypass_reason(const Key& key) const {
  WorkloadId id = world_->find(key);
  if (!id.valid()) return std::nullopt;
  const WorkloadRecord& r = world_->record(id);
  if (r.place != Place::kWaiting || !r.digest.known() || !world_->queues[r.queue].pending.aside(id))
    return std::nullopt;
  const auto& bypass = world_->queues[r.queue].bypass;
  auto it = bypass.find(r.digest);
  return it == bypass.end() ? std::nullopt : std::optional(it->second);
}

const Admission* State::admission(const Key& key) const {
  WorkloadId id = world_->find(key);
  return id.valid() && world_->record(id).reservation
             ? world_->record(id).reservation->admission.get()
             : nullptr;
}

std::vector<std::string> State::required_checks(const Workload& w) const {
  if (w.concurrent_admission_parent) return {};
  if (w.reserved()) return checks_for_admission(*world_, *w.admission);
  LocalId local = world_->find_local(w.key.namespace_, w.queue_name);
  if (!local.valid() || !world_->locals[local].queue.valid()) return {};
  return checks_for_queue(*world_, world_->locals[local].queue);
}

std::vector<std::pair<std::string, ResourceAmounts>> State::resource_requests(
    const Key& key) const {
  std::vector<std::pair<std::string, ResourceAmounts>> out;
  WorkloadId id = world_->find(key);
  if (!id.valid()) return out;
  const Workload& w = world_->object(id);
  for (size_t i = 0; i < w.pod_sets.size(); ++i) {
    ResourceList total;
    for (const auto& [resource, amount] : world_->shapes[world_->record(id).shapes[i]].requests)
      total.emplace_back(resource, amount * effective_count(*world_, w, w.pod_sets[i]));
    out.emplace_back(w.pod_sets[i].name, world_->names.amounts(total));
  }
  return out;
}

std::vector<Key> State::workloads_in_namespace(const std::string& name) const {
  std::vector<WorkloadId> ids;
  for (const LocalRecord& local : world_->locals)
    if (local.key.namespace_ == name)
      ids.insert(ids.end(), local.members.begin(), local.members.end());
  return keys_of(*world_, ids);
}

std::vector<Key> State::workloads_of_cluster_queue(const std::string& name) const {
  QueueId queue = world_->find_queue(name);
  if (!queue.valid()) return {};
  std::set<WorkloadId> ids(world_->queues[queue].reserved.begin(),
                           world_->queues[queue].reserved.end());
  for (LocalId local : world_->queues[queue].locals)
    ids.insert(world_->locals[local].members.begin(), world_->locals[local].members.end());
  return keys_of(*world_, {ids.begin(), ids.end()});
}

bool State::flavor_in_use(const std::string& name) const {
  FlavorId id = world_->names.find_flavor(name);
  for (const QueueRecord& q : world_->queues)
    for (const GroupRecord& group : q.groups)
      if (id.valid() &&
          std::find(group.flavors.begin(), group.flavors.end(), id) != group.flavors.end())
        return true;
  return false;
}

bool State::check_in_use(const std::string& name) const {
  for (const QueueRecord& q : world_->queues)
    for (const CheckRule& rule : q.spec.checks)
      if (rule.check == name) return true;
  return false;
}

bool State::topology_in_use(const std::string& name) const {
  return std::any_of(world_->flavors.begin(), world_->flavors.end(),
                     [&](const FlavorRecord& f) { return f.exists && f.spec.topology == name; });
}

AfsUsage State::afs_usage(const Key& local_queue) const {
  AfsUsage out;
  LocalId local = world_->find_local(local_queue);
  const LedgerAccount* account = local.valid() ? world_->ledger.find(local) : nullptr;
  if (account == nullptr) return out;
  auto named = [&](const NanoList& list) {
    std::vector<std::pair<std::string, Nanos>> names;
    for (const auto& [resource, amount] : list)
      names.emplace_back(world_->names.text(resource), amount);
    std::sort(names.begin(), names.end());
    return names;
  };
  out.known = true;
  out.consumed = named(account->consumed);
  out.last_update = account->last_update;
  out.value = world_->local_usage[local.value];
  for (const auto& [id, penalty] : account->penalties)
    out.penalties.emplace_back(world_->object(id).key, named(penalty));
  std::sort(out.penalties.begin(), out.penalties.end());
  return out;
}

std::vector<Named> State::active_by_queue() const {
  return by_queue(*world_, [](const QueueRecord& q) { return q.pending.members(false); });
}

std::vector<Named> State::inadmissible_by_queue() const {
  return by_queue(*world_, [](const QueueRecord& q) { return q.pending.members(true); });
}

std::vector<Named> State::reserved_by_queue() const {
  return by_queue(*world_, [](const QueueRecord& q) {
    return q.exists ? q.reserved : std::vector<WorkloadId>();
  });
}

std::vector<std::pair<std::string, Key>> State::sticky_by_queue() const {
  std::vector<std::pair<std::string, Key>> out;
  for (const QueueRecord& q : world_->queues)
    if (q.preemptor.valid() && q.preemptor_sticky)
      out.emplace_back(q.spec.name, world_->object(q.preemptor).key);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Key> State::second_pass_ready() const {
  std::vector<WorkloadId> ids;
  for (const auto& [id, entry] : world_->second_pass)
    if (entry.ready) ids.push_back(id);
  return keys_of(*world_, ids);
}

std::vector<Key> State::second_pass_waiting() const {
  std::vector<WorkloadId> ids;
  for (const auto& [id, entry] : world_->second_pass)
    if (!entry.ready) ids.push_back(id);
  return keys_of(*world_, ids);
}

std::vector<std::pair<std::string, std::vector<std::pair<std::string, Amount>>>> State::tree_usage()
    const {
  world_->forest.settle();
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, Amount>>>> out;
  for (QuotaId id : world_->forest.used_nodes()) {
    const QuotaNode& node = world_->forest.at(id);
    std::vector<std::pair<std::string, Amount>> entries;
    const std::vector<FrId>& frs = world_->forest.tree_frs(id);
    for (size_t i = 0; i < frs.size(); ++i)
      if (!node.cells[i].usage.is_zero())
        entries.emplace_back(world_->names.text(frs[i]), node.cells[i].usage);
    std::sort(entries.begin(), entries.end());
    if (!entries.empty())
      out.emplace_back((node.queue ? "clusterQueue/" : "cohort/") + node.name, std::move(entries));
  }
  std::sort(out.begin(), out.end());
  return out;
}

const Settings& State::settings() const { return world_->settings; }

}  // namespace kueue::engine
