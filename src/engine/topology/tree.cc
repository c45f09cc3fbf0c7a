#include "engine/topology/tree.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "engine/queue/queueing.h"
#include "engine/state_apply.h"
#include "engine/topology/count_cache.h"
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

// What the machine offers: allocatable without foreign pods.
ResourceList machine_capacity(World& world, const Node& node) {
  ResourceList out;
  for (const auto& [resource, amount] : node.allocatable)
    world.names.add(out, world.names.resource(resource), Amount(amount));
  auto it = world.topology.pods_of.find(node.name);
  if (it == world.topology.pods_of.end()) return out;
  for (const std::string& name : it->second) {
    const ForeignPod& pod = world.topology.pods.at(name);
    for (const auto& [resource, amount] : pod.requests)
      world.names.add(out, world.names.resource(resource), Amount() - Amount(amount));
    world.names.add(out, world.names.resource("pods"), Amount(-1));
  }
  return out;
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
    for (const auto& level : tree_.level_nodes)
      for (size_t i = 0; i < level.size(); ++i)
        tree_.nodes[index(level[i])].rank = static_cast<int32_t>(i);
    fill_amounts();
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
        tree_.nodes.push_back({parent, static_cast<int32_t>(level), -1, 0, {}, values});
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
      tree_.leaves.push_back(std::move(leaf));
      offered_.emplace_back();
    }
    ++tree_.leaves[index(it->second)].machines;
    for (const auto& [resource, amount] : machine_capacity(world_, node))
      world_.names.add(offered_[index(it->second)], resource, amount);
  }

  void fill_amounts() {
    for (const ResourceList& list : offered_)
      for (const auto& [resource, amount] : list)
        if (tree_.column_of(resource) < 0) tree_.columns.push_back(resource);
    tree_.capacity.resize(tree_.leaves.size() * tree_.columns.size());
    for (size_t i = 0; i < offered_.size(); ++i)
      for (const auto& [resource, amount] : offered_[i])
        tree_.capacity[tree_.at(static_cast<int32_t>(i), index(tree_.column_of(resource)))] =
            amount;
    tree_.free = tree_.capacity;
    for (size_t i = 0; i < tree_.leaves.size(); ++i) {
      const std::string& id = tree_.leaves[i].id;
      auto usage = world_.topology.usage.find(usage_key(world_, flavor_, id, tree_.by_host));
      if (usage == world_.topology.usage.end()) continue;
      for (const auto& [resource, amount] : usage->second)
        if (int column = tree_.column_of(resource); column >= 0)
          tree_.free[tree_.at(static_cast<int32_t>(i), index(column))] -= amount;
    }
  }

  World& world_;
  FlavorId flavor_;
  TopologyTree tree_;
  std::vector<ResourceList> offered_;  // by leaf
  std::unordered_map<std::string, int32_t> by_values_;
};

std::map<std::string, ResourceList> counted_usage(World& world) {
  std::map<std::string, ResourceList> usage;
  for (WorkloadId id : world.workloads.ids())
    if (const WorkloadRecord& r = world.record(id); r.reservation)
      for (const PlacedPods& placed : r.reservation->placed)
        change_usage(world, usage[placed_key(world, placed)], placed, 1);
  return usage;
}

void recount_usage(World& world) {
  world.topology.usage = counted_usage(world);
  world.topology.usage_stale = false;
}

// Entries of nothing count as absent.
bool same_usage(std::map<std::string, ResourceList> a, std::map<std::string, ResourceList> b) {
  for (auto* usage : {&a, &b}) {
    for (auto& [key, list] : *usage)
      erase_if(list, [](const auto& entry) { return entry.second == Amount(); });
    std::erase_if(*usage, [](const auto& entry) { return entry.second.empty(); });
  }
  return a == b;
}

// Takes the pods off the leaf's free amounts (puts them back when `sign` is negative).
void change_free(World& world, TopologyTree& tree, int32_t leaf, const PlacedPods& placed,
                 int64_t sign, bool what_if) {
  auto change = [&](ResourceId resource, Amount amount) {
    int column = tree.column_of(resource);
    if (column < 0) return;
    size_t cell = tree.at(leaf, static_cast<size_t>(column));
    if (what_if) world.topology.journal.push_back({&tree, leaf, cell, tree.free[cell]});
    tree.free[cell] -= amount;
  };
  for (const auto& [resource, amount] : placed.per_pod)
    change(resource, amount * (sign * placed.count));
  change(world.names.resource("pods"), Amount(sign * placed.count));
  tree.changed.push_back(leaf);
}

void what_if_change(World& world, const std::vector<PlacedPods>& placed, int64_t sign) {
  for (const PlacedPods& p : placed) {
    auto tree = world.topology.trees.find(p.flavor);
    if (tree == world.topology.trees.end()) continue;
    // A node that is gone has nothing to give back.
    if (int32_t leaf = leaf_of(tree->second, p.values); leaf >= 0)
      change_free(world, tree->second, leaf, p, sign, true);
  }
}

// A sum that has reached an end of what can be counted says nothing about its parts.
bool beyond_counting(Amount sum) { return sum.is_unlimited() || sum == Amount::lowest(); }

bool beyond_counting(const ResourceList& sums) {
  return std::any_of(sums.begin(), sums.end(),
                     [](const auto& entry) { return beyond_counting(entry.second); });
}

// For good: in the usage, and in every tree that has the place.
void change_placed(World& world, const Reservation& reservation, int64_t sign) {
  for (const PlacedPods& p : reservation.placed) {
    if (world.topology.usage_stale) break;
    ResourceList& usage = world.topology.usage[placed_key(world, p)];
    const bool counted = !beyond_counting(usage);
    change_usage(world, usage, p, sign);
    if (!counted || beyond_counting(usage)) {  // all is summed up anew
      topology_changed(world);
      break;
    }
    if (world.topology.trees_stale) continue;
    bool shared = by_host(world, p.flavor) && world.gate(Gate::kTASHandleOverlappingFlavors);
    for (auto& [flavor, tree] : world.topology.trees) {
      if (shared ? !tree.by_host : flavor != p.flavor) continue;
      if (int32_t leaf = leaf_of(tree, p.values); leaf >= 0)
        change_free(world, tree, leaf, p, sign, false);
    }
  }
  if (!reservation.placed.empty()) world.touch_all();
}

// The machine offers more or less than before. False when the tree cannot tell how much.
bool follow_machine(World& world, TopologyTree& tree, const Node& node) {
  const std::string* host = find_label(node.labels, kHostLabel);
  auto it = host == nullptr ? tree.leaf_by_id.end() : tree.leaf_by_id.find(*host);
  if (it == tree.leaf_by_id.end()) return false;
  if (tree.leaves[static_cast<size_t>(it->second)].machines != 1) return false;
  std::vector<Amount> offered(tree.columns.size());
  for (const auto& [resource, amount] : machine_capacity(world, node)) {
    int column = tree.column_of(resource);
    if (column < 0) return false;
    offered[static_cast<size_t>(column)] = amount;
  }
  for (size_t column = 0; column < offered.size(); ++column) {
    size_t cell = tree.at(it->second, column);
    if (beyond_counting(offered[column]) || beyond_counting(tree.capacity[cell]) ||
        beyond_counting(tree.free[cell]))
      return false;
    tree.free[cell] += offered[column] - tree.capacity[cell];
    tree.capacity[cell] = offered[column];
  }
  tree.changed.push_back(it->second);
  return true;
}

void nodes_changed(World& world) {
  world.topology.trees_stale = true;
  world.touch_all();
}

// Amounts of a node changed, and nothing that decides where it stands.
void amounts_changed(World& world, const Node& node) {
  world.touch_all();
  if (world.topology.trees_stale) return;
  for (auto& [flavor, tree] : world.topology.trees) {
    if (!belongs(node, world.flavors[flavor].spec, tree.levels)) continue;
    if (!tree.by_host || !follow_machine(world, tree, node)) world.topology.trees_stale = true;
  }
}

// The node is in the same trees at the same places as before.
bool stands_as_before(const World& world, const Node& before, const Node& now) {
  for (const auto& [flavor, tree] : world.topology.trees) {
    const Flavor& spec = world.flavors[flavor].spec;
    bool in = belongs(now, spec, tree.levels);
    if (in != belongs(before, spec, tree.levels)) return false;
    for (const std::string& level : tree.levels)
      if (in && *find_label(before.labels, level) != *find_label(now.labels, level)) return false;
  }
  return true;
}

// It moved away, or asks for less than before.
bool leaves_room(const ForeignPod& before, const ForeignPod& now) {
  if (before.node != now.node) return !before.node.empty();
  return std::any_of(before.requests.begin(), before.requests.end(),
                     [&](const auto& e) { return amount_of(now.requests, e.first) < e.second; });
}

void foreign_pods_changed(World& world, const std::string& node) {
  auto it = world.topology.nodes.find(node);
  if (it != world.topology.nodes.end())
    amounts_changed(world, it->second);
  else
    world.touch_all();
}

}  // namespace

TopologyTree::TopologyTree() = default;
TopologyTree::~TopologyTree() = default;
TopologyTree::TopologyTree(TopologyTree&&) noexcept = default;
TopologyTree& TopologyTree::operator=(TopologyTree&&) noexcept = default;

int TopologyTree::column_of(ResourceId resource) const {
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == resource) return static_cast<int>(i);
  return -1;
}

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

void check_topology(World& world) {
  const TopologyTables& tables = world.topology;
  KUEUE_CHECK(tables.journal.empty(), "a what-if of places was not taken back");
  if (tables.usage_stale) return;
  KUEUE_CHECK(same_usage(tables.usage, counted_usage(world)),
              "what is used in topology domains is not what reservations placed there");
  if (tables.trees_stale) return;
  for (const auto& [flavor, tree] : tables.trees) {
    const Topology& topology = world.topologies.at(world.flavors[flavor].spec.topology);
    TopologyTree fresh = TreeBuilder(world, flavor, topology).build();
    KUEUE_CHECK(fresh.leaves.size() == tree.leaves.size(), "a topology tree misses a change");
    for (size_t i = 0; i < fresh.leaves.size(); ++i) {
      auto leaf = static_cast<int32_t>(i);
      KUEUE_CHECK(fresh.leaves[i].id == tree.leaves[i].id, "a topology tree misses a change");
      for (size_t c = 0; c < tree.columns.size(); ++c) {
        int column = fresh.column_of(tree.columns[c]);
        Amount expected =
            column < 0 ? Amount() : fresh.free[fresh.at(leaf, static_cast<size_t>(column))];
        KUEUE_CHECK(column < 0 || tree.free[tree.at(leaf, c)] == expected,
                    "what is free in a topology domain is wrong");
      }
    }
  }
}

TopologyTree* topology_tree(World& world, FlavorId flavor) {
  auto it = world.topology.trees.find(flavor);
  return it == world.topology.trees.end() ? nullptr : &it->second;
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

bool places_available(const World& world, const std::vector<PlacedPods>& placed) {
  return std::all_of(placed.begin(), placed.end(), [&](const PlacedPods& p) {
    const TopologyTree* tree = topology_tree(world, p.flavor);
    int32_t at = tree == nullptr ? -1 : leaf_of(*tree, p.values);
    return at >= 0 && std::all_of(p.per_pod.begin(), p.per_pod.end(), [&](const auto& entry) {
             int column = tree->column_of(entry.first);
             Amount free;
             if (column >= 0) free = tree->free[tree->at(at, static_cast<size_t>(column))];
             // On a node that gives more than it has, those that ask for nothing still fit.
             return entry.second.is_zero() || entry.second * p.count <= free;
           });
  });
}

size_t topology_journal_mark(const World& world) { return world.topology.journal.size(); }

void rollback_topology(World& world, size_t mark) {
  std::vector<FreeUndo>& journal = world.topology.journal;
  while (journal.size() > mark) {
    const FreeUndo& undo = journal.back();
    undo.tree->free[undo.cell] = undo.before;
    undo.tree->changed.push_back(undo.leaf);
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
  change_placed(world, reservation, 1);
}

// Nodes know no cohorts: queues of every tree may have waited for these places.
void remove_placed(World& world, const Reservation& reservation) {
  change_placed(world, reservation, -1);
  if (!reservation.placed.empty()) request_retry_of_places(world, world.settings.retry_batch);
}

void topology_changed(World& world) {
  world.topology.trees_stale = true;
  world.topology.usage_stale = true;
}

void apply_event(World& world, const NodeChanged& e) {
  auto it = world.topology.nodes.find(e.node.name);
  if (it != world.topology.nodes.end() && stands_as_before(world, it->second, e.node)) {
    if (it->second.taints != e.node.taints || it->second.labels != e.node.labels)
      for (auto& [flavor, tree] : world.topology.trees) tree.counts.reset();  // others may suit now
    it->second = e.node;
    amounts_changed(world, it->second);
  } else {
    world.topology.nodes[e.node.name] = e.node;
    nodes_changed(world);
  }
  request_retry_everywhere(world, world.settings.retry_batch);
}

void apply_event(World& world, const NodeDeleted& e) {
  if (world.topology.nodes.erase(e.name) == 0) return;
  nodes_changed(world);
  request_retry_everywhere(world, world.settings.retry_batch);
}

void apply_event(World& world, const ForeignPodChanged& e) {
  std::string key = e.pod.key.text();
  if (auto it = world.topology.pods.find(key); it != world.topology.pods.end()) {
    if (it->second == e.pod) return;  // most changes are of its status
    if (leaves_room(it->second, e.pod))
      request_retry_everywhere(world, world.settings.pod_retry_batch);
    std::string before = it->second.node;
    world.topology.pods_of[before].erase(key);
    if (before != e.pod.node) foreign_pods_changed(world, before);
  }
  world.topology.pods[key] = e.pod;
  world.topology.pods_of[e.pod.node].insert(key);
  foreign_pods_changed(world, e.pod.node);
}

void apply_event(World& world, const ForeignPodDeleted& e) {
  std::string key = e.key.text();
  auto it = world.topology.pods.find(key);
  if (it == world.topology.pods.end()) return;
  std::string node = it->second.node;
  world.topology.pods_of[node].erase(key);
  world.topology.pods.erase(it);
  foreign_pods_changed(world, node);
  request_retry_everywhere(world, world.settings.pod_retry_batch);
}

}  // namespace kueue::engine
