#include "engine/topology/choose.h"

#include <algorithm>

#include "engine/topology/balanced.h"

namespace kueue::engine {
namespace {

size_t ix(int32_t i) { return static_cast<size_t>(i); }

class Chooser {
 public:
  Chooser(const World& world, const TopologyTree& tree, const PlaceShape& shape,
          const TreeCounts& counts)
      : tree_(tree),
        shape_(shape),
        counts_(counts),
        least_free_(shape.unconstrained && world.gate(Gate::kTASProfileMixed)),
        by_affinity_(world.gate(Gate::kTASRespectNodeAffinityPreferred)),
        balanced_(world.gate(Gate::kTASBalancedPlacement) && !shape.required &&
                  !shape.unconstrained && shape.required_domain < 0) {}

  Choice run();

 private:
  // Amounts of one domain in the unit at hand.
  struct Units {
    int32_t plain = 0;
    int32_t with_leader = 0;
  };
  Units units(int32_t node, int32_t unit) const {
    const DomainCounts& c = counts_[ix(node)];
    if (unit == 0) return {c.slices, c.slices_with_leader};  // whole slices
    return {c.pods / unit, c.pods_with_leader / unit};
  }
  bool inside(int32_t node, int32_t domain) const {
    while (node >= 0 && node != domain) node = tree_.nodes[ix(node)].parent;
    return node >= 0;
  }
  int64_t affinity(int32_t node) const { return counts_[ix(node)].affinity; }
  int32_t leader(int32_t node) const { return counts_[ix(node)].leader; }

  bool before(int32_t a, int32_t b, bool with_leader) const;
  // The same below the chosen level: what the domain holds weighs more than what the pods prefer.
  bool before_below(int32_t a, int32_t b, bool with_leader) const;
  std::vector<int32_t> sorted(std::vector<int32_t> nodes, bool with_leader) const;
  // Of the first ones in the list that have `need`, the one with the least; the first among equals.
  size_t best_fit(const std::vector<int32_t>& nodes, int32_t need, int32_t unit,
                  bool with_leader) const;
  // Spreads `need` units and `leaders` over the domains; empty when they do not hold it. `found` =
  // what they would hold.
  std::vector<Chosen> spread(const std::vector<int32_t>& nodes, int32_t need, int32_t leaders,
                             int32_t unit, int64_t* found) const;
  // On `level` or above it: the domains that hold everything. False = failure_ says why.
  bool find_level(size_t level);
  bool single_domain(const std::vector<int32_t>& nodes, int32_t need);
  bool descend();
  // An even spread, where it is wanted and there is one.
  bool balance();
  // Why it does not fit; `best` is the one domain that came closest, -1 = all together were tried.
  std::string not_fit(int64_t fit, int32_t best);

  const TopologyTree& tree_;
  const PlaceShape& shape_;
  const TreeCounts& counts_;
  bool least_free_;
  bool by_affinity_;
  bool balanced_;  // an even spread is wanted
  size_t level_ = 0;
  int32_t first_ = -1;
  std::vector<Chosen> current_;
  bool below_ = false;        // on the way down from the chosen level
  bool keep_shares_ = false;  // domains above the slices have settled shares
  std::string failure_;
  bool blames_nodes_ = false;
};

// Order in which domains are taken.
bool Chooser::before(int32_t a, int32_t b, bool with_leader) const {
  const DomainCounts& c = counts_[ix(a)];
  const DomainCounts& d = counts_[ix(b)];
  if (with_leader && c.leader != d.leader) return c.leader > d.leader;
  if (by_affinity_ && c.affinity != d.affinity) return c.affinity > d.affinity;
  // By whole slices on every level: below the slice level all are equal and the fuller domain comes
  // first.
  int32_t p = with_leader ? c.slices_with_leader : c.slices,
          q = with_leader ? d.slices_with_leader : d.slices;
  if (p != q) return least_free_ ? p < q : p > q;
  int32_t r = with_leader ? c.pods_with_leader : c.pods,
          s = with_leader ? d.pods_with_leader : d.pods;
  if (r != s) return r < s;
  return tree_.nodes[ix(a)].rank < tree_.nodes[ix(b)].rank;
}

bool Chooser::before_below(int32_t a, int32_t b, bool with_leader) const {
  const DomainCounts& c = counts_[ix(a)];
  const DomainCounts& d = counts_[ix(b)];
  if (with_leader && c.leader != d.leader) return c.leader > d.leader;
  if (c.slices != d.slices) return least_free_ ? c.slices < d.slices : c.slices > d.slices;
  if (by_affinity_ && c.affinity != d.affinity) return c.affinity > d.affinity;
  if (c.pods != d.pods) return c.pods < d.pods;
  return tree_.nodes[ix(a)].rank < tree_.nodes[ix(b)].rank;
}

std::vector<int32_t> Chooser::sorted(std::vector<int32_t> nodes, bool with_leader) const {
  std::sort(nodes.begin(), nodes.end(), [&](int32_t a, int32_t b) {
    return below_ ? before_below(a, b, with_leader) : before(a, b, with_leader);
  });
  return nodes;
}

size_t Chooser::best_fit(const std::vector<int32_t>& nodes, int32_t need, int32_t unit,
                         bool with_leader) const {
  auto amount = [&](size_t i) {
    Units u = units(nodes[i], unit);
    return with_leader ? u.with_leader : u.plain;
  };
  size_t best = 0;
  // The most preferred ones go first, even when they do not hold it all.
  if (by_affinity_ && below_)
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (with_leader && leader(nodes[i]) < leader(nodes[0])) break;
      if (amount(i) > 0 && affinity(nodes[i]) > affinity(nodes[best])) best = i;
    }
  size_t top = best;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i == top || (with_leader && leader(nodes[i]) < leader(nodes[0]))) continue;
    if (by_affinity_ && affinity(nodes[i]) != affinity(nodes[top])) continue;
    if (amount(i) >= need && amount(i) < amount(best)) best = i;
  }
  return best;
}

std::vector<Chosen> Chooser::spread(const std::vector<int32_t>& nodes, int32_t need,
                                    int32_t leaders, int32_t unit, int64_t* found) const {
  std::vector<Chosen> out;
  std::vector<int32_t> left = sorted(nodes, leaders > 0);
  int32_t per_unit = unit == 0 ? shape_.slice_size : unit;
  int32_t remaining = need;
  if (leaders > 0) {
    int64_t total = 0;
    for (int32_t n : left) total += units(n, unit).plain;
    size_t pick = left.size();
    for (size_t i = 0; i < left.size() && leader(left[i]) >= leaders; ++i) {
      Units u = units(left[i], unit);
      if (total - u.plain + u.with_leader < need) continue;
      pick = i;
      break;
    }
    if (pick == left.size()) {
      // It cannot work; what comes of the first that could lead says how far it is from working.
      if (left.empty() || leader(left[0]) < leaders) {
        if (found != nullptr) *found = 0;
        return {};
      }
      pick = 0;
    }
    if (!least_free_ && units(left[pick], unit).with_leader >= remaining) {
      std::vector<int32_t> tail(left.begin() + static_cast<std::ptrdiff_t>(pick), left.end());
      pick += best_fit(tail, remaining, unit, true);
    }
    int32_t take = std::min(remaining, units(left[pick], unit).with_leader);
    out.push_back({left[pick], take * per_unit, leaders});
    remaining -= take;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(pick));
    left = sorted(left, false);
  }
  for (size_t i = 0; remaining > 0 && i < left.size(); ++i) {
    if (!least_free_ && units(left[i], unit).plain >= remaining) {
      auto here = left.begin() + static_cast<std::ptrdiff_t>(i);
      std::vector<int32_t> tail(here, left.end());
      auto best = here + static_cast<std::ptrdiff_t>(best_fit(tail, remaining, unit, false));
      std::rotate(here, best, best + 1);
    }
    int32_t take = std::min(remaining, units(left[i], unit).plain);
    if (take == 0) continue;
    out.push_back({left[i], take * per_unit, 0});
    remaining -= take;
  }
  if (found != nullptr) *found = need - remaining;
  if (remaining > 0) return {};
  return out;
}

std::string Chooser::not_fit(int64_t fit, int32_t best) {
  blames_nodes_ = true;
  std::string out = "topology \"" + tree_.topology + "\"";
  int32_t total = shape_.count / shape_.slice_size;
  if (shape_.layers.size() > 1) {
    out += " doesn't allow to fit; ";
    for (size_t i = 0; i < shape_.layers.size(); ++i) {
      const auto& [level, size] = shape_.layers[i];
      int64_t slices = 0;
      for (int32_t node : tree_.level_nodes[level])
        if (best < 0 || inside(node, best)) slices += counts_[ix(node)].pods / size;
      out += (i == 0 ? "" : "; ") + std::to_string(slices) + "/" +
             std::to_string(shape_.count / size) + " slice(s) fit on level " + tree_.levels[level];
    }
  } else {
    std::string unit = shape_.slice_size > 1 ? " slice(s)" : " pod(s)";
    if (fit <= 0)
      out += " doesn't allow to fit any of " + std::to_string(total) + unit;
    else
      out +=
          " allows to fit only " + std::to_string(fit) + " out of " + std::to_string(total) + unit;
  }
  return out;
}

// One domain that holds everything. False = there is none; `first_` is the one that comes first.
bool Chooser::single_domain(const std::vector<int32_t>& nodes, int32_t need) {
  auto fits = [&](int32_t node) {
    return leader(node) >= shape_.leaders && units(node, 0).with_leader >= need;
  };
  auto order = [&](int32_t a, int32_t b) { return before(a, b, true); };
  first_ = *std::min_element(nodes.begin(), nodes.end(), order);
  int32_t top = first_;
  if (least_free_ || (by_affinity_ && shape_.required)) {
    // The first one that fits.
    bool any = false;
    for (int32_t node : nodes)
      if (fits(node) && (!any || order(node, top))) {
        top = node;
        any = true;
      }
    if (!any) return false;
    if (least_free_) {
      current_ = {{top, need * shape_.slice_size, shape_.leaders}};
      return true;
    }
  } else if (!fits(top)) {
    return false;
  }
  // Of those as good as the top one, the one that has the least and still enough.
  int32_t best = top;
  for (int32_t node : nodes) {
    if (leader(node) != leader(top) || order(node, top)) continue;
    if (by_affinity_ && affinity(node) != affinity(top)) continue;
    int32_t have = units(node, 0).with_leader, least = units(best, 0).with_leader;
    if (have >= need && (have < least || (have == least && order(node, best)))) best = node;
  }
  current_ = {{best, need * shape_.slice_size, shape_.leaders}};
  return true;
}

bool Chooser::find_level(size_t level) {
  const std::vector<int32_t>& all = tree_.level_nodes[level];
  if (all.empty()) {
    failure_ = "no topology domains at level: " + tree_.levels[level];
    return false;
  }
  int32_t need = shape_.count / shape_.slice_size;
  level_ = level;
  if (single_domain(all, need)) return true;
  if (shape_.required) {
    int32_t best = least_free_ ? sorted(all, true).back() : first_;
    failure_ = not_fit(units(best, 0).plain, best);
    return false;
  }
  if (level > 0 && !shape_.unconstrained) return find_level(level - 1);
  int64_t found = 0;
  current_ = spread(all, need, shape_.leaders, 0, &found);
  if (!current_.empty()) return true;
  failure_ = not_fit(found, -1);
  return false;
}

// From the level of the choice down to the lowest.
bool Chooser::descend() {
  below_ = true;
  for (size_t level = level_; level + 1 < tree_.levels.size(); ++level) {
    std::vector<Chosen> next;
    if (level < shape_.slice_level && keep_shares_) {
      for (const Chosen& c : current_) {
        std::vector<Chosen> part = spread(tree_.nodes[ix(c.node)].children,
                                          c.pods / shape_.slice_size, c.leaders, 0, nullptr);
        if (part.empty()) return false;
        next.insert(next.end(), part.begin(), part.end());
      }
    } else if (level < shape_.slice_level) {
      std::vector<int32_t> below;
      for (const Chosen& c : current_)
        below.insert(below.end(), tree_.nodes[ix(c.node)].children.begin(),
                     tree_.nodes[ix(c.node)].children.end());
      next = spread(below, shape_.count / shape_.slice_size, shape_.leaders, 0, nullptr);
    } else {
      int32_t unit = shape_.unit_below(level + 1);
      for (const Chosen& c : current_) {
        std::vector<Chosen> part =
            spread(tree_.nodes[ix(c.node)].children, c.pods / unit, c.leaders, unit, nullptr);
        if (part.empty() && (c.pods > 0 || c.leaders > 0)) return false;
        next.insert(next.end(), part.begin(), part.end());
      }
    }
    if (next.empty()) return false;
    current_ = std::move(next);
  }
  return true;
}

bool Chooser::balance() {
  if (!balanced_) return false;
  Balanced found = balanced_domains(tree_, shape_, counts_);
  if (found.domains.empty()) return false;
  current_ = std::move(found.domains);
  level_ = found.level;
  keep_shares_ = true;
  if (descend()) return true;
  keep_shares_ = false;
  below_ = false;
  return false;
}

Choice Chooser::run() {
  Choice out;
  bool balanced = balance();
  if (!balanced && !find_level(shape_.level)) {
    out.failure = std::move(failure_);
    out.blames_nodes = blames_nodes_;
    return out;
  }
  // Not even one slice: there is nothing to place.
  if (shape_.count < shape_.slice_size && shape_.leaders == 0) return out;
  if (!balanced && !descend()) {
    out.failure = not_fit(0, -1);
    out.blames_nodes = true;
    return out;
  }
  std::sort(current_.begin(), current_.end(), [&](const Chosen& a, const Chosen& b) {
    return tree_.nodes[ix(a.node)].rank < tree_.nodes[ix(b.node)].rank;
  });
  out.leaves = std::move(current_);
  return out;
}

}  // namespace

std::string exclusion_text(const Exclusions& exclusions) {
  if (exclusions.by_reason.empty()) return "";
  std::string out = ". Total nodes: " + std::to_string(exclusions.nodes) + "; excluded: ";
  bool first = true;
  for (const auto& [reason, count] : exclusions.by_reason) {
    out += (first ? "" : ", ") + reason + ": " + std::to_string(count);
    first = false;
  }
  return out;
}

Choice choose_domains(const World& world, const TopologyTree& tree, const PlaceShape& shape,
                      const TreeCounts& counts) {
  return Chooser(world, tree, shape, counts).run();
}

}  // namespace kueue::engine
