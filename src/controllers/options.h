// Options of the manager's controllers: what the Configuration and the command line decide, in the
// form the reconcilers use. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/feature_gates.h"
#include "base/time.h"
#include "bridge/to_engine.h"
#include "engine/settings.h"
#include "wire/selector.h"

namespace kueue::controllers {

struct WaitForPodsReady {
  Duration timeout = Duration::seconds(30 * 60);
  std::optional<Duration> recovery_timeout = Duration::seconds(30 * 60);  // absent = wait for ever
  bool block_admission = false;
  std::optional<int32_t> backoff_limit_count;  // absent = no limit
  int32_t backoff_base_seconds = 60;
  int32_t backoff_max_seconds = 3600;
};

// A workload that was told to go and never ends: config/extensions.h.
struct BoundedTermination {
  Duration after;
  bool conditions = false;
  bool operator==(const BoundedTermination&) const = default;
};

// A label or annotation of an object that becomes the metric label custom_NAME.
struct CustomMetricLabel {
  std::string name;
  std::string kind = "ClusterQueue";  // or LocalQueue, Cohort, Workload
  std::string label;                  // key; one of the two is empty
  std::string annotation;
  std::vector<std::string> tracked;  // other values are reported as one; empty = all are
};

struct Options {
  FeatureGates gates;
  engine::Settings engine;
  bridge::RequestRules requests;

  bool manage_jobs_without_queue_name = false;
  // Jobs in other namespaces are left alone. Default: all but kube-system and kueue-system.
  wire::LabelSelector managed_jobs_namespace_selector;
  std::set<std::string, std::less<>> frameworks = {"batch/job"};
  std::vector<std::string> labels_to_copy;
  std::vector<std::string> annotations_to_copy;
  // Absent: the PodsReady condition is not written.
  std::optional<WaitForPodsReady> wait_for_pods_ready = WaitForPodsReady{};
  bool jobs_wait_for_pods_ready = true;  // false: job reconcilers do not write it all the same
  bool enable_cluster_queue_resources = false;
  bool local_queue_metrics = true;                          // with the gate LocalQueueMetrics
  std::optional<wire::LabelSelector> local_queue_selector;  // absent = all have metrics
  std::vector<CustomMetricLabel> custom_labels;             // with the gate CustomMetricLabels
  std::optional<BoundedTermination> bounded_termination;
  std::optional<Duration> retention_after_finished;
  std::optional<Duration> retention_after_deactivated;
  // Threads per kind: "Job.batch" -> 5; 1 where not listed.
  std::map<std::string, int, std::less<>> group_kind_concurrency;
  // The only controllers that run, by their names; absent = all.
  std::optional<std::set<std::string, std::less<>>> controllers;
  bool scheduler = true;
  // Nodes are read, so that topologies have room. Off: nothing is admitted by topology, whose pods
  // would hold quota behind a gate that none of these controllers opens.
  bool topology_nodes = false;
  std::string namespace_ = "kueue-system";

  bool runs(std::string_view controller) const {
    return !controllers.has_value() || controllers->contains(controller);
  }
};

// The names that `Options::controllers` may hold and behind which something runs, sorted.
std::span<const std::string_view> controller_names();

// Options of a defaulted Configuration. Command line flags are set on the result. Errors name the
// field.
Result<Options> options_from(const api::config::Configuration& config, const FeatureGates& gates);

// `running` with what of `given` may change while the manager runs, because it is looked at anew
// for each object: which Jobs are managed, what is copied to Workloads, retention, times and
// numbers of waitForPodsReady where that is on before and after.
Options reloaded(const Options& running, const Options& given);

}  // namespace kueue::controllers
