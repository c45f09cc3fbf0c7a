// Defaults and conversion of the Configuration, on documents.
#include <fstream>

#include "config/config.h"

namespace kueue::config {
namespace {

using json::Value;

constexpr std::string_view kIncrementalDispatcher =
    "kueue.x-k8s.io/multikueue-dispatcher-incremental";

// Sets the member when it is absent or null.
void fill(Value& object, std::string_view key, Value value) {
  Value& member = object[key];
  if (member.is_null()) member = std::move(value);
}
// Also when it is "" (strings whose zero value means "not set").
void fill_text(Value& object, std::string_view key, std::string_view value) {
  Value& member = object[key];
  if (member.is_null() || (member.is_string() && member.as_string().empty())) member = value;
}
// Durations: also when zero.
void fill_duration(Value& object, std::string_view key, std::string_view value) {
  Value& member = object[key];
  bool zero = member.is_string() && (member.as_string().empty() || member.as_string() == "0s" ||
                                     member.as_string() == "0");
  if (member.is_null() || zero) member = value;
}

Value& part(Value& object, std::string_view key) {
  Value& member = object[key];
  if (member.is_null()) member = Value::object();
  return member;
}

void default_election(Value& config) {
  Value& election = part(config, "leaderElection");
  if (!election.is_object()) return;
  fill(election, "leaderElect", true);
  fill_duration(election, "leaseDuration", "15s");
  fill_duration(election, "renewDeadline", "10s");
  fill_duration(election, "retryPeriod", "2s");
  fill_text(election, "resourceLock", "leases");
  fill_text(election, "resourceName", "c1f6bfd2.kueue.x-k8s.io");
  fill(election, "resourceNamespace", "");
}

// What both versions have in common.
void default_common(Value& config, std::string_view namespace_if_absent) {
  fill_text(config, "namespace",
            namespace_if_absent.empty() ? default_namespace() : std::string(namespace_if_absent));
  fill(config, "manageJobsWithoutQueueName", false);
  Value& webhook = part(config, "webhook");
  if (webhook.is_object()) {
    fill(webhook, "port", 9443);
    fill_text(webhook, "certDir", "/tmp/k8s-webhook-server/serving-certs");
  }
  Value& metrics = part(config, "metrics");
  if (metrics.is_object()) {
    fill_text(metrics, "bindAddress", ":8443");
    fill(metrics, "localQueueMetrics", Value::object({{"enable", true}}));
  }
  Value& health = part(config, "health");
  if (health.is_object()) fill_text(health, "healthProbeBindAddress", ":8081");
  default_election(config);
  Value& certs = part(config, "internalCertManagement");
  if (certs.is_object()) {
    fill(certs, "enable", true);
    if (certs.get_bool({"enable"})) {
      fill_text(certs, "webhookServiceName", "kueue-webhook-service");
      fill_text(certs, "webhookSecretName", "kueue-webhook-server-cert");
    }
  }
  Value& connection = part(config, "clientConnection");
  if (connection.is_object()) {
    fill(connection, "qps", 300);
    fill(connection, "burst", 500);
  }
  Value& integrations = part(config, "integrations");
  if (integrations.is_object()) fill(integrations, "frameworks", Value::array({"batch/job"}));
  Value& multi = part(config, "multiKueue");
  if (multi.is_object()) {
    fill(multi, "gcInterval", "1m0s");
    fill_text(multi, "origin", "multikueue");
    fill(multi, "workerLostTimeout", "15m0s");
    fill_text(multi, "dispatcherName", "kueue.x-k8s.io/multikueue-dispatcher-all-at-once");
  }
}

void default_selector(Value& config) {
  Value& selector = config["managedJobsNamespaceSelector"];
  if (!selector.is_null()) return;
  Value name = config["namespace"];
  selector = Value::object(
      {{"matchExpressions",
        Value::array({Value::object({{"key", "kubernetes.io/metadata.name"},
                                     {"operator", "NotIn"},
                                     {"values", Value::array({"kube-system", name})}})})}});
}

void default_requeuing(Value& wait) {
  Value& strategy = part(wait, "requeuingStrategy");
  if (!strategy.is_object()) return;
  fill_text(strategy, "timestamp", "Eviction");
  fill(strategy, "backoffBaseSeconds", 60);
  fill(strategy, "backoffMaxSeconds", 3600);
}

void default_sharing_and_resources(Value& config) {
  if (Value* sharing = config.find("admissionFairSharing");
      sharing != nullptr && sharing->is_object())
    fill_duration(*sharing, "usageSamplingInterval", "5m0s");
  Value* resources = config.find("resources");
  if (resources == nullptr || !resources->is_object()) return;
  Value* transformations = resources->find("transformations");
  if (transformations == nullptr || !transformations->is_array()) return;
  for (Value& transformation : transformations->as_array())
    if (transformation.is_object()) fill_text(transformation, "strategy", "Retain");
}

}  // namespace

std::string default_namespace() {
  std::ifstream file("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
  std::string name;
  if (file) std::getline(file, name);
  return name.empty() ? "kueue-system" : name;
}

void apply_defaults(Value& config, std::string_view namespace_if_absent) {
  default_common(config, namespace_if_absent);
  Value& wait = part(config, "waitForPodsReady");
  if (wait.is_object()) {
    fill_duration(wait, "timeout", "30m0s");
    fill(wait, "blockAdmission", false);
    Value timeout = wait["timeout"];
    fill(wait, "recoveryTimeout", timeout);
    default_requeuing(wait);
  }
  default_selector(config);
  default_sharing_and_resources(config);
  Value& visibility = part(config, "visibilityServer");
  if (visibility.is_object()) fill(visibility, "bindPort", 8082);
  if (Value* multi = config.find("multiKueue");
      multi != nullptr && multi->is_object() &&
      multi->get_string({"dispatcherName"}) == kIncrementalDispatcher) {
    Value& incremental = part(*multi, "incrementalDispatcherConfig");
    if (incremental.is_object()) fill(incremental, "stepSize", 3);
  }
}

void apply_v1beta1_defaults(Value& config, std::string_view namespace_if_absent) {
  default_common(config, namespace_if_absent);
  Value& wait = part(config, "waitForPodsReady");
  if (wait.is_object() && wait.get_bool({"enable"})) {
    fill_duration(wait, "timeout", "5m0s");
    fill(wait, "blockAdmission", true);
    default_requeuing(wait);
  }
  if (Value* sharing = config.find("fairSharing");
      sharing != nullptr && sharing->is_object() && sharing->get_bool({"enable"})) {
    Value& strategies = (*sharing)["preemptionStrategies"];
    if (strategies.is_null() || (strategies.is_array() && strategies.as_array().empty()))
      strategies = Value::array({"LessThanOrEqualToFinalShare", "LessThanInitialShare"});
  }
  default_selector(config);
  default_sharing_and_resources(config);
}

Value convert_v1beta1_to_v1beta2(const Value& v1beta1) {
  Value out = v1beta1;
  out["apiVersion"] = "config.kueue.x-k8s.io/v1beta2";
  if (Value* wait = out.find("waitForPodsReady"); wait != nullptr && wait->is_object()) {
    if (!wait->get_bool({"enable"})) {
      out.erase_path({"waitForPodsReady"});
    } else {
      wait->erase_path({"enable"});
    }
  }
  if (Value* sharing = out.find("fairSharing"); sharing != nullptr && sharing->is_object()) {
    if (!sharing->get_bool({"enable"})) {
      out.erase_path({"fairSharing"});
    } else {
      sharing->erase_path({"enable"});
      Value& strategies = (*sharing)["preemptionStrategies"];
      if (strategies.is_null() || (strategies.is_array() && strategies.as_array().empty()))
        strategies = Value::array({"LessThanOrEqualToFinalShare", "LessThanInitialShare"});
    }
  }
  out.erase_path({"queueVisibility"});
  out.erase_path({"integrations", "podOptions"});
  return out;
}

Value convert_v1beta2_to_v1beta1(const Value& v1beta2) {
  Value out = v1beta2;
  out["apiVersion"] = "config.kueue.x-k8s.io/v1beta1";
  if (Value* wait = out.find("waitForPodsReady"); wait != nullptr && wait->is_object()) {
    (*wait)["enable"] = true;
    fill(*wait, "blockAdmission", false);
  }
  if (Value* sharing = out.find("fairSharing"); sharing != nullptr && sharing->is_object())
    (*sharing)["enable"] = true;
  out.erase_path({"visibilityServer"});
  out.erase_path({"multiKueue", "clusterProfile"});
  return out;
}

}  // namespace kueue::config
