#include "engine/cycle/fair_order.h"

#include <algorithm>

#include "engine/cycle/order_rules.h"

namespace kueue::engine {

bool FairTournament::Before::operator()(const Standing& a, const Standing& b) const {
  if (int c = by_preemptor(*world, *a.entry, *b.entry); c != 0) return c < 0;
  if (world->gate(Gate::kFairSharingPrioritizeNonBorrowing) && a.borrowing != b.borrowing)
    return b.borrowing;
  if (int c = compare(a.share, b.share); c != 0) return c < 0;
  if (int c = by_priority(*world, *a.entry, *b.entry); c != 0) return c < 0;
  return by_time_and_name(*world, *a.entry, *b.entry) < 0;
}

FairTournament::FairTournament(Cycle& cycle, const std::vector<Entry*>& entries)
    : cycle_(cycle), world_(cycle.world()) {
  const Forest& forest = world_.forest;
  // Queues by depth, the deepest first: each cohort is settled once, after all that is below it.
  std::vector<std::vector<QuotaId>> levels;
  auto add = [&](QuotaId node) {
    auto depth = static_cast<size_t>(forest.at(node).depth);
    if (levels.size() <= depth) levels.resize(depth + 1);
    levels[depth].push_back(node);
  };
  for (Entry* entry : entries) {
    QuotaId node = world_.queues[entry->queue].node;
    root_ = forest.at(node).root;
    std::vector<Entry*>& list = waiting_[node.value];
    if (list.empty()) add(node);
    list.push_back(entry);
  }
  for (size_t depth = levels.size(); depth-- > 1;)
    for (QuotaId node : levels[depth]) {
      QuotaId parent = forest.at(node).parent;
      auto [field, fresh] = fields_.try_emplace(parent.value, Before{&world_});
      places_[node.value] = field->second.insert(standing(champion(node), node)).first;
      if (fresh) add(parent);
    }
}

Entry* FairTournament::champion(QuotaId node) const {
  if (auto it = waiting_.find(node.value); it != waiting_.end() && !it->second.empty())
    return *std::min_element(it->second.begin(), it->second.end(),
                             [&](Entry* a, Entry* b) { return classical_before(world_, *a, *b); });
  auto it = fields_.find(node.value);
  return it == fields_.end() || it->second.empty() ? nullptr : it->second.begin()->entry;
}

FairTournament::Standing FairTournament::standing(Entry* entry, QuotaId node) const {
  const Forest& forest = world_.forest;
  Overlay::Mark mark = cycle_.overlay.mark();
  Charge charge;
  if (!world_.record(entry->id()).reservation) charge.quota = entry->assignment.quota;
  cycle_.overlay.charge(entry->queue, charge);
  Standing out{entry, node, share_of(world_.names, forest, node),
               std::any_of(charge.quota.begin(), charge.quota.end(), [&](const auto& e) {
                 return forest.borrowing_with(node, e.first, Amount());
               })};
  cycle_.overlay.rollback(mark);
  return out;
}

void FairTournament::refresh(QuotaId queue) {
  const Forest& forest = world_.forest;
  for (QuotaId node = queue; node != root_; node = forest.at(node).parent) {
    Field& field = fields_.at(forest.at(node).parent.value);
    if (auto place = places_.find(node.value); place != places_.end()) {
      field.erase(place->second);
      places_.erase(place);
    }
    if (Entry* entry = champion(node); entry != nullptr)
      places_[node.value] = field.insert(standing(entry, node)).first;
  }
}

Entry* FairTournament::next() {
  if (changed_.valid()) refresh(changed_);
  changed_ = QuotaId();
  Entry* winner = champion(root_);
  if (winner == nullptr) return nullptr;
  changed_ = world_.queues[winner->queue].node;
  std::erase(waiting_[changed_.value], winner);
  return winner;
}

}  // namespace kueue::engine
