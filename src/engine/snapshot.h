// Snapshot: everything a State holds, as plain values by name, so that it can be written down and a
// State that decides alike be made of it. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace kueue::engine {

struct SnapshotCharge {
  std::string flavor;
  std::string resource;
  int64_t amount = 0;
};

struct SnapshotPlaces {
  std::string flavor;
  std::vector<std::string> values;
  ResourceAmounts per_pod;
  int32_t count = 0;
};

struct SnapshotReservation {
  Admission admission;
  Instant since;
  bool assumed = false;
  bool admitted = false;
  // Of an assumed one, whose object may have changed since.
  std::vector<SnapshotCharge> charges;
  std::vector<SnapshotPlaces> places;
};

struct SnapshotScan {
  std::vector<std::vector<std::pair<std::string, int32_t>>> tried;  // per pod set: resource, index
  int64_t queue_generation = 0;
  int64_t cycle = 0;
  std::pair<uint64_t, uint64_t> digest;
};

struct SnapshotSecondPass {
  Instant due;
  int32_t iteration = 0;
  bool ready = false;
};

struct SnapshotWorkload {
  std::shared_ptr<const Workload> object;  // never null
  bool waits = false;
  bool aside = false;            // waits for a change
  bool seen = false;             // was looked at, and nothing has changed since
  int32_t looks = 0;             // how often
  bool keeps_its_place = false;  // the last look left it in front
  bool looked_in_part = false;   // that one did not see every flavor
  bool contends = false;         // that one was about what others want as well
  bool contends_for_places = false;
  std::optional<SnapshotReservation> reservation;  // what it holds
  std::optional<SnapshotScan> scan;
  std::optional<SnapshotSecondPass> second_pass;
  std::optional<Instant> delayed;
  bool eviction_sent = false;
  bool slice_finish_sent = false;
};

struct SnapshotQueue {
  std::string name;
  int64_t generation = 0;
  int64_t pop_cycle = 0;
  int64_t retry_cycle = -1;
  std::optional<Key> preemptor;
  int64_t preemptor_generation = 0;
  bool preemptor_sticky = false;
  std::vector<std::pair<std::pair<uint64_t, uint64_t>, PendingReason>> bypass;  // by digest
};

struct SnapshotRetry {
  std::string node;  // ClusterQueue or Cohort
  bool queue = false;
  Instant due;
};

struct SnapshotAccount {
  Key local_queue;
  std::vector<std::pair<std::string, Nanos>> consumed;
  std::vector<std::pair<Key, std::vector<std::pair<std::string, Nanos>>>> penalties;
  Instant last_update;
};

struct Snapshot {
  Settings settings;
  Instant now;
  int64_t cycle = 0;
  std::vector<std::pair<std::string, Labels>> namespaces;
  std::vector<Node> nodes;
  std::vector<ForeignPod> pods;
  std::vector<AdmissionCheck> checks;
  std::vector<Flavor> flavors;
  std::vector<Topology> topologies;
  std::vector<Cohort> cohorts;
  std::vector<ClusterQueue> queues;
  std::vector<LocalQueue> local_queues;
  std::vector<SnapshotWorkload> workloads;
  std::vector<SnapshotQueue> queue_states;
  std::vector<SnapshotRetry> retries;
  std::vector<SnapshotAccount> ledger;
};

// Sorted by name throughout: equal states give equal snapshots. Costs a pass over everything.
Snapshot take_snapshot(const State& state);
// A State that decides as the one did that the snapshot was taken of. Total: what refers to
// something the snapshot does not have is left out.
std::unique_ptr<State> restore(const Snapshot& snapshot);

}  // namespace kueue::engine
