// What the Configuration may ask for and this program does not do yet. README's table has the same.
#include <algorithm>
#include <array>

#include "config/checks.h"
#include "config/config.h"

namespace kueue::config {
namespace {

using json::Value;

constexpr std::array<std::string_view, 1> kBuilt = {"batch/job"};

struct Missing {
  std::string_view name;  // a gate, or its beginning when it ends in *
  std::string_view what;
};
constexpr Missing kGates[] = {
    {"MultiKueue*", "sending jobs to other clusters"},
    {"KueueDRAIntegration*", "dynamic resource allocation"},
    {"ConcurrentAdmission", "concurrent admission"},
    {"SparkApplicationIntegration", "SparkApplication jobs"},
    {"FastQuotaReleaseInPodIntegration", "Pods as jobs"},
};

bool is_named(std::string_view gate, std::string_view name) {
  if (!name.ends_with('*')) return gate == name;
  return gate.starts_with(name.substr(0, name.size() - 1));
}

bool has_items(const Value* list) {
  return list != nullptr && list->is_array() && !list->as_array().empty();
}

// The part says something that is not so by default.
bool is_set(const Value& given, std::string_view key) {
  const Value* part = given.find(key);
  if (part == nullptr || !part->is_object()) return false;
  Value defaults = Value::object({{key, Value::object()}});
  apply_defaults(defaults, "kueue-system");
  for (const auto& [name, value] : part->as_object()) {
    const Value* usual = defaults.find_path({key, name});
    if (usual == nullptr || !(*usual == value)) return true;
  }
  return false;
}

}  // namespace

std::span<const std::string_view> built_frameworks() { return kBuilt; }

std::vector<ErrorCause> not_built(const Value& given) {
  std::vector<ErrorCause> out;
  const auto add = [&](std::string field, std::string message) {
    out.push_back({"NotBuilt", std::move(message), std::move(field)});
  };
  const auto frameworks = texts_of(given.find_path({"integrations", "frameworks"}));
  for (size_t i = 0; i < frameworks.size(); ++i) {
    const auto known = known_frameworks();
    if (std::find(known.begin(), known.end(), frameworks[i]) == known.end()) continue;
    if (std::find(kBuilt.begin(), kBuilt.end(), frameworks[i]) != kBuilt.end()) continue;
    add("integrations.frameworks[" + std::to_string(i) + "]",
        "\"" + frameworks[i] +
            "\" is not there yet: jobs of this kind are neither held nor given quota");
  }
  const auto external = texts_of(given.find_path({"integrations", "externalFrameworks"}));
  for (size_t i = 0; i < external.size(); ++i)
    add("integrations.externalFrameworks[" + std::to_string(i) + "]",
        "\"" + external[i] + "\": external frameworks are not there yet, it is left out");
  if (is_set(given, "multiKueue"))
    add("multiKueue", "sending jobs to other clusters is not there yet");
  if (has_items(given.find_path({"resources", "deviceClassMappings"})))
    add("resources.deviceClassMappings",
        "dynamic resource allocation is not there yet: devices are not counted");
  const Value* gates = given.find("featureGates");
  if (gates == nullptr || !gates->is_object()) return out;
  for (const auto& [gate, on] : gates->as_object())
    for (const Missing& missing : kGates)
      if (on.bool_or(false) && is_named(gate, missing.name))
        add("featureGates." + gate, std::string(missing.what) + ": not there yet");
  return out;
}

}  // namespace kueue::config
