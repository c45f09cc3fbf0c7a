// World: all tables of one engine instance. Records are plain data; the rules that act on them live
// in the folders next to this file (quota/, queue/, flavor/, preempt/, fairshare/, topology/,
// cycle/). One thread.
#pragma once

#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fetch_ahead.h"
#include "engine/engine.h"
#include "engine/fairshare/ledger.h"
#include "engine/key_index.h"
#include "engine/names.h"
#include "engine/queue/pending_queue.h"
#include "engine/quota/forest.h"
#include "engine/topology/tables.h"

namespace kueue::engine {

// A pod template in use, with its amounts by id. Shared by all workloads whose pod sets point at
// the same value.
struct Shape {
  std::shared_ptr<const PodTemplate> pod;
  ResourceList requests;      // per pod, quota view
  ResourceList raw_requests;  // per pod, for topology placement
  uint32_t users = 0;
};
using ShapeId = Id<struct ShapeTag>;

// Where the flavor scan of a workload stopped (behaviour.md 5, 6).
struct ScanProgress {
  using Tried = InlineVector<std::pair<ResourceId, int32_t>, 2>;
  SlimVector<Tried> tried;  // per pod set; -1 = all were tried
  int64_t queue_generation = 0;
  int64_t cycle = 0;
  Digest digest;
  bool has_untried() const;
};

// Quota (and places) held by a workload.
struct Reservation {
  QueueId queue;
  std::shared_ptr<const Admission> admission;  // never null
  Usage usage;
  Instant since;
  bool assumed = false;  // not yet seen in the API object
  bool admitted = false;
  LocalId local;                   // whose counters it is in
  uint32_t position = 0;           // in QueueRecord::reserved
  uint32_t turn = 0;               // in World::turns
  std::vector<PlacedPods> placed;  // topology usage
};

// What a waiting workload added to the numbers of its queues (queue/pending_share.h). Shared by
// those that add the same.
struct PendingShare {
  Digest digest;
  ResourceList requests;
  uint32_t users = 0;
};
using ShareId = Id<struct ShareTag>;

enum class Place : uint8_t { kNone, kWaiting, kInFlight };  // active or set aside: PendingQueue

struct alignas(64) WorkloadRecord {
  std::shared_ptr<const Workload> object;  // as last delivered; null = free slot
  InlineVector<ShapeId, 2> shapes;         // per pod set
  Digest digest;
  LocalId local;                // by queue_name
  QueueId queue;                // where it waits; valid while place != kNone
  uint32_t local_position = 0;  // in LocalRecord::members
  ShareId pending_share;
  std::unique_ptr<Reservation> reservation;
  std::unique_ptr<ScanProgress> scan;
  uint64_t version = 0;  // grows with every delivered change
  // When the head was looked at without success: nothing it depends on has changed while these are
  // current.
  uint64_t seen_tree_epoch = 0;
  uint64_t seen_epoch = 0;
  uint64_t seen_version = 0;
  uint32_t seen_departures = 0;  // matters to those that contend
  uint32_t looks = 0;            // how often since then
  Place place = Place::kNone;
  bool keeps_its_place = false;  // in front of its queue, although it cannot be admitted
  // The last look went on from where the scan of flavors had stopped, or was held to flavors.
  bool looked_in_part = false;
  // At its last look it kept capacity from others without being admitted, or others kept it out:
  // what one of them gets depends on who else is in the cycle.
  bool contends = false;
  bool contends_for_places = false;  // with other trees too
  bool eviction_sent = false;        // an Evict command is under way
  bool slice_finish_sent = false;
  bool not_ready = false;  // holds quota and is not PodsReady
};

struct FlavorRecord {
  bool exists = false;
  Flavor spec;
};

struct GroupRecord {
  std::vector<ResourceId> covered;  // name order
  std::vector<FlavorId> flavors;    // order of preference
};

// What each admission touches stands together, from `pending` to the first members of `spec`: a
// cycle over thousands of queues waits for memory more than for anything else.
struct alignas(64) QueueRecord {
  std::unordered_map<Digest, PendingReason, DigestHash> bypass;  // hashes that were moved aside
  std::set<LocalId> locals;

  PendingQueue pending;  // its last members are those that count
  bool exists = false;
  bool topology_only = false;  // all its flavors are topology flavors
  bool preemptor_sticky = false;
  bool active = false;  // as `activity` says
  QuotaId node;
  WorkloadId preemptor;
  int32_t admitted = 0;
  int64_t preemptor_generation = 0;
  int64_t pop_cycle = 0;
  int64_t retry_cycle = -1;
  // Allocatable resource generation, without the releases of its tree. Each rebuild of the tree
  // lifts it above all that was ever reached: the releases of another tree are counted then.
  int64_t generation = 0;
  std::vector<GroupRecord> groups;
  Text name;
  ResourceList pending_requests;  // sorted by id
  std::vector<WorkloadId> reserved;
  Usage admitted_usage;
  ClusterQueue spec;  // its first members are those that count

  QueueActivity activity;

  const GroupRecord* group_of(ResourceId resource) const;
  // Begins to fetch what an admission touches.
  void fetch() const { fetch_ahead(pending.often(), &spec.name); }
};

struct alignas(64) LocalRecord {
  bool exists = false;  // the object exists
  bool queues = false;  // and takes part in queueing: not stopped
  QueueId queue;
  int32_t pending = 0;
  int32_t inadmissible = 0;  // of them
  int32_t reserving = 0;
  int32_t admitted = 0;
  Usage usage;
  Usage admitted_usage;
  Key key;
  LocalQueue spec;
  std::vector<WorkloadId> members;  // all live workloads that name it

  // Begins to fetch what an admission touches.
  void fetch() const { fetch_ahead(this, &key); }
};

// Ids, each once however often it is put in.
template <typename IdType>
class ChangedIds {
 public:
  void insert(IdType id) {
    if (id.value >= in_.size()) in_.resize(size_t{id.value} + 1, false);
    if (in_[id.value]) return;
    in_[id.value] = true;
    ids_.push_back(id);
  }
  // All of them, in no order; none is left.
  std::vector<IdType> take() {
    for (IdType id : ids_) in_[id.value] = false;
    return std::exchange(ids_, {});
  }

 private:
  std::vector<bool> in_;
  std::vector<IdType> ids_;
};

// A set of ids that is a bit for each.
template <typename IdType>
class IdSet {
 public:
  void insert(IdType id) {
    if (id.value / 64 >= words_.size()) words_.resize(id.value / 64 + 1, 0);
    words_[id.value / 64] |= uint64_t{1} << id.value % 64;
  }
  void erase(IdType id) {
    if (id.value / 64 < words_.size()) words_[id.value / 64] &= ~(uint64_t{1} << id.value % 64);
  }
  // In order.
  std::vector<IdType> ids() const {
    std::vector<IdType> out;
    for (size_t i = 0; i < words_.size(); ++i)
      for (uint64_t word = words_[i]; word != 0; word &= word - 1)
        out.push_back(IdType(i * 64 + static_cast<size_t>(std::countr_zero(word))));
    return out;
  }

 private:
  std::vector<uint64_t> words_;
};

// Who got a reservation, in that order. News of workloads mostly come in the order in which they
// were admitted: who comes next is fetched ahead, and found without a search. It decides nothing
// that can be seen.
class Turns {
 public:
  // Puts the workload behind all others; returns its turn.
  uint32_t add(WorkloadId id) {
    if (next_ == ids_.size() && ids_.size() < kMost)
      ids_.resize(ids_.empty() ? 64 : ids_.size() * 2);
    ids_[next_ % ids_.size()] = id;
    return next_++;
  }
  // News came of the one with that turn.
  void follow(uint32_t turn) { expected_ = turn + 1; }
  // The one that comes so many behind the next one; invalid when none is known.
  WorkloadId ahead(uint32_t steps) const {
    const uint32_t turn = expected_ + steps;
    return turn < next_ && next_ - turn <= ids_.size() ? ids_[turn % ids_.size()] : WorkloadId();
  }

 private:
  static constexpr size_t kMost = size_t{1} << 16;
  std::vector<WorkloadId> ids_;  // a ring
  uint32_t next_ = 0;
  uint32_t expected_ = 0;
};

struct SecondPassEntry {
  Instant due;
  int32_t iteration = 0;
  bool ready = false;
};

struct World {
  explicit World(Settings s)
      : settings(std::move(s)),
        forest(names),
        pending_keys([this](WorkloadId id) -> const Workload& { return object(id); }) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Settings settings;
  Names names;
  Forest forest;
  Instant now;
  int64_t cycle = 0;

  std::unordered_map<Text, Labels, TextHash> namespaces;
  IndexVec<FlavorId, FlavorRecord> flavors;
  std::unordered_map<std::string, AdmissionCheck> checks;
  std::unordered_map<std::string, Topology> topologies;
  std::map<std::string, Cohort> cohorts;  // as given; quotas are in the forest

  std::unordered_map<Text, QueueId, TextHash> queue_ids;
  IndexVec<QueueId, QueueRecord> queues;
  std::vector<QueueId> queue_of_node;  // by QuotaId
  KeyIndex<LocalId> local_ids;
  IndexVec<LocalId, LocalRecord> locals;

  KeyIndex<WorkloadId> workload_ids;
  Turns turns;
  PieceVec<WorkloadId, WorkloadRecord> workloads;
  PendingKeys pending_keys;         // order in their queues
  std::vector<double> local_usage;  // by LocalId: what orders LocalQueues (behaviour.md 11)
  std::vector<WorkloadId> free_workloads;
  std::unordered_map<const PodTemplate*, ShapeId> shape_ids;
  IndexVec<ShapeId, Shape> shapes;
  std::vector<ShapeId> free_shapes;
  std::unordered_multimap<uint64_t, ShareId> share_ids;  // by hash
  IndexVec<ShareId, PendingShare> shares;
  std::vector<ShareId> free_shares;

  // Slices by the one that they are to replace, wherever that holds quota.
  std::map<Key, std::set<WorkloadId>> replacers;
  std::map<WorkloadId, SecondPassEntry> second_pass;
  // Looked at again at that time: the end of a backoff after losing a reservation.
  std::map<WorkloadId, Instant> delayed;
  std::map<QuotaId, Instant>
      retries;              // requested retries of inadmissible workloads: by node, due time
  IdSet<QueueId> nonempty;  // queues with something in the heap
  // How many hold quota and are not PodsReady; that blocks admission when settings say so.
  size_t not_ready = 0;

  Ledger ledger;
  TopologyTables topology;

  std::shared_ptr<struct CycleScratch> scratch;  // cycle/entry.h

  uint64_t stamp = 1;    // orders looks at workloads and their returns
  int64_t reshapes = 0;  // rebuilds of trees, for the generations of their queues
  // Grows with whatever may make some head worth a look; no head is while it is what it was when
  // all of them were looked through in vain.
  uint64_t news = 1;
  uint64_t no_news_since = 0;
  uint64_t epoch = 1;  // grows with changes that may matter to any queue
  struct TreeNews {
    uint64_t epoch = 0;       // changes that matter to its queues
    int64_t releases = 0;     // how often quota was given back
    uint32_t departures = 0;  // of heads that contended with others of the tree
  };
  std::vector<TreeNews> trees;  // by root node
  TreeNews& tree(QuotaId root) {
    if (root.value >= trees.size()) trees.resize(size_t{root.value} + 1);
    return trees[root.value];
  }
  ChangedIds<QueueId> changed_queues;
  ChangedIds<LocalId> changed_locals;

  const Workload& object(WorkloadId id) const { return *workloads[id].object; }
  WorkloadRecord& record(WorkloadId id) { return workloads[id]; }
  const WorkloadRecord& record(WorkloadId id) const { return workloads[id]; }
  WorkloadId find(const Key& key) const;
  QueueId find_queue(const Text& name) const;
  LocalId find_local(const Key& key) const { return find_local(key.namespace_, key.name); }
  LocalId find_local(std::string_view ns, std::string_view name) const;
  bool gate(Gate g) const { return settings.gates.on(g); }
  uint64_t tree_epoch_of(QueueId queue) const;
  // Grows whenever more may fit into the queue than before.
  int64_t generation_of(QueueId queue) const;
  uint32_t departures_of(QueueId queue) const;
  void touch_tree(QueueId queue);  // something in its tree changed
  void touch_root(QuotaId root);   // the same, of the tree with this root
  void touch_all() {
    ++epoch;
    ++news;
  }
};

}  // namespace kueue::engine
