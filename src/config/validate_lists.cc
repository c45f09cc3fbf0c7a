// Custom metric labels, device class mappings and TLS options of the Configuration.
#include <algorithm>
#include <map>
#include <set>

#include "base/names.h"
#include "config/checks.h"
#include "config/config.h"

namespace kueue::config {
namespace {

using json::Value;
using schema::FieldErrors;

constexpr size_t kMaxLabels = 20, kMaxTracked = 16, kMaxTrackedWorkload = 12;
constexpr size_t kMaxMappings = 16, kMaxClasses = 8, kMaxName = 253, kMaxDriver = 63;

const json::Array& items_of(const Value* list) {
  static const json::Array kNone;
  return list != nullptr && list->is_array() ? list->as_array() : kNone;
}

std::string joined(const std::vector<std::string>& problems) {
  std::string out;
  for (const std::string& p : problems) out += (out.empty() ? "" : "; ") + p;
  return out;
}

bool metric_name(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (name.empty() || !letter(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

void check_label_counts(const Value& labels, FieldErrors& errors) {
  std::map<std::string, size_t, std::less<>> counts;
  for (const Value& label : labels.as_array()) {
    std::string_view kind = label.get_string({"sourceKind"});
    ++counts[std::string(kind.empty() ? "ClusterQueue" : kind)];
  }
  static constexpr std::pair<std::string_view, size_t> kLimits[] = {
      {"Cohort", 6}, {"LocalQueue", 6}, {"ClusterQueue", 6}, {"Workload", 2}};
  for (const auto& [kind, limit] : kLimits) {
    auto it = counts.find(kind);
    if (it == counts.end()) continue;
    if (it->second > limit)
      errors.invalid("metrics.customLabels", labels,
                     "too many custom labels for source kind " + it->first + ": found " +
                         std::to_string(it->second) + ", expected <= " + std::to_string(limit));
    counts.erase(it);
  }
  for (const auto& [kind, count] : counts)
    errors.invalid("metrics.customLabels", labels, "unknown source kind: " + kind);
}

void check_tracked_values(const Value& label, const std::string& field, FieldErrors& errors) {
  const Value* tracked = label.find("trackedValues");
  std::vector<std::string> values = texts_of(tracked);
  bool workload = label.get_string({"sourceKind"}) == "Workload";
  Value given = tracked == nullptr ? Value() : *tracked;
  if (workload && values.empty()) {
    errors.invalid(field, given, "must not be empty when sourceKind is 'Workload'");
    return;
  }
  size_t limit = workload ? kMaxTrackedWorkload : kMaxTracked;
  if (values.size() > limit)
    errors.too_many(field, static_cast<int64_t>(values.size()), static_cast<int64_t>(limit));
  std::set<std::string> unique(values.begin(), values.end());
  if (unique.size() != values.size()) errors.invalid(field, given, "must not contain duplicates");
}

}  // namespace

std::vector<ErrorCause> validate_custom_labels(const Value& config) {
  FieldErrors errors;
  const Value* labels = config.find_path({"metrics", "customLabels"});
  if (labels == nullptr || !labels->is_array()) return {};
  const json::Array& all = labels->as_array();
  if (all.size() > kMaxLabels)
    errors.too_many("metrics.customLabels", static_cast<int64_t>(all.size()),
                    static_cast<int64_t>(kMaxLabels));
  check_label_counts(*labels, errors);
  std::set<std::string, std::less<>> seen;
  for (size_t i = 0; i < all.size(); ++i) {
    std::string field = "metrics.customLabels[" + std::to_string(i) + "]";
    std::string name(all[i].get_string({"name"}));
    std::string label_key(all[i].get_string({"sourceLabelKey"})),
        annotation(all[i].get_string({"sourceAnnotationKey"}));
    if (!metric_name(name))
      errors.invalid(field + ".name", name, "must match ^[a-zA-Z][a-zA-Z0-9_]*$");
    if (!seen.insert(name).second) errors.duplicate(field + ".name", name);
    if (!label_key.empty() && !annotation.empty())
      errors.invalid(field, all[i],
                     "sourceLabelKey and sourceAnnotationKey are mutually exclusive");
    auto key = [&](const std::string& at, const std::string& text) {
      std::vector<std::string> problems = qualified_name_problems(text);
      if (!problems.empty()) errors.invalid(at, text, joined(problems));
    };
    if (!label_key.empty()) key(field + ".sourceLabelKey", label_key);
    if (!annotation.empty()) key(field + ".sourceAnnotationKey", annotation);
    if (label_key.empty() && annotation.empty()) key(field + ".name", name);
    check_tracked_values(all[i], field + ".trackedValues", errors);
  }
  return errors.take();
}

namespace {

void check_long_name(const std::string& field, const std::string& name, FieldErrors& errors) {
  std::vector<std::string> problems = qualified_name_problems(name);
  if (!problems.empty()) errors.invalid(field, name, joined(problems));
  if (name.size() > kMaxName) errors.invalid(field, name, "must not exceed 253 characters");
}

void check_driver(const std::string& field, const std::string& driver, FieldErrors& errors) {
  if (driver.empty()) {
    errors.required(field);
    return;
  }
  if (driver.size() > kMaxDriver) errors.invalid(field, driver, "must not exceed 63 characters");
  std::vector<std::string> problems = dns1123_subdomain_problems(driver);
  if (!problems.empty()) errors.invalid(field, driver, joined(problems));
}

// C identifier or "domain/identifier", as resource attributes are named.
void check_capacity_name(const std::string& field, const std::string& name, FieldErrors& errors) {
  if (name.empty()) {
    errors.required(field);
    return;
  }
  size_t slash = name.find('/');
  std::string id = slash == std::string::npos ? name : name.substr(slash + 1);
  if (slash != std::string::npos) {
    std::string domain = name.substr(0, slash), lower = domain;
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if (domain.empty()) {
      errors.invalid(field, domain, "the domain must not be empty");
    } else {
      if (domain.size() > kMaxDriver) errors.too_long(field, static_cast<int64_t>(kMaxDriver));
      for (const std::string& problem : dns1123_subdomain_problems(lower))
        errors.invalid(field, domain, problem);
    }
  }
  bool letter = !id.empty() && (((id[0] | 0x20) >= 'a' && (id[0] | 0x20) <= 'z') || id[0] == '_');
  bool rest = std::all_of(id.begin(), id.end(), [](char c) {
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (id.empty()) {
    errors.invalid(field, id, "the name must not be empty");
  } else if (!letter || !rest) {
    errors.invalid(
        field, id,
        "a valid C identifier must start with alphabetic character or '_', followed by a string of "
        "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used "
        "for "
        "validation is '[A-Za-z_][A-Za-z0-9_]*')");
  } else if (id.size() > 32) {
    errors.too_long(field, 32);
  }
}

void check_selector(const Value& source, const std::string& field, FieldErrors& errors) {
  if (source.get_string({"deviceSelector", "cel", "expression"}).empty())
    errors.required(field + ".deviceSelector.cel.expression");
}

// One source of a mapping; counts which sort it is.
void check_source(const Value& source, const std::string& field, const FeatureGates& gates,
                  size_t* counters, size_t* capacities, FieldErrors& errors) {
  const Value* counter = source.find("counter");
  const Value* capacity = source.find("capacity");
  bool has_counter = counter != nullptr && counter->is_object();
  bool has_capacity = capacity != nullptr && capacity->is_object();
  if (has_counter == has_capacity) {
    errors.invalid(field, source, "exactly one of counter or capacity must be specified");
    return;
  }
  if (has_counter) {
    ++*counters;
    std::string at = field + ".counter";
    if (!gates.on(Gate::kKueueDRAIntegrationPartitionableDevices)) {
      errors.invalid(
          at, true,
          "counter sources require KueueDRAIntegrationPartitionableDevices to be enabled");
      return;
    }
    std::string name(counter->get_string({"name"}));
    if (name.empty()) {
      errors.required(at + ".name");
    } else if (auto problems = dns1123_label_problems(name); !problems.empty()) {
      errors.invalid(at + ".name", name, joined(problems));
    }
    check_driver(at + ".driver", std::string(counter->get_string({"driver"})), errors);
    check_selector(*counter, at, errors);
    return;
  }
  ++*capacities;
  std::string at = field + ".capacity";
  if (!gates.on(Gate::kKueueDRAIntegrationConsumableCapacity)) {
    errors.invalid(at, true,
                   "capacity sources require KueueDRAIntegrationConsumableCapacity to be enabled");
    return;
  }
  check_capacity_name(at + ".name", std::string(capacity->get_string({"name"})), errors);
  check_driver(at + ".driver", std::string(capacity->get_string({"driver"})), errors);
  check_selector(*capacity, at, errors);
}

// Where a device class is used already.
struct Use {
  std::string mapping;
  std::set<std::string> counters;  // empty: as a whole or by capacity
};

void check_class_use(const std::string& name, const std::string& field, const Use& use,
                     std::map<std::string, Use>& uses, FieldErrors& errors) {
  auto [it, fresh] = uses.emplace(name, use);
  if (fresh) return;
  if (it->second.counters.empty() || use.counters.empty()) {
    errors.invalid(field, name, "device class already mapped to resource " + it->second.mapping);
    return;
  }
  for (const std::string& counter : use.counters) {
    if (!it->second.counters.insert(counter).second)
      errors.invalid(field, name,
                     "device class already has a counter source for counter \"" + counter + "\"");
  }
}

}  // namespace

std::vector<ErrorCause> validate_device_class_mappings(const Value& config,
                                                       const FeatureGates& gates) {
  FieldErrors errors;
  const json::Array& mappings = items_of(config.find_path({"resources", "deviceClassMappings"}));
  if (mappings.size() > kMaxMappings)
    errors.too_many("resources.deviceClassMappings", static_cast<int64_t>(mappings.size()),
                    static_cast<int64_t>(kMaxMappings));
  std::set<std::string> names;
  std::map<std::string, Use> uses;
  for (size_t i = 0; i < mappings.size(); ++i) {
    const Value& mapping = mappings[i];
    std::string field = "resources.deviceClassMappings[" + std::to_string(i) + "]";
    std::string name(mapping.get_string({"name"}));
    check_long_name(field + ".name", name, errors);
    if (!names.insert(name).second) errors.duplicate(field + ".name", name);
    const json::Array& sources = items_of(mapping.find("sources"));
    size_t counters = 0, capacities = 0;
    Use use{name, {}};
    for (size_t k = 0; k < sources.size(); ++k) {
      check_source(sources[k], field + ".sources[" + std::to_string(k) + "]", gates, &counters,
                   &capacities, errors);
      std::string_view counter = sources[k].get_string({"counter", "name"});
      if (!counter.empty()) use.counters.emplace(counter);
    }
    if (counters > 0 && capacities > 0)
      errors.invalid(field + ".sources", static_cast<int64_t>(sources.size()),
                     "cannot mix counter and capacity sources in the same mapping");
    std::vector<std::string> classes = texts_of(mapping.find("deviceClassNames"));
    if (classes.empty())
      errors.required(field + ".deviceClassNames", "at least one device class name is required");
    if (classes.size() > kMaxClasses)
      errors.too_many(field + ".deviceClassNames", static_cast<int64_t>(classes.size()),
                      static_cast<int64_t>(kMaxClasses));
    for (size_t k = 0; k < classes.size(); ++k) {
      std::string at = field + ".deviceClassNames[" + std::to_string(k) + "]";
      check_long_name(at, classes[k], errors);
      auto end = classes.begin() + static_cast<std::ptrdiff_t>(k);
      if (std::find(classes.begin(), end, classes[k]) != end) {
        errors.duplicate(at, classes[k]);
      } else {
        check_class_use(classes[k], at, use, uses, errors);
      }
    }
  }
  return errors.take();
}

void check_tls(const Value& config, FieldErrors& errors) {
  const Value* tls = config.find("tls");
  if (tls == nullptr || !tls->is_object()) return;
  static constexpr std::string_view kSuites[] = {
      "TLS_AES_128_GCM_SHA256",
      "TLS_AES_256_GCM_SHA384",
      "TLS_CHACHA20_POLY1305_SHA256",
      "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
      "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
      "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
      "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
      "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
      "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
      "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
      "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
      "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
      "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
      "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
      "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
  };
  std::vector<std::string> problems;
  std::string_view version = tls->get_string({"minVersion"});
  if (version == "VersionTLS10" || version == "VersionTLS11") {
    problems.emplace_back("invalid minVersion. Please use VersionTLS12 or VersionTLS13");
  } else if (!version.empty() && version != "VersionTLS12" && version != "VersionTLS13") {
    problems.push_back("invalid minVersion: unknown tls version \"" + std::string(version) +
                       "\". Please use VersionTLS12 or VersionTLS13");
  }
  std::vector<std::string> suites = texts_of(tls->find("cipherSuites"));
  for (const std::string& suite : suites) {
    if (std::find(std::begin(kSuites), std::end(kSuites), suite) != std::end(kSuites)) continue;
    std::string known;
    for (std::string_view s : kSuites) known += (known.empty() ? "" : " ") + std::string(s);
    problems.push_back("invalid cipher suites: Cipher suite " + suite +
                       " not supported or doesn't exist. Please use the secure cipher names: [" +
                       known + "]");
    break;
  }
  if (version == "VersionTLS13" && !suites.empty())
    problems.emplace_back(
        "invalid cipher suites: cipher suites may not be specified when minVersion is "
        "VersionTLS13");
  for (const Value& curve : items_of(tls->find("curvePreferences"))) {
    int64_t id = curve.int_or(0);
    if (id >= 1 && id <= 65535) continue;
    problems.push_back("invalid curve preferences: curve preference " + std::to_string(id) +
                       " is out of range (must be 1-65535)");
    break;
  }
  std::string text;
  for (const std::string& p : problems) text += (text.empty() ? "" : "\n") + p;
  if (!text.empty()) errors.invalid("tls", *tls, text);
}

}  // namespace kueue::config
