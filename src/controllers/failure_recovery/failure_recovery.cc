#include "controllers/failure_recovery/failure_recovery.h"

#include <algorithm>

#include "controllers/names.h"
#include "controllers/stores.h"

namespace kueue::controllers {
namespace {

constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";
constexpr std::string_view kCondition = "KueueFailureRecovery";
constexpr std::string_view kReason = "KueueForcefullyDeleted";

kube::Resource pod_resource() { return kube::Resource::of(api::core::Pod::resource()); }

}  // namespace

FailureRecovery::FailureRecovery(Context& context)
    : context_(context),
      recorder_(context.recorder("pod_termination_controller")),
      // Of a Pod only what decides is kept.
      pods_(context.client, *context.executor, pod_resource(), &decode_object<api::core::Pod>, {},
            [](api::core::Pod& pod) {
              std::string node = std::move(pod.spec.node_name);
              pod.spec = {};
              pod.spec.node_name = std::move(node);
              pod.status = {};
              pod.metadata.managed_fields.clear();
            }) {}

bool FailureRecovery::concerns(const api::core::Pod& pod) {
  const auto allowed = pod.metadata.annotations.find(std::string(kSafeToDeleteAnnotation));
  return allowed != pod.metadata.annotations.end() && allowed->second == "true" &&
         pod.metadata.deletion_timestamp.has_value();
}

Result<kube::ReconcileResult> FailureRecovery::reconcile(const kube::ObjectKey& key) {
  const auto pod = pods_.get(key);
  if (pod == nullptr || !concerns(*pod)) return kube::ReconcileResult{};
  const Duration left = *pod->metadata.deletion_timestamp + kGrace - context_.now();
  if (left.ns > 0) return kube::ReconcileResult{left};
  const std::string& node = pod->spec.node_name;
  KUEUE_ASSIGN(const bool lost, unreachable(node));
  if (!lost) return kube::ReconcileResult{};
  const std::string message =
      "Pod forcefully terminated after 1m0s grace period due to "
      "unreachable node `" +
      node + "` (triggered by `" + std::string(kSafeToDeleteAnnotation) + "` annotation)";
  KUEUE_TRY(fail(key, message));
  recorder_.warning({.api_version = "v1",
                     .kind = "Pod",
                     .namespace_ = key.namespace_,
                     .name = key.name,
                     .uid = pod->metadata.uid,
                     .resource_version = {}},
                    kReason, message);
  kube::DeleteOptions options;
  options.grace_seconds = 0;
  options.uid_precondition = pod->metadata.uid;
  auto removed = context_.client->remove(pod_resource(), key, options);
  if (!removed.ok() && removed.error().code != ErrorCode::kNotFound) return removed.error();
  return kube::ReconcileResult{};
}

Result<bool> FailureRecovery::unreachable(const std::string& node) {
  if (node.empty()) return false;
  const auto found =
      context_.client->get(kube::Resource::of(api::core::Node::resource()), {"", node});
  if (!found.ok()) {
    if (found.error().code == ErrorCode::kNotFound) return false;
    return found.error();
  }
  const json::Value* taints = found->find_path({"spec", "taints"});
  if (taints == nullptr || !taints->is_array()) return false;
  return std::any_of(
      taints->as_array().begin(), taints->as_array().end(),
      [](const json::Value& taint) { return taint.get_string({"key"}) == kUnreachableTaint; });
}

// A Pod that ended by itself keeps its phase.
Result<void> FailureRecovery::fail(const kube::ObjectKey& key, const std::string& message) {
  const auto pod = context_.client->get(pod_resource(), key);
  if (!pod.ok()) return pod.error().code == ErrorCode::kNotFound ? Result<void>() : pod.error();
  json::Array conditions;
  if (const json::Value* held = pod->find_path({"status", "conditions"}); held && held->is_array())
    for (const json::Value& condition : held->as_array())
      if (condition.get_string({"type"}) != kCondition) conditions.push_back(condition);
  conditions.push_back(json::Value::object({{"type", kCondition},
                                            {"status", "True"},
                                            {"reason", kReason},
                                            {"message", message},
                                            {"lastTransitionTime", format_time(context_.now())}}));
  json::Value patch;
  patch.at_path({"metadata", "resourceVersion"}) =
      std::string(pod->get_string({"metadata", "resourceVersion"}));
  patch.at_path({"status", "conditions"}) = std::move(conditions);
  const std::string_view phase = pod->get_string({"status", "phase"});
  if (phase != "Succeeded" && phase != "Failed") patch.at_path({"status", "phase"}) = "Failed";
  kube::WriteOptions options;
  options.subresource = "status";
  auto written =
      context_.client->patch(pod_resource(), key, kube::PatchType::kMerge, patch, options);
  if (!written.ok() && written.error().code != ErrorCode::kNotFound) return written.error();
  return {};
}

}  // namespace kueue::controllers
