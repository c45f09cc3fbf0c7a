// PendingQueue: what waits for one ClusterQueue, active (the heap) or set aside until something
// changes. Order (behaviour.md 2): sticky first, higher priority, earlier timestamp, smaller uid,
// then name. With admission fair sharing the LocalQueue of lower usage comes before all that.
//
// Workloads that fail alike stand together in a lot: of one LocalQueue, of one scheduling digest,
// and all or none of them with a back-off. A whole lot is set aside or comes back at the cost of
// its smaller half, mostly of nothing.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "engine/model/workload.h"
#include "engine/names.h"
#include "engine/queue/sorted_ids.h"

namespace kueue::engine {

// 128 bits over everything that decides how a workload is scheduled; equal digests are
// interchangeable.
struct Digest {
  uint64_t a = 0;
  uint64_t b = 0;
  bool known() const { return a != 0 || b != 0; }
  auto operator<=>(const Digest&) const = default;
};
struct DigestHash {
  size_t operator()(const Digest& d) const { return d.a; }
};

struct LotKey {
  Digest digest;
  LocalId local;
  bool backs_off = false;
  auto operator<=>(const LotKey&) const = default;
};

// What orders a workload, and where it stands. Half a line of the caches.
struct alignas(32) PendingKey {
  bool sticky = false;
  uint8_t side = 0;     // of its lot
  uint32_t lot = kOut;  // kOut = in no queue
  int64_t priority = 0;
  Instant timestamp;
  uint64_t seen = 0;  // stamp of the last look at it

  static constexpr uint32_t kOut = UINT32_MAX;
};

// The keys of all workloads, and the order that they make.
class PendingKeys : public PieceVec<WorkloadId, PendingKey> {
 public:
  // `object` gives the workload of an id: its uid and its name break ties.
  using Object = std::function<const Workload&(WorkloadId)>;
  explicit PendingKeys(Object object) : object_(std::move(object)) {}
  // True when `a` goes before `b`.
  bool before(WorkloadId a, WorkloadId b) const { return before(a, (*this)[a], b, (*this)[b]); }
  // The same with other keys than they have.
  bool before(WorkloadId a, const PendingKey& key_a, WorkloadId b, const PendingKey& key_b) const {
    if (key_a.sticky != key_b.sticky) return key_a.sticky;
    if (key_a.priority != key_b.priority) return key_a.priority > key_b.priority;
    if (key_a.timestamp != key_b.timestamp) return key_a.timestamp < key_b.timestamp;
    return a != b && before_among_equals(a, b);
  }

 private:
  bool before_among_equals(WorkloadId a, WorkloadId b) const;

  Object object_;
};

class PendingQueue {
 public:
  using LotId = uint32_t;
  // What orders a key must not change while its workload is in the queue: remove, change, insert.
  explicit PendingQueue(PendingKeys* keys = nullptr) : keys_(keys) {}

  // By usage value of LocalQueues, indexed by LocalId; null = no fair sharing.
  void set_fairness(const std::vector<double>* usage);
  bool fair() const { return usage_ != nullptr; }

  void insert(WorkloadId id, const LotKey& lot, bool aside);
  // No-op when it is not there.
  void remove(WorkloadId id);
  bool contains(WorkloadId id) const;
  bool aside(WorkloadId id) const;             // of one that is there
  bool empty() const { return active_ == 0; }  // nothing is active
  size_t active() const { return active_; }
  size_t set_aside() const { return size_ - active_; }
  // How many different known digests are among those that are active, or set aside.
  int32_t kinds(bool aside) const { return kinds_[aside ? 1 : 0]; }
  // The first active one; CHECKs that there is one. O(1), with fair sharing O(LocalQueues).
  WorkloadId top() const;
  // From here on stands what taking the first one touches, up to the end.
  const void* often() const { return &lots_; }
  // Begins to fetch what a remove() of the workload will touch: first the lot, then, when that is
  // at hand, what stands in it.
  void fetch_lot(WorkloadId id) const;
  void fetch_members(WorkloadId id) const;
  // All that is active, or set aside, in no order.
  std::vector<WorkloadId> members(bool aside) const;

  const LotKey& key(LotId lot) const { return lots_[lot].key; }
  std::vector<LotId> lots_of(const Digest& digest) const;
  std::vector<LotId> lots_with_aside() const { return {asides_.begin(), asides_.end()}; }
  std::vector<WorkloadId> aside_of(LotId lot) const;
  // Sets all of the lot aside; returns how many were active.
  size_t put_aside(LotId lot);
  // Makes all of the lot active; those that come back are to be looked at anew (see `seen`).
  // Returns how many come back.
  size_t bring_back(LotId lot, uint64_t stamp);
  // It was looked at after it last came back.
  bool seen(WorkloadId id) const;
  // CHECKs that lots, lanes, counts and keys say the same. Costs a pass over everything.
  void check() const;

 private:
  using Group = SortedIds<WorkloadId>;
  struct alignas(64) Lot {
    uint8_t active_side = 0;
    uint32_t lane = 0;
    uint64_t back = 0;  // stamp of its last return
    Group sides[2];
    LotKey key;
    Group& active() { return sides[active_side]; }
    const Group& active() const { return sides[active_side]; }
    Group& aside() { return sides[1 - active_side]; }
    const Group& aside() const { return sides[1 - active_side]; }
  };
  // Lots that compete head by head: all, or with fair sharing those of one LocalQueue. By the
  // heads of their active sides.
  struct Lane {
    LocalId local;
    Group heads;
  };

  LotId lot_for(const LotKey& key);
  uint32_t lane_for(LocalId local);
  void drop_if_empty(LotId lot);
  // Around a change of the lot's active side.
  void leave_lane(const Lot& lot);
  void join_lane(const Lot& lot);
  // The lot has got its first member on that side, or has lost the last one.
  void count_kind(const Lot& lot, bool aside, bool comes);
  auto order() const {
    return [this](WorkloadId a, WorkloadId b) { return keys_->before(a, b); };
  }
  void follow_first();
  size_t move_all(LotId lot, uint8_t from);
  double usage(LocalId local) const { return fair() ? (*usage_)[local.value] : 0; }

  std::set<LotId> asides_;  // lots with something set aside
  std::vector<LotId> free_lots_;
  std::map<LotKey, LotId> lot_ids_;
  // By digest, in how many lots it is active, and set aside.
  std::unordered_map<Digest, std::array<uint32_t, 2>, DigestHash> lots_of_kind_;
  int32_t kinds_[2] = {0, 0};
  // What taking the first one touches stands together, and last: the record of the queue goes on
  // with more of that kind (world.h).
  std::vector<Lot> lots_;
  std::vector<Lane> lanes_;
  size_t size_ = 0;
  size_t active_ = 0;
  WorkloadId first_;  // the head of the first lane: top() of a queue without fair sharing
  PendingKeys* keys_;
  const std::vector<double>* usage_ = nullptr;
};

}  // namespace kueue::engine
