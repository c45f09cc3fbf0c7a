#include <algorithm>
#include <array>

#include "controllers/names.h"
#include "controllers/scheduler/admission.h"
#include "controllers/workload/conditions.h"
#include "controllers/workload/requeue_state.h"
#include "controllers/workload/workload.h"

namespace kueue::controllers {
namespace {

constexpr std::string_view kPendingText = "Workload is pending evaluation in the scheduling queue";
constexpr std::string_view kDeactivatedText = "The workload is deactivated";
constexpr std::string_view kInadmissible = "Inadmissible";
constexpr std::string_view kPendingLegacy = "Pending";

// Reasons that the scheduler gave and that stand until it looks again.
bool set_by_scheduler(std::string_view reason, bool granular) {
  if (reason == kPendingLegacy) return !granular;
  constexpr std::array<std::string_view, 7> kReasons = {
      "WaitingForQuota",         "NoMatchingFlavor",    "ExceedsMaxQuota",
      "TopologyPlacementFailed", "WaitingForPodsReady", "WaitingForPreemptedWorkloads",
      "PendingEvaluation",
  };
  return std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end();
}

// The scheduler's reason for a namespace that its ClusterQueue does not take, or that nobody knows.
// Kueue replaces it by PendingEvaluation, which tells nobody why the workload waits.
bool wrong_namespace(const api::meta::Condition* condition) {
  if (condition == nullptr || condition->reason != kMisconfigured) return false;
  const std::string& text = condition->message;
  return text == "workload namespace doesn't match ClusterQueue selector" ||
         (text.starts_with("namespace ") && text.ends_with(" not found"));
}

bool may_tell_bypass(std::string_view reason) {
  return reason.empty() || reason == kDeactivated || reason == kPendingEvaluation ||
         reason == kSuspended || reason == kPendingLegacy;
}

// The admission gates of the annotation, nullptr when there are none.
const std::string* gates_of(const v1beta2::Workload& workload) {
  auto found = workload.metadata.annotations.find(kAdmissionGatedByAnnotation);
  return found == workload.metadata.annotations.end() || found->second.empty() ? nullptr
                                                                               : &found->second;
}

std::string gated_text(const std::string& gates) { return "Admission is gated by: " + gates; }
std::string gated_event(const std::string& gates) {
  return "Workload admission is gated by: " + gates;
}

bool stopped(const std::string& policy) { return !policy.empty() && policy != "None"; }

std::string quoted_checks(const v1beta2::Workload& workload, std::string_view state) {
  std::string list;
  int count = 0;
  for (const v1beta2::AdmissionCheckState& check : workload.status.admission_checks) {
    if (check.state != state) continue;
    if (count++ > 0) list += "; ";
    list += '"' + check.name + '"';
    if (!check.message.empty()) list += " (" + check.message + ")";
  }
  return std::string(count == 1 ? "AdmissionCheck" : "AdmissionChecks") + " in " +
         std::string(state) + " state: " + list;
}

bool any_check(const v1beta2::Workload& workload, std::string_view state) {
  const auto& checks = workload.status.admission_checks;
  return std::any_of(checks.begin(), checks.end(),
                     [&](const auto& check) { return check.state == state; });
}

}  // namespace

Duration requeue_backoff(int32_t base_seconds, int32_t max_seconds, int32_t n) {
  int64_t seconds = std::max<int32_t>(base_seconds, 0);
  for (int32_t i = 1; i < n && seconds < max_seconds; ++i) seconds *= 2;
  return Duration::seconds(std::min<int64_t>(seconds, max_seconds));
}

Duration jittered_backoff(int32_t base_seconds, int32_t max_seconds, int32_t n,
                          std::string_view uid) {
  constexpr int64_t kParts = 10'000;
  uint64_t hash = 14695981039346656037u + static_cast<uint64_t>(n);  // FNV-1a
  for (const char c : uid) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  hash ^= hash >> 32;
  const Duration exact = requeue_backoff(base_seconds, max_seconds, n);
  const Duration most{exact.ns / kParts};
  const auto share = static_cast<int64_t>(hash % 1024);
  return std::min(exact + Duration{most.ns / 1024 * share}, Duration::seconds(max_seconds));
}

WorkloadReconciler::Queues WorkloadReconciler::queues_of(const v1beta2::Workload& workload) const {
  Queues queues;
  queues.local =
      context_.stores->local_queues.get({workload.metadata.namespace_, workload.spec.queue_name});
  if (workload.status.admission.has_value()) {
    queues.cluster_name = workload.status.admission->cluster_queue;
  } else if (queues.local != nullptr) {
    queues.cluster_name = queues.local->spec.cluster_queue;
  }
  if (queues.cluster_name.empty()) return queues;
  queues.cluster = context_.stores->cluster_queues.get({"", queues.cluster_name});
  if (queues.cluster != nullptr) {
    const auto* active = find_condition(queues.cluster->status.conditions, kActive);
    queues.cluster_active =
        active != nullptr && active->status == "True" && !stopped(queues.cluster->spec.stop_policy);
  }
  return queues;
}

bool WorkloadReconciler::decide(v1beta2::Workload& workload, Outcome& outcome) const {
  bool changed = sync_preemption_gates(workload);
  changed |= sync_termination(workload, outcome);
  if (is_active(workload)) {
    bool waiting = false;
    changed |= wait_for_backoff(workload, outcome, waiting);
    if (waiting) return changed;
  } else if (sync_inactive(workload, outcome)) {
    return true;
  }
  const Queues queues = queues_of(workload);
  if (is_active(workload) && sync_requeued(workload, queues)) return true;
  if (has_reservation(workload)) {
    changed |= sync_reserved(workload, queues, outcome);
  } else {
    changed |= sync_pending(workload, queues, outcome);
  }
  return changed;
}

bool WorkloadReconciler::sync_preemption_gates(v1beta2::Workload& workload) const {
  if (!context_.gates().on(Gate::kMultiKueueOrchestratedPreemption)) return false;
  std::vector<v1beta2::PreemptionGateState> wanted;
  for (const v1beta2::PreemptionGate& gate : workload.spec.preemption_gates) {
    const auto& states = workload.status.preemption_gates;
    const auto found = std::find_if(states.begin(), states.end(),
                                    [&](const auto& state) { return state.name == gate.name; });
    if (found != states.end()) {
      wanted.push_back(*found);
    } else {
      wanted.push_back({context_.now(), gate.name, "Closed"});
    }
  }
  if (wanted == workload.status.preemption_gates) return false;
  workload.status.preemption_gates = std::move(wanted);
  return true;
}

// The back-off before the workload may be queued again, and the one that a check asks for, during
// which the quota stays reserved.
bool WorkloadReconciler::wait_for_backoff(v1beta2::Workload& workload, Outcome& outcome,
                                          bool& waiting) const {
  bool changed = false;
  if (const std::optional<Instant> until = retry_time(workload); until && *until > context_.now())
    changed = requeue_not_before(workload, *until, false);
  auto& requeue = workload.status.requeue_state;
  if (!requeue.has_value() || !requeue->requeue_at.has_value()) return changed;
  const Duration left = *requeue->requeue_at - context_.now();
  if (left.ns > 0) {
    waiting = true;
    outcome.within(left);
  } else if (!has_reservation(workload)) {
    requeue->requeue_at.reset();
    if (!requeue->count.has_value()) requeue.reset();
    changed = true;
  }
  return changed;
}

bool WorkloadReconciler::sync_requeued(v1beta2::Workload& workload, const Queues& queues) const {
  const api::meta::Condition* requeued = find_condition(workload, kRequeued);
  if (requeued == nullptr || requeued->status != "False") return false;
  // Still on its way out: the eviction that this condition tells of is not complete.
  if (has_reservation(workload) && is_evicted(workload)) return false;
  const std::string reason = requeued->reason;
  const bridge::StatusContext status = status_context();
  if (reason.starts_with(kDeactivated))
    return bridge::set_requeued(workload, true, "Reactivated", "The workload was reactivated",
                                status);
  if (reason == kPodsReadyTimeout || reason == kAdmissionCheck)
    return bridge::set_requeued(workload, true, "BackoffFinished",
                                "The workload backoff was finished", status);
  if (reason == kLocalQueueStopped && queues.local != nullptr &&
      !stopped(queues.local->spec.stop_policy))
    return bridge::set_requeued(workload, true, "LocalQueueRestarted",
                                "The LocalQueue was restarted after being stopped", status);
  if (reason == kClusterQueueStopped && queues.cluster != nullptr &&
      !stopped(queues.cluster->spec.stop_policy))
    return bridge::set_requeued(workload, true, "ClusterQueueRestarted",
                                "The ClusterQueue was restarted after being stopped", status);
  return false;
}

bool WorkloadReconciler::sync_inactive(v1beta2::Workload& workload, Outcome& outcome) const {
  const api::meta::Condition* evicted = find_condition(workload, kEvicted);
  if (evicted != nullptr && evicted->status == "True" && evicted->reason.starts_with(kDeactivated))
    return false;
  Eviction eviction{std::string(kDeactivated), "", std::string(kDeactivatedText)};
  if (is_true(workload, kDeactivationTarget)) {
    const api::meta::Condition& target = *find_condition(workload, kDeactivationTarget);
    eviction.cause = target.reason;
    eviction.message += " due to " + target.message;
  }
  evict(workload, std::move(eviction), outcome);
  workload.status.requeue_state.reset();
  bridge::remove_condition(workload, kDeactivationTarget);
  return true;
}

void WorkloadReconciler::evict(v1beta2::Workload& workload, Eviction eviction,
                               Outcome& outcome) const {
  const bool reserved = workload.status.admission.has_value();
  bridge::evict(workload, eviction.reason, eviction.cause, eviction.message, status_context());
  if (reserved) outcome.evicted = std::move(eviction);
}

std::optional<WorkloadReconciler::Blocker> WorkloadReconciler::blocker_of(
    const v1beta2::Workload& workload, const Queues& queues) const {
  const auto misconfigured = [](std::string text) {
    return Blocker{std::string(kMisconfigured), std::string(kInadmissible), std::move(text)};
  };
  const auto suspended = [](std::string text) {
    return Blocker{std::string(kSuspended), std::string(kInadmissible), std::move(text)};
  };
  const Blocker deactivated{std::string(kDeactivated), std::string(kDeactivated),
                            std::string(kDeactivatedText)};
  // The older, coarser reasons put the queues first.
  const bool granular = context_.gates().on(Gate::kUnadmittedWorkloadsObservability);
  if (!is_active(workload) && granular) return deactivated;
  if (context_.gates().on(Gate::kAdmissionGatedBy))
    if (const std::string* gates = gates_of(workload))
      return Blocker{std::string(kAdmissionGated), std::string(kAdmissionGated),
                     gated_text(*gates)};
  const std::string& queue = workload.spec.queue_name;
  if (queues.local == nullptr) return misconfigured("LocalQueue " + queue + " doesn't exist");
  if (stopped(queues.local->spec.stop_policy))
    return suspended("LocalQueue " + queue + " is inactive");
  if (queues.cluster == nullptr)
    return misconfigured("ClusterQueue " + queues.cluster_name + " doesn't exist");
  if (!queues.cluster_active)
    return suspended("ClusterQueue " + queues.cluster_name + " is inactive");
  if (std::string text = context_.admission->misconfigured(workload); !text.empty())
    return misconfigured(std::move(text));
  if (!is_active(workload)) return deactivated;
  return std::nullopt;
}

bool WorkloadReconciler::sync_pending(v1beta2::Workload& workload, const Queues& queues,
                                      Outcome& outcome) const {
  const bridge::StatusContext status = status_context();
  const api::meta::Condition* condition = find_condition(workload, kQuotaReserved);
  const std::string reason = condition == nullptr ? "" : condition->reason;
  const bool on_hold = condition != nullptr && condition->status == "False" && reason == kOnHold;
  const bool explicit_status = context_.gates().on(Gate::kUnadmittedWorkloadsExplicitStatus);
  const bool observed = context_.gates().on(Gate::kUnadmittedWorkloadsObservability);
  const bool gated = context_.gates().on(Gate::kAdmissionGatedBy) && gates_of(workload) != nullptr;
  std::optional<Blocker> blocker;
  if (!on_hold || !is_active(workload)) blocker = blocker_of(workload, queues);
  bool changed = false;
  if (reason == kAdmissionGated && !gated && is_active(workload)) {
    // Told before anything that the queues have to say.
    changed = bridge::unset_quota_reservation(
        workload, kPendingEvaluation, kPendingLegacy,
        "AdmissionGatedBy cleared, waiting for quota reservation", status);
    outcome.events.push_back(
        {{}, false, "AdmissionGateCleared", "Admission gate cleared, workload is now admissible"});
  } else if (blocker.has_value()) {
    changed |= bridge::unset_quota_reservation(workload, blocker->reason, blocker->legacy,
                                               blocker->message, status);
    if (changed && blocker->reason == kAdmissionGated && reason != kAdmissionGated)
      outcome.events.push_back(
          {{}, false, std::string(kAdmissionGated), gated_event(*gates_of(workload))});
  } else if (!on_hold) {
    const engine::Key key{workload.metadata.namespace_, workload.metadata.name};
    const auto bypass = context_.admission->ask(
        [&](const engine::State& state) { return state.bypass_reason(key); });
    if (observed && bypass.has_value() && may_tell_bypass(reason) &&
        (condition != nullptr || explicit_status)) {
      changed |= bridge::unset_quota_reservation(
          workload, engine::reason_text(*bypass), engine::legacy_reason_text(*bypass),
          "Bypassed scheduling evaluation because an equivalent workload recently failed", status);
    } else if ((condition != nullptr || explicit_status) && !set_by_scheduler(reason, observed) &&
               !wrong_namespace(condition)) {
      changed |= bridge::unset_quota_reservation(workload, kPendingEvaluation, kPendingLegacy,
                                                 kPendingText, status);
    } else if (condition != nullptr &&
               condition->observed_generation != workload.metadata.generation) {
      // What the scheduler said stands for the spec as it is now.
      changed |= bridge::unset_quota_reservation(workload, reason, reason,
                                                 std::string(condition->message), status);
    }
  }
  // A workload that nobody looked at yet has neither condition.
  if (find_condition(workload, kQuotaReserved) != nullptr ||
      find_condition(workload, kAdmitted) != nullptr)
    changed |= bridge::sync_admitted(workload, status);
  return changed;
}

bool WorkloadReconciler::sync_reserved(v1beta2::Workload& workload, const Queues& queues,
                                       Outcome& outcome) const {
  bool changed = false;
  const std::string* gates =
      context_.gates().on(Gate::kAdmissionGatedBy) ? gates_of(workload) : nullptr;
  if (gates != nullptr && !is_admitted(workload) && !is_evicted(workload)) {
    outcome.events.push_back({{}, false, std::string(kAdmissionGated), gated_event(*gates)});
    return bridge::unset_quota_reservation(workload, kAdmissionGated, kAdmissionGated,
                                           gated_text(*gates), status_context());
  }
  if (!is_evicted(workload)) {
    if (!is_admitted(workload) && bridge::sync_admitted(workload, status_context())) {
      changed = true;
      outcome.admitted = is_admitted(workload);
    }
    if (is_active(workload)) {
      if (evict_for_checks(workload, outcome)) return true;
      changed |= evict_for_queues(workload, queues, outcome);
      if (!is_evicted(workload)) changed |= evict_for_pods(workload, outcome);
      if (!is_evicted(workload)) changed |= limit_execution(workload, outcome);
    }
  }
  return changed;
}

bool WorkloadReconciler::evict_for_checks(v1beta2::Workload& workload, Outcome& outcome) const {
  if (any_check(workload, "Rejected")) {
    if (is_true(workload, kDeactivationTarget)) return false;
    const std::string text = quoted_checks(workload, "Rejected");
    outcome.events.push_back({{}, true, "AdmissionCheckRejected", "Deactivated due to " + text});
    return bridge::set_condition(workload, kDeactivationTarget, true, kAdmissionCheck, text,
                                 status_context());
  }
  if (!any_check(workload, "Retry")) return false;
  evict(workload,
        {std::string(kAdmissionCheck), "", "Evicted due to " + quoted_checks(workload, "Retry")},
        outcome);
  return true;
}

bool WorkloadReconciler::evict_for_queues(v1beta2::Workload& workload, const Queues& queues,
                                          Outcome& outcome) const {
  const bool admitted = is_admitted(workload);
  const auto release = [&](std::string_view reason, const std::string& message) {
    bool changed =
        bridge::unset_quota_reservation(workload, reason, kInadmissible, message, status_context());
    return changed | bridge::sync_admitted(workload, status_context());
  };
  const bool no_local =
      queues.local == nullptr || queues.local->metadata.deletion_timestamp.has_value();
  if (no_local && !admitted)
    return release(kMisconfigured,
                   "LocalQueue " + workload.spec.queue_name + " is terminating or missing");
  // Without its LocalQueue what runs goes on, and is drained with its ClusterQueue all the same.
  // Queues on their way out are drained too: the ClusterQueue waits for that.
  const std::string local_stop =
      queues.local == nullptr ? std::string() : queues.local->spec.stop_policy;
  if (stopped(local_stop)) {
    if (!admitted)
      return release(kSuspended, "LocalQueue " + workload.spec.queue_name + " is stopped");
    if (local_stop == "HoldAndDrain") {
      evict(workload, {std::string(kLocalQueueStopped), "", "The LocalQueue is stopped"}, outcome);
      return true;
    }
  }
  const bool no_cluster =
      queues.cluster == nullptr || queues.cluster->metadata.deletion_timestamp.has_value();
  if (no_cluster && !admitted)
    return release(kMisconfigured,
                   "ClusterQueue " + queues.cluster_name + " is terminating or missing");
  const std::string cluster_stop =
      queues.cluster == nullptr ? std::string() : queues.cluster->spec.stop_policy;
  if (!stopped(cluster_stop)) return false;
  if (!admitted) return release(kSuspended, "ClusterQueue " + queues.cluster_name + " is stopped");
  if (cluster_stop != "HoldAndDrain") return false;
  evict(workload, {std::string(kClusterQueueStopped), "", "The ClusterQueue is stopped"}, outcome);
  return true;
}

bool WorkloadReconciler::evict_for_pods(v1beta2::Workload& workload, Outcome& outcome) const {
  const auto& config = context_.options->wait_for_pods_ready;
  if (!config.has_value() || context_.gates().on(Gate::kDisableWaitForPodsReady) ||
      !is_admitted(workload) || is_true(workload, kPodsReady) ||
      is_true(workload, kDeactivationTarget))
    return false;
  const api::meta::Condition* ready = find_condition(workload, kPodsReady);
  const bool recovering = ready != nullptr && ready->reason == kWaitForRecovery;
  if (recovering && !config->recovery_timeout.has_value()) return false;
  const Instant deadline = recovering
                               ? transition_time(workload, kPodsReady) + *config->recovery_timeout
                               : transition_time(workload, kAdmitted) + config->timeout;
  const Duration left = deadline - context_.now();
  if (left.ns > 0) {
    outcome.within(left);
    return false;
  }
  const auto& requeue = workload.status.requeue_state;
  const int32_t count = (requeue.has_value() ? requeue->count.value_or(0) : 0) + 1;
  if (config->backoff_limit_count.has_value() && count > *config->backoff_limit_count)
    return bridge::set_condition(workload, kDeactivationTarget, true, "RequeuingLimitExceeded",
                                 "exceeding the maximum number of re-queuing retries",
                                 status_context());
  evict(workload,
        {std::string(kPodsReadyTimeout), std::string(recovering ? kWaitForRecovery : kWaitForStart),
         "Exceeded the PodsReady timeout " + workload.metadata.namespace_ + "/" +
             workload.metadata.name},
        outcome);
  requeue_not_before(
      workload,
      context_.now() + jittered_backoff(config->backoff_base_seconds, config->backoff_max_seconds,
                                        count, workload.metadata.uid),
      true);
  return true;
}

bool WorkloadReconciler::limit_execution(v1beta2::Workload& workload, Outcome& outcome) const {
  const auto& limit = workload.spec.maximum_execution_time_seconds;
  if (!limit.has_value() || !is_admitted(workload) || is_true(workload, kDeactivationTarget))
    return false;
  const Duration left =
      Duration::seconds(*limit -
                        workload.status.accumulated_past_execution_time_seconds.value_or(0)) -
      (context_.now() - transition_time(workload, kAdmitted));
  if (left.ns > 0) {
    outcome.within(left);
    return false;
  }
  workload.status.accumulated_past_execution_time_seconds.reset();
  bridge::set_condition(workload, kDeactivationTarget, true, "MaximumExecutionTimeExceeded",
                        "exceeding the maximum execution time", status_context());
  outcome.events.push_back(
      {{},
       true,
       "MaximumExecutionTimeExceeded",
       "The maximum execution time (" + std::to_string(*limit) + "s) exceeded"});
  return true;
}

}  // namespace kueue::controllers
