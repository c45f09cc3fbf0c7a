// In which order the entries of a cycle are processed (behaviour.md 10). Both orders are total:
// ties end in namespace and name, trees go by the name of their root.
#include <algorithm>

#include "engine/cycle/entry.h"
#include "engine/fairshare/share.h"

namespace kueue::engine {
namespace {

// -1 = a first, 1 = b first, 0 = the rule does not say.
int by_time_and_name(const World& world, const Entry& a, const Entry& b) {
  const Workload& x = world.object(a.id());
  const Workload& y = world.object(b.id());
  Instant s = queue_timestamp(world, x), t = queue_timestamp(world, y);
  if (s != t) return s < t ? -1 : 1;
  if (x.key != y.key) return x.key < y.key ? -1 : 1;
  return 0;
}

int by_priority(const World& world, const Entry& a, const Entry& b) {
  if (!world.gate(Gate::kPrioritySortingWithinCohort)) return 0;
  int64_t x = world.object(a.id()).effective_priority(),
          y = world.object(b.id()).effective_priority();
  return x == y ? 0 : (x > y ? -1 : 1);
}

int by_preemptor(const World& world, const Entry& a, const Entry& b) {
  if (!world.gate(Gate::kPrioritizePreemptorWorkloads) ||
      a.head.is_preemptor == b.head.is_preemptor)
    return 0;
  return a.head.is_preemptor ? -1 : 1;
}

bool classical_before(const World& world, const Entry& a, const Entry& b) {
  bool x = world.record(a.id()).reservation != nullptr,
       y = world.record(b.id()).reservation != nullptr;
  if (x != y) return x;
  if (int c = by_preemptor(world, a, b); c != 0) return c < 0;
  if (a.assignment.borrow != b.assignment.borrow) return a.assignment.borrow < b.assignment.borrow;
  if (int c = by_priority(world, a, b); c != 0) return c < 0;
  return by_time_and_name(world, a, b) < 0;
}

// One contender on its way up the tree: its shares below each ancestor with its usage added.
struct Contender {
  Entry* entry = nullptr;
  std::vector<Share>
      shares;  // [0] = the queue below its parent, [1] = that cohort below its own, …
  std::vector<bool> borrowing;  // the same nodes, on the flavors and resources that it asks for
};

Contender contend(Cycle& cycle, Entry* entry) {
  World& world = cycle.world();
  const Forest& forest = world.forest;
  Contender out{entry, {}, {}};
  Charge charge = charge_of(world, entry->id(), entry->assignment);
  Overlay::Mark mark = cycle.overlay.mark();
  cycle.overlay.charge(entry->queue, {charge.quota, {}});
  for (QuotaId node = world.queues[entry->queue].node; forest.has_parent(node);
       node = forest.at(node).parent) {
    out.shares.push_back(share_of(world.names, forest, node));
    out.borrowing.push_back(
        std::any_of(charge.quota.begin(), charge.quota.end(),
                    [&](const auto& e) { return forest.borrowing_with(node, e.first, Amount()); }));
  }
  cycle.overlay.rollback(mark);
  return out;
}

// `level_a`: how far below the cohort the contender's path node is counted from its queue.
bool fair_before(const World& world, const Contender& a, size_t level_a, const Contender& b,
                 size_t level_b) {
  if (int c = by_preemptor(world, *a.entry, *b.entry); c != 0) return c < 0;
  if (world.gate(Gate::kFairSharingPrioritizeNonBorrowing) &&
      a.borrowing[level_a] != b.borrowing[level_b])
    return b.borrowing[level_b];
  if (int c = compare(a.shares[level_a], b.shares[level_b]); c != 0) return c < 0;
  if (int c = by_priority(world, *a.entry, *b.entry); c != 0) return c < 0;
  return by_time_and_name(world, *a.entry, *b.entry) < 0;
}

}  // namespace

EntryOrder::EntryOrder(Cycle& cycle, std::vector<Entry>& entries) : cycle_(cycle) {
  for (Entry& entry : entries) left_.push_back(&entry);
  World& world = cycle.world();
  if (!world.settings.fair_sharing) {
    std::sort(left_.begin(), left_.end(),
              [&](const Entry* a, const Entry* b) { return classical_before(world, *a, *b); });
    return;
  }
  std::sort(left_.begin(), left_.end(), [&](const Entry* a, const Entry* b) {
    const QuotaNode& x = world.forest.at(world.forest.at(world.queues[a->queue].node).root);
    const QuotaNode& y = world.forest.at(world.forest.at(world.queues[b->queue].node).root);
    if (x.name != y.name) return x.name < y.name;
    return x.queue != y.queue ? x.queue < y.queue : classical_before(world, *a, *b);
  });
}

Entry* EntryOrder::next() {
  if (cycle_.world().settings.fair_sharing) return next_fair();
  return position_ < left_.size() ? left_[position_++] : nullptr;
}

Entry* EntryOrder::next_fair() {
  if (left_.empty()) return nullptr;
  World& world = cycle_.world();
  const Forest& forest = world.forest;
  QuotaId root = forest.at(world.queues[left_.front()->queue].node).root;
  // The winner of each node, level by level: contenders meet at the cohort where their paths join.
  struct Standing {
    Contender contender;
    size_t level = 0;  // of contender.shares
  };
  std::vector<Standing> field;
  for (Entry* entry : left_) {
    if (forest.at(world.queues[entry->queue].node).root != root) break;
    field.push_back({contend(cycle_, entry), 0});
  }
  auto path_node = [&](const Standing& s, QuotaId below) {
    QuotaId node = world.queues[s.contender.entry->queue].node;
    while (forest.at(node).depth > forest.at(below).depth + 1) node = forest.at(node).parent;
    return node;
  };
  // Recursive knock-out from the root.
  auto winner_of = [&](auto&& self, QuotaId node, std::vector<size_t> members) -> size_t {
    if (forest.at(node).queue || members.size() == 1) {
      size_t best = members.front();
      for (size_t m : members) {
        const Entry& x = *field[m].contender.entry;
        const Entry& y = *field[best].contender.entry;
        if (m != best && classical_before(world, x, y)) best = m;
      }
      return best;
    }
    std::map<uint32_t, std::vector<size_t>> children;
    for (size_t m : members) children[path_node(field[m], node).value].push_back(m);
    size_t best = field.size();
    for (auto& [child, list] : children) {
      size_t candidate = self(self, QuotaId(child), list);
      auto level = [&](size_t m) {
        return static_cast<size_t>(
            forest.at(world.queues[field[m].contender.entry->queue].node).depth -
            forest.at(node).depth - 1);
      };
      if (best == field.size() || fair_before(world, field[candidate].contender, level(candidate),
                                              field[best].contender, level(best)))
        best = candidate;
    }
    return best;
  };
  std::vector<size_t> everyone(field.size());
  for (size_t i = 0; i < everyone.size(); ++i) everyone[i] = i;
  Entry* winner = field[winner_of(winner_of, root, everyone)].contender.entry;
  std::erase(left_, winner);
  return winner;
}

}  // namespace kueue::engine
