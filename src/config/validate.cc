// What Kueue has against a Configuration. Each function is one part, in Kueue's order.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/names.h"
#include "base/time.h"
#include "config/checks.h"
#include "config/config.h"
#include "schema/field_errors.h"
#include "wire/selector.h"

namespace kueue::config {
namespace {

using json::Value;
using schema::FieldErrors;

constexpr std::string_view kNotNegative = "must be greater than or equal to 0";
constexpr std::string_view kIncremental = "kueue.x-k8s.io/multikueue-dispatcher-incremental";

constexpr std::array<std::string_view, 18> kFrameworks = {
    "batch/job",
    "deployment",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "pod",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "sparkoperator.k8s.io/sparkapplication",
    "statefulset",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
};

// "Kind.version.group.com".
bool kind_version_group(std::string_view name) {
  size_t first = name.find('.');
  if (first == std::string_view::npos || first == 0) return false;
  size_t second = name.find('.', first + 1);
  return second != std::string_view::npos && second > first + 1 && second + 1 < name.size();
}

// The framework a "Kind.version.group" stands for, when it is one of ours; "" otherwise.
std::string builtin_framework(std::string_view name) {
  if (!kind_version_group(name)) return {};
  size_t first = name.find('.');
  size_t second = name.find('.', first + 1);
  std::string kind(name.substr(0, first));
  for (char& c : kind)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  std::string framework = std::string(name.substr(second + 1)) + '/' + kind;
  bool known = std::find(kFrameworks.begin(), kFrameworks.end(), framework) != kFrameworks.end();
  return known ? framework : std::string();
}

// A duration below zero; the value printed as Go prints the pointer or the value.
void not_negative(const Value& config, std::initializer_list<std::string_view> path, bool pointer,
                  FieldErrors& errors) {
  const Value* value = config.find_path(path);
  if (value == nullptr || !value->is_string()) return;
  Result<Duration> duration = parse_duration(value->as_string());
  if (!duration.ok() || duration->ns >= 0) return;
  std::string field;
  for (std::string_view part : path) field += (field.empty() ? "" : ".") + std::string(part);
  std::string text = format_duration(*duration);
  errors.invalid(field, pointer ? "&Duration{Duration:" + text + ",}" : text, kNotNegative);
}

void check_wait_for_pods_ready(const Value& config, FieldErrors& errors) {
  const Value* wait = config.find("waitForPodsReady");
  if (wait == nullptr || !wait->is_object()) return;
  const Value* timeout = wait->find("timeout");
  Duration parsed{};
  if (timeout != nullptr && timeout->is_string()) {
    Result<Duration> duration = parse_duration(timeout->as_string());
    if (duration.ok()) parsed = *duration;
  }
  if (parsed.ns == 0) errors.required("waitForPodsReady.timeout", "must be specified");
  not_negative(config, {"waitForPodsReady", "timeout"}, false, errors);
  not_negative(config, {"waitForPodsReady", "recoveryTimeout"}, true, errors);
  const Value* strategy = wait->find("requeuingStrategy");
  if (strategy == nullptr || !strategy->is_object()) return;
  std::string base = "waitForPodsReady.requeuingStrategy.";
  std::string_view timestamp = strategy->get_string({"timestamp"});
  static constexpr std::string_view kTimestamps[] = {"Creation", "Eviction"};
  if (!timestamp.empty() && timestamp != "Creation" && timestamp != "Eviction")
    errors.not_supported(base + "timestamp", timestamp, kTimestamps);
  for (const char* key : {"backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"}) {
    int64_t n = strategy->get_int({key});
    if (n < 0) errors.invalid(base + key, n, kNotNegative);
  }
}

void check_integrations(const Value& config, FieldErrors& errors) {
  const Value* integrations = config.find("integrations");
  if (integrations == nullptr || !integrations->is_object()) {
    errors.required("integrations", "cannot be empty");
    return;
  }
  std::vector<std::string> frameworks = texts_of(integrations->find("frameworks"));
  if (frameworks.empty()) errors.required("integrations.frameworks", "cannot be empty");
  for (size_t i = 0; i < frameworks.size(); ++i) {
    std::string field = "integrations.frameworks[" + std::to_string(i) + "]";
    auto end = frameworks.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(kFrameworks.begin(), kFrameworks.end(), frameworks[i]) == kFrameworks.end()) {
      errors.not_supported(field, frameworks[i], kFrameworks);
    } else if (std::find(frameworks.begin(), end, frameworks[i]) != end) {
      errors.duplicate(field, frameworks[i]);
    }
  }
  std::vector<std::string> external = texts_of(integrations->find("externalFrameworks"));
  for (size_t i = 0; i < external.size(); ++i) {
    std::string field = "integrations.externalFrameworks[" + std::to_string(i) + "]";
    auto end = external.begin() + static_cast<std::ptrdiff_t>(i);
    if (!kind_version_group(external[i])) {
      errors.invalid(field, external[i], "must be format, 'Kind.version.group.com'");
      continue;
    }
    std::string builtin = builtin_framework(external[i]);
    bool taken = !builtin.empty() &&
                 std::find(frameworks.begin(), frameworks.end(), builtin) != frameworks.end();
    if (taken || std::find(external.begin(), end, external[i]) != end)
      errors.duplicate(field, external[i]);
  }
  bool pods = std::find(frameworks.begin(), frameworks.end(), "pod") != frameworks.end();
  const Value* selector = config.find("managedJobsNamespaceSelector");
  if (pods && (selector == nullptr || selector->is_null()))
    errors.required("managedJobsNamespaceSelector",
                    "cannot be empty when pod integration is enabled");
  std::vector<std::string> labels = texts_of(integrations->find("labelKeysToCopy"));
  for (size_t i = 0; i < labels.size(); ++i)
    errors.invalid_each("integrations.labelKeysToCopy[" + std::to_string(i) + "]", labels[i],
                        qualified_name_problems(labels[i]));
}

// A LabelSelector as Go prints it.
std::string selector_text(const Value& selector) {
  std::string labels, expressions;
  if (const Value* map = selector.find("matchLabels"); map != nullptr && map->is_object()) {
    std::map<std::string, std::string> sorted;
    for (const auto& [key, value] : map->as_object()) sorted[key] = value.string_or("");
    for (const auto& [key, value] : sorted) labels += key + ": " + value + ",";
  }
  if (const Value* list = selector.find("matchExpressions"); list != nullptr && list->is_array()) {
    for (const Value& e : list->as_array()) {
      std::string values;
      for (const std::string& v : texts_of(e.find("values")))
        values += (values.empty() ? "" : " ") + v;
      expressions += "LabelSelectorRequirement{Key:" + std::string(e.get_string({"key"})) +
                     ",Operator:" + std::string(e.get_string({"operator"})) + ",Values:[" + values +
                     "],},";
    }
  }
  return "&LabelSelector{MatchLabels:map[string]string{" + labels +
         "},MatchExpressions:[]LabelSelectorRequirement{" + expressions + "},}";
}

void check_namespace_selector(const Value& config, FieldErrors& errors) {
  const Value* selector = config.find("managedJobsNamespaceSelector");
  if (selector == nullptr || !selector->is_object()) return;
  Result<wire::LabelSelector> parsed =
      wire::LabelSelector::from_object(selector, "managedJobsNamespaceSelector");
  if (!parsed.ok()) {
    if (parsed.error().causes.empty())
      errors.invalid("managedJobsNamespaceSelector", selector_text(*selector),
                     parsed.error().message);
    errors.append(parsed.error().causes);
    return;
  }
  std::string own(config.get_string({"namespace"}, "kueue-system"));
  for (const std::string& name : {std::string("kube-system"), own}) {
    if (!parsed->matches(wire::LabelMap{{"kubernetes.io/metadata.name", name}})) continue;
    errors.invalid("managedJobsNamespaceSelector", selector_text(*selector),
                   "should not match the \"" + name + "\" namespace");
  }
}

void check_provider_list(const Value& list, const std::string& field, FieldErrors& errors) {
  if (!list.is_array()) return;
  for (const Value& provider : list.as_array()) {
    auto need = [&](std::initializer_list<std::string_view> path, std::string_view at) {
      if (provider.get_string(path).empty())
        errors.required(field + std::string(at), "must be specified");
    };
    need({"name"}, ".name");
    need({"execConfig", "command"}, ".execConfig.command");
    need({"execConfig", "apiVersion"}, ".execConfig.apiVersion");
    need({"execConfig", "interactiveMode"}, ".execConfig.interactiveMode");
    const Value* env = provider.find_path({"execConfig", "env"});
    if (env == nullptr || !env->is_array()) continue;
    for (const Value& variable : env->as_array())
      if (variable.get_string({"name"}).empty())
        errors.required(field + ".execConfig.env.name", "must be specified");
  }
}

void check_multikueue_frameworks(const Value& multi, FieldErrors& errors) {
  const Value* frameworks = multi.find("externalFrameworks");
  if (frameworks == nullptr || !frameworks->is_array()) return;
  std::vector<std::string> seen;
  size_t i = 0;
  for (const Value& framework : frameworks->as_array()) {
    std::string field = "multiKueue.externalFrameworks[" + std::to_string(i++) + "].name";
    std::string name(framework.get_string({"name"}));
    if (name.empty()) {
      errors.required(field, "name is required");
    } else if (!kind_version_group(name)) {
      errors.invalid(field, name, "must be format, 'Kind.version.group.com'");
    } else if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      errors.duplicate(field, name);
    } else if (!builtin_framework(name).empty()) {
      errors.invalid(field, name, "must not be a built-in framework");
    }
    seen.push_back(name);
  }
}

void check_multikueue(const Value& config, const FeatureGates& gates, FieldErrors& errors) {
  const Value* multi = config.find("multiKueue");
  if (multi == nullptr || !multi->is_object()) return;
  not_negative(config, {"multiKueue", "gcInterval"}, false, errors);
  not_negative(config, {"multiKueue", "workerLostTimeout"}, false, errors);
  std::string_view origin = multi->get_string({"origin"});
  errors.invalid_each("multiKueue.origin", origin, label_value_problems(origin));
  if (const Value* incremental = multi->find("incrementalDispatcherConfig");
      incremental != nullptr && incremental->is_object()) {
    std::string field = "multiKueue.incrementalDispatcherConfig";
    if (multi->get_string({"dispatcherName"}) != kIncremental) {
      errors.invalid(field, *incremental,
                     "incrementalDispatcherConfig is only valid when dispatcherName is set to the "
                     "incremental dispatcher");
    } else if (int64_t step = incremental->get_int({"stepSize"}, 3); step < 1) {
      errors.invalid(field + ".stepSize", step, "must be greater than or equal to 1");
    }
  }
  if (const Value* profile = multi->find("clusterProfile");
      profile != nullptr && profile->is_object()) {
    const Value* access = profile->find("accessProviders");
    const Value* old = profile->find("credentialsProviders");
    bool has_access = access != nullptr && access->is_array() && !access->as_array().empty();
    bool has_old = old != nullptr && old->is_array() && !old->as_array().empty();
    if (has_access && has_old) {
      errors.forbidden("multiKueue.clusterProfile.credentialsProviders",
                       "must not be specified when accessProviders is specified");
    } else {
      if (has_access)
        check_provider_list(*access, "multiKueue.clusterProfile.accessProviders", errors);
      if (has_old)
        check_provider_list(*old, "multiKueue.clusterProfile.credentialsProviders", errors);
    }
  }
  if (gates.on(Gate::kMultiKueueAdaptersForCustomJobs)) check_multikueue_frameworks(*multi, errors);
}

void check_fair_sharing(const Value& config, FieldErrors& errors) {
  const Value* sharing = config.find("fairSharing");
  if (sharing == nullptr || !sharing->is_object()) return;
  std::vector<std::string> strategies = texts_of(sharing->find("preemptionStrategies"));
  if (strategies.empty()) return;  // both strategies, in their usual order
  std::string joined;
  for (const std::string& s : strategies) joined += (joined.empty() ? "" : ",") + s;
  static constexpr std::string_view kAllowed[] = {
      "LessThanOrEqualToFinalShare", "LessThanInitialShare",
      "LessThanOrEqualToFinalShare,LessThanInitialShare"};
  if (std::find(std::begin(kAllowed), std::end(kAllowed), joined) != std::end(kAllowed)) return;
  const Value* given = sharing->find("preemptionStrategies");
  errors.not_supported("fairSharing.preemptionStrategies", given == nullptr ? Value() : *given,
                       kAllowed);
}

void check_admission_fair_sharing(const Value& config, FieldErrors& errors) {
  const Value* sharing = config.find("admissionFairSharing");
  if (sharing == nullptr || !sharing->is_object()) return;
  not_negative(config, {"admissionFairSharing", "usageHalfLifeTime"}, false, errors);
  Result<Duration> interval = parse_duration(sharing->get_string({"usageSamplingInterval"}, "5m"));
  if (interval.ok() && interval->ns <= 0)
    errors.invalid("admissionFairSharing.usageSamplingInterval", "0s", "must be greater than 0");
  const Value* weights = sharing->find("resourceWeights");
  if (weights == nullptr || !weights->is_object()) return;
  for (const auto& [name, weight] : weights->as_object())
    if (weight.is_number() && weight.as_double() < 0)
      errors.invalid("admissionFairSharing.resourceWeights[" + name + "]", *weights, kNotNegative);
}

void check_resources(const Value& config, const FeatureGates& gates, FieldErrors& errors) {
  const Value* resources = config.find("resources");
  if (resources == nullptr || !resources->is_object()) return;
  const Value* transformations = resources->find("transformations");
  std::vector<std::string> seen;
  static constexpr std::string_view kStrategies[] = {"Retain", "Replace"};
  if (transformations != nullptr && transformations->is_array()) {
    size_t i = 0;
    for (const Value& transformation : transformations->as_array()) {
      std::string field = "resources.transformations[" + std::to_string(i++) + "].";
      std::string_view strategy = transformation.get_string({"strategy"});
      if (strategy != "Retain" && strategy != "Replace")
        errors.not_supported(field + "strategy", strategy, kStrategies);
      std::string input(transformation.get_string({"input"}));
      if (std::find(seen.begin(), seen.end(), input) != seen.end())
        errors.duplicate(field + "input", input);
      seen.push_back(input);
    }
  }
  if (!gates.on(Gate::kQuotaCheckStrategy)) return;
  std::string_view strategy = resources->get_string({"quotaCheckStrategy"});
  static constexpr std::string_view kQuota[] = {"IgnoreUndeclared", "BlockUndeclared"};
  if (!strategy.empty() && strategy != kQuota[0] && strategy != kQuota[1]) {
    errors.not_supported("resources.quotaCheckStrategy", strategy, kQuota);
  } else if (strategy == kQuota[0] &&
             !texts_of(resources->find("excludeResourcePrefixes")).empty()) {
    errors.invalid(
        "resources.quotaCheckStrategy", strategy,
        "excludeResourcePrefixes is not allowed when quotaCheckStrategy is IgnoreUndeclared");
  }
}

void check_servers(const Value& config, FieldErrors& errors) {
  if (config.get_bool({"internalCertManagement", "enable"})) {
    std::string_view service = config.get_string({"internalCertManagement", "webhookServiceName"});
    if (!service.empty())
      errors.invalid_each("internalCertManagement.webhookServiceName", service,
                          dns1035_label_problems(service));
    std::string_view secret = config.get_string({"internalCertManagement", "webhookSecretName"});
    if (!secret.empty())
      errors.invalid_each("internalCertManagement.webhookSecretName", secret,
                          dns1123_subdomain_problems(secret));
  }
  std::string address(config.get_string({"visibilityServer", "bindAddress"}));
  unsigned char bytes[16];
  if (!address.empty() && inet_pton(AF_INET, address.c_str(), bytes) != 1 &&
      inet_pton(AF_INET6, address.c_str(), bytes) != 1)
    errors.invalid("visibilityServer.bindAddress", address, "must be a valid IP address");
  const Value* port = config.find_path({"visibilityServer", "bindPort"});
  if (port != nullptr && port->is_int() && (port->as_int() < 1 || port->as_int() > 65535))
    errors.invalid("visibilityServer.bindPort", *port, "must be between 1 and 65535, inclusive");
  const Value* burst = config.find_path({"clientConnection", "burst"});
  if (burst != nullptr && burst->is_int() && burst->as_int() < 0)
    errors.invalid("clientConnection.burst", *burst, kNotNegative);
}

void check_local_queue_metrics(const Value& config, const FeatureGates& gates,
                               FieldErrors& errors) {
  if (!gates.on(Gate::kLocalQueueMetrics)) return;
  const Value* selector = config.find_path({"metrics", "localQueueMetrics", "localQueueSelector"});
  if (selector == nullptr || !selector->is_object()) return;
  std::string field = "metrics.localQueueMetrics.localQueueSelector";
  Result<wire::LabelSelector> parsed = wire::LabelSelector::from_object(selector, field);
  if (parsed.ok()) return;
  if (parsed.error().causes.empty())
    errors.invalid(field, selector_text(*selector), parsed.error().message);
  errors.append(parsed.error().causes);
}

}  // namespace

std::vector<std::string> texts_of(const Value* list) {
  std::vector<std::string> out;
  if (list == nullptr || !list->is_array()) return out;
  for (const Value& item : list->as_array()) out.emplace_back(item.string_or(""));
  return out;
}

std::span<const std::string_view> known_frameworks() { return kFrameworks; }

std::vector<ErrorCause> validate(const Value& config, const FeatureGates& gates) {
  FieldErrors errors;
  check_wait_for_pods_ready(config, errors);
  check_integrations(config, errors);
  check_namespace_selector(config, errors);
  check_multikueue(config, gates, errors);
  check_fair_sharing(config, errors);
  check_admission_fair_sharing(config, errors);
  check_servers(config, errors);
  check_resources(config, gates, errors);
  errors.append(validate_device_class_mappings(config, gates));
  not_negative(config, {"objectRetentionPolicies", "workloads", "afterFinished"}, true, errors);
  not_negative(config, {"objectRetentionPolicies", "workloads", "afterDeactivatedByKueue"}, true,
               errors);
  check_tls(config, errors);
  check_local_queue_metrics(config, gates, errors);
  if (gates.on(Gate::kCustomMetricLabels)) errors.append(validate_custom_labels(config));
  return errors.take();
}

}  // namespace kueue::config
