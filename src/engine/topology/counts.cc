#include "engine/topology/counts.h"

#include <algorithm>
#include <limits>

namespace kueue::engine {
namespace {

size_t ix(int32_t i) { return static_cast<size_t>(i); }

int32_t narrow(int64_t n) {
  return static_cast<int32_t>(std::clamp<int64_t>(n, 0, std::numeric_limits<int32_t>::max()));
}

ResourceList with_pod(const World& world, ResourceList per_pod) {
  if (ResourceId pods = world.names.find_resource("pods"); pods.valid()) {
    std::erase_if(per_pod, [&](const auto& e) { return e.first == pods; });
    world.names.add(per_pod, pods, Amount(1));
  }
  return per_pod;
}

class Counter {
 public:
  Counter(const World& world, const TopologyTree& tree, const PlaceShape& shape,
          const AssumedUsage& assumed, const PlaceOptions& options)
      : world_(world),
        tree_(tree),
        shape_(shape),
        assumed_(assumed),
        options_(options),
        worker_(with_pod(world, shape.workers->per_pod)) {
    if (shape.leader != nullptr) leader_ = with_pod(world, shape.leader->per_pod);
    out_.at.resize(tree.nodes.size());
  }

  TreeCounts run() {
    out_.excluded.nodes = static_cast<int32_t>(tree_.leaves.size());
    for (const TopologyLeaf& leaf : tree_.leaves) count_leaf(leaf);
    if (!tree_.level_nodes.empty())
      for (int32_t root : tree_.level_nodes[0]) roll_up(root);
    return std::move(out_);
  }

 private:
  void exclude(const std::string& reason) { ++out_.excluded.by_reason[reason]; }

  // The node filter, in its order; counts the reason of an exclusion.
  bool node_suits(const Node& node) {
    const PlaceRequest& r = *shape_.workers;
    if (const Taint* taint = untolerated(node.taints, r.pod->tolerations, r.tolerations)) {
      exclude("taint \"" + taint_text(*taint) + "\"");
      return false;
    }
    auto selects = [&](const Labels& selector) {
      return std::all_of(selector.begin(), selector.end(), [&](const auto& entry) {
        const std::string* have = find_label(node.labels, entry.first);
        return have != nullptr && *have == entry.second;
      });
    };
    if (!selects(r.pod->node_selector) || !selects(r.node_selector)) {
      exclude("nodeSelector");
      return false;
    }
    if (r.pod->required_affinity) {
      const auto& terms = *r.pod->required_affinity;
      if (std::none_of(terms.begin(), terms.end(),
                       [&](const auto& t) { return matches(t, node.labels, node.name); })) {
        exclude("affinity");
        return false;
      }
    }
    return true;
  }

  bool inside_required(int32_t node) const {
    if (shape_.required_domain < 0) return true;
    while (node >= 0 && node != shape_.required_domain) node = tree_.nodes[ix(node)].parent;
    return node >= 0;
  }

  void count_leaf(const TopologyLeaf& leaf) {
    if (leaf.machine != nullptr && !node_suits(*leaf.machine)) return;
    if (!inside_required(leaf.node)) return exclude("topologyDomain");
    DomainCounts& c = out_.at[ix(leaf.node)];
    if (leaf.machine != nullptr && world_.gate(Gate::kTASRespectNodeAffinityPreferred))
      for (const PreferredTerm& term : shape_.workers->pod->preferred_affinity)
        if (matches(term.term, leaf.machine->labels, leaf.machine->name)) c.affinity += term.weight;
    ResourceList left = leaf.capacity;
    auto subtract = [&](const ResourceList& usage) {
      for (auto& [resource, amount] : left) amount -= get(usage, resource);
    };
    if (!options_.empty) {
      subtract(*leaf.usage);
      subtract(leaf.change);
    }
    if (auto it = assumed_.find(leaf.id); it != assumed_.end()) subtract(it->second);
    ResourceId limiting;
    c.pods = narrow(fits_times(world_.names, worker_, left, &limiting));
    if (c.pods == 0 && limiting.valid())
      exclude("resource \"" + world_.names.text(limiting) + "\"");
    c.pods_with_leader = c.pods;
    if (shape_.leader != nullptr && fits_times(world_.names, leader_, left) > 0) {
      c.leader = 1;
      subtract(leader_);
      c.pods_with_leader = narrow(fits_times(world_.names, worker_, left));
    }
  }

  int32_t inner_size(size_t level) const {
    for (const auto& [at, size] : shape_.layers)
      if (at == level && level > shape_.slice_level) return size;
    return 1;
  }

  void roll_up(int32_t id) {
    const TopologyNode& node = tree_.nodes[ix(id)];
    DomainCounts& c = out_.at[ix(id)];
    size_t level = static_cast<size_t>(node.level);
    if (!node.children.empty()) sum_children(node, c, inner_size(level + 1));
    if (level != shape_.slice_level) return;
    c.slices = c.pods / shape_.slice_size;
    c.slices_with_leader = c.pods_with_leader / shape_.slice_size;
  }

  void sum_children(const TopologyNode& node, DomainCounts& c, int32_t inner) {
    int64_t pods = 0, slices = 0;
    int64_t pods_lost = std::numeric_limits<int64_t>::max(), slices_lost = pods_lost;
    for (int32_t child : node.children) {
      roll_up(child);
      const DomainCounts& k = out_.at[ix(child)];
      int32_t own = k.pods / inner * inner, own_with_leader = k.pods_with_leader / inner * inner;
      pods += own;
      slices += k.slices;
      c.affinity += k.affinity;
      c.leader = std::max(c.leader, k.leader);
      if (shape_.leader != nullptr && k.leader == 0) continue;
      pods_lost = std::min<int64_t>(pods_lost, own - own_with_leader);
      slices_lost = std::min<int64_t>(slices_lost, k.slices - k.slices_with_leader);
    }
    bool none = pods_lost == std::numeric_limits<int64_t>::max();
    c.pods = narrow(pods);
    c.slices = narrow(slices);
    c.pods_with_leader = none ? 0 : narrow(pods - pods_lost);
    c.slices_with_leader = none ? 0 : narrow(slices - slices_lost);
  }

  const World& world_;
  const TopologyTree& tree_;
  const PlaceShape& shape_;
  const AssumedUsage& assumed_;
  const PlaceOptions& options_;
  ResourceList worker_;
  ResourceList leader_;
  TreeCounts out_;
};

}  // namespace

int32_t PlaceShape::unit_below(size_t at) const {
  for (const auto& [layer_level, size] : layers)
    if (layer_level >= at && layer_level > slice_level) return size;
  return 1;
}

TreeCounts count_domains(const World& world, const TopologyTree& tree, const PlaceShape& shape,
                         const AssumedUsage& assumed, const PlaceOptions& options) {
  return Counter(world, tree, shape, assumed, options).run();
}

}  // namespace kueue::engine
