#include "controllers/metrics/record.h"

#include <algorithm>
#include <limits>
#include <set>

#include "controllers/metrics/custom_labels.h"
#include "controllers/names.h"
#include "controllers/workload/conditions.h"

namespace kueue::controllers {
namespace {

using metrics::Metrics;

bool local_queue_metrics(const Context& context) {
  return context.gates().on(Gate::kLocalQueueMetrics);
}

metrics::LabelValues local_queue(const v1beta2::Workload& workload) {
  return {workload.spec.queue_name, workload.metadata.namespace_};
}

metrics::LabelValues with(metrics::LabelValues labels, std::string more) {
  labels.push_back(std::move(more));
  return labels;
}

// What is recorded late, of a queue that is gone, would be told for ever.
bool exists(const Context& context, const std::string& cluster_queue) {
  return context.stores->cluster_queues.get({"", cluster_queue}) != nullptr;
}
bool tells_of_local_queue(const Context& context, const v1beta2::Workload& workload) {
  return local_queue_metrics(context) &&
         context.stores->local_queues.get(
             {workload.metadata.namespace_, workload.spec.queue_name}) != nullptr;
}

double seconds_between(Instant from, Instant to) {
  return from.is_zero() || to < from ? 0 : (to - from).as_seconds();
}

}  // namespace

double metric_value(std::string_view resource, Amount amount) {
  if (amount.is_unlimited()) return std::numeric_limits<double>::infinity();
  const double value = static_cast<double>(amount.value());
  return resource == "cpu" ? value / 1000 : value;
}

std::vector<std::string> cohort_path(const Stores& stores, std::string_view cluster_queue) {
  auto queue = stores.cluster_queues.get({"", std::string(cluster_queue)});
  return queue == nullptr ? std::vector<std::string>()
                          : cohorts_from(stores, queue->spec.cohort_name);
}

std::vector<std::string> cohorts_from(const Stores& stores, std::string_view cohort) {
  std::vector<std::string> path;
  std::set<std::string, std::less<>> seen;
  std::string name(cohort);
  while (!name.empty() && seen.insert(name).second) {
    path.push_back(name);
    const auto object = stores.cohorts.get({"", name});
    name = object == nullptr ? "" : object->spec.parent_name;
  }
  return path;
}

Instant queued_since(const v1beta2::Workload& workload) {
  if (is_true(workload, kRequeued)) return transition_time(workload, kRequeued);
  return workload.metadata.creation_timestamp.value_or(Instant{});
}

std::string priority_class_label(const v1beta2::Workload& workload) {
  return workload.spec.priority_class_ref.has_value() ? workload.spec.priority_class_ref->name : "";
}

void record_quota_reserved(const Context& context, const v1beta2::Workload& workload,
                           std::string_view cluster_queue) {
  Metrics& m = *context.metrics;
  const std::string queue(cluster_queue);
  const std::string priority = priority_class_label(workload);
  const double wait = seconds_between(queued_since(workload), context.now());
  if (exists(context, queue)) {
    m.quota_reserved_workloads_total.add({queue, priority});
    m.quota_reserved_wait_time_seconds.observe({queue, priority}, wait);
  }
  if (!tells_of_local_queue(context, workload)) return;
  m.local_queue_quota_reserved_workloads_total.add(with(local_queue(workload), priority));
  m.local_queue_quota_reserved_wait_time_seconds.observe(with(local_queue(workload), priority),
                                                         wait);
}

void record_admitted(const Context& context, const v1beta2::Workload& workload,
                     std::string_view cluster_queue, Instant reserved_at) {
  Metrics& m = *context.metrics;
  const std::string queue(cluster_queue);
  const std::string priority = priority_class_label(workload);
  const Instant now = context.now();
  const double wait = seconds_between(queued_since(workload), now);
  const double checks = seconds_between(reserved_at, now);
  const bool checked = !workload.status.admission_checks.empty();
  if (exists(context, queue)) {
    m.admitted_workloads_total.add({queue, priority});
    m.admission_wait_time_seconds.observe({queue, priority}, wait);
    if (checked) m.admission_checks_wait_time_seconds.observe({queue, priority}, checks);
  }
  if (context.gates().on(Gate::kMetricsForCohorts)) {
    for (const std::string& cohort : cohort_path(*context.stores, cluster_queue))
      m.cohort_subtree_admitted_workloads_total.add({cohort, priority});
  }
  if (!tells_of_local_queue(context, workload)) return;
  const metrics::LabelValues local = with(local_queue(workload), priority);
  metrics::LabelValues counted = local;
  for (std::string& value : workload_label_values(*context.options, workload.metadata))
    counted.push_back(std::move(value));
  m.local_queue_admitted_workloads_total.add(counted);
  m.local_queue_admission_wait_time_seconds.observe(local, wait);
  if (checked) m.local_queue_admission_checks_wait_time_seconds.observe(local, checks);
}

void record_evicted(const Context& context, const v1beta2::Workload& workload,
                    std::string_view cluster_queue, std::string_view reason,
                    std::string_view cause) {
  Metrics& m = *context.metrics;
  const metrics::LabelValues labels{std::string(cluster_queue), std::string(reason),
                                    std::string(cause), priority_class_label(workload)};
  const bool told = exists(context, labels[0]);
  if (told) m.evicted_workloads_total.add(labels);
  bool first = true;
  if (workload.status.scheduling_stats.has_value()) {
    for (const auto& eviction : workload.status.scheduling_stats->evictions)
      if (eviction.reason == reason && eviction.underlying_cause == cause) first = false;
  }
  if (first && told) m.evicted_workloads_once_total.add(labels);
  if (told && is_true(workload, kPodsReady))
    m.pods_ready_to_evicted_time_seconds.observe(
        {labels[0], labels[1], labels[2]},
        seconds_between(transition_time(workload, kPodsReady), context.now()));
  if (!tells_of_local_queue(context, workload)) return;
  metrics::LabelValues local = local_queue(workload);
  local.insert(local.end(), labels.begin() + 1, labels.end());
  m.local_queue_evicted_workloads_total.add(local);
}

void record_preempted(const Context& context, std::string_view preempting_cluster_queue,
                      std::string_view reason) {
  const std::string queue(preempting_cluster_queue);
  if (exists(context, queue))
    context.metrics->preempted_workloads_total.add({queue, std::string(reason)});
}

std::optional<Duration> execution_time(const v1beta2::Workload& workload) {
  if (!is_admitted(workload) || !is_finished(workload)) return std::nullopt;
  const Duration past =
      Duration::seconds(workload.status.accumulated_past_execution_time_seconds.value_or(0));
  const Duration last = transition_time(workload, kFinished) - transition_time(workload, kAdmitted);
  return Duration{past.ns + last.ns};
}

void record_finished(const Context& context, const v1beta2::Workload& workload) {
  Metrics& m = *context.metrics;
  std::string queue;
  if (workload.status.admission.has_value()) {
    queue = workload.status.admission->cluster_queue;
  } else if (auto local = context.stores->local_queues.get(
                 {workload.metadata.namespace_, workload.spec.queue_name})) {
    queue = local->spec.cluster_queue;
  }
  const std::string priority = priority_class_label(workload);
  const bool told = exists(context, queue);
  if (told) m.finished_workloads_total.add({queue, priority});
  const bool local_too = tells_of_local_queue(context, workload);
  const metrics::LabelValues local = with(local_queue(workload), priority);
  if (local_too) m.local_queue_finished_workloads_total.add(local);
  const std::optional<Duration> took = execution_time(workload);
  if (!took.has_value()) return;
  const double ran = std::max(0.0, took->as_seconds());
  if (told) m.execution_time_seconds.observe({queue, priority}, ran);
  if (local_too) m.local_queue_execution_time_seconds.observe(local, ran);
}

void record_ready(const Context& context, const v1beta2::Workload& workload) {
  if (!workload.status.admission.has_value()) return;
  Metrics& m = *context.metrics;
  const std::string queue = workload.status.admission->cluster_queue;
  const std::string priority = priority_class_label(workload);
  const Instant now = context.now();
  const double since_queued = seconds_between(queued_since(workload), now);
  const double since_admitted = seconds_between(transition_time(workload, kAdmitted), now);
  if (exists(context, queue)) {
    m.ready_wait_time_seconds.observe({queue, priority}, since_queued);
    m.admitted_until_ready_wait_time_seconds.observe({queue, priority}, since_admitted);
  }
  if (!tells_of_local_queue(context, workload)) return;
  const metrics::LabelValues local = with(local_queue(workload), priority);
  m.local_queue_ready_wait_time_seconds.observe(local, since_queued);
  m.local_queue_admitted_until_ready_wait_time_seconds.observe(local, since_admitted);
}

std::optional<Released> released_quota(const v1beta2::Workload& before,
                                       const v1beta2::Workload& after, Instant now) {
  const auto holds = [](const v1beta2::Workload& workload) {
    return is_true(workload, kQuotaReserved) || is_admitted(workload);
  };
  if (!before.status.admission.has_value() || before.status.admission->cluster_queue.empty() ||
      !holds(before) || holds(after) || !is_evicted(after))
    return std::nullopt;
  const api::meta::Condition& evicted = *find_condition(after, kEvicted);
  return Released{before.status.admission->cluster_queue, evicted.reason,
                  now - evicted.last_transition_time.value_or(Instant{})};
}

void record_released(const Context& context, const v1beta2::Workload& before,
                     const v1beta2::Workload& after) {
  const std::optional<Released> released = released_quota(before, after, context.now());
  // A workload that is switched off does not wait for its quota to come back.
  if (!released.has_value() || released->reason.starts_with(kDeactivated)) return;
  if (!exists(context, released->cluster_queue)) return;
  context.metrics->workload_eviction_latency_seconds.observe(
      {released->cluster_queue, released->reason}, std::max(0.0, released->took.as_seconds()));
}

}  // namespace kueue::controllers
