#include "engine/queue/pending_queue.h"

#include <algorithm>

#include "base/check.h"
#include "base/fetch_ahead.h"

namespace kueue::engine {

bool PendingKeys::before_among_equals(WorkloadId a, WorkloadId b) const {
  const Workload& x = object_(a);
  const Workload& y = object_(b);
  if (auto c = x.uid <=> y.uid; c != 0) return c < 0;
  return x.key < y.key;
}

uint32_t PendingQueue::lane_for(LocalId local) {
  LocalId key = fair() ? local : LocalId();
  for (uint32_t i = 0; i < lanes_.size(); ++i)
    if (lanes_[i].local == key) return i;
  lanes_.push_back({key, {}});
  return static_cast<uint32_t>(lanes_.size() - 1);
}

PendingQueue::LotId PendingQueue::lot_for(const LotKey& key) {
  auto [it, inserted] = lot_ids_.try_emplace(key);
  if (!inserted) return it->second;
  Lot fresh;
  fresh.key = key;
  fresh.lane = lane_for(key.local);
  if (free_lots_.empty()) {
    it->second = static_cast<LotId>(lots_.size());
    lots_.push_back(std::move(fresh));
  } else {
    it->second = free_lots_.back();
    free_lots_.pop_back();
    lots_[it->second] = std::move(fresh);
  }
  return it->second;
}

void PendingQueue::drop_if_empty(LotId id) {
  Lot& lot = lots_[id];
  if (!lot.sides[0].empty() || !lot.sides[1].empty()) return;
  for (Group& side : lot.sides) side.clear();
  lot_ids_.erase(lot.key);
  free_lots_.push_back(id);
}

void PendingQueue::follow_first() {
  const bool none = lanes_.empty() || lanes_.front().heads.empty();
  first_ = none ? WorkloadId() : lanes_.front().heads.front();
}

void PendingQueue::leave_lane(const Lot& lot) {
  if (lot.active().empty()) return;
  lanes_[lot.lane].heads.erase(lot.active().front(), order());
  follow_first();
}

void PendingQueue::join_lane(const Lot& lot) {
  if (lot.active().empty()) return;
  lanes_[lot.lane].heads.insert(lot.active().front(), order());
  follow_first();
}

void PendingQueue::count_kind(const Lot& lot, bool aside, bool comes) {
  if (!lot.key.digest.known()) return;
  auto at = lots_of_kind_.try_emplace(lot.key.digest).first;
  uint32_t& lots = at->second[aside ? 1 : 0];
  if (comes ? lots++ == 0 : --lots == 0) kinds_[aside ? 1 : 0] += comes ? 1 : -1;
  if (at->second[0] == 0 && at->second[1] == 0) lots_of_kind_.erase(at);
}

void PendingQueue::insert(WorkloadId id, const LotKey& key, bool aside) {
  LotId lot_id = lot_for(key);
  Lot& lot = lots_[lot_id];
  PendingKey& k = (*keys_)[id];
  KUEUE_CHECK(k.lot == PendingKey::kOut, "a workload is queued twice");
  k.lot = lot_id;
  ++size_;
  if (aside) {
    k.side = static_cast<uint8_t>(1 - lot.active_side);
    if (lot.aside().empty()) {
      asides_.insert(lot_id);
      count_kind(lot, true, true);
    }
    lot.aside().insert(id, order());
    return;
  }
  k.side = lot.active_side;
  ++active_;
  if (lot.active().empty()) count_kind(lot, false, true);
  bool leads = lot.active().empty() || keys_->before(id, lot.active().front());
  if (leads) leave_lane(lot);
  lot.active().insert(id, order());
  if (leads) join_lane(lot);
}

void PendingQueue::remove(WorkloadId id) {
  PendingKey& k = (*keys_)[id];
  if (k.lot == PendingKey::kOut) return;
  LotId lot_id = k.lot;
  Lot& lot = lots_[lot_id];
  --size_;
  if (k.side != lot.active_side) {
    lot.aside().erase(id, order());
    if (lot.aside().empty()) {
      asides_.erase(lot_id);
      count_kind(lot, true, false);
    }
  } else {
    --active_;
    if (lot.active().front() == id) {
      leave_lane(lot);
      lot.active().pop_front();
      join_lane(lot);
    } else {
      lot.active().erase(id, order());
    }
    if (lot.active().empty()) count_kind(lot, false, false);
  }
  k.lot = PendingKey::kOut;
  drop_if_empty(lot_id);
}

bool PendingQueue::contains(WorkloadId id) const {
  const PendingKey& k = (*keys_)[id];
  return k.lot != PendingKey::kOut && k.lot < lots_.size() &&
         lots_[k.lot].sides[k.side].contains(id, order());
}

bool PendingQueue::aside(WorkloadId id) const {
  const PendingKey& k = (*keys_)[id];
  return k.side != lots_[k.lot].active_side;
}

WorkloadId PendingQueue::top() const {
  KUEUE_CHECK(active_ > 0, "top() of an empty queue");
  if (!fair()) return first_;
  WorkloadId best;
  double best_usage = 0;
  for (const Lane& lane : lanes_) {
    if (lane.heads.empty()) continue;
    double value = usage(lane.local);
    WorkloadId head = lane.heads.front();
    if (best.valid() && (value > best_usage || (value == best_usage && !keys_->before(head, best))))
      continue;
    best = head;
    best_usage = value;
  }
  return best;
}

void PendingQueue::fetch_lot(WorkloadId id) const {
  const PendingKey& k = (*keys_)[id];
  if (k.lot == PendingKey::kOut) return;
  fetch_ahead(&lots_[k.lot]);
  fetch_ahead(lanes_.data());
}

void PendingQueue::fetch_members(WorkloadId id) const {
  const PendingKey& k = (*keys_)[id];
  if (k.lot == PendingKey::kOut) return;
  const Lot& lot = lots_[k.lot];
  lot.sides[k.side].fetch();
  lanes_[lot.lane].heads.fetch();
}

std::vector<WorkloadId> PendingQueue::members(bool aside) const {
  std::vector<WorkloadId> out;
  out.reserve(aside ? size_ - active_ : active_);
  for (const auto& [key, id] : lot_ids_) {
    const Group& group = aside ? lots_[id].aside() : lots_[id].active();
    group.for_each([&](WorkloadId member) { out.push_back(member); });
  }
  return out;
}

std::vector<WorkloadId> PendingQueue::aside_of(LotId lot) const {
  std::vector<WorkloadId> out;
  lots_[lot].aside().for_each([&](WorkloadId member) { out.push_back(member); });
  return out;
}

std::vector<PendingQueue::LotId> PendingQueue::lots_of(const Digest& digest) const {
  std::vector<LotId> out;
  for (auto it = lot_ids_.lower_bound(LotKey{digest, LocalId(0), false});
       it != lot_ids_.end() && it->first.digest == digest; ++it)
    out.push_back(it->second);
  return out;
}

// To the other side, one by one.
size_t PendingQueue::move_all(LotId id, uint8_t from) {
  Lot& lot = lots_[id];
  auto to = static_cast<uint8_t>(1 - from);
  size_t moved = lot.sides[from].size();
  auto move = [&](WorkloadId member) {
    (*keys_)[member].side = to;
    lot.sides[to].insert(member, order());
  };
  lot.sides[from].for_each(move);
  lot.sides[from].clear();
  return moved;
}

size_t PendingQueue::put_aside(LotId id) {
  Lot& lot = lots_[id];
  size_t moved = lot.active().size();
  if (moved == 0) return 0;
  leave_lane(lot);
  count_kind(lot, false, false);
  if (lot.aside().empty()) count_kind(lot, true, true);
  if (moved <= lot.aside().size()) {
    move_all(id, lot.active_side);
  } else {  // the few join the many, which are aside from now on
    move_all(id, static_cast<uint8_t>(1 - lot.active_side));
    lot.active_side = static_cast<uint8_t>(1 - lot.active_side);
  }
  active_ -= moved;
  asides_.insert(id);
  return moved;
}

size_t PendingQueue::bring_back(LotId id, uint64_t stamp) {
  Lot& lot = lots_[id];
  size_t moved = lot.aside().size();
  if (moved == 0) return 0;
  leave_lane(lot);
  count_kind(lot, true, false);
  if (lot.active().empty()) count_kind(lot, false, true);
  if (moved <= lot.active().size()) {
    lot.aside().for_each([&](WorkloadId member) { (*keys_)[member].seen = 0; });
    move_all(id, static_cast<uint8_t>(1 - lot.active_side));
  } else {
    // Only those that were aside come back: the others stay seen if they were.
    lot.active().for_each([&](WorkloadId member) {
      uint64_t& at = (*keys_)[member].seen;
      at = at > lot.back ? stamp + 1 : 0;
    });
    move_all(id, lot.active_side);
    lot.active_side = static_cast<uint8_t>(1 - lot.active_side);
    lot.back = stamp;
  }
  join_lane(lot);
  active_ += moved;
  asides_.erase(id);
  return moved;
}

bool PendingQueue::seen(WorkloadId id) const {
  const PendingKey& k = (*keys_)[id];
  return k.seen > 0 && (k.lot == PendingKey::kOut || k.seen > lots_[k.lot].back);
}

void PendingQueue::check() const {
  size_t size = 0, active = 0, with_active = 0, heads = 0;
  std::set<Digest> kinds[2];
  for (const auto& [key, id] : lot_ids_) {
    const Lot& lot = lots_[id];
    KUEUE_CHECK(lot.key == key, "a lot stands under another key");
    KUEUE_CHECK(!lot.active().empty() || !lot.aside().empty(), "an empty lot is kept");
    KUEUE_CHECK(asides_.contains(id) == !lot.aside().empty(),
                "lots with something set aside are not known");
    for (uint8_t side = 0; side < 2; ++side) {
      size_t members = 0;
      WorkloadId previous;
      lot.sides[side].for_each([&](WorkloadId member) {
        ++members;
        KUEUE_CHECK((*keys_)[member].lot == id && (*keys_)[member].side == side,
                    "a key does not know where its workload stands");
        KUEUE_CHECK(!previous.valid() || keys_->before(previous, member), "a lot is out of order");
        previous = member;
      });
      KUEUE_CHECK(members == lot.sides[side].size(), "a lot counts its members wrongly");
      if (members > 0 && key.digest.known())
        kinds[side == lot.active_side ? 0 : 1].insert(key.digest);
    }
    size += lot.active().size() + lot.aside().size();
    active += lot.active().size();
    if (lot.active().empty()) continue;
    ++with_active;
    KUEUE_CHECK(lanes_[lot.lane].heads.contains(lot.active().front(), order()),
                "a lot does not compete with its head");
  }
  for (const Lane& lane : lanes_) heads += lane.heads.size();
  KUEUE_CHECK(fair() || active_ == 0 || first_ == lanes_.front().heads.front(),
              "a queue does not know its first workload");
  KUEUE_CHECK(heads == with_active, "a lane has the head of no lot");
  KUEUE_CHECK(size == size_ && active == active_, "a queue counts its members wrongly");
  KUEUE_CHECK(lot_ids_.size() + free_lots_.size() == lots_.size(), "a lot is lost");
  for (bool aside : {false, true})
    KUEUE_CHECK(kinds[aside ? 1 : 0].size() == static_cast<size_t>(this->kinds(aside)),
                "kinds of workloads that wait are counted wrongly");
}

void PendingQueue::set_fairness(const std::vector<double>* usage) {
  if (usage_ == usage) return;
  usage_ = usage;
  lanes_.clear();
  first_ = WorkloadId();
  for (const auto& [key, id] : lot_ids_) {
    lots_[id].lane = lane_for(key.local);
    join_lane(lots_[id]);
  }
}

}  // namespace kueue::engine
