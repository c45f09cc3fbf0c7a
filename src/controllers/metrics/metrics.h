// Metrics: every metric family of the manager by name. Names, label names and buckets are Kueue's
// (labels-conditions- events 7), so that dashboards and alerts go on working. Thread safe.
#pragma once

#include <string>
#include <string_view>

#include "controllers/metrics/registry.h"

namespace kueue::controllers::metrics {

class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Registry registry;

  // Cycles of the admission loop.
  Family& admission_attempts_total;            // result
  Family& admission_attempt_duration_seconds;  // result
  Family& admission_cycle_preemption_skips;    // cluster_queue
  Family& preemption_target_recomputations_total;

  // ClusterQueues: what waits, what was let in, what ended.
  Family& pending_workloads;          // cluster_queue, status
  Family& pending_scheduling_hashes;  // cluster_queue, status
  Family& cluster_queue_resource_pending;
  Family& finished_workloads;
  Family& unadmitted_workloads;
  Family& quota_reserved_workloads_total;  // cluster_queue, priority_class
  Family& admitted_workloads_total;
  Family& finished_workloads_total;
  Family& quota_reserved_wait_time_seconds;
  Family& admission_wait_time_seconds;
  Family& admission_checks_wait_time_seconds;
  Family& ready_wait_time_seconds;
  Family& admitted_until_ready_wait_time_seconds;
  Family& execution_time_seconds;
  Family& evicted_workloads_total;  // cluster_queue, reason, underlying_cause, priority_class
  Family& evicted_workloads_once_total;
  Family& preempted_workloads_total;  // preempting_cluster_queue, reason
  Family& pods_ready_to_evicted_time_seconds;
  Family& workload_eviction_latency_seconds;
  Family& workload_creation_latency_seconds;  // job_kind; of which LocalQueue
  Family& pod_scheduling_gate_removal_seconds;
  Family& reserving_active_workloads;
  Family& admitted_active_workloads;
  Family& cluster_queue_status;  // cluster_queue, status
  Family& cluster_queue_info;
  Family& cluster_queue_resource_reservation;  // cohort, cluster_queue, flavor, resource
  Family& cluster_queue_resource_usage;
  Family& cluster_queue_nominal_quota;
  Family& cluster_queue_borrowing_limit;
  Family& cluster_queue_lending_limit;
  Family& cluster_queue_weighted_share;

  // Cohorts.
  Family& cohort_weighted_share;
  Family& cohort_subtree_quota;
  Family& cohort_subtree_resource_reservations;
  Family& cohort_subtree_admitted_workloads_total;
  Family& cohort_subtree_admitted_active_workloads;
  Family& cohort_info;

  // LocalQueues: labels name, namespace, then as the ClusterQueue's.
  Family& local_queue_pending_workloads;
  Family& local_queue_finished_workloads;
  Family& local_queue_unadmitted_workloads;
  Family& local_queue_quota_reserved_workloads_total;
  Family& local_queue_admitted_workloads_total;
  Family& local_queue_finished_workloads_total;
  Family& local_queue_quota_reserved_wait_time_seconds;
  Family& local_queue_admission_wait_time_seconds;
  Family& local_queue_admission_checks_wait_time_seconds;
  Family& local_queue_ready_wait_time_seconds;
  Family& local_queue_admitted_until_ready_wait_time_seconds;
  Family& local_queue_execution_time_seconds;
  Family& local_queue_evicted_workloads_total;
  Family& local_queue_reserving_active_workloads;
  Family& local_queue_admitted_active_workloads;
  Family& local_queue_status;
  Family& local_queue_resource_reservation;
  Family& local_queue_resource_usage;
  Family& local_queue_admission_fair_sharing_usage;

  // MultiKueue: no prefix.
  Family& multikueue_workloads_dispatched_total;
  Family& multikueue_workloads_admitted_total;

  // Drops every series of a deleted queue. Counters go too: telemetry of a deleted object
  // disappears.
  void forget_cluster_queue(std::string_view name);
  void forget_local_queue(std::string_view namespace_, std::string_view name);
  void forget_cohort(std::string_view name);

  // leader, follower or standalone: the label replica_role. Gauges of the old role go.
  void set_role(std::string role);
};

}  // namespace kueue::controllers::metrics
