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

std::vector<std::string> custom_label_values(const Options& options, metrics::Scope scope,
                                             const api::meta::ObjectMeta& meta) {
  std::vector<std::string> values;
  for (const CustomMetricLabel& label : options.custom_labels) {
    if (label.kind != kind_of(scope)) continue;
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

}  // namespace kueue::controllers
