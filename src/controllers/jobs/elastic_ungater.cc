#include "controllers/jobs/elastic_ungater.h"

#include <algorithm>

#include "controllers/jobs/pod_set_info.h"
#include "controllers/jobs/slices.h"
#include "controllers/names.h"
#include "controllers/workload/conditions.h"
#include "schema/codec.h"

namespace kueue::controllers::jobs {
namespace {

constexpr const char* kByChain = "chain";

bool gated(const api::core::Pod& pod) {
  const auto& gates = pod.spec.scheduling_gates;
  return std::any_of(gates.begin(), gates.end(),
                     [](const auto& gate) { return gate.name == kElasticJobGate; });
}

bool ended(const api::core::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

// Of a Pod only what decides, and what marks may contradict, is kept.
void slim(api::core::Pod& pod) {
  api::core::PodSpec spec;
  if (ElasticUngater::chain_of(pod).has_value()) {
    spec.node_selector = std::move(pod.spec.node_selector);
    spec.tolerations = std::move(pod.spec.tolerations);
    spec.scheduling_gates = std::move(pod.spec.scheduling_gates);
  } else {
    pod.metadata.annotations.clear();
    pod.metadata.labels.clear();
  }
  pod.spec = std::move(spec);
  std::string phase = std::move(pod.status.phase);
  pod.status = {};
  pod.status.phase = std::move(phase);
  pod.metadata.owner_references.clear();
}

// Members of `now` that `before` has not, or otherwise; null when there are none.
json::Value added(const schema::Map<std::string>& before, const schema::Map<std::string>& now) {
  json::Value out;
  for (const auto& [key, value] : now) {
    const auto held = before.find(key);
    if (held == before.end() || held->second != value) out.at_path({key}) = value;
  }
  return out;
}

}  // namespace

ElasticUngater::ElasticUngater(Context& context)
    : context_(context),
      pods_(context.client, *context.executor, kube::Resource::of(api::core::Pod::resource()),
            &decode_object<api::core::Pod>, {.label_selector = std::string(kPodSetLabel)}, &slim) {
  pods_.add_index(kByChain, [](const api::core::Pod& pod) -> std::vector<std::string> {
    const auto chain = chain_of(pod);
    return chain.has_value() ? std::vector{chain->to_string()} : std::vector<std::string>();
  });
}

std::optional<kube::ObjectKey> ElasticUngater::chain_of(const v1beta2::Workload& workload) {
  if (!workload.metadata.annotations.contains(kElasticJobAnnotation)) return std::nullopt;
  return kube::ObjectKey{workload.metadata.namespace_, slice_name(workload)};
}

std::optional<kube::ObjectKey> ElasticUngater::chain_of(const api::core::Pod& pod) {
  const auto name = pod.metadata.annotations.find(kSliceNameAnnotation);
  if (name == pod.metadata.annotations.end()) return std::nullopt;
  return kube::ObjectKey{pod.metadata.namespace_, name->second};
}

WorkloadPointer ElasticUngater::slice_in_force(const kube::ObjectKey& chain) const {
  WorkloadPointer latest;
  for (const WorkloadPointer& slice :
       context_.stores->workloads.by_index(kBySliceName, chain.to_string())) {
    if (!is_admitted(*slice) || is_finished(*slice) || !slice->status.admission.has_value())
      continue;
    if (latest == nullptr ||
        latest->metadata.creation_timestamp <= slice->metadata.creation_timestamp)
      latest = slice;
  }
  return latest;
}

Result<kube::ReconcileResult> ElasticUngater::reconcile(const kube::ObjectKey& chain) {
  const WorkloadPointer slice = slice_in_force(chain);
  if (slice == nullptr) return kube::ReconcileResult{};
  const auto pods = pods_.by_index(kByChain, chain.to_string());
  Result<void> problem;
  for (const v1beta2::PodSet& pod_set : slice->spec.pod_sets) {
    std::vector<const api::core::Pod*> waiting;
    int64_t room = pod_set.count.value_or(1);
    for (const auto& pod : pods) {
      const auto label = pod->metadata.labels.find(kPodSetLabel);
      if (label == pod->metadata.labels.end() || label->second != pod_set.name || ended(*pod))
        continue;
      if (!gated(*pod))
        --room;
      else if (!pod->metadata.deletion_timestamp.has_value())
        waiting.push_back(pod.get());
    }
    if (room <= 0 || waiting.empty()) continue;
    if (waiting.size() > static_cast<size_t>(room)) waiting.resize(static_cast<size_t>(room));
    KUEUE_ASSIGN(const PodSetInfo info, info_of_checks(*slice, pod_set.name));
    for (const api::core::Pod* pod : waiting)
      if (Result<void> done = ungate(*pod, info, *slice); !done.ok()) problem = std::move(done);
  }
  if (!problem.ok()) return problem.error();
  return kube::ReconcileResult{};
}

Result<void> ElasticUngater::ungate(const api::core::Pod& pod, const PodSetInfo& info,
                                    const v1beta2::Workload& slice) {
  const kube::ObjectKey key{pod.metadata.namespace_, pod.metadata.name};
  api::core::PodTemplateSpec now;
  now.metadata.labels = pod.metadata.labels;
  now.metadata.annotations = pod.metadata.annotations;
  now.spec.node_selector = pod.spec.node_selector;
  now.spec.tolerations = pod.spec.tolerations;
  if (Result<void> merged = merge_info(now, info, context_.gates()); !merged.ok()) {
    if (context_.log)
      context_.log("Pod " + key.to_string() + " keeps its gate: " + merged.error().message);
    return {};
  }
  json::Value patch;
  patch.at_path({"metadata", "uid"}) = pod.metadata.uid;
  patch.at_path({"metadata", "resourceVersion"}) = pod.metadata.resource_version;
  const auto add = [&](std::initializer_list<std::string_view> path, json::Value members) {
    if (members.is_object()) patch.at_path(path) = std::move(members);
  };
  add({"metadata", "labels"}, added(pod.metadata.labels, now.metadata.labels));
  add({"metadata", "annotations"}, added(pod.metadata.annotations, now.metadata.annotations));
  add({"spec", "nodeSelector"}, added(pod.spec.node_selector, now.spec.node_selector));
  if (now.spec.tolerations != pod.spec.tolerations)
    patch.at_path({"spec", "tolerations"}) = schema::encode(now.spec.tolerations);
  json::Array gates;
  for (const api::core::PodSchedulingGate& gate : pod.spec.scheduling_gates)
    if (gate.name != kElasticJobGate) gates.push_back(schema::encode(gate));
  patch.at_path({"spec", "schedulingGates"}) =
      gates.empty() ? json::Value() : json::Value(std::move(gates));
  const auto written =
      context_.client->patch(pods_.core().resource(), key, kube::PatchType::kMerge, patch);
  if (!written.ok())
    return written.error().code == ErrorCode::kNotFound ? Result<void>() : written.error();
  pods_.core().absorb(*written);  // the next look counts it
  // Since when it could have run.
  const Instant now_at = context_.now();
  const Instant since =
      std::max(find_condition(slice, kAdmitted)->last_transition_time.value_or(now_at),
               pod.metadata.creation_timestamp.value_or(now_at));
  context_.metrics->pod_scheduling_gate_removal_seconds.observe(
      {std::string(kElasticJobGate), slice.status.admission->cluster_queue, "false"},
      std::max(0.0, (now_at - since).as_seconds()));
  return {};
}

}  // namespace kueue::controllers::jobs
