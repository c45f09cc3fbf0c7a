// World: all tables of one engine instance. Records are plain data; the rules that act on them live
// in the folders next to this file (quota/, queue/, flavor/, preempt/, fairshare/, topology/,
// cycle/). One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
  std::vector<std::vector<std::pair<ResourceId, int32_t>>>
      tried;  // per pod set; -1 = all were tried
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
  std::vector<PlacedPods> placed;  // topology usage
};

// What a waiting workload added to the numbers of its queues (queue/pending_share.h).
struct PendingShare {
  Digest digest;
  ResourceList requests;
};

enum class Place : uint8_t { kNone, kWaiting, kInFlight };  // active or set aside: PendingQueue

struct WorkloadRecord {
  std::shared_ptr<const Workload> object;  // as last delivered; null = free slot
  std::vector<ShapeId> shapes;             // per pod set
  Digest digest;
  LocalId local;  // by queue_name
  QueueId queue;  // where it waits; valid while place != kNone
  Place place = Place::kNone;
  uint32_t local_position = 0;  // in LocalRecord::members
  std::unique_ptr<PendingShare> pending_share;
  std::unique_ptr<Reservation> reservation;
  std::unique_ptr<ScanProgress> scan;
  bool eviction_sent = false;  // an Evict command is under way
  bool slice_finish_sent = false;
  uint64_t version = 0;  // grows with every delivered change
  // When the head was looked at without success: nothing it depends on has changed while these are
  // current.
  uint64_t seen_tree_epoch = 0;
  uint64_t seen_epoch = 0;
  uint64_t seen_version = 0;
  uint32_t looks = 0;            // how often since then
  bool keeps_its_place = false;  // in front of its queue, although it cannot be admitted
  // The last look went on from where the scan of flavors had stopped, or was held to flavors.
  bool looked_in_part = false;
};

struct FlavorRecord {
  bool exists = false;
  Flavor spec;
};

struct GroupRecord {
  std::vector<ResourceId> covered;  // name order
  std::vector<FlavorId> flavors;    // order of preference
};

struct QueueRecord {
  bool exists = false;
  ClusterQueue spec;
  QuotaId node;
  std::vector<GroupRecord> groups;
  // Allocatable resource generation, without the releases of its tree. Each rebuild of the tree
  // lifts it above all that was ever reached: the releases of another tree are counted then.
  int64_t generation = 0;
  QueueActivity activity;
  bool topology_only = false;  // all its flavors are topology flavors

  PendingQueue pending;
  std::unordered_map<Digest, int32_t, DigestHash> hashes_active;  // of those that wait, counted
  std::unordered_map<Digest, int32_t, DigestHash> hashes_inadmissible;
  ResourceList pending_requests;                                 // sorted by id
  std::unordered_map<Digest, PendingReason, DigestHash> bypass;  // hashes that were moved aside
  int64_t pop_cycle = 0;
  int64_t retry_cycle = -1;
  WorkloadId preemptor;
  int64_t preemptor_generation = 0;
  bool preemptor_sticky = false;

  std::vector<WorkloadId> reserved;
  int32_t admitted = 0;
  Usage admitted_usage;
  std::set<LocalId> locals;

  const GroupRecord* group_of(ResourceId resource) const;
};

struct LocalRecord {
  Key key;
  bool exists = false;  // the object exists
  bool queues = false;  // and takes part in queueing: not stopped
  LocalQueue spec;
  QueueId queue;
  std::vector<WorkloadId> members;  // all live workloads that name it
  int32_t pending = 0;
  int32_t inadmissible = 0;  // of them
  int32_t reserving = 0;
  int32_t admitted = 0;
  Usage usage;
  Usage admitted_usage;
};

struct SecondPassEntry {
  Instant due;
  int32_t iteration = 0;
  bool ready = false;
};

struct World {
  explicit World(Settings s) : settings(std::move(s)), forest(names) {}

  Settings settings;
  Names names;
  Forest forest;
  Instant now;
  int64_t cycle = 0;

  std::unordered_map<std::string, Labels> namespaces;
  IndexVec<FlavorId, FlavorRecord> flavors;
  std::unordered_map<std::string, AdmissionCheck> checks;
  std::unordered_map<std::string, Topology> topologies;
  std::map<std::string, Cohort> cohorts;  // as given; quotas are in the forest

  std::unordered_map<std::string, QueueId> queue_ids;
  IndexVec<QueueId, QueueRecord> queues;
  std::vector<QueueId> queue_of_node;  // by QuotaId
  KeyIndex<LocalId> local_ids;
  IndexVec<LocalId, LocalRecord> locals;

  KeyIndex<WorkloadId> workload_ids;
  IndexVec<WorkloadId, WorkloadRecord> workloads;
  PendingKeys pending_keys;         // order in their queues
  std::vector<double> local_usage;  // by LocalId: what orders LocalQueues (behaviour.md 11)
  std::vector<WorkloadId> free_workloads;
  std::unordered_map<const PodTemplate*, ShapeId> shape_ids;
  IndexVec<ShapeId, Shape> shapes;
  std::vector<ShapeId> free_shapes;

  std::map<WorkloadId, SecondPassEntry> second_pass;
  // Looked at again at that time: the end of a backoff after losing a reservation.
  std::map<WorkloadId, Instant> delayed;
  std::map<QuotaId, Instant>
      retries;                 // requested retries of inadmissible workloads: by node, due time
  std::set<QueueId> nonempty;  // queues with something in the heap
  // Hold quota and are not PodsReady; that blocks admission when settings say so.
  std::set<WorkloadId> not_ready;

  Ledger ledger;
  TopologyTables topology;

  uint64_t stamp = 1;    // orders looks at workloads and their returns
  int64_t reshapes = 0;  // rebuilds of trees, for the generations of their queues
  // Grows with whatever may make some head worth a look; no head is while it is what it was when
  // all of them were looked through in vain.
  uint64_t news = 1;
  uint64_t no_news_since = 0;
  uint64_t epoch = 1;  // grows with changes that may matter to any queue
  std::unordered_map<uint32_t, uint64_t>
      tree_epoch;  // by root node: changes that matter to its queues
  std::unordered_map<uint32_t, int64_t>
      tree_releases;  // by root node: how often quota was given back
  std::set<QueueId> changed_queues;
  std::set<LocalId> changed_locals;

  const Workload& object(WorkloadId id) const { return *workloads[id].object; }
  WorkloadRecord& record(WorkloadId id) { return workloads[id]; }
  const WorkloadRecord& record(WorkloadId id) const { return workloads[id]; }
  WorkloadId find(const Key& key) const;
  QueueId find_queue(const std::string& name) const;
  LocalId find_local(const Key& key) const { return find_local(key.namespace_, key.name); }
  LocalId find_local(std::string_view ns, std::string_view name) const;
  bool gate(Gate g) const { return settings.gates.on(g); }
  uint64_t tree_epoch_of(QueueId queue) const;
  // Grows whenever more may fit into the queue than before.
  int64_t generation_of(QueueId queue) const;
  void touch_tree(QueueId queue);  // something in its tree changed
  void touch_root(QuotaId root);   // the same, of the tree with this root
  void touch_all() {
    ++epoch;
    ++news;
  }
};

}  // namespace kueue::engine
