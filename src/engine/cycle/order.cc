// In which order the entries of a cycle are processed (behaviour.md 10). Both orders are total:
// ties end in namespace and name, trees go by the name of their root.
#include <algorithm>

#include "engine/cycle/fair_order.h"
#include "engine/cycle/fetch.h"
#include "engine/cycle/order_rules.h"

namespace kueue::engine {
int by_time_and_name(const World& world, const Entry& a, const Entry& b) {
  if (a.timestamp != b.timestamp) return a.timestamp < b.timestamp ? -1 : 1;
  const Key& x = world.object(a.id()).key;
  const Key& y = world.object(b.id()).key;
  if (x != y) return x < y ? -1 : 1;
  return 0;
}

int by_priority(const World& world, const Entry& a, const Entry& b) {
  if (!world.gate(Gate::kPrioritySortingWithinCohort)) return 0;
  return a.priority == b.priority ? 0 : (a.priority > b.priority ? -1 : 1);
}

int by_preemptor(const World& world, const Entry& a, const Entry& b) {
  if (!world.gate(Gate::kPrioritizePreemptorWorkloads) ||
      a.head.is_preemptor == b.head.is_preemptor)
    return 0;
  return a.head.is_preemptor ? -1 : 1;
}

bool classical_before(const World& world, const Entry& a, const Entry& b) {
  if (a.holds_quota != b.holds_quota) return a.holds_quota;
  if (int c = by_preemptor(world, a, b); c != 0) return c < 0;
  if (a.assignment.borrow != b.assignment.borrow) return a.assignment.borrow < b.assignment.borrow;
  if (int c = by_priority(world, a, b); c != 0) return c < 0;
  return by_time_and_name(world, a, b) < 0;
}

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
  if (position_ == left_.size()) return nullptr;
  fetch_entries(cycle_.world(), left_, position_, false);
  return left_[position_++];
}

EntryOrder::~EntryOrder() = default;

Entry* EntryOrder::next_fair() {
  World& world = cycle_.world();
  auto root = [&](const Entry* entry) {
    return world.forest.at(world.queues[entry->queue].node).root;
  };
  for (;;) {
    if (tree_)
      if (Entry* winner = tree_->next()) return winner;
    if (position_ == left_.size()) return nullptr;
    std::vector<Entry*> members;
    for (QuotaId first = root(left_[position_]);
         position_ < left_.size() && root(left_[position_]) == first; ++position_)
      members.push_back(left_[position_]);
    tree_ = std::make_unique<FairTournament>(cycle_, members);
  }
}

}  // namespace kueue::engine
