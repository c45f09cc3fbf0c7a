// Events: everything that can happen to the engine, as values. apply() is total: an event about
// something unknown, a repeated one and one that changes nothing are all fine.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/model/nanos.h"
#include "engine/model/objects.h"

namespace kueue::engine {

struct NamespaceChanged {
  std::string name;
  Labels labels;
};
struct NamespaceDeleted {
  std::string name;
};
struct FlavorChanged {
  Flavor flavor;
};
struct FlavorDeleted {
  std::string name;
};
struct CheckChanged {
  AdmissionCheck check;
};
struct CheckDeleted {
  std::string name;
};
struct TopologyChanged {
  Topology topology;
};
struct TopologyDeleted {
  std::string name;
};
struct CohortChanged {
  Cohort cohort;
};
struct CohortDeleted {
  std::string name;
};
struct ClusterQueueChanged {
  ClusterQueue queue;
};
struct ClusterQueueDeleted {
  std::string name;
};
struct LocalQueueChanged {
  LocalQueue queue;
};
struct LocalQueueDeleted {
  Key key;
};
struct NodeChanged {
  Node node;
};
struct NodeDeleted {
  std::string name;
};
struct ForeignPodChanged {
  ForeignPod pod;
};  // also for a pod that ended: send ForeignPodDeleted then
struct ForeignPodDeleted {
  Key key;
};

// The object as it is now, created or updated. Send it for every change of the API object, our own
// writes included: the engine compares with what it knew, moves the workload between its queue and
// the reservations, and asks for retries.
struct WorkloadChanged {
  std::shared_ptr<const Workload> workload;
};
struct WorkloadDeleted {
  Key key;
};

// Outcome of writing an Admit command. Ok needs no event: WorkloadChanged brings it. On failure the
// assumption is forgotten and the workload goes back to its queue, or is dropped when it is gone.
struct AdmissionFailed {
  Key key;
  bool not_found = false;
};
// Outcome of an Evict command that could not be written: the victim may be chosen (and written)
// again.
struct EvictionFailed {
  Key key;
};
// A time that is earlier than the last one by more than this: the clock was set back, and the
// engine with it. By less: two threads looked at the clock, and it is passed over.
inline constexpr Duration kClockSetBack = Duration::seconds(5);
struct TimePassed {
  Instant now;
};
// Runs every pending retry of inadmissible workloads at once, whatever its time.
struct FlushRetries {};

// Admission fair sharing: what a LocalQueue has consumed, as stored in its status or sampled
// (behaviour.md 11).
struct ConsumedUsage {
  Key local_queue;
  std::vector<std::pair<std::string, Nanos>> consumed;  // cpu in cores
  Instant last_update;
};
// A sampling interval has passed: decay and add what is admitted now.
struct SampleUsage {
  Key local_queue;
  Instant now;
};
// Puts a workload into the ready second-pass queue (restart).
struct SecondPassReady {
  Key key;
};

using Event =
    std::variant<NamespaceChanged, NamespaceDeleted, FlavorChanged, FlavorDeleted, CheckChanged,
                 CheckDeleted, TopologyChanged, TopologyDeleted, CohortChanged, CohortDeleted,
                 ClusterQueueChanged, ClusterQueueDeleted, LocalQueueChanged, LocalQueueDeleted,
                 NodeChanged, NodeDeleted, ForeignPodChanged, ForeignPodDeleted, WorkloadChanged,
                 WorkloadDeleted, AdmissionFailed, EvictionFailed, TimePassed, FlushRetries,
                 ConsumedUsage, SampleUsage, SecondPassReady>;

}  // namespace kueue::engine
