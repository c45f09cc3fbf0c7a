// Metric labels that administrators define (gate CustomMetricLabels): from labels and annotations
// of ClusterQueues, LocalQueues and Cohorts to the registry. labels-conditions-events 7. Stateless
// functions, thread safe.
#pragma once

#include <string>
#include <vector>

#include "api/meta.h"
#include "controllers/metrics/registry.h"
#include "controllers/options.h"

namespace kueue::controllers {

// Tells the registry which labels there are.
void define_custom_labels(const Options& options, metrics::Registry& registry);

// Values of an object's labels, in the order in which they were defined for its kind.
std::vector<std::string> custom_label_values(const Options& options, metrics::Scope scope,
                                             const api::meta::ObjectMeta& meta);

}  // namespace kueue::controllers
