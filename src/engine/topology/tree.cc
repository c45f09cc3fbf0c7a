#include "engine/topology/tree.h"

#include <algorithm>
#include <limits>

#include "engine/queue/queueing.h"
#include "engine/state_apply.h"
#include "engine/topology/fit.h"
#include "engine/topology/journal.h"
#include "engine/topology/usage.h"

namespace kueue::engine {
namespace {

std::string join(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& v : values) out += (out.empty() ? "" : ",") + v;
  return out;
}

bool by_host(const World& world, FlavorId flavor) {
  if (!world.flavors.contains(flavor)) return false;
  auto it = world.topologies.find(world.flavors[flavor].spec.topology);
  return it != world.topologies.end() && !it->second.levels.empty() &&
         it->second.levels.back() == kHostLabel;
}

// Pods of different flavors on one host share its entry, unless that is switched off.
std::string usage_key(const World& world, FlavorId flavor, const std::string& id, bool host) {
  if (host && world.gate(Gate::kTASHandleOverlappingFlavors)) return id;
  return world.names.text(flavor) + "\n" + id;
}

std::string placed_key(const World& world, const PlacedPods& placed) {
  bool host = by_host(world, placed.flavor);
  return usage_key(world, placed.flavor, host ? placed.values.back() : join(placed.values), host);
}

void change_usage(World& world, ResourceList& entry, const PlacedPods& placed, int64_t sign) {
  for (const auto& [resource, amount] : placed.per_pod)
    world.names.add(entry, resource, amount * (sign * placed.count));
  world.names.add(entry, world.names.resource("pods"), Amount(sign * placed.count));
}

void subtract_foreign(World& world, const std::string& node, ResourceList& capacity) {
  auto it = world.topology.pods_of.find(node);
  if (it == world.topology.pods_of.end()) return;
  for (const std::string& name : it->second) {
    const ForeignPod& pod = world.topology.pods.at(name);
    for (const auto& [resource, amount] : pod.requests)
      world.names.add(capacity, world.names.resource(resource), Amount() - Amount(amount));
    world.names.add(capacity, world.names.resource("pods"), Amount(-1));
  }
}

bool belongs(const Node& node, const Flavor& flavor, const std::vector<std::string>& levels) {
  if (!node.ready || node.unschedulable) return false;
  for (const auto& [key, value] : flavor.node_labels) {
    const std::string* have = find_label(node.labels, key);
    if (have == nullptr || *have != value) return false;
  }
  return std::all_of(levels.begin(), levels.end(), [&](const std::string& level) {
    return find_label(node.labels, level) != nullptr;
  });
}

class TreeBuilder {
 public:
  TreeBuilder(World& world, FlavorId flavor, const Topology& topology)
      : world_(world), flavor_(flavor) {
    tree_.topology = topology.name;
    tree_.levels = topology.levels;
    tree_.by_host = by_host(world, flavor);
    tree_.level_nodes.resize(topology.levels.size());
  }

  TopologyTree build() {
    if (tree_.levels.empty()) return std::move(tree_);
    for (const auto& [name, node] : world_.topology.nodes)
      if (belongs(node, world_.flavors[flavor_].spec, tree_.levels)) add(node);
    auto by_values = [&](int32_t a, int32_t b) {
      return tree_.nodes[index(a)].values < tree_.nodes[index(b)].values;
    };
    for (auto& level : tree_.level_nodes) std::sort(level.begin(), level.end(), by_values);
    for (TopologyNode& node : tree_.nodes)
      std::sort(node.children.begin(), node.children.end(), by_values);
    return std::move(tree_);
  }

 private:
  static size_t index(int32_t i) { return static_cast<size_t>(i); }

  void add(const Node& node) {
    int32_t parent = -1;
    std::vector<std::string> values;
    for (size_t level = 0; level < tree_.levels.size(); ++level) {
      values.push_back(*find_label(node.labels, tree_.levels[level]));
      auto [it, inserted] = by_values_.try_emplace(join(values) + "\n" + std::to_string(level), -1);
      if (inserted) {
        it->second = static_cast<int32_t>(tree_.nodes.size());
        tree_.nodes.push_back({parent, static_cast<int32_t>(level), -1, {}, values});
        tree_.level_nodes[level].push_back(it->second);
        if (parent >= 0) tree_.nodes[index(parent)].children.push_back(it->second);
      }
      parent = it->second;
    }
    std::string id = tree_.by_host ? values.back() : join(values);
    auto [it, inserted] =
        tree_.leaf_by_id.try_emplace(id, static_cast<int32_t>(tree_.leaves.size()));
    if (inserted) {
      tree_.nodes[index(parent)].leaf = it->second;
      TopologyLeaf leaf;
      leaf.node = parent;
      leaf.id = id;
      leaf.machine = tree_.by_host ? &node : nullptr;
      leaf.usage = &world_.topology.usage[usage_key(world_, flavor_, id, tree_.by_host)];
      tree_.leaves.push_back(std::move(leaf));
    }
    ResourceList& capacity = tree_.leaves[index(it->second)].capacity;
    for (const auto& [resource, amount] : node.allocatable)
      world_.names.add(capacity, world_.names.resource(resource), Amount(amount));
    subtract_foreign(world_, node.name, capacity);
  }

  World& world_;
  FlavorId flavor_;
  TopologyTree tree_;
  std::unordered_map<std::string, int32_t> by_values_;
};

void recount_usage(World& world) {
  for (auto& [key, entry] : world.topology.usage) entry.clear();
  for (const WorkloadRecord& r : world.workloads)
    if (r.reservation)
      for (const PlacedPods& placed : r.reservation->placed)
        change_usage(world, world.topology.usage[placed_key(world, placed)], placed, 1);
  world.topology.usage_stale = false;
}

void what_if_change(World& world, const std::vector<PlacedPods>& placed, int64_t sign) {
  for (const PlacedPods& p : placed) {
    auto tree = world.topology.trees.find(p.flavor);
    if (tree == world.topology.trees.end()) continue;
    int32_t index = leaf_of(tree->second, p.values);
    if (index < 0) continue;  // a node that is gone has nothing to give back
    TopologyLeaf& leaf = tree->second.leaves[static_cast<size_t>(index)];
    world.topology.journal.push_back({&leaf, leaf.change});
    change_usage(world, leaf.change, p, sign);
  }
}

void nodes_changed(World& world) {
  world.topology.trees_stale = true;
  world.touch_all();
}

}  // namespace

bool has_topology_tree(const World& world, const Flavor& flavor) {
  return world.topologies.contains(flavor.topology);
}

bool has_requested_levels(const World& world, const Flavor& flavor, const TopologyRequest& r) {
  const std::vector<std::string>& levels = world.topologies.at(flavor.topology).levels;
  auto has = [&](const std::string& level) {
    return std::find(levels.begin(), levels.end(), level) != levels.end();
  };
  if (r.required && !has(*r.required)) return false;
  if (r.preferred && !has(*r.preferred)) return false;
  if (r.slice_topology && !has(*r.slice_topology)) return false;
  return std::all_of(r.slice_layers.begin(), r.slice_layers.end(),
                     [&](const auto& l) { return has(l.topology); });
}

void settle_topology(World& world) {
  if (world.topology.usage_stale) recount_usage(world);
  if (!world.topology.trees_stale) return;
  world.topology.trees.clear();
  for (size_t i = 0; i < world.flavors.size(); ++i) {
    FlavorId id(i);
    const FlavorRecord& flavor = world.flavors[id];
    if (!flavor.exists || flavor.spec.topology.empty()) continue;
    auto it = world.topologies.find(flavor.spec.topology);
    if (it != world.topologies.end())
      world.topology.trees[id] = TreeBuilder(world, id, it->second).build();
  }
  world.topology.trees_stale = false;
}

const TopologyTree* topology_tree(const World& world, FlavorId flavor) {
  auto it = world.topology.trees.find(flavor);
  return it == world.topology.trees.end() ? nullptr : &it->second;
}

int32_t leaf_of(const TopologyTree& tree, const std::vector<std::string>& values) {
  if (values.empty()) return -1;
  auto it = tree.leaf_by_id.find(tree.by_host ? values.back() : join(values));
  return it == tree.leaf_by_id.end() ? -1 : it->second;
}

int64_t fits_times(const Names&, const ResourceList& per_pod, const ResourceList& capacity,
                   ResourceId* limiting) {
  int64_t times = std::numeric_limits<int32_t>::max();
  for (const auto& [resource, amount] : per_pod) {
    if (amount <= Amount()) continue;
    int64_t here = std::max<int64_t>(0, get(capacity, resource).value() / amount.value());
    if (here >= times) continue;
    times = here;
    if (limiting != nullptr) *limiting = resource;
  }
  return times;
}

bool places_available(const World& world, const std::vector<PlacedPods>& placed) {
  // Pods of several pod sets may meet in one domain: they count together.
  std::map<std::pair<FlavorId, int32_t>, ResourceList> wanted;
  for (const PlacedPods& p : placed) {
    const TopologyTree* tree = topology_tree(world, p.flavor);
    if (tree == nullptr) return false;
    int32_t leaf = leaf_of(*tree, p.values);
    if (leaf < 0) return false;
    ResourceList& sum = wanted[{p.flavor, leaf}];
    for (const auto& [resource, amount] : p.per_pod)
      world.names.add(sum, resource, amount * p.count);
    if (ResourceId pods = world.names.find_resource("pods"); pods.valid())
      world.names.add(sum, pods, Amount(p.count));
  }
  for (const auto& [where, sum] : wanted) {
    const TopologyLeaf& leaf =
        topology_tree(world, where.first)->leaves[static_cast<size_t>(where.second)];
    for (const auto& [resource, amount] : sum)
      if (get(leaf.capacity, resource) - get(*leaf.usage, resource) - get(leaf.change, resource) <
          amount)
        return false;
  }
  return true;
}

size_t topology_journal_mark(const World& world) { return world.topology.journal.size(); }

void rollback_topology(World& world, size_t mark) {
  std::vector<ChangeUndo>& journal = world.topology.journal;
  while (journal.size() > mark) {
    journal.back().leaf->change = std::move(journal.back().before);
    journal.pop_back();
  }
}

void what_if_add_placed(World& world, const std::vector<PlacedPods>& placed) {
  what_if_change(world, placed, 1);
}

void what_if_remove_placed(World& world, const std::vector<PlacedPods>& placed) {
  what_if_change(world, placed, -1);
}

void add_placed(World& world, const Reservation& reservation) {
  if (world.topology.usage_stale) return;
  for (const PlacedPods& p : reservation.placed)
    change_usage(world, world.topology.usage[placed_key(world, p)], p, 1);
  if (!reservation.placed.empty()) world.touch_all();
}

void remove_placed(World& world, const Reservation& reservation) {
  if (world.topology.usage_stale) return;
  for (const PlacedPods& p : reservation.placed)
    change_usage(world, world.topology.usage[placed_key(world, p)], p, -1);
  if (!reservation.placed.empty()) world.touch_all();
}

void topology_changed(World& world) {
  world.topology.trees_stale = true;
  world.topology.usage_stale = true;
}

void apply_event(World& world, const NodeChanged& e) {
  world.topology.nodes[e.node.name] = e.node;
  nodes_changed(world);
  request_retry_everywhere(world, world.settings.retry_batch);
}

void apply_event(World& world, const NodeDeleted& e) {
  if (world.topology.nodes.erase(e.name) == 0) return;
  nodes_changed(world);
  request_retry_everywhere(world, world.settings.retry_batch);
}

void apply_event(World& world, const ForeignPodChanged& e) {
  std::string key = e.pod.key.text();
  if (auto it = world.topology.pods.find(key); it != world.topology.pods.end())
    world.topology.pods_of[it->second.node].erase(key);
  world.topology.pods[key] = e.pod;
  world.topology.pods_of[e.pod.node].insert(key);
  nodes_changed(world);
}

void apply_event(World& world, const ForeignPodDeleted& e) {
  std::string key = e.key.text();
  auto it = world.topology.pods.find(key);
  if (it == world.topology.pods.end()) return;
  world.topology.pods_of[it->second.node].erase(key);
  world.topology.pods.erase(it);
  nodes_changed(world);
  request_retry_everywhere(world, world.settings.pod_retry_batch);
}

}  // namespace kueue::engine
