#include "controllers/options.h"

#include "api/config.h"
#include "bridge/to_engine.h"
#include "schema/codec.h"

namespace kueue::controllers {

Result<Options> options_from(const api::config::Configuration& config, const FeatureGates& gates) {
  Options options;
  options.gates = gates;
  options.engine = bridge::engine_settings(config, gates);
  options.requests = bridge::request_rules(config);
  if (!config.namespace_.empty()) options.namespace_ = config.namespace_;
  options.manage_jobs_without_queue_name = config.manage_jobs_without_queue_name.value_or(false);
  if (config.managed_jobs_namespace_selector.has_value()) {
    const json::Value selector = schema::encode(*config.managed_jobs_namespace_selector);
    KUEUE_ASSIGN(options.managed_jobs_namespace_selector,
                 wire::LabelSelector::from_object(&selector, "managedJobsNamespaceSelector"));
  } else {
    KUEUE_ASSIGN(options.managed_jobs_namespace_selector,
                 wire::LabelSelector::parse("kubernetes.io/metadata.name notin (kube-system," +
                                            options.namespace_ + ")"));
  }
  if (config.integrations.has_value()) {
    options.frameworks = {config.integrations->frameworks.begin(),
                          config.integrations->frameworks.end()};
    options.labels_to_copy = config.integrations->label_keys_to_copy;
  }
  options.wait_for_pods_ready.reset();
  if (bridge::waits_for_pods_ready(config, gates)) {
    const auto& given = *config.wait_for_pods_ready;
    WaitForPodsReady& wait = options.wait_for_pods_ready.emplace();
    wait.timeout = given.timeout.value_or(wait.timeout);
    wait.recovery_timeout = given.recovery_timeout;
    if (wait.recovery_timeout.has_value() && wait.recovery_timeout->ns == 0)
      wait.recovery_timeout.reset();
    wait.block_admission = given.block_admission.value_or(false);
    if (given.requeuing_strategy.has_value()) {
      const auto& strategy = *given.requeuing_strategy;
      wait.backoff_limit_count = strategy.backoff_limit_count;
      wait.backoff_base_seconds = strategy.backoff_base_seconds.value_or(wait.backoff_base_seconds);
      wait.backoff_max_seconds = strategy.backoff_max_seconds.value_or(wait.backoff_max_seconds);
    }
  }
  if (config.metrics.has_value()) {
    options.enable_cluster_queue_resources =
        config.metrics->enable_cluster_queue_resources.value_or(false);
    if (const auto& queues = config.metrics->local_queue_metrics; queues.has_value()) {
      options.local_queue_metrics = queues->enable.value_or(true);
      if (queues->local_queue_selector.has_value()) {
        const json::Value selector = schema::encode(*queues->local_queue_selector);
        KUEUE_ASSIGN(options.local_queue_selector,
                     wire::LabelSelector::from_object(
                         &selector, "metrics.localQueueMetrics.localQueueSelector"));
      }
    }
    if (gates.on(Gate::kCustomMetricLabels)) {
      for (const auto& given : config.metrics->custom_labels) {
        CustomMetricLabel& label = options.custom_labels.emplace_back();
        label.name = given.name;
        if (!given.source_kind.empty()) label.kind = given.source_kind;
        label.annotation = given.source_annotation_key;
        label.label = given.source_label_key;
        if (label.label.empty() && label.annotation.empty()) label.label = given.name;
        label.tracked = given.tracked_values;
      }
    }
  }
  if (config.object_retention_policies.has_value() &&
      config.object_retention_policies->workloads.has_value()) {
    options.retention_after_finished = config.object_retention_policies->workloads->after_finished;
    options.retention_after_deactivated =
        config.object_retention_policies->workloads->after_deactivated_by_kueue;
  }
  if (config.controller.has_value())
    for (const auto& [kind, threads] : config.controller->group_kind_concurrency)
      options.group_kind_concurrency[kind] = threads;
  return options;
}

Options reloaded(const Options& running, const Options& given) {
  Options options = running;
  options.manage_jobs_without_queue_name = given.manage_jobs_without_queue_name;
  options.managed_jobs_namespace_selector = given.managed_jobs_namespace_selector;
  options.labels_to_copy = given.labels_to_copy;
  options.retention_after_finished = given.retention_after_finished;
  options.retention_after_deactivated = given.retention_after_deactivated;
  if (options.wait_for_pods_ready.has_value() && given.wait_for_pods_ready.has_value()) {
    const bool blocks = options.wait_for_pods_ready->block_admission;  // the engine's, too
    options.wait_for_pods_ready = given.wait_for_pods_ready;
    options.wait_for_pods_ready->block_admission = blocks;
  }
  return options;
}

std::span<const std::string_view> controller_names() {
  static constexpr std::string_view kNames[] = {"admissioncheck_controller",
                                                "clusterqueue_controller",
                                                "cohort_controller",
                                                "elastic_job_ungater",
                                                "job",
                                                "localqueue_controller",
                                                "pod_termination_controller",
                                                "resourceflavor_controller",
                                                "tas_topology_controller",
                                                "workload_controller",
                                                "workloadpriorityclass_controller"};
  return kNames;
}

}  // namespace kueue::controllers
