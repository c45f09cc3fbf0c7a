#include "controllers/metrics/workload_tally.h"

#include "controllers/names.h"
#include "controllers/workload/conditions.h"

namespace kueue::controllers {

std::optional<WorkloadTally::Share> WorkloadTally::share_of(
    const v1beta2::Workload& workload) const {
  Share share;
  share.queue = workload.spec.queue_name;
  share.namespace_ = workload.metadata.namespace_;
  if (workload.status.admission.has_value()) {
    share.cluster_queue = workload.status.admission->cluster_queue;
  } else {
    auto local = context_.stores->local_queues.get({share.namespace_, share.queue});
    // A queue that is stopped counts nobody.
    if (local == nullptr || (!local->spec.stop_policy.empty() && local->spec.stop_policy != "None"))
      return std::nullopt;
    share.cluster_queue = local->spec.cluster_queue;
  }
  share.finished = is_finished(workload);
  if (share.finished) return share;
  if (is_admitted(workload) || workload.metadata.deletion_timestamp.has_value() ||
      !context_.gates().on(Gate::kUnadmittedWorkloadsObservability))
    return std::nullopt;
  const api::meta::Condition* admitted = find_condition(workload, kAdmitted);
  share.reason = admitted == nullptr ? "NoReservation" : admitted->reason;
  const api::meta::Condition* reserved = find_condition(workload, kQuotaReserved);
  if (reserved == nullptr) {
    share.cause = kPendingEvaluation;
  } else if (reserved->status != "True") {
    share.cause = reserved->reason;
  }
  return share;
}

void WorkloadTally::update(const kube::ObjectKey& key) {
  std::lock_guard lock(mutex_);
  WorkloadPointer workload = context_.stores->workloads.get(key);
  replace(key, workload == nullptr ? std::nullopt : share_of(*workload));
}

void WorkloadTally::update_queue(const kube::ObjectKey& local_queue) {
  for (const WorkloadPointer& workload :
       context_.stores->workloads.by_index(kByQueue, local_queue.to_string()))
    update({workload->metadata.namespace_, workload->metadata.name});
}

void WorkloadTally::report_again(const kube::ObjectKey& local_queue) {
  std::lock_guard lock(mutex_);
  for (const auto& [share, n] : counts_)
    if (share.queue == local_queue.name && share.namespace_ == local_queue.namespace_)
      count(share, 0);
}

void WorkloadTally::report_again(const std::string& cluster_queue) {
  std::lock_guard lock(mutex_);
  for (const auto& [share, n] : counts_)
    if (share.cluster_queue == cluster_queue) count(share, 0);
}

void WorkloadTally::replace(const kube::ObjectKey& key, std::optional<Share> now) {
  auto held = shares_.find(key);
  if (held != shares_.end()) {
    if (now.has_value() && held->second == *now) return;
    count(held->second, -1);
    shares_.erase(held);
  }
  if (!now.has_value()) return;
  count(*now, 1);
  shares_.emplace(key, std::move(*now));
}

void WorkloadTally::count(const Share& share, int by) {
  auto [entry, inserted] = counts_.try_emplace(share, 0);
  entry->second += by;
  const int n = entry->second;
  metrics::Metrics& m = *context_.metrics;
  // Workloads outlive their queues; series do not. Those that wait for a ClusterQueue that is not
  // there are told as long as a LocalQueue points to it.
  const bool cluster_queue_exists =
      context_.stores->cluster_queues.get({"", share.cluster_queue}) != nullptr;
  const auto local_queue = context_.stores->local_queues.get({share.namespace_, share.queue});
  const bool local_exists = local_queue != nullptr;
  const bool awaited = local_exists && local_queue->spec.cluster_queue == share.cluster_queue;
  const bool local = context_.gates().on(Gate::kLocalQueueMetrics);
  const auto set = [](metrics::Family& family, const metrics::LabelValues& labels, int value) {
    if (value == 0) {
      family.erase(labels);
    } else {
      family.set(labels, value);
    }
  };
  // The ClusterQueue's series add up over its LocalQueues.
  int total = 0;
  for (const auto& [other, m_count] : counts_) {
    if (other.cluster_queue == share.cluster_queue && other.finished == share.finished &&
        other.reason == share.reason && other.cause == share.cause)
      total += m_count;
  }
  if (share.finished) {
    set(m.finished_workloads, {share.cluster_queue}, cluster_queue_exists ? total : 0);
    if (local)
      set(m.local_queue_finished_workloads, {share.queue, share.namespace_}, local_exists ? n : 0);
  } else {
    set(m.unadmitted_workloads, {share.cluster_queue, share.reason, share.cause},
        cluster_queue_exists || awaited ? total : 0);
    if (local)
      set(m.local_queue_unadmitted_workloads,
          {share.queue, share.namespace_, share.cluster_queue, share.reason, share.cause},
          local_exists ? n : 0);
  }
  if (n == 0) counts_.erase(entry);
}

}  // namespace kueue::controllers
