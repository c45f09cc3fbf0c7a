// The handlers of events, one overload each. Internal to the engine.
#pragma once

#include "engine/world.h"

namespace kueue::engine {

void apply_event(World& world, const NamespaceChanged& event);
void apply_event(World& world, const NamespaceDeleted& event);
void apply_event(World& world, const FlavorChanged& event);
void apply_event(World& world, const FlavorDeleted& event);
void apply_event(World& world, const CheckChanged& event);
void apply_event(World& world, const CheckDeleted& event);
void apply_event(World& world, const TopologyChanged& event);
void apply_event(World& world, const TopologyDeleted& event);
void apply_event(World& world, const CohortChanged& event);
void apply_event(World& world, const CohortDeleted& event);
void apply_event(World& world, const ClusterQueueChanged& event);
void apply_event(World& world, const ClusterQueueDeleted& event);
void apply_event(World& world, const LocalQueueChanged& event);
void apply_event(World& world, const LocalQueueDeleted& event);
void apply_event(World& world, const NodeChanged& event);
void apply_event(World& world, const NodeDeleted& event);
void apply_event(World& world, const ForeignPodChanged& event);
void apply_event(World& world, const ForeignPodDeleted& event);
void apply_event(World& world, const WorkloadChanged& event);
void apply_event(World& world, const WorkloadDeleted& event);
void apply_event(World& world, const AdmissionFailed& event);
void apply_event(World& world, const EvictionFailed& event);
void apply_event(World& world, const TimePassed& event);
void apply_event(World& world, const FlushRetries& event);
void apply_event(World& world, const ConsumedUsage& event);
void apply_event(World& world, const SampleUsage& event);
void apply_event(World& world, const SecondPassReady& event);

LocalId ensure_local(World& world, std::string_view ns, std::string_view name);
// The record of a ClusterQueue, made when only its name is known: its LocalQueues and reservations
// may come before the ClusterQueue itself.
QueueId ensure_queue(World& world, const Text& name);
// The value that orders the LocalQueue among others follows its ledger and weight
// (fairshare/ledger.cc).
void refresh_local_usage(World& world, LocalId local);
// Flavors, topologies or nodes changed: the topology trees follow (topology/).
void topology_changed(World& world);

}  // namespace kueue::engine
