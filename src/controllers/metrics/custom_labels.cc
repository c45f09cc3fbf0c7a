#include "controllers/metrics/custom_labels.h"

#include <algorithm>
#include <string_view>

namespace kueue::controllers {
namespace {

constexpr std::string_view kUntracked = "kueue.x-k8s.io/_UNTRACKED_VALUE_";

std::string_view kind_of(metrics::Scope scope) {
  switch (scope) {
    case metrics::Scope::kClusterQueue:
      return "ClusterQueue";
    case metrics::Scope::kLocalQueue:
      return "LocalQueue";
    case metrics::Scope::kCohort:
      return "Cohort";
    case metrics::Scope::kNone:
      return "";
  }
  return "";
}

}  // namespace

void define_custom_labels(const Options& options, metrics::Registry& registry) {
  using metrics::Scope;
  for (const Scope scope : {Scope::kClusterQueue, Scope::kLocalQueue, Scope::kCohort}) {
    std::vector<std::string> names;
    for (const CustomMetricLabel& label : options.custom_labels)
      if (label.kind == kind_of(scope)) names.push_back("custom_" + label.name);
    registry.define_custom_labels(scope, std::move(names));
  }
}

namespace {

std::vector<std::string> values_of(const Options& options, std::string_view kind,
                                   const api::meta::ObjectMeta& meta) {
  std::vector<std::string> values;
  for (const CustomMetricLabel& label : options.custom_labels) {
    if (label.kind != kind) continue;
    const auto& source = label.label.empty() ? meta.annotations : meta.labels;
    const auto found = source.find(label.label.empty() ? label.annotation : label.label);
    std::string value = found == source.end() ? "" : found->second;
    if (!value.empty() && !label.tracked.empty() &&
        std::find(label.tracked.begin(), label.tracked.end(), value) == label.tracked.end())
      value = kUntracked;
    values.push_back(std::move(value));
  }
  return values;
}

constexpr std::string_view kWorkload = "Workload";

}  // namespace

std::vector<std::string> custom_label_values(const Options& options, metrics::Scope scope,
                                             const api::meta::ObjectMeta& meta) {
  return values_of(options, kind_of(scope), meta);
}

bool has_workload_labels(const Options& options) {
  return std::any_of(options.custom_labels.begin(), options.custom_labels.end(),
                     [](const CustomMetricLabel& label) { return label.kind == kWorkload; });
}

void widen_for_workload_labels(const Options& options, metrics::Metrics& m) {
  std::vector<std::string> names;
  for (const CustomMetricLabel& label : options.custom_labels)
    if (label.kind == kWorkload) names.push_back("custom_" + label.name);
  if (names.empty()) return;
  for (metrics::Family* family :
       {&m.pending_workloads, &m.admitted_active_workloads, &m.local_queue_pending_workloads,
        &m.local_queue_admitted_active_workloads, &m.local_queue_admitted_workloads_total})
    family->widen(names);
}

std::vector<std::string> workload_label_values(const Options& options,
                                               const api::meta::ObjectMeta& meta) {
  return values_of(options, kWorkload, meta);
}

bool counts_otherwise(const Options& options, const api::v1beta2::Workload& before,
                      const api::v1beta2::Workload& now) {
  return has_workload_labels(options) && values_of(options, kWorkload, before.metadata) !=
                                             values_of(options, kWorkload, now.metadata);
}

void WorkloadCounts::report(metrics::Family& family, const metrics::LabelValues& labels) const {
  std::vector<std::pair<std::string_view, std::string_view>> same;
  const auto& names = family.description().labels;
  for (size_t i = 0; i < labels.size(); ++i) same.emplace_back(names[i], labels[i]);
  family.erase_matching(same);
  for (const auto& [values, count] : counts_) {
    metrics::LabelValues all = labels;
    all.insert(all.end(), values.begin(), values.end());
    family.set(all, count);
  }
}

}  // namespace kueue::controllers
