#include "controllers/metrics/metrics.h"

#include <cmath>

namespace kueue::controllers::metrics {
namespace {

// 1, then 2.5 doubled n - 2 times.
std::vector<double> steps(int n) {
  std::vector<double> bounds{1};
  for (int k = 0; k <= n - 2; ++k) bounds.push_back(std::ldexp(2.5, k));
  return bounds;
}

const std::vector<double>& default_buckets() {
  static const std::vector<double> bounds{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  return bounds;
}

std::vector<double> creation_buckets() {
  std::vector<double> bounds;
  for (int k = 0; k < 11; ++k) bounds.push_back(std::ldexp(0.01, k));
  return bounds;
}

}  // namespace

Metrics::Metrics()
    : admission_attempts_total(registry.add({"kueue_admission_attempts_total",
                                             Type::kCounter,
                                             "Attempts to admit workloads, by result: 'success' "
                                             "admitted at least one, 'inadmissible' none.",
                                             {"result"}})),
      admission_attempt_duration_seconds(
          registry.add({"kueue_admission_attempt_duration_seconds",
                        Type::kHistogram,
                        "Time an attempt to admit workloads took, by result.",
                        {"result"},
                        default_buckets()})),
      admission_cycle_preemption_skips(registry.add(
          {"kueue_admission_cycle_preemption_skips",
           Type::kGauge,
           "Workloads that needed preemption and were passed over in the last attempt.",
           {"cluster_queue"}})),
      preemption_target_recomputations_total(registry.add(
          {"kueue_preemption_target_recomputations_total",
           Type::kCounter,
           "Times victims were chosen anew because another workload of the cycle had taken them.",
           {"cluster_queue", "result"}})),
      pending_workloads(
          registry.add({"kueue_pending_workloads",
                        Type::kGauge,
                        "Pending workloads, by 'status': 'active' ones are in the queue, "
                        "'inadmissible' ones wait for a change that may let them in.",
                        {"cluster_queue", "status"}})),
      pending_scheduling_hashes(
          registry.add({"kueue_pending_scheduling_hashes",
                        Type::kGauge,
                        "Groups of pending workloads that are equal to the scheduler, by 'status'.",
                        {"cluster_queue", "status"}})),
      cluster_queue_resource_pending(registry.add({"kueue_cluster_queue_resource_pending",
                                                   Type::kGauge,
                                                   "What pending workloads ask for, by resource.",
                                                   {"cluster_queue", "resource"}})),
      finished_workloads(registry.add({"kueue_finished_workloads",
                                       Type::kGauge,
                                       "Finished workloads that still exist.",
                                       {"cluster_queue"}})),
      unadmitted_workloads(
          registry.add({"kueue_unadmitted_workloads",
                        Type::kGauge,
                        "Workloads that are not admitted, by reason and underlying cause.",
                        {"cluster_queue", "reason", "underlying_cause"}})),
      quota_reserved_workloads_total(registry.add({"kueue_quota_reserved_workloads_total",
                                                   Type::kCounter,
                                                   "Workloads that got a quota reservation.",
                                                   {"cluster_queue", "priority_class"}})),
      admitted_workloads_total(registry.add({"kueue_admitted_workloads_total",
                                             Type::kCounter,
                                             "Workloads that were admitted.",
                                             {"cluster_queue", "priority_class"}})),
      finished_workloads_total(registry.add({"kueue_finished_workloads_total",
                                             Type::kCounter,
                                             "Workloads that finished.",
                                             {"cluster_queue", "priority_class"}})),
      quota_reserved_wait_time_seconds(
          registry.add({"kueue_quota_reserved_wait_time_seconds",
                        Type::kHistogram,
                        "Time from creation or requeue to the quota reservation.",
                        {"cluster_queue", "priority_class"},
                        steps(14)})),
      admission_wait_time_seconds(registry.add({"kueue_admission_wait_time_seconds",
                                                Type::kHistogram,
                                                "Time from creation or requeue to admission.",
                                                {"cluster_queue", "priority_class"},
                                                steps(16)})),
      admission_checks_wait_time_seconds(
          registry.add({"kueue_admission_checks_wait_time_seconds",
                        Type::kHistogram,
                        "Time from the quota reservation to admission.",
                        {"cluster_queue", "priority_class"},
                        steps(14)})),
      ready_wait_time_seconds(
          registry.add({"kueue_ready_wait_time_seconds",
                        Type::kHistogram,
                        "Time from creation or requeue until all pods were ready.",
                        {"cluster_queue", "priority_class"},
                        steps(14)})),
      admitted_until_ready_wait_time_seconds(
          registry.add({"kueue_admitted_until_ready_wait_time_seconds",
                        Type::kHistogram,
                        "Time from admission until all pods were ready.",
                        {"cluster_queue", "priority_class"},
                        steps(14)})),
      execution_time_seconds(registry.add(
          {"kueue_execution_time_seconds",
           Type::kHistogram,
           "Time finished workloads were admitted, all admissions of a workload added up.",
           {"cluster_queue", "priority_class"},
           steps(16)})),
      evicted_workloads_total(
          registry.add({"kueue_evicted_workloads_total",
                        Type::kCounter,
                        "Evictions of workloads, by reason and underlying cause.",
                        {"cluster_queue", "reason", "underlying_cause", "priority_class"}})),
      evicted_workloads_once_total(registry.add(
          {"kueue_evicted_workloads_once_total",
           Type::kCounter,
           "Workloads evicted for the first time for this reason and underlying cause.",
           {"cluster_queue", "reason", "underlying_cause", "priority_class"}})),
      preempted_workloads_total(
          registry.add({"kueue_preempted_workloads_total",
                        Type::kCounter,
                        "Workloads preempted for workloads of this ClusterQueue, by reason.",
                        {"preempting_cluster_queue", "reason"}})),
      pods_ready_to_evicted_time_seconds(
          registry.add({"kueue_pods_ready_to_evicted_time_seconds",
                        Type::kHistogram,
                        "Time from all pods ready to eviction.",
                        {"cluster_queue", "reason", "underlying_cause"},
                        steps(14)})),
      workload_eviction_latency_seconds(
          registry.add({"kueue_workload_eviction_latency_seconds",
                        Type::kHistogram,
                        "Time from eviction until the quota was released.",
                        {"cluster_queue", "reason"},
                        steps(14)})),
      workload_creation_latency_seconds(
          registry.add({"kueue_workload_creation_latency_seconds",
                        Type::kHistogram,
                        "Time from the creation of a job to that of its workload.",
                        {"job_kind", "namespace", "name"},
                        creation_buckets(),
                        {"namespace", "name"}})),
      pod_scheduling_gate_removal_seconds(
          registry.add({"kueue_pod_scheduling_gate_removal_seconds",
                        Type::kHistogram,
                        "Time from admission to the removal of a scheduling gate from a pod.",
                        {"name", "cluster_queue", "is_group"},
                        default_buckets()})),
      reserving_active_workloads(
          registry.add({"kueue_reserving_active_workloads",
                        Type::kGauge,
                        "Unfinished workloads that hold a quota reservation.",
                        {"cluster_queue"}})),
      admitted_active_workloads(registry.add({"kueue_admitted_active_workloads",
                                              Type::kGauge,
                                              "Unfinished workloads that are admitted.",
                                              {"cluster_queue"}})),
      cluster_queue_status(
          registry.add({"kueue_cluster_queue_status",
                        Type::kGauge,
                        "1 for the status the ClusterQueue is in: pending, active or terminating.",
                        {"cluster_queue", "status"}})),
      cluster_queue_info(
          registry.add({"kueue_cluster_queue_info",
                        Type::kGauge,
                        "Constant 1; where the ClusterQueue stands in the hierarchy.",
                        {"cluster_queue", "parent_cohort", "root_cohort"}})),
      cluster_queue_resource_reservation(
          registry.add({"kueue_cluster_queue_resource_reservation",
                        Type::kGauge,
                        "Reserved quota, by flavor and resource.",
                        {"cohort", "cluster_queue", "flavor", "resource"}})),
      cluster_queue_resource_usage(
          registry.add({"kueue_cluster_queue_resource_usage",
                        Type::kGauge,
                        "Quota used by admitted workloads, by flavor and resource.",
                        {"cohort", "cluster_queue", "flavor", "resource"}})),
      cluster_queue_nominal_quota(
          registry.add({"kueue_cluster_queue_nominal_quota",
                        Type::kGauge,
                        "Nominal quota, by flavor and resource.",
                        {"cohort", "cluster_queue", "flavor", "resource"}})),
      cluster_queue_borrowing_limit(
          registry.add({"kueue_cluster_queue_borrowing_limit",
                        Type::kGauge,
                        "Borrowing limit, by flavor and resource; +Inf where none is set.",
                        {"cohort", "cluster_queue", "flavor", "resource"}})),
      cluster_queue_lending_limit(
          registry.add({"kueue_cluster_queue_lending_limit",
                        Type::kGauge,
                        "Lending limit, by flavor and resource; +Inf where none is set.",
                        {"cohort", "cluster_queue", "flavor", "resource"}})),
      cluster_queue_weighted_share(
          registry.add({"kueue_cluster_queue_weighted_share",
                        Type::kGauge,
                        "Largest share of borrowed to lendable resources, divided by the weight; "
                        "NaN for a borrower of weight 0.",
                        {"cluster_queue", "cohort"}})),
      cohort_weighted_share(
          registry.add({"kueue_cohort_weighted_share",
                        Type::kGauge,
                        "Largest share of borrowed to lendable resources of the Cohort, divided by "
                        "the weight; NaN for a borrower of weight 0.",
                        {"cohort"}})),
      cohort_subtree_quota(registry.add({"kueue_cohort_subtree_quota",
                                         Type::kGauge,
                                         "Nominal quota of the Cohort and all below it.",
                                         {"cohort", "flavor", "resource"}})),
      cohort_subtree_resource_reservations(
          registry.add({"kueue_cohort_subtree_resource_reservations",
                        Type::kGauge,
                        "Reserved quota of the Cohort's subtree.",
                        {"cohort", "flavor", "resource"}})),
      cohort_subtree_admitted_workloads_total(
          registry.add({"kueue_cohort_subtree_admitted_workloads_total",
                        Type::kCounter,
                        "Workloads admitted in the Cohort's subtree.",
                        {"cohort", "priority_class"}})),
      cohort_subtree_admitted_active_workloads(
          registry.add({"kueue_cohort_subtree_admitted_active_workloads",
                        Type::kGauge,
                        "Unfinished admitted workloads in the Cohort's subtree.",
                        {"cohort", "cluster_queue"},
                        {},
                        {"cluster_queue"}})),
      cohort_info(registry.add({"kueue_cohort_info",
                                Type::kGauge,
                                "Constant 1; where the Cohort stands in the hierarchy.",
                                {"cohort", "parent_cohort", "root_cohort"}})),
      local_queue_pending_workloads(
          registry.add({"kueue_local_queue_pending_workloads",
                        Type::kGauge,
                        "Pending workloads of the LocalQueue, by 'status'.",
                        {"name", "namespace", "status"}})),
      local_queue_finished_workloads(
          registry.add({"kueue_local_queue_finished_workloads",
                        Type::kGauge,
                        "Finished workloads of the LocalQueue that still exist.",
                        {"name", "namespace"}})),
      local_queue_unadmitted_workloads(registry.add(
          {"kueue_local_queue_unadmitted_workloads",
           Type::kGauge,
           "Workloads of the LocalQueue that are not admitted, by reason and underlying cause.",
           {"name", "namespace", "cluster_queue", "reason", "underlying_cause"}})),
      local_queue_quota_reserved_workloads_total(
          registry.add({"kueue_local_queue_quota_reserved_workloads_total",
                        Type::kCounter,
                        "Workloads of the LocalQueue that got a quota reservation.",
                        {"name", "namespace", "priority_class"}})),
      local_queue_admitted_workloads_total(
          registry.add({"kueue_local_queue_admitted_workloads_total",
                        Type::kCounter,
                        "Workloads of the LocalQueue that were admitted.",
                        {"name", "namespace", "priority_class"}})),
      local_queue_finished_workloads_total(
          registry.add({"kueue_local_queue_finished_workloads_total",
                        Type::kCounter,
                        "Workloads of the LocalQueue that finished.",
                        {"name", "namespace", "priority_class"}})),
      local_queue_quota_reserved_wait_time_seconds(
          registry.add({"kueue_local_queue_quota_reserved_wait_time_seconds",
                        Type::kHistogram,
                        "Time from creation or requeue to the quota reservation.",
                        {"name", "namespace", "priority_class"},
                        steps(14)})),
      local_queue_admission_wait_time_seconds(
          registry.add({"kueue_local_queue_admission_wait_time_seconds",
                        Type::kHistogram,
                        "Time from creation or requeue to admission.",
                        {"name", "namespace", "priority_class"},
                        steps(14)})),
      local_queue_admission_checks_wait_time_seconds(
          registry.add({"kueue_local_queue_admission_checks_wait_time_seconds",
                        Type::kHistogram,
                        "Time from the quota reservation to admission.",
                        {"name", "namespace", "priority_class"},
                        steps(14)})),
      local_queue_ready_wait_time_seconds(
          registry.add({"kueue_local_queue_ready_wait_time_seconds",
                        Type::kHistogram,
                        "Time from creation or requeue until all pods were ready.",
                        {"name", "namespace", "priority_class"},
                        steps(14)})),
      local_queue_admitted_until_ready_wait_time_seconds(
          registry.add({"kueue_local_queue_admitted_until_ready_wait_time_seconds",
                        Type::kHistogram,
                        "Time from admission until all pods were ready.",
                        {"name", "namespace", "priority_class"},
                        steps(14)})),
      local_queue_execution_time_seconds(registry.add(
          {"kueue_local_queue_execution_time_seconds",
           Type::kHistogram,
           "Time finished workloads were admitted, all admissions of a workload added up.",
           {"name", "namespace", "priority_class"},
           steps(16)})),
      local_queue_evicted_workloads_total(
          registry.add({"kueue_local_queue_evicted_workloads_total",
                        Type::kCounter,
                        "Evictions of workloads of the LocalQueue, by reason and underlying cause.",
                        {"name", "namespace", "reason", "underlying_cause", "priority_class"}})),
      local_queue_reserving_active_workloads(
          registry.add({"kueue_local_queue_reserving_active_workloads",
                        Type::kGauge,
                        "Unfinished workloads of the LocalQueue that hold a quota reservation.",
                        {"name", "namespace"}})),
      local_queue_admitted_active_workloads(
          registry.add({"kueue_local_queue_admitted_active_workloads",
                        Type::kGauge,
                        "Unfinished workloads of the LocalQueue that are admitted.",
                        {"name", "namespace"}})),
      local_queue_status(registry.add(
          {"kueue_local_queue_status",
           Type::kGauge,
           "1 for the state of the LocalQueue's Active condition: True, False or Unknown.",
           {"name", "namespace", "active"}})),
      local_queue_resource_reservation(registry.add({"kueue_local_queue_resource_reservation",
                                                     Type::kGauge,
                                                     "Quota reserved through the LocalQueue.",
                                                     {"name", "namespace", "flavor", "resource"}})),
      local_queue_resource_usage(
          registry.add({"kueue_local_queue_resource_usage",
                        Type::kGauge,
                        "Quota used by admitted workloads of the LocalQueue.",
                        {"name", "namespace", "flavor", "resource"}})),
      local_queue_admission_fair_sharing_usage(
          registry.add({"kueue_local_queue_admission_fair_sharing_usage",
                        Type::kGauge,
                        "Usage of the LocalQueue as admission fair sharing counts it.",
                        {"name", "namespace", "cluster_queue"}})),
      multikueue_workloads_dispatched_total(registry.add({"multikueue_workloads_dispatched_total",
                                                          Type::kCounter,
                                                          "Workloads sent to a worker cluster.",
                                                          {"cluster_queue", "cluster"}})),
      multikueue_workloads_admitted_total(registry.add({"multikueue_workloads_admitted_total",
                                                        Type::kCounter,
                                                        "Workloads admitted on a worker cluster.",
                                                        {"cluster_queue", "cluster"}})) {}

void Metrics::forget_cluster_queue(std::string_view name) {
  admission_cycle_preemption_skips.erase_matching({{"cluster_queue", name}});
  preemption_target_recomputations_total.erase_matching({{"cluster_queue", name}});
  pending_workloads.erase_matching({{"cluster_queue", name}});
  pending_scheduling_hashes.erase_matching({{"cluster_queue", name}});
  cluster_queue_resource_pending.erase_matching({{"cluster_queue", name}});
  finished_workloads.erase_matching({{"cluster_queue", name}});
  unadmitted_workloads.erase_matching({{"cluster_queue", name}});
  quota_reserved_workloads_total.erase_matching({{"cluster_queue", name}});
  admitted_workloads_total.erase_matching({{"cluster_queue", name}});
  finished_workloads_total.erase_matching({{"cluster_queue", name}});
  quota_reserved_wait_time_seconds.erase_matching({{"cluster_queue", name}});
  admission_wait_time_seconds.erase_matching({{"cluster_queue", name}});
  admission_checks_wait_time_seconds.erase_matching({{"cluster_queue", name}});
  ready_wait_time_seconds.erase_matching({{"cluster_queue", name}});
  admitted_until_ready_wait_time_seconds.erase_matching({{"cluster_queue", name}});
  execution_time_seconds.erase_matching({{"cluster_queue", name}});
  evicted_workloads_total.erase_matching({{"cluster_queue", name}});
  evicted_workloads_once_total.erase_matching({{"cluster_queue", name}});
  preempted_workloads_total.erase_matching({{"preempting_cluster_queue", name}});
  pods_ready_to_evicted_time_seconds.erase_matching({{"cluster_queue", name}});
  workload_eviction_latency_seconds.erase_matching({{"cluster_queue", name}});
  pod_scheduling_gate_removal_seconds.erase_matching({{"cluster_queue", name}});
  reserving_active_workloads.erase_matching({{"cluster_queue", name}});
  admitted_active_workloads.erase_matching({{"cluster_queue", name}});
  cluster_queue_status.erase_matching({{"cluster_queue", name}});
  cluster_queue_info.erase_matching({{"cluster_queue", name}});
  cluster_queue_resource_reservation.erase_matching({{"cluster_queue", name}});
  cluster_queue_resource_usage.erase_matching({{"cluster_queue", name}});
  cluster_queue_nominal_quota.erase_matching({{"cluster_queue", name}});
  cluster_queue_borrowing_limit.erase_matching({{"cluster_queue", name}});
  cluster_queue_lending_limit.erase_matching({{"cluster_queue", name}});
  cluster_queue_weighted_share.erase_matching({{"cluster_queue", name}});
  cohort_subtree_admitted_active_workloads.erase_matching({{"cluster_queue", name}});
  multikueue_workloads_dispatched_total.erase_matching({{"cluster_queue", name}});
  multikueue_workloads_admitted_total.erase_matching({{"cluster_queue", name}});
}

void Metrics::forget_local_queue(std::string_view namespace_, std::string_view name) {
  for (Family* family :
       {&local_queue_pending_workloads, &local_queue_finished_workloads,
        &local_queue_unadmitted_workloads, &local_queue_quota_reserved_workloads_total,
        &local_queue_admitted_workloads_total, &local_queue_finished_workloads_total,
        &local_queue_quota_reserved_wait_time_seconds, &local_queue_admission_wait_time_seconds,
        &local_queue_admission_checks_wait_time_seconds, &local_queue_ready_wait_time_seconds,
        &local_queue_admitted_until_ready_wait_time_seconds, &local_queue_execution_time_seconds,
        &local_queue_evicted_workloads_total, &local_queue_reserving_active_workloads,
        &local_queue_admitted_active_workloads, &local_queue_status,
        &local_queue_resource_reservation, &local_queue_resource_usage,
        &local_queue_admission_fair_sharing_usage})
    family->erase_matching({{"name", name}, {"namespace", namespace_}});
}

void Metrics::forget_cohort(std::string_view name) {
  cohort_weighted_share.erase_matching({{"cohort", name}});
  cohort_subtree_quota.erase_matching({{"cohort", name}});
  cohort_subtree_resource_reservations.erase_matching({{"cohort", name}});
  cohort_subtree_admitted_workloads_total.erase_matching({{"cohort", name}});
  cohort_subtree_admitted_active_workloads.erase_matching({{"cohort", name}});
  cohort_info.erase_matching({{"cohort", name}});
}

void Metrics::set_role(std::string role) {
  registry.clear_gauges();
  registry.set_constant_label("replica_role", std::move(role));
}

}  // namespace kueue::controllers::metrics
