// Why a workload waits, asked of a State at any time: per pod set and flavor what stands against it
// and by how much, who holds the quota, what preemption could do, which places came closest, and
// the smallest changes that would help. Asking changes nothing; a cycle does not pay for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace kueue::engine {

struct QuotaHolder {
  std::string cluster_queue;
  Amount used;
  Amount borrowed;  // the part beyond its own nominal quota
};

// One resource of one flavor, for all pods of a pod set.
struct QuotaLook {
  std::string resource;
  Amount requested;
  Amount available;
  Amount capacity;                   // the most the ClusterQueue could ever have
  Amount missing;                    // 0 = enough
  std::vector<QuotaHolder> holders;  // of its cohort tree, the largest first
};

struct PreemptionLook {
  std::vector<Target> victims;  // who would have to go
  std::string why_not;          // "" when preemption would help, or is not needed
};

struct DomainLook {
  std::vector<std::string> values;
  int64_t pods = 0;  // of the pod set that fit by what is free
};

// The roomiest domains of one level, at most three.
struct LevelLook {
  std::string level;
  std::vector<DomainLook> domains;
};

struct FlavorLook {
  std::string flavor;
  std::optional<Reason> first;  // the first rule that failed; absent = it fits
  std::vector<QuotaLook> quota;
  PreemptionLook preemption;
  std::vector<LevelLook> levels;  // of a topology flavor, outermost first
};

struct PodSetLook {
  std::string pod_set;
  int32_t count = 0;
  std::vector<FlavorLook> flavors;  // in the order they are tried
};

struct Why {
  bool known = false;
  Key key;
  std::string cluster_queue;
  std::string standing;  // admitted, waits, set aside, …
  std::string message;   // what the condition would say now
  std::vector<PodSetLook> pod_sets;
  // Each would let this pod set get this flavor; the smallest part of what it asks for comes first,
  // and before all that what frees nothing (a toleration, a selector); policies of queues come
  // last.
  std::vector<std::string> changes;
};

Why explain(State& state, const Key& workload);

}  // namespace kueue::engine
