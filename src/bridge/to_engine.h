// API objects -> engine values. Pure functions; errors in the object never stop the conversion: a
// workload that cannot be admitted as it is carries the reason (engine::Workload::misconfigured).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/config.h"
#include "api/core.h"
#include "api/kueue.h"
#include "base/feature_gates.h"
#include "engine/model/events.h"
#include "engine/settings.h"

namespace kueue::bridge {

struct TransformOutput {
  std::string resource;
  std::string factor;  // Quantity text
};

// resources.transformations of the Configuration.
struct Transformation {
  std::string input;
  bool retain = true;       // strategy Retain; false = Replace
  std::string multiply_by;  // "" = none
  std::vector<TransformOutput> outputs;
};

struct RequestRules {
  std::vector<std::string> exclude_prefixes;
  std::vector<Transformation> transformations;
};

// Shares pod templates of equal content, so that thousands of like workloads cost one. Thread safe.
class TemplatePool {
 public:
  std::shared_ptr<const engine::PodTemplate> share(engine::PodTemplate pod);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const engine::PodTemplate>> by_shape_;
  size_t sweep_at_ = 1024;
};

// What the resource claims of one pod of a pod set come to (behaviour.md 21), worked out elsewhere.
struct DeviceRequests {
  std::vector<std::pair<std::string, api::Quantity>> amounts;  // by resource of the mapping
  std::vector<std::string> replaced;  // extended resources that those stand for: not counted twice
};

// What a Workload's requests depend on outside itself.
struct Surroundings {
  TemplatePool* pool = nullptr;         // null = do not share
  const FeatureGates* gates = nullptr;  // never null in use
  const RequestRules* rules = nullptr;  // null = none
  // LimitRanges of the workload's namespace, ordered by name.
  std::vector<const api::core::LimitRange*> limit_ranges = {};
  // Overhead of a RuntimeClass by name, as resource amounts; empty when unknown.
  std::function<std::vector<std::pair<std::string, api::Quantity>>(const std::string&)>
      overhead_of = {};
  // Of the Workload at hand, by pod set; null = none of its pods claims devices.
  const std::map<std::string, DeviceRequests>* devices = nullptr;
  // Who was evicted at or before this time and still holds quota is given up on.
  std::optional<Instant> given_up_since = {};
};

// behaviour.md 1: overhead, init and sidecar containers, pod-level resources, LimitRange, limits as
// requests, excluded prefixes, transformations. Pod templates of equal content may share one value.
std::shared_ptr<const engine::Workload> to_engine(const api::v1beta2::Workload& workload,
                                                  const Surroundings& around);

engine::ClusterQueue to_engine(const api::v1beta2::ClusterQueue& queue);
engine::Cohort to_engine(const api::v1beta2::Cohort& cohort);
engine::LocalQueue to_engine(const api::v1beta2::LocalQueue& queue);
engine::Flavor to_engine(const api::v1beta2::ResourceFlavor& flavor);
engine::Topology to_engine(const api::v1beta2::Topology& topology);
engine::AdmissionCheck to_engine(const api::v1beta2::AdmissionCheck& check);
engine::Node to_engine(const api::core::Node& node);
// The pod's usage, when it is bound, unfinished and not placed by topology; otherwise the deletion
// of it.
engine::Event to_engine(const api::core::Pod& pod);

// Settings and request rules of a (defaulted) Configuration.
// waitForPodsReady is in force: configured and not switched off by its gate.
bool waits_for_pods_ready(const api::config::Configuration& config, const FeatureGates& gates);
engine::Settings engine_settings(const api::config::Configuration& config,
                                 const FeatureGates& gates);
RequestRules request_rules(const api::config::Configuration& config);

}  // namespace kueue::bridge
