// Feature gates of a run: flag or Configuration.
#include <algorithm>

#include "config/config.h"
#include "schema/field_errors.h"

namespace kueue::config {
namespace {

Error refused(const json::Value& gates, const std::string& detail) {
  schema::FieldErrors errors;
  errors.invalid("featureGates", gates, detail);
  Error error = make_error(ErrorCode::kInvalid, schema::aggregate_text(errors.causes()));
  error.causes = errors.take();
  return error;
}

struct Broken {
  std::string_view name;
  std::vector<std::string_view> missing;
};

// Gates that are on while what they need is off: those that miss least first, then by name.
std::vector<Broken> broken_dependencies(const FeatureGates& gates) {
  std::vector<Broken> out;
  for (const GateSpec& spec : feature_gate_table()) {
    if (!gates.on(spec.gate)) continue;
    Broken broken{spec.name, {}};
    for (Gate needed : spec.depends_on)
      if (!gates.on(needed)) broken.missing.push_back(gate_spec(needed).name);
    std::sort(broken.missing.begin(), broken.missing.end());
    if (!broken.missing.empty()) out.push_back(std::move(broken));
  }
  std::sort(out.begin(), out.end(), [](const Broken& a, const Broken& b) {
    return a.missing.size() != b.missing.size() ? a.missing.size() < b.missing.size()
                                                : a.name < b.name;
  });
  return out;
}

std::string dependency_text(const std::vector<Broken>& all) {
  std::string out;
  for (const Broken& broken : all) {
    if (!out.empty()) out += ", ";
    out += std::string(broken.name) + " is enabled, but depends on features that are disabled: [";
    for (size_t i = 0; i < broken.missing.size(); ++i) {
      if (i > 0) out += ' ';
      out += broken.missing[i];
    }
    out += ']';
  }
  return all.size() > 1 ? '[' + out + ']' : out;
}

}  // namespace

Result<FeatureGates> effective_gates(std::string_view flag, const json::Value& config) {
  FeatureGates gates;
  const json::Value* map = config.find("featureGates");
  bool configured = map != nullptr && map->is_object() && !map->as_object().empty();
  if (configured && !flag.empty())
    return refused(*map, "feature gates for CLI and configuration cannot both specified");
  if (!configured) {
    Result<void> parsed = gates.parse(flag);
    if (!parsed.ok()) return refused(json::Value(flag), parsed.error().message);
    return gates;
  }
  for (const auto& [name, value] : map->as_object()) {
    if (!value.is_bool())
      return refused(*map, "invalid value of " + name + ": must be true or false");
    Result<void> set = gates.set(name, value.as_bool());
    if (!set.ok()) return refused(*map, set.error().message);
  }
  std::vector<Broken> broken = broken_dependencies(gates);
  if (!broken.empty()) return refused(*map, dependency_text(broken));
  return gates;
}

}  // namespace kueue::config
