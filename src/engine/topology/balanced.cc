#include "engine/topology/balanced.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

namespace kueue::engine {
namespace {

size_t ix(int32_t i) { return static_cast<size_t>(i); }

// Beyond this many steps no exact search for the smallest sufficient set.
constexpr int64_t kSearchLimit = 20'000'000;

// What is left of a domain after small ones below it were given up.
struct Room {
  int32_t slices = 0;
  int32_t with_leader = 0;
  int32_t leader = 0;
  double evenness = 0;  // entropy of the slices over its children
};

// How a greedy choice of the fullest domains comes out.
struct Greedy {
  bool fits = false;
  int32_t domains = 0;
  int32_t threshold = 0;  // an even share, or what the last ones hold if that is less
};

class Balancer {
 public:
  Balancer(const TopologyTree& tree, const PlaceShape& shape, const TreeCounts& counts)
      : tree_(tree),
        shape_(shape),
        counts_(counts),
        need_(shape.count / shape.slice_size),
        // Shares are equal one level below the requested one, but not within slices.
        low_(std::min(shape.slice_level, shape.level + 1)) {}

  Balanced run();

 private:
  using Rooms = std::map<int32_t, Room>;
  struct Plan {
    std::vector<int32_t> siblings;
    Rooms rooms;
    int32_t threshold = 0;
    int32_t domains = 0;
  };

  Plan plan_for(const std::vector<int32_t>& siblings) const;
  Rooms rooms_above(const std::vector<int32_t>& siblings, int32_t threshold) const;
  Room room(int32_t node, int32_t threshold, Rooms& out) const;
  std::vector<int32_t> below(const std::vector<int32_t>& nodes) const;
  Greedy greedy(const std::vector<int32_t>& nodes, const Rooms& rooms) const;
  std::vector<int32_t> ordered(std::vector<int32_t> nodes, const Rooms& rooms, bool leader) const;
  // The fewest domains with the least room to spare; the first is to hold the leader. Empty = none.
  std::vector<int32_t> smallest_set(std::vector<int32_t> nodes, const Rooms& rooms,
                                    int32_t count) const;
  std::vector<Chosen> shares(const std::vector<int32_t>& nodes, const Rooms& rooms,
                             int32_t threshold) const;
  bool wants_leader() const { return shape_.leaders > 0; }

  const TopologyTree& tree_;
  const PlaceShape& shape_;
  const TreeCounts& counts_;
  int32_t need_;
  size_t low_;
};

Room Balancer::room(int32_t node, int32_t threshold, Rooms& out) const {
  Room r;
  const TopologyNode& n = tree_.nodes[ix(node)];
  if (static_cast<size_t>(n.level) == low_) {
    const DomainCounts& c = counts_[ix(node)];
    if (c.slices >= threshold) r = {c.slices, c.slices_with_leader, c.leader, 0};
    if (wants_leader() && r.with_leader < threshold) r.leader = 0;
  } else {
    int32_t lost = INT32_MAX;
    for (int32_t child : n.children) {
      Room k = room(child, threshold, out);
      r.slices += k.slices;
      r.leader = std::max(r.leader, k.leader);
      if (!wants_leader() || k.leader > 0) lost = std::min(lost, k.slices - k.with_leader);
    }
    r.with_leader = lost == INT32_MAX ? 0 : r.slices - lost;
    for (int32_t child : n.children)
      if (int32_t part = out[child].slices; part > 0 && r.slices > 0) {
        double p = static_cast<double>(part) / r.slices;
        r.evenness -= p * std::log2(p);
      }
  }
  out[node] = r;
  return r;
}

Balancer::Rooms Balancer::rooms_above(const std::vector<int32_t>& siblings,
                                      int32_t threshold) const {
  Rooms out;
  for (int32_t node : siblings) room(node, threshold, out);
  return out;
}

std::vector<int32_t> Balancer::below(const std::vector<int32_t>& nodes) const {
  std::vector<int32_t> out = nodes;
  for (size_t level = shape_.level; level < low_; ++level) {
    std::vector<int32_t> next;
    for (int32_t node : out)
      next.insert(next.end(), tree_.nodes[ix(node)].children.begin(),
                  tree_.nodes[ix(node)].children.end());
    out = std::move(next);
  }
  return out;
}

std::vector<int32_t> Balancer::ordered(std::vector<int32_t> nodes, const Rooms& rooms,
                                       bool leader) const {
  std::sort(nodes.begin(), nodes.end(), [&](int32_t a, int32_t b) {
    const Room& x = rooms.at(a);
    const Room& y = rooms.at(b);
    if (leader && x.leader != y.leader) return x.leader > y.leader;
    int32_t p = leader ? x.with_leader : x.slices, q = leader ? y.with_leader : y.slices;
    if (p != q) return p > q;
    if (x.slices != y.slices) return x.slices > y.slices;
    if (x.evenness != y.evenness) return x.evenness > y.evenness;
    return tree_.nodes[ix(a)].values < tree_.nodes[ix(b)].values;
  });
  return nodes;
}

Greedy Balancer::greedy(const std::vector<int32_t>& nodes, const Rooms& rooms) const {
  Greedy out;
  int32_t remaining = need_, smallest = INT32_MAX;
  std::vector<int32_t> left = nodes;
  if (wants_leader()) {
    left = ordered(std::move(left), rooms, true);
    if (left.empty() || rooms.at(left.front()).leader < shape_.leaders) return out;
    smallest = rooms.at(left.front()).with_leader;
    remaining -= smallest;
    ++out.domains;
    left.erase(left.begin());
  }
  int32_t last = INT32_MAX;
  for (int32_t node : ordered(std::move(left), rooms, false)) {
    if (remaining <= 0 || rooms.at(node).slices == 0) break;
    last = rooms.at(node).slices;
    remaining -= last;
    ++out.domains;
  }
  out.fits = remaining <= 0 && out.domains > 0;
  if (out.fits) out.threshold = std::min({need_ / out.domains, smallest, last});
  return out;
}

Balancer::Plan Balancer::plan_for(const std::vector<int32_t>& siblings) const {
  Plan out;
  out.siblings = siblings;
  std::vector<int32_t> low = below(siblings);
  Rooms all = rooms_above(siblings, 0);
  Greedy first = greedy(low, all);
  if (!first.fits || first.threshold <= 0) return out;
  int32_t threshold = first.threshold;
  // A second try leaves the leader a place.
  for (int attempt = 0; attempt < 2; ++attempt) {
    Rooms rooms = rooms_above(siblings, threshold);
    Greedy now = greedy(siblings, rooms);
    if (now.fits) {
      out.rooms = std::move(rooms);
      out.threshold = threshold;
      out.domains = now.domains;
      return out;
    }
    if (!wants_leader()) return out;
    int32_t most = 0;
    for (int32_t node : low)
      if (all.at(node).leader >= shape_.leaders) most = std::max(most, all.at(node).with_leader);
    if (most >= threshold || most <= 0) return out;
    threshold = most;
  }
  return out;
}

std::vector<int32_t> Balancer::smallest_set(std::vector<int32_t> nodes, const Rooms& rooms,
                                            int32_t count) const {
  std::erase_if(nodes, [&](int32_t n) { return rooms.at(n).slices == 0; });
  nodes = ordered(std::move(nodes), rooms, wants_leader());
  int64_t steps =
      static_cast<int64_t>(nodes.size()) * count * (need_ + 1) * (wants_leader() ? 2 : 1);
  if (steps > kSearchLimit) {
    if (nodes.size() > static_cast<size_t>(count)) nodes.resize(static_cast<size_t>(count));
    return nodes;
  }
  // Ways to hold `slices` with so many domains, by what was added last. Sums beyond the need are
  // kept only as results.
  struct Way {
    int32_t node = -1;
    bool leads = false;
    int32_t room = 0;  // in all, leader or not: of equal ways the one with less
    const Way* before = nullptr;
  };
  std::vector<std::unique_ptr<Way>> ways;
  using Table = std::map<int32_t, const Way*>;  // by slices
  std::vector<Table> tables(ix(count + 1) * 2);
  auto table = [&](int32_t used, bool led) -> Table& {
    return tables[ix(used) * 2 + (led ? 1 : 0)];
  };
  table(0, false)[0] = nullptr;
  const Way* best = nullptr;
  int32_t best_sum = INT32_MAX;
  for (int32_t node : nodes) {
    const Room& r = rooms.at(node);
    for (int32_t used = count; used-- > 0;)
      for (bool led : {true, false}) {
        if (led && !wants_leader()) continue;
        for (bool leads : {true, false}) {
          if (leads && (led || !wants_leader() || r.leader < shape_.leaders)) continue;
          for (const auto& [sum, way] : Table(table(used, led))) {
            int32_t total = sum + (leads ? r.with_leader : r.slices);
            int32_t all = (way == nullptr ? 0 : way->room) + r.slices;
            bool done = total >= need_;
            if (done) {
              if (used + 1 != count || led + leads != wants_leader()) continue;
              if (best != nullptr && std::pair(total, all) >= std::pair(best_sum, best->room))
                continue;
            } else {
              auto known = table(used + 1, led || leads).find(total);
              if (known != table(used + 1, led || leads).end() && known->second->room <= all)
                continue;
            }
            ways.push_back(std::make_unique<Way>(Way{node, leads, all, way}));
            if (done) {
              best = ways.back().get();
              best_sum = total;
            } else {
              table(used + 1, led || leads)[total] = ways.back().get();
            }
          }
        }
      }
  }
  std::vector<int32_t> out;
  for (const Way* way = best; way != nullptr; way = way->before)
    out.insert(way->leads ? out.begin() : out.end(), way->node);
  if (!out.empty())
    std::sort(out.begin() + (wants_leader() ? 1 : 0), out.end(), [&](int32_t a, int32_t b) {
      if (rooms.at(a).slices != rooms.at(b).slices) return rooms.at(a).slices > rooms.at(b).slices;
      return tree_.nodes[ix(a)].values < tree_.nodes[ix(b)].values;
    });
  return out;
}

std::vector<Chosen> Balancer::shares(const std::vector<int32_t>& nodes, const Rooms& rooms,
                                     int32_t threshold) const {
  std::vector<Chosen> out;
  int32_t remaining = need_;
  auto room_of = [&](size_t i) {
    const Room& r = rooms.at(nodes[i]);
    return i == 0 && wants_leader() ? r.with_leader : r.slices;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    int32_t take = std::min({threshold, remaining, room_of(i)});
    out.push_back({nodes[i], take, i == 0 ? shape_.leaders : 0});
    remaining -= take;
  }
  for (size_t i = 0; i < nodes.size() && remaining > 0; ++i) {
    int32_t more = std::min(remaining, room_of(i) - out[i].pods);
    out[i].pods += more;
    remaining -= more;
  }
  if (remaining > 0) return {};
  std::erase_if(out, [](const Chosen& c) { return c.pods == 0 && c.leaders == 0; });
  for (Chosen& c : out) c.pods *= shape_.slice_size;
  return out;
}

Balanced Balancer::run() {
  Balanced out;
  out.level = low_;
  std::map<int32_t, std::vector<int32_t>> groups;  // by parent
  std::vector<int32_t> parents;                    // in the order of values
  for (int32_t node : tree_.level_nodes[shape_.level]) {
    std::vector<int32_t>& group = groups[tree_.nodes[ix(node)].parent];
    if (group.empty()) parents.push_back(tree_.nodes[ix(node)].parent);
    group.push_back(node);
  }
  Plan best;
  for (int32_t parent : parents) {
    Plan plan = plan_for(groups[parent]);
    if (plan.threshold > best.threshold ||
        (plan.threshold > 0 && plan.threshold == best.threshold && plan.domains < best.domains))
      best = std::move(plan);
  }
  if (best.threshold <= 0) return out;
  std::vector<int32_t> chosen = smallest_set(best.siblings, best.rooms, best.domains);
  if (low_ > shape_.level && !chosen.empty()) {
    std::vector<int32_t> low = below(chosen);
    Greedy fit = greedy(low, best.rooms);
    chosen = fit.fits ? smallest_set(low, best.rooms, fit.domains) : std::vector<int32_t>();
  }
  if (!chosen.empty()) out.domains = shares(chosen, best.rooms, best.threshold);
  return out;
}

}  // namespace

Balanced balanced_domains(const TopologyTree& tree, const PlaceShape& shape,
                          const TreeCounts& counts) {
  if (shape.count < shape.slice_size || shape.leaders > 1) return {};
  // A single slice of several pods has nothing to be evened out.
  if (shape.slice_size > 1 && shape.count < 2 * shape.slice_size) return {};
  return Balancer(tree, shape, counts).run();
}

}  // namespace kueue::engine
