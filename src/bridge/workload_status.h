// Changes of a Workload's status with the exact reasons and messages of
// labels-conditions-events.md: what the scheduler and the controllers write. Each function changes
// the given object in memory and says whether it did; writing the result (server-side apply as
// kueue-admission, or a merge patch) is the caller's. Pure; `now` is the time to write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kueue.h"
#include "base/feature_gates.h"
#include "base/time.h"
#include "engine/model/commands.h"

namespace kueue::bridge {

// A Kubernetes event to be sent, about `about` (a Workload).
struct WorkloadEvent {
  engine::Key about;
  bool warning = false;
  std::string reason;
  std::string message;
};

struct StatusContext {
  Instant now;
  const FeatureGates* gates = nullptr;  // never null in use
};

// Sets or adds a condition (metav1 rules: the transition time moves only when the status changes;
// observedGeneration is the object's generation; the message is cut at 32768 bytes). True when
// anything changed.
bool set_condition(api::v1beta2::Workload& workload, std::string_view type, bool status,
                   std::string_view reason, std::string_view message, const StatusContext& context);
bool remove_condition(api::v1beta2::Workload& workload, std::string_view type);

// --- commands of the engine
// Reservation: admission, QuotaReserved=True, resets Evicted/Preempted/BlockedOnPreemptionGates,
// Admitted when decided.
void apply_admit(api::v1beta2::Workload& workload, const engine::Admit& command,
                 const StatusContext& context);
std::vector<WorkloadEvent> admit_events(const api::v1beta2::Workload& before,
                                        const engine::Admit& command, const StatusContext& context);
// Message of the Finished condition (reason WorkloadSliceReplaced) and event of the slice that `by`
// replaces.
std::string replaced_slice_text(const engine::Admit& command, const api::v1beta2::Workload& by);
// Eviction by the scheduler: Evicted, Preempted and the side effects of evict().
void apply_evict(api::v1beta2::Workload& workload, const engine::Evict& command,
                 const StatusContext& context);
std::vector<WorkloadEvent> evict_events(const engine::Evict& command);
// QuotaReserved=False, Admitted, resourceRequests, BlockedOnPreemptionGates. True when anything
// changed.
bool apply_pending(api::v1beta2::Workload& workload, const engine::SetPending& command,
                   const StatusContext& context);
std::vector<WorkloadEvent> pending_events(const engine::SetPending& command,
                                          const StatusContext& context);

// --- shared steps of the workload and job controllers
// QuotaReserved=False with the granular reason or its legacy word, dropping a reservation that is
// there. True when changed.
bool unset_quota_reservation(api::v1beta2::Workload& workload, std::string_view reason,
                             std::string_view legacy_reason, std::string_view message,
                             const StatusContext& context);
// Evicted=True with its side effects (checks reset, gates closed, cluster names and unhealthy nodes
// cleared, counted in schedulingStats). `cause` is the underlying cause, "" = none.
void evict(api::v1beta2::Workload& workload, std::string_view reason, std::string_view cause,
           std::string_view message, const StatusContext& context);
// The EvictedDueTo… event of an eviction.
WorkloadEvent evicted_event(const engine::Key& about, std::string_view reason,
                            std::string_view cause, std::string_view message);
// What the job controller does once an evicted job has stopped: Requeued, reservation dropped. True
// when changed.
bool finish_eviction(api::v1beta2::Workload& workload, const StatusContext& context);
// Admitted from reservation and checks. True when it changed.
bool sync_admitted(api::v1beta2::Workload& workload, const StatusContext& context);
bool set_requeued(api::v1beta2::Workload& workload, bool status, std::string_view reason,
                  std::string_view message, const StatusContext& context);
void finish(api::v1beta2::Workload& workload, std::string_view reason, std::string_view message,
            const StatusContext& context);

// Compact encoding of a topology assignment (behaviour.md 13.8) and back.
api::v1beta2::TopologyAssignment encode_topology(const engine::TopologyAssignment& assignment,
                                                 bool by_hostname_prefix);
engine::TopologyAssignment decode_topology(const api::v1beta2::TopologyAssignment& assignment);
api::v1beta2::Admission to_api(const engine::Admission& admission, const FeatureGates& gates);

}  // namespace kueue::bridge
