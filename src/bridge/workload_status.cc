#include "bridge/workload_status.h"

#include <algorithm>

#include "api/topology_assignment.h"
#include "bridge/quantities.h"

namespace kueue::bridge {
namespace {

using api::v1beta2::Workload;

constexpr size_t kMaxMessage = 32768;

api::meta::Condition* find(Workload& w, std::string_view type) {
  for (api::meta::Condition& c : w.status.conditions)
    if (c.type == type) return &c;
  return nullptr;
}

const api::meta::Condition* find(const Workload& w, std::string_view type) {
  return find(const_cast<Workload&>(w), type);
}

bool is_true(const Workload& w, std::string_view type) {
  const api::meta::Condition* c = find(w, type);
  return c != nullptr && c->status == "True";
}

bool observability(const StatusContext& context) {
  return context.gates->on(Gate::kUnadmittedWorkloadsObservability);
}

std::string cut(std::string_view message, size_t limit) {
  if (message.size() <= limit) return std::string(message);
  return std::string(message.substr(0, limit - 4)) + " ...";
}

void reset(Workload& w, std::string_view type, std::string_view reason,
           const StatusContext& context) {
  const api::meta::Condition* c = find(w, type);
  if (c == nullptr || c->status != "True") return;
  set_condition(w, type, false, reason, "Previously: " + c->message, context);
}

bool all_checks_ready(const Workload& w) {
  return std::all_of(w.status.admission_checks.begin(), w.status.admission_checks.end(),
                     [](const auto& check) { return check.state == "Ready"; });
}

bool topology_pending(const Workload& w) {
  return w.status.admission &&
         std::any_of(w.status.admission->pod_set_assignments.begin(),
                     w.status.admission->pod_set_assignments.end(),
                     [](const auto& ps) { return ps.delayed_topology_request == "Pending"; });
}

std::string seconds_text(Duration d) {
  double seconds = d.as_seconds();
  int64_t rounded = static_cast<int64_t>(seconds < 0 ? seconds - 0.5 : seconds + 0.5);
  return std::to_string(rounded) + "s";
}

Duration queued_for(const Workload& w, Instant now) {
  // As Go has it: from no time at all it is the longest of all durations.
  if (!w.metadata.creation_timestamp && find(w, "Requeued") == nullptr) return {INT64_MAX};
  Instant since = w.metadata.creation_timestamp.value_or(now);
  const api::meta::Condition* requeued = find(w, "Requeued");
  if (requeued != nullptr && requeued->last_transition_time)
    since = *requeued->last_transition_time;
  return now - since;
}

WorkloadEvent make_event(const engine::Key& about, bool warning, std::string reason,
                         std::string_view message) {
  return {about, warning, std::move(reason), cut(message, 1024)};
}

bool set_resource_requests(Workload& w, const engine::SetPending& command) {
  std::vector<api::v1beta2::PodSetRequest> next;
  for (const auto& [name, amounts] : command.resource_requests) {
    api::v1beta2::PodSetRequest request{name, {}};
    for (const auto& [resource, amount] : amounts)
      request.resources[resource] = quantity_of(resource, amount);
    next.push_back(std::move(request));
  }
  if (next == w.status.resource_requests) return false;
  w.status.resource_requests = std::move(next);
  return true;
}

void count_eviction(Workload& w, std::string_view reason, std::string_view cause) {
  if (!w.status.scheduling_stats) w.status.scheduling_stats.emplace();
  auto& evictions = w.status.scheduling_stats->evictions;
  for (auto& e : evictions)
    if (e.reason == reason && e.underlying_cause == cause) {
      ++e.count;
      return;
    }
  evictions.push_back({1, std::string(reason), std::string(cause)});
}

}  // namespace

bool set_condition(Workload& w, std::string_view type, bool status, std::string_view reason,
                   std::string_view message, const StatusContext& context) {
  api::meta::Condition next;
  next.type = std::string(type);
  next.status = status ? "True" : "False";
  next.reason = std::string(reason);
  next.message = cut(message, kMaxMessage);
  next.last_transition_time = context.now;
  if (w.metadata.generation.value_or(0) != 0) next.observed_generation = w.metadata.generation;
  api::meta::Condition* have = find(w, type);
  if (have == nullptr) {
    w.status.conditions.push_back(std::move(next));
    return true;
  }
  if (have->status == next.status) next.last_transition_time = have->last_transition_time;
  if (*have == next) return false;
  *have = std::move(next);
  return true;
}

bool remove_condition(Workload& w, std::string_view type) {
  return std::erase_if(w.status.conditions, [&](const auto& c) { return c.type == type; }) > 0;
}

void apply_admit(Workload& w, const engine::Admit& command, const StatusContext& context) {
  w.status.admission = to_api(*command.admission, *context.gates);
  set_condition(w, "QuotaReserved", true, "QuotaReserved",
                "Quota reserved in ClusterQueue " + command.admission->cluster_queue, context);
  for (const char* type : {"Evicted", "Preempted", "BlockedOnPreemptionGates"})
    reset(w, type, "QuotaReserved", context);
  if (command.second_pass) w.status.unhealthy_nodes.clear();
  if (!command.cluster_name.empty()) w.status.cluster_name = command.cluster_name;
  if (command.settles_admitted) sync_admitted(w, context);
}

std::vector<WorkloadEvent> admit_events(const Workload& before, const engine::Admit& command,
                                        const StatusContext& context) {
  std::vector<WorkloadEvent> out;
  const std::string& queue = command.admission->cluster_queue;
  if (!command.second_pass) {
    std::string text = "Quota reserved in ClusterQueue " + queue + ", wait time since queued was " +
                       seconds_text(queued_for(before, context.now));
    if (!command.flavors_considered.empty())
      text += "; Flavors considered: " + command.flavors_considered;
    out.push_back(make_event(command.key, false, "QuotaReserved", text));
  }
  if (command.admitted && !is_true(before, "Admitted")) {
    // As in Kueue, also when the reservation is older (a second pass).
    out.push_back(
        make_event(command.key, false, "Admitted",
                   "Admitted by ClusterQueue " + queue + ", wait time since reservation was 0s"));
  }
  return out;
}

std::string replaced_slice_text(const engine::Admit& command, const Workload& by) {
  auto uid = by.metadata.labels.find("kueue.x-k8s.io/job-uid");
  return "Replaced to accommodate a workload (UID: " + command.uid.str() +
         ", JobUID: " + (uid == by.metadata.labels.end() ? "" : uid->second) +
         ") due to workload slice aggregation";
}

void apply_evict(Workload& w, const engine::Evict& command, const StatusContext& context) {
  evict(w, engine::evict_reason_text(command.reason), "", command.message, context);
  if (command.reason != engine::EvictReason::kPreempted) return;
  set_condition(w, "Preempted", true, engine::preempt_reason_text(command.preempt_reason),
                command.message, context);
  find(w, "Preempted")->observed_generation.reset();  // the one condition that carries none
}

std::vector<WorkloadEvent> evict_events(const engine::Evict& command) {
  std::vector<WorkloadEvent> out;
  out.push_back(
      evicted_event(command.key, engine::evict_reason_text(command.reason), "", command.message));
  if (command.reason != engine::EvictReason::kPreempted) return out;
  out.push_back(
      make_event(command.key, false, "Preempted", command.message + "; " + command.priorities));
  out.push_back(make_event(command.preemptor->key, false, "PreemptedWorkload",
                           "Preempted workload " + command.key.text() +
                               " (UID: " + command.uid.str() + ") in ClusterQueue " +
                               command.cluster_queue + "; " + command.priorities));
  return out;
}

namespace {

std::string pending_reason(const engine::SetPending& command, const StatusContext& context) {
  // Where no rule names a reason, an empty one would be refused by the API.
  engine::PendingReason reason = command.reason == engine::PendingReason::kNone
                                     ? engine::PendingReason::kPendingEvaluation
                                     : command.reason;
  if (observability(context)) return engine::reason_text(reason);
  return reason == engine::PendingReason::kWaitingForPodsReady ? "Waiting" : "Pending";
}

}  // namespace

bool apply_pending(Workload& w, const engine::SetPending& command, const StatusContext& context) {
  if (!command.write) return false;
  std::string reason = pending_reason(command, context);
  bool changed = unset_quota_reservation(w, reason, reason, command.message, context);
  changed |= set_resource_requests(w, command);
  if (command.blocked_on_gates)
    changed |= set_condition(w, "BlockedOnPreemptionGates", true, "PreemptionGated",
                             command.message, context);
  return changed;
}

std::vector<WorkloadEvent> pending_events(const engine::SetPending& command,
                                          const StatusContext& context) {
  std::string reason =
      command.second_pass_failed ? "SecondPassFailed" : pending_reason(command, context);
  return {make_event(command.key, true, reason, command.message)};
}

bool unset_quota_reservation(Workload& w, std::string_view reason, std::string_view legacy_reason,
                             std::string_view message, const StatusContext& context) {
  bool changed = set_condition(w, "QuotaReserved", false,
                               observability(context) ? reason : legacy_reason, message, context);
  if (w.status.admission) {
    w.status.admission.reset();
    changed = true;
  }
  return sync_admitted(w, context) || changed;
}

void evict(Workload& w, std::string_view reason, std::string_view cause, std::string_view message,
           const StatusContext& context) {
  std::string full(reason);
  if (reason == "Deactivated" && !cause.empty()) full = "DeactivatedDueTo" + std::string(cause);
  set_condition(w, "Evicted", true, full, message, context);
  w.status.cluster_name.clear();
  w.status.nominated_cluster_names.clear();
  for (api::v1beta2::AdmissionCheckState& check : w.status.admission_checks) {
    if (check.state == "Pending") continue;
    check.message = "Reset to Pending after eviction. Previously: " + check.state;
    check.retry_count = check.state == "Retry"
                            ? std::optional<int32_t>(check.retry_count.value_or(0) + 1)
                            : std::nullopt;
    check.state = "Pending";
    check.last_transition_time = context.now;
    check.pod_set_updates.clear();
  }
  w.status.unhealthy_nodes.clear();
  if (is_true(w, "BlockedOnPreemptionGates"))
    set_condition(w, "BlockedOnPreemptionGates", false, full, message, context);
  for (api::v1beta2::PreemptionGateState& gate : w.status.preemption_gates) {
    if (gate.position == "Closed") continue;
    gate.position = "Closed";
    gate.last_transition_time = context.now;
  }
  count_eviction(w, reason, cause);
}

WorkloadEvent evicted_event(const engine::Key& about, std::string_view reason,
                            std::string_view cause, std::string_view message) {
  std::string name = "EvictedDueTo" + std::string(reason);
  if (!cause.empty()) name += "DueTo" + std::string(cause);
  return make_event(about, false, std::move(name), message);
}

bool finish_eviction(Workload& w, const StatusContext& context) {
  const api::meta::Condition* evicted = find(w, "Evicted");
  if (evicted == nullptr || evicted->status != "True" || !is_true(w, "QuotaReserved")) return false;
  std::string reason = evicted->reason, message = evicted->message;
  set_requeued(w, reason == "Preempted" || reason == "NodeFailures", reason, message, context);
  unset_quota_reservation(w, "PendingEvaluation", "Pending", message, context);
  return true;
}

bool sync_admitted(Workload& w, const StatusContext& context) {
  bool reserved = is_true(w, "QuotaReserved");
  bool ready = all_checks_ready(w);
  bool delayed = topology_pending(w);
  bool admitted = is_true(w, "Admitted");
  bool should = reserved && ready && !delayed;
  bool granular = observability(context);
  if (admitted == should && !granular) return false;
  if (should)
    return set_condition(w, "Admitted", true, "Admitted", "The workload is admitted", context);
  if (granular && find(w, "QuotaReserved") == nullptr && find(w, "Admitted") == nullptr &&
      !context.gates->on(Gate::kUnadmittedWorkloadsExplicitStatus))
    return false;
  if (admitted) {
    const api::meta::Condition* was = find(w, "Admitted");
    Duration ran = context.now - was->last_transition_time.value_or(context.now);
    // A clock that went back gives no time away.
    auto seconds = static_cast<int32_t>(std::max<int64_t>(0, ran.ns / 1'000'000'000));
    int32_t total = w.status.accumulated_past_execution_time_seconds.value_or(0) + seconds;
    w.status.accumulated_past_execution_time_seconds = total;
  }
  if (!reserved && !ready && !granular)
    return set_condition(w, "Admitted", false, "NoReservationUnsatisfiedChecks",
                         "The workload has no reservation and not all checks ready", context);
  if (!reserved)
    return set_condition(w, "Admitted", false, "NoReservation", "The workload has no reservation",
                         context);
  if (!ready)
    return set_condition(w, "Admitted", false,
                         granular ? "UnsatisfiedAdmissionChecks" : "UnsatisfiedChecks",
                         "The workload has not all checks ready", context);
  return set_condition(w, "Admitted", false, "PendingDelayedTopologyRequests",
                       "There are pending delayed topology requests", context);
}

bool set_requeued(Workload& w, bool status, std::string_view reason, std::string_view message,
                  const StatusContext& context) {
  return set_condition(w, "Requeued", status, reason, message, context);
}

void finish(Workload& w, std::string_view reason, std::string_view message,
            const StatusContext& context) {
  set_condition(w, "Finished", true, reason, message, context);
}

api::v1beta2::TopologyAssignment encode_topology(const engine::TopologyAssignment& assignment,
                                                 bool by_hostname_prefix) {
  std::vector<api::TopologyDomain> domains;
  for (const engine::TopologyDomain& d : assignment.domains) domains.push_back({d.values, d.count});
  return api::pack_topology(assignment.levels, domains, by_hostname_prefix);
}

engine::TopologyAssignment decode_topology(const api::v1beta2::TopologyAssignment& assignment) {
  engine::TopologyAssignment out;
  out.levels = assignment.levels;
  if (Result<std::vector<api::TopologyDomain>> domains = api::unpack_topology(assignment);
      domains.ok())
    for (api::TopologyDomain& d : *domains) out.domains.push_back({std::move(d.values), d.count});
  return out;
}

api::v1beta2::Admission to_api(const engine::Admission& admission, const FeatureGates& gates) {
  api::v1beta2::Admission out;
  out.cluster_queue = admission.cluster_queue;
  for (const engine::PodSetAssignment& ps : admission.pod_sets) {
    api::v1beta2::PodSetAssignment a;
    a.name = ps.name;
    for (const auto& [resource, flavor] : ps.flavors) a.flavors[resource] = flavor;
    for (const auto& [resource, amount] : ps.usage)
      a.resource_usage[resource] = quantity_of(resource, amount);
    a.count = ps.count;
    if (ps.topology)
      a.topology_assignment =
          encode_topology(*ps.topology, gates.on(Gate::kTASAssignmentsEncodingByHostnamePrefix));
    if (ps.delayed == engine::DelayedTopology::kPending) a.delayed_topology_request = "Pending";
    if (ps.delayed == engine::DelayedTopology::kReady) a.delayed_topology_request = "Ready";
    out.pod_set_assignments.push_back(std::move(a));
  }
  return out;
}

}  // namespace kueue::bridge
