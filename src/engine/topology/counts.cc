#include "engine/topology/counts.h"

#include <algorithm>
#include <limits>

#include "engine/topology/count_cache.h"

namespace kueue::engine {
namespace {

size_t ix(int32_t i) { return static_cast<size_t>(i); }

int32_t narrow(int64_t n) {
  return static_cast<int32_t>(std::clamp<int64_t>(n, 0, std::numeric_limits<int32_t>::max()));
}

ResourceList with_pod(const World& world, ResourceList per_pod) {
  if (ResourceId pods = world.names.find_resource("pods"); pods.valid()) {
    erase_if(per_pod, [&](const auto& e) { return e.first == pods; });
    world.names.add(per_pod, pods, Amount(1));
  }
  return per_pod;
}

// What one pod takes, by column of the tree.
struct Need {
  ResourceId resource;
  int column = -1;  // -1 = no leaf offers it
  int64_t amount = 0;
};

// Counts one leaf or rolls up one domain at a time.
class Counter {
 public:
  Counter(const World& world, const TopologyTree& tree, const PlaceShape& shape,
          const AssumedUsage& assumed, const PlaceOptions& options)
      : tree_(tree),
        shape_(shape),
        assumed_(assumed),
        amounts_(options.empty ? tree.capacity : tree.free),
        by_affinity_(world.gate(Gate::kTASRespectNodeAffinityPreferred)) {
    worker_list = with_pod(world, shape.workers->per_pod);
    worker_ = needs(worker_list);
    if (shape.leader == nullptr) return;
    leader_list = with_pod(world, shape.leader->per_pod);
    leader_ = needs(*leader_list);
  }

  // Why the node filter keeps pods away from the machine, in its order; "" = it does not.
  std::string filter(const Node& node) const {
    const PlaceRequest& r = *shape_.workers;
    if (const Taint* taint = untolerated(node.taints, r.pod->tolerations, r.tolerations))
      return "taint \"" + taint_text(*taint) + "\"";
    auto selects = [&](const Labels& selector) {
      return std::all_of(selector.begin(), selector.end(), [&](const auto& entry) {
        const std::string* have = find_label(node.labels, entry.first);
        return have != nullptr && *have == entry.second;
      });
    };
    if (!selects(r.pod->node_selector) || !selects(r.node_selector)) return "nodeSelector";
    if (r.pod->required_affinity) {
      const auto& terms = *r.pod->required_affinity;
      if (std::none_of(terms.begin(), terms.end(),
                       [&](const auto& t) { return matches(t, node.labels, node.name); }))
        return "affinity";
    }
    return "";
  }
  bool suits(const TopologyLeaf& leaf) const {
    return leaf.machine == nullptr || filter(*leaf.machine).empty();
  }

  bool inside_required(int32_t node) const {
    if (shape_.required_domain < 0) return true;
    while (node >= 0 && node != shape_.required_domain) node = tree_.nodes[ix(node)].parent;
    return node >= 0;
  }

  // For a leaf that suits. `limiting` gets the resource that allows the fewest workers.
  DomainCounts leaf(int32_t index, ResourceId* limiting = nullptr) const {
    const TopologyLeaf& at = tree_.leaves[ix(index)];
    DomainCounts c;
    if (at.machine != nullptr && by_affinity_)
      for (const PreferredTerm& term : shape_.workers->pod->preferred_affinity)
        if (matches(term.term, at.machine->labels, at.machine->name)) c.affinity += term.weight;
    const ResourceList* assumed = nullptr;
    if (!assumed_.empty())
      if (auto it = assumed_.find(at.id); it != assumed_.end()) assumed = &it->second;
    c.pods = narrow(times(worker_, index, assumed, nullptr, limiting));
    c.pods_with_leader = c.pods;
    if (shape_.leader != nullptr && times(leader_, index, assumed, nullptr, nullptr) > 0) {
      c.leader = 1;
      c.pods_with_leader = narrow(times(worker_, index, assumed, &*leader_list, nullptr));
    }
    if (shape_.slice_level + 1 == tree_.levels.size()) slice(c);
    return c;
  }

  // A domain from the counts of its children.
  void roll_up(TreeCounts& counts, int32_t id) const {
    const TopologyNode& node = tree_.nodes[ix(id)];
    DomainCounts c;
    int32_t inner = inner_size(ix(node.level) + 1);
    int64_t pods = 0, slices = 0;
    int64_t pods_lost = std::numeric_limits<int64_t>::max(), slices_lost = pods_lost;
    for (int32_t child : node.children) {
      const DomainCounts& k = counts[ix(child)];
      int32_t own = k.pods, own_with_leader = k.pods_with_leader;
      if (inner > 1) {
        own = own / inner * inner;
        own_with_leader = own_with_leader / inner * inner;
      }
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
    if (ix(node.level) == shape_.slice_level) slice(c);
    counts[ix(id)] = c;
  }

  ResourceList worker_list;
  std::optional<ResourceList> leader_list;

 private:
  std::vector<Need> needs(const ResourceList& list) const {
    std::vector<Need> out;
    for (const auto& [resource, amount] : list)
      if (amount > Amount()) out.push_back({resource, tree_.column_of(resource), amount.value()});
    return out;
  }

  // How many pods of this size fit into what is there without `assumed` and `also`.
  int64_t times(const std::vector<Need>& needs, int32_t leaf, const ResourceList* assumed,
                const ResourceList* also, ResourceId* limiting) const {
    int64_t most = std::numeric_limits<int32_t>::max();
    for (const Need& need : needs) {
      int64_t here = 0;
      if (need.column >= 0) {
        Amount left = amounts_[tree_.at(leaf, ix(need.column))];
        if (assumed != nullptr) left -= get(*assumed, need.resource);
        if (also != nullptr) left -= get(*also, need.resource);
        here = std::max<int64_t>(0, left.value() / need.amount);
      }
      if (here >= most) continue;
      most = here;
      if (limiting != nullptr) *limiting = need.resource;
    }
    return most;
  }

  void slice(DomainCounts& c) const {
    c.slices = c.pods / shape_.slice_size;
    c.slices_with_leader = c.pods_with_leader / shape_.slice_size;
  }

  int32_t inner_size(size_t level) const {
    for (const auto& [at, size] : shape_.layers)
      if (at == level && level > shape_.slice_level) return size;
    return 1;
  }

  const TopologyTree& tree_;
  const PlaceShape& shape_;
  const AssumedUsage& assumed_;
  const std::vector<Amount>& amounts_;
  const bool by_affinity_;
  std::vector<Need> worker_;
  std::vector<Need> leader_;
};

CountKey key_of(const Counter& counter, const PlaceShape& shape) {
  const PlaceRequest& r = *shape.workers;
  return {counter.worker_list,
          counter.leader_list,
          r.pod->tolerations,
          r.tolerations,
          r.pod->node_selector,
          r.node_selector,
          r.pod->required_affinity,
          r.pod->preferred_affinity,
          shape.slice_level,
          shape.slice_size,
          shape.layers};
}

// Level by level, from the second lowest up.
void roll_up_all(const TopologyTree& tree, const Counter& counter, TreeCounts& counts) {
  for (size_t level = tree.levels.size() - 1; level-- > 0;)
    for (int32_t node : tree.level_nodes[level]) counter.roll_up(counts, node);
}

void count_all(const TopologyTree& tree, const Counter& counter, TreeCounts& counts,
               std::vector<bool>* suits) {
  counts.assign(tree.nodes.size(), DomainCounts());
  if (suits != nullptr) suits->assign(tree.leaves.size(), false);
  for (size_t i = 0; i < tree.leaves.size(); ++i) {
    const TopologyLeaf& leaf = tree.leaves[i];
    if (!counter.suits(leaf)) continue;
    if (suits != nullptr) (*suits)[i] = true;
    if (counter.inside_required(leaf.node))
      counts[ix(leaf.node)] = counter.leaf(static_cast<int32_t>(i));
  }
  roll_up_all(tree, counter, counts);
}

// Brings the entry up to date with leaves that have changed, and the domains above them.
void follow(const TopologyTree& tree, const Counter& counter, CachedCounts& entry) {
  std::vector<int32_t> dirty;  // domains of one level
  for (size_t i = entry.seen - tree.changes_dropped; i < tree.changed.size(); ++i) {
    int32_t index = tree.changed[i];
    if (!entry.suits[ix(index)]) continue;
    const TopologyLeaf& leaf = tree.leaves[ix(index)];
    entry.counts[ix(leaf.node)] = counter.leaf(index);
    if (int32_t above = tree.nodes[ix(leaf.node)].parent; above >= 0) dirty.push_back(above);
  }
  while (!dirty.empty()) {
    std::sort(dirty.begin(), dirty.end());
    dirty.erase(std::unique(dirty.begin(), dirty.end()), dirty.end());
    std::vector<int32_t> above;
    for (int32_t node : dirty) {
      counter.roll_up(entry.counts, node);
      if (int32_t parent = tree.nodes[ix(node)].parent; parent >= 0) above.push_back(parent);
    }
    dirty = std::move(above);
  }
}

CachedCounts& entry_for(CountCache& cache, CountKey key) {
  for (CachedCounts& entry : cache.entries)
    if (entry.key == key) return entry;
  if (cache.entries.size() < CountCache::kMost) {
    cache.entries.emplace_back();
  } else {
    auto oldest = std::min_element(cache.entries.begin(), cache.entries.end(),
                                   [](const auto& a, const auto& b) { return a.used < b.used; });
    std::swap(*oldest, cache.entries.back());
    cache.entries.back().counts.clear();
  }
  cache.entries.back().key = std::move(key);
  return cache.entries.back();
}

}  // namespace

int32_t PlaceShape::unit_below(size_t at) const {
  for (const auto& [layer_level, size] : layers)
    if (layer_level >= at && layer_level > slice_level) return size;
  return 1;
}

const TreeCounts& count_domains(const World& world, TopologyTree& tree, const PlaceShape& shape,
                                const AssumedUsage& assumed, const PlaceOptions& options) {
  Counter counter(world, tree, shape, assumed, options);
  if (!tree.counts) tree.counts = std::make_unique<CountCache>();
  CountCache& cache = *tree.counts;
  if (options.empty || !assumed.empty() || shape.required_domain >= 0) {
    count_all(tree, counter, cache.scratch, nullptr);
    return cache.scratch;
  }
  // So long a history costs more than counting anew.
  if (tree.changed.size() > 2 * tree.leaves.size() + 1000) {
    tree.changes_dropped += tree.changed.size();
    tree.changed.clear();
  }
  CachedCounts& entry = entry_for(cache, key_of(counter, shape));
  uint64_t now = tree.changes_dropped + tree.changed.size();
  if (entry.counts.empty() || entry.seen < tree.changes_dropped ||
      now - entry.seen > tree.leaves.size() / 2)
    count_all(tree, counter, entry.counts, &entry.suits);
  else
    follow(tree, counter, entry);
  entry.seen = now;
  entry.used = ++cache.clock;
  return entry.counts;
}

Exclusions count_exclusions(const World& world, const TopologyTree& tree, const PlaceShape& shape,
                            const AssumedUsage& assumed, const PlaceOptions& options) {
  Counter counter(world, tree, shape, assumed, options);
  Exclusions out;
  out.nodes = static_cast<int32_t>(tree.leaves.size());
  std::vector<int32_t> by_resource;  // by id
  for (size_t i = 0; i < tree.leaves.size(); ++i) {
    const TopologyLeaf& leaf = tree.leaves[i];
    if (leaf.machine != nullptr)
      if (std::string reason = counter.filter(*leaf.machine); !reason.empty()) {
        ++out.by_reason[reason];
        continue;
      }
    if (!counter.inside_required(leaf.node)) {
      ++out.by_reason["topologyDomain"];
      continue;
    }
    ResourceId limiting;
    if (counter.leaf(static_cast<int32_t>(i), &limiting).pods > 0 || !limiting.valid()) continue;
    if (by_resource.size() <= limiting.value) by_resource.resize(limiting.value + 1);
    ++by_resource[limiting.value];
  }
  for (size_t i = 0; i < by_resource.size(); ++i)
    if (by_resource[i] > 0)
      out.by_reason["resource \"" + world.names.text(ResourceId(i)) + "\""] = by_resource[i];
  return out;
}

}  // namespace kueue::engine
