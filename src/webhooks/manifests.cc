#include "webhooks/manifests.h"

#include "webhooks/hook.h"

namespace kueue::webhooks {
namespace {

using json::Value;

Value client_config(const ManifestOptions& options, const std::string& path) {
  Value out = Value::object();
  if (!options.ca_bundle.empty()) out["caBundle"] = options.ca_bundle;
  if (!options.url.empty()) {
    out["url"] = options.url + path;
  } else {
    out["service"] = Value::object(
        {{"name", options.service}, {"namespace", options.namespace_}, {"path", path}});
  }
  return out;
}

Value webhook(const HookInfo& info, bool mutating, const ManifestOptions& options) {
  Value operations = Value::array({"CREATE"});
  if (!mutating || info.mutates_updates) operations.as_array().emplace_back("UPDATE");
  Value resources = Value::array({info.resource});
  if (!mutating && info.validates_status)
    resources.as_array().emplace_back(std::string(info.resource) + "/status");
  Value out = Value::object({
      {"name", std::string(mutating ? "m" : "v") + std::string(info.name) + ".kb.io"},
      {"admissionReviewVersions", Value::array({"v1"})},
      {"clientConfig", client_config(options, mutating ? mutate_path(info) : validate_path(info))},
      {"failurePolicy", "Fail"},
      {"sideEffects", "None"},
      {"rules", Value::array({Value::object({{"apiGroups", Value::array({info.group})},
                                             {"apiVersions", Value::array({info.version})},
                                             {"operations", operations},
                                             {"resources", resources}})})},
  });
  if (info.limits_namespaces) {
    Value term = Value::object({{"key", "kubernetes.io/metadata.name"},
                                {"operator", "NotIn"},
                                {"values", Value::array({"kube-system", options.namespace_})}});
    out["namespaceSelector"] = Value::object({{"matchExpressions", Value::array({term})}});
  }
  return out;
}

Value configuration(bool mutating, const ManifestOptions& options) {
  Value hooks = Value::array();
  for (const HookInfo& info : all_hooks()) {
    if (mutating ? !info.mutates : !info.validates) continue;
    std::string path = mutating ? mutate_path(info) : validate_path(info);
    if (options.paths.has_value() && !options.paths->contains(path)) continue;
    hooks.as_array().push_back(webhook(info, mutating, options));
  }
  std::string name =
      mutating ? "kueue-mutating-webhook-configuration" : "kueue-validating-webhook-configuration";
  return Value::object({
      {"apiVersion", "admissionregistration.k8s.io/v1"},
      {"kind", mutating ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration"},
      {"metadata", Value::object({{"name", name}})},
      {"webhooks", hooks},
  });
}

}  // namespace

Value mutating_configuration(const ManifestOptions& options) {
  return configuration(true, options);
}
Value validating_configuration(const ManifestOptions& options) {
  return configuration(false, options);
}

Value conversion_block(const ManifestOptions& options) {
  return Value::object(
      {{"strategy", "Webhook"},
       {"webhook", Value::object({{"clientConfig", client_config(options, "/convert")},
                                  {"conversionReviewVersions", Value::array({"v1"})}})}});
}

}  // namespace kueue::webhooks
