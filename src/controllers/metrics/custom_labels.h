// Metric labels that administrators define (gate CustomMetricLabels): from labels and annotations
// of ClusterQueues, LocalQueues and Cohorts to the registry. labels-conditions-events 7. Stateless
// functions, thread safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/kueue.h"
#include "api/meta.h"
#include "controllers/metrics/metrics.h"
#include "controllers/metrics/registry.h"
#include "controllers/options.h"

namespace kueue::controllers {

// Tells the registry which labels there are.
void define_custom_labels(const Options& options, metrics::Registry& registry);

// Values of an object's labels, in the order in which they were defined for its kind.
std::vector<std::string> custom_label_values(const Options& options, metrics::Scope scope,
                                             const api::meta::ObjectMeta& meta);

// --- Labels of Workloads (sourceKind Workload): series about many Workloads are split by them.
// Gives those families more labels; before anything is recorded.
void widen_for_workload_labels(const Options& options, metrics::Metrics& metrics);
bool has_workload_labels(const Options& options);
std::vector<std::string> workload_label_values(const Options& options,
                                               const api::meta::ObjectMeta& meta);
// The two versions of a Workload count for different series.
bool counts_otherwise(const Options& options, const api::v1beta2::Workload& before,
                      const api::v1beta2::Workload& now);

// Sets the series that begin with `labels` to how many Workloads each combination of values has;
// others that begin so are dropped.
class WorkloadCounts {
 public:
  explicit WorkloadCounts(const Options& options) : options_(options) {}
  void add(const api::meta::ObjectMeta& workload) {
    ++counts_[workload_label_values(options_, workload)];
  }
  void report(metrics::Family& family, const metrics::LabelValues& labels) const;

 private:
  const Options& options_;
  std::map<std::vector<std::string>, int> counts_;
};

}  // namespace kueue::controllers
