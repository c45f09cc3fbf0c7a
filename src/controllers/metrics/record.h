// What happens to a Workload, as metrics: one function per happening, called once by whoever wrote
// it. Thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/amount.h"
#include "controllers/context.h"
#include "controllers/stores.h"

namespace kueue::controllers {

// A quota as metrics show it: cores for cpu, base units for the rest, infinite for no limit.
double metric_value(std::string_view resource, Amount amount);

// Cohorts above a ClusterQueue, nearest first; a cycle is followed once around.
std::vector<std::string> cohort_path(const Stores& stores, std::string_view cluster_queue);
// A cohort and those above it, likewise; they need not exist as objects.
std::vector<std::string> cohorts_from(const Stores& stores, std::string_view cohort);
// When the workload began to wait: the last Requeued=True, else its creation.
Instant queued_since(const v1beta2::Workload& workload);
// Name of its priority class, "" without one: the label priority_class.
std::string priority_class_label(const v1beta2::Workload& workload);

void record_quota_reserved(const Context& context, const v1beta2::Workload& workload,
                           std::string_view cluster_queue);
// `reserved_at` is when the quota was reserved; checks were waited for when there are any.
void record_admitted(const Context& context, const v1beta2::Workload& workload,
                     std::string_view cluster_queue, Instant reserved_at);
// `workload` is the object before the eviction was written. `first` = never evicted for this reason
// and cause before.
void record_evicted(const Context& context, const v1beta2::Workload& workload,
                    std::string_view cluster_queue, std::string_view reason,
                    std::string_view cause);
void record_preempted(const Context& context, std::string_view preempting_cluster_queue,
                      std::string_view reason);
// How long it ran in all, over all its admissions; nothing before it has finished, or when it was
// not admitted then.
std::optional<Duration> execution_time(const v1beta2::Workload& workload);
void record_finished(const Context& context, const v1beta2::Workload& workload);
// PodsReady became True for the first time since admission.
void record_ready(const Context& context, const v1beta2::Workload& workload);
// What a change says about an eviction that it completes: whose quota was released, why, and how
// long it took.
struct Released {
  std::string cluster_queue;
  std::string reason;
  Duration took;
};
std::optional<Released> released_quota(const v1beta2::Workload& before,
                                       const v1beta2::Workload& after, Instant now);
// An eviction may be complete.
void record_released(const Context& context, const v1beta2::Workload& before,
                     const v1beta2::Workload& after);

}  // namespace kueue::controllers
