#include "engine/topology/place.h"

#include <algorithm>

#include "engine/topology/choose.h"
#include "engine/topology/counts.h"

namespace kueue::engine {
namespace {

size_t ix(int32_t i) { return static_cast<size_t>(i); }

std::optional<size_t> level_of(const TopologyTree& tree, const std::string& key) {
  auto it = std::find(tree.levels.begin(), tree.levels.end(), key);
  if (it == tree.levels.end()) return std::nullopt;
  return static_cast<size_t>(it - tree.levels.begin());
}

bool wants_slices(const TopologyRequest& t) { return t.slice_topology || !t.slice_layers.empty(); }

// Only its slices say where the pods have to stay.
bool slice_only(const TopologyRequest& t) {
  return !t.required && !t.preferred && !t.unconstrained.value_or(false) && wants_slices(t);
}

// Slice constraints, outermost first: the list of layers, or the single one.
std::vector<SliceConstraint> slice_constraints(const TopologyRequest& t) {
  if (!t.slice_layers.empty()) return t.slice_layers;
  if (t.slice_topology) return {{*t.slice_topology, t.slice_size.value_or(0)}};
  return {};
}

// Resolves levels and sizes. Returns what is wrong with the request, "" when nothing is.
std::string resolve(const TopologyTree& tree, const PlaceRequest& r, PlaceShape& shape) {
  const TopologyRequest& t = r.topology;
  size_t lowest = tree.levels.size() - 1;
  shape.required = t.required.has_value();
  shape.unconstrained = !t.required && !t.preferred;
  if (t.required || t.preferred) {
    const std::string& key = t.required ? *t.required : *t.preferred;
    auto level = level_of(tree, key);
    if (!level) return "no requested topology level: " + key;
    shape.level = *level;
  } else {
    shape.level = slice_only(t) ? 0 : lowest;
  }
  shape.slice_level = lowest;
  std::vector<SliceConstraint> constraints = slice_constraints(t);
  for (size_t i = 0; i < constraints.size(); ++i) {
    const SliceConstraint& c = constraints[i];
    auto level = level_of(tree, c.topology);
    if (!level) return "no requested topology level for slices: " + c.topology;
    if (c.size <= 0) return "slice topology requested, but slice size not provided";
    if (i == 0) {
      shape.slice_level = *level;
      shape.slice_size = c.size;
      if (shape.level > *level)
        return "podset slice topology " + c.topology + " is above the podset topology " +
               tree.levels[shape.level];
    } else {
      const auto& [above, above_size] = shape.layers.back();
      if (*level <= above)
        return "additional slice layer topology " + c.topology + " must be at a lower level than " +
               tree.levels[above];
      if (above_size % c.size != 0)
        return "additional slice layer size " + std::to_string(c.size) +
               " does not evenly divide parent layer size " + std::to_string(above_size);
    }
    shape.layers.emplace_back(*level, c.size);
  }
  return "";
}

std::shared_ptr<const TopologyAssignment> to_assignment(const TopologyTree& tree,
                                                        const std::vector<Chosen>& leaves,
                                                        bool leaders) {
  auto out = std::make_shared<TopologyAssignment>();
  if (tree.by_host)
    out->levels = {tree.levels.back()};
  else
    out->levels = tree.levels;
  for (const Chosen& c : leaves) {
    int32_t count = leaders ? c.leaders : c.pods;
    if (count <= 0) continue;
    const std::vector<std::string>& values = tree.nodes[ix(c.node)].values;
    out->domains.push_back(
        {tree.by_host ? std::vector<std::string>{values.back()} : values, count});
  }
  return out;
}

void assume(const World& world, const TopologyTree& tree, const PlaceRequest& r,
            const TopologyAssignment& assignment, AssumedUsage& assumed) {
  for (const TopologyDomain& d : assignment.domains) {
    int32_t leaf = leaf_of(tree, d.values);
    if (leaf < 0) continue;
    ResourceList& usage = assumed[tree.leaves[ix(leaf)].id];
    for (const auto& [resource, amount] : r.per_pod)
      world.names.add(usage, resource, amount * d.count);
    if (ResourceId pods = world.names.find_resource("pods"); pods.valid())
      world.names.add(usage, pods, Amount(d.count));
  }
}

// Sorted by values, equal domains added up.
std::shared_ptr<const TopologyAssignment> merged(const TopologyTree& tree,
                                                 std::vector<TopologyDomain> domains,
                                                 const std::vector<std::string>& levels) {
  auto place_of = [&](const TopologyDomain& d) -> std::vector<std::string> {
    int32_t leaf = leaf_of(tree, d.values);
    return leaf < 0 ? d.values : tree.nodes[ix(tree.leaves[ix(leaf)].node)].values;
  };
  std::sort(domains.begin(), domains.end(), [&](const TopologyDomain& a, const TopologyDomain& b) {
    return place_of(a) < place_of(b);
  });
  auto out = std::make_shared<TopologyAssignment>();
  out->levels = levels;
  for (TopologyDomain& d : domains) {
    if (!out->domains.empty() && out->domains.back().values == d.values)
      out->domains.back().count += d.count;
    else
      out->domains.push_back(std::move(d));
  }
  return out;
}

// Some domain of the earlier assignment is gone.
bool is_stale(const TopologyTree& tree, const PlaceRequest& r) {
  return std::any_of(r.previous->domains.begin(), r.previous->domains.end(),
                     [&](const TopologyDomain& d) { return leaf_of(tree, d.values) < 0; });
}

class Placer {
 public:
  Placer(World& world, const PlaceOptions& options) : world_(world), options_(options) {}
  std::vector<Placement> run(const std::vector<PlaceRequest>& requests);

 private:
  using Group = std::vector<const PlaceRequest*>;
  std::vector<Group> groups(const std::vector<PlaceRequest>& requests, FlavorId flavor) const;
  // The failure, or "" with placements added.
  std::string place_group(TopologyTree& tree, const Group& group);
  std::string replace_node(TopologyTree& tree, const PlaceRequest& r);
  std::string extend(TopologyTree& tree, const PlaceRequest& r, const PlaceRequest* leader);
  std::string search(TopologyTree& tree, PlaceShape& shape, Choice& choice);
  AssumedUsage& assumed(const TopologyTree& tree, FlavorId flavor);
  void done(const TopologyTree& tree, const PlaceRequest& r,
            std::shared_ptr<const TopologyAssignment> assignment);

  World& world_;
  const PlaceOptions& options_;
  std::map<std::string, AssumedUsage> assumed_;  // by flavor; "" = shared by all flavors on hosts
  Group blamed_;                                 // whose failure it is
  std::vector<Placement> out_;
};

AssumedUsage& Placer::assumed(const TopologyTree& tree, FlavorId flavor) {
  bool shared = tree.by_host && world_.gate(Gate::kTASHandleOverlappingFlavors);
  return assumed_[shared ? "" : world_.names.text(flavor)];
}

std::vector<Placer::Group> Placer::groups(const std::vector<PlaceRequest>& requests,
                                          FlavorId flavor) const {
  std::vector<Group> out;
  for (const PlaceRequest& r : requests) {
    if (r.flavor != flavor) continue;
    auto same = std::find_if(out.begin(), out.end(), [&](const Group& g) {
      return !r.group.empty() && g.front()->group == r.group;
    });
    if (same == out.end())
      out.push_back({&r});
    else
      same->push_back(&r);
  }
  return out;
}

std::vector<Placement> Placer::run(const std::vector<PlaceRequest>& requests) {
  std::vector<FlavorId> flavors;
  for (const PlaceRequest& r : requests)
    if (std::find(flavors.begin(), flavors.end(), r.flavor) == flavors.end())
      flavors.push_back(r.flavor);
  std::sort(flavors.begin(), flavors.end(),
            [&](FlavorId a, FlavorId b) { return world_.names.text(a) < world_.names.text(b); });
  for (FlavorId flavor : flavors) {
    TopologyTree* tree = topology_tree(world_, flavor);
    for (const Group& group : groups(requests, flavor)) {
      blamed_ = group;
      std::string failure = tree == nullptr || tree->levels.empty()
                                ? "no topology for flavor " + world_.names.text(flavor)
                                : place_group(*tree, group);
      if (failure.empty()) continue;
      for (const PlaceRequest* r : blamed_) out_.push_back({r->index, r->name, nullptr, failure});
      break;
    }
  }
  return std::move(out_);
}

void Placer::done(const TopologyTree& tree, const PlaceRequest& r,
                  std::shared_ptr<const TopologyAssignment> assignment) {
  assume(world_, tree, r, *assignment, assumed(tree, r.flavor));
  out_.push_back({r.index, r.name, std::move(assignment), ""});
}

std::string Placer::search(TopologyTree& tree, PlaceShape& shape, Choice& choice) {
  const AssumedUsage& taken = assumed(tree, shape.workers->flavor);
  choice = choose_domains(world_, tree, shape, count_domains(world_, tree, shape, taken, options_));
  if (choice.blames_nodes)
    choice.failure += exclusion_text(count_exclusions(world_, tree, shape, taken, options_));
  return choice.failure;
}

std::string Placer::place_group(TopologyTree& tree, const Group& group) {
  const PlaceRequest* workers = group.front();
  const PlaceRequest* leader = nullptr;
  if (group.size() == 2) {
    // The smaller one leads; of equal ones the second.
    bool second_leads = group[1]->count <= group[0]->count;
    leader = group[second_leads ? 1 : 0];
    workers = group[second_leads ? 0 : 1];
  }
  if (workers->keep_previous) {
    for (const PlaceRequest* r : group)
      if (r->previous) out_.push_back({r->index, r->name, r->previous, ""});
    return "";
  }
  if (!workers->replaced_node.empty()) {
    for (const PlaceRequest* r : group) {
      blamed_ = {r};
      if (std::string failure = replace_node(tree, *r); !failure.empty()) return failure;
    }
    return "";
  }
  if (workers->extend_previous && workers->previous && !is_stale(tree, *workers) &&
      (leader == nullptr || (leader->previous && !is_stale(tree, *leader))))
    return extend(tree, *workers, leader);
  PlaceShape shape;
  shape.workers = workers;
  shape.leader = leader;
  shape.count = workers->count;
  shape.leaders = leader != nullptr ? leader->count : 0;
  if (std::string wrong = resolve(tree, *workers, shape); !wrong.empty()) return wrong;
  Choice choice;
  if (std::string failure = search(tree, shape, choice); !failure.empty()) return failure;
  if (leader != nullptr) done(tree, *leader, to_assignment(tree, choice.leaves, true));
  done(tree, *workers, to_assignment(tree, choice.leaves, false));
  return "";
}

// Moves the pods of one node; everything else stays (13.10).
std::string Placer::replace_node(TopologyTree& tree, const PlaceRequest& r) {
  if (!r.previous) return "";
  std::vector<TopologyDomain> kept;
  int32_t missing = 0;
  for (const TopologyDomain& d : r.previous->domains) {
    if (d.values.back() == r.replaced_node) {
      missing += d.count;
      continue;
    }
    if (leaf_of(tree, d.values) < 0) {
      return "Cannot replace the node, because the existing topologyAssignment is invalid, as it "
             "contains the stale "
             "domain " +
             d.values.back();
    }
    kept.push_back(d);
  }
  if (missing == 0) {
    out_.push_back({r.index, r.name, r.previous, ""});
    return "";
  }
  PlaceShape shape;
  shape.workers = &r;
  shape.count = missing;
  if (std::string wrong = resolve(tree, r, shape); !wrong.empty()) return wrong;
  // Pods by domain at a level, over what is kept.
  auto at_level = [&](const TopologyDomain& d, size_t level) {
    int32_t node = tree.leaves[ix(leaf_of(tree, d.values))].node;
    while (static_cast<size_t>(tree.nodes[ix(node)].level) > level)
      node = tree.nodes[ix(node)].parent;
    return node;
  };
  if (shape.required && !kept.empty()) shape.required_domain = at_level(kept.front(), shape.level);
  int32_t size = 1;
  std::vector<std::pair<size_t, int32_t>> layers = shape.layers;
  for (size_t i = layers.size(); i-- > 0;) {
    const auto& [level, layer_size] = layers[i];
    std::map<int32_t, int32_t> held;
    for (const TopologyDomain& d : kept) held[at_level(d, level)] += d.count;
    auto incomplete = std::find_if(held.begin(), held.end(),
                                   [&](const auto& e) { return e.second % layer_size != 0; });
    if (incomplete == held.end()) continue;
    shape.required_domain = incomplete->first;
    break;
  }
  shape.layers.clear();
  size_t lowest = tree.levels.size() - 1;
  shape.slice_level = lowest;
  for (size_t i = layers.size(); i-- > 0;) {
    if (missing % layers[i].second != 0) continue;
    size = layers[i].second;
    shape.slice_level = layers[i].first;
    shape.layers = {layers[i]};
    break;
  }
  // Asked for by its slices alone, and none is whole: nothing says on which level to stay.
  if (shape.layers.empty() && slice_only(r.topology)) return "topology level not specified";
  shape.slice_size = size;
  if (shape.level > shape.slice_level) shape.level = shape.slice_level;
  Choice choice;
  if (std::string failure = search(tree, shape, choice); !failure.empty()) return failure;
  std::shared_ptr<const TopologyAssignment> found = to_assignment(tree, choice.leaves, false);
  kept.insert(kept.end(), found->domains.begin(), found->domains.end());
  assume(world_, tree, r, *found, assumed(tree, r.flavor));
  out_.push_back({r.index, r.name, merged(tree, std::move(kept), r.previous->levels), ""});
  return "";
}

// An elastic job that grew or shrank keeps what it has (13.11).
std::string Placer::extend(TopologyTree& tree, const PlaceRequest& r, const PlaceRequest* leader) {
  int32_t held = 0;
  for (const TopologyDomain& d : r.previous->domains) held += d.count;
  PlaceShape shape;
  shape.workers = &r;
  shape.count = r.count;
  if (std::string wrong = resolve(tree, r, shape); !wrong.empty()) return wrong;
  std::vector<TopologyDomain> domains = r.previous->domains;
  if (leader != nullptr) done(tree, *leader, leader->previous);
  if (held >= r.count) {
    for (size_t i = domains.size(); i-- > 0 && held > r.count;) {
      int32_t cut = std::min(domains[i].count, held - r.count);
      domains[i].count -= cut;
      held -= cut;
    }
    std::erase_if(domains, [](const TopologyDomain& d) { return d.count == 0; });
    done(tree, r, merged(tree, std::move(domains), r.previous->levels));
    return "";
  }
  shape.count = r.count - held;
  auto kept = std::make_shared<TopologyAssignment>(TopologyAssignment{r.previous->levels, domains});
  assume(world_, tree, r, *kept, assumed(tree, r.flavor));
  Choice choice;
  if (std::string failure = search(tree, shape, choice); !failure.empty()) return failure;
  std::shared_ptr<const TopologyAssignment> more = to_assignment(tree, choice.leaves, false);
  assume(world_, tree, r, *more, assumed(tree, r.flavor));
  domains.insert(domains.end(), more->domains.begin(), more->domains.end());
  out_.push_back({r.index, r.name, merged(tree, std::move(domains), more->levels), ""});
  return "";
}

}  // namespace

std::vector<Placement> find_places(World& world, const std::vector<PlaceRequest>& requests,
                                   const PlaceOptions& options) {
  return Placer(world, options).run(requests);
}

const Placement* first_failure(const std::vector<Placement>& placements) {
  const Placement* first = nullptr;
  for (const Placement& p : placements)
    if (!p.failure.empty() && (first == nullptr || p.name < first->name)) first = &p;
  return first;
}

}  // namespace kueue::engine
