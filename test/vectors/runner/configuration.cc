// Judges of cases about the Configuration (defaults, loading, validation, gates) and about the
// conversion of objects between API versions.
#include "api/conversion.h"
#include "bridge/to_engine.h"
#include "config/config.h"
#include "json/json.h"
#include "judge.h"
#include "schema/codec.h"

namespace kueue::vectors {
namespace {

bool is_old(const json::Value& object) {
  return object.get_string({"apiVersion"}).ends_with("/v1beta1");
}

Differences defaults(const json::Value& test) {
  json::Value object = at(test, {"input", "object"});
  if (is_old(object)) {
    config::apply_v1beta1_defaults(object, "kueue-system");
  } else {
    config::apply_defaults(object, "kueue-system");
  }
  Differences out;
  differ(out, "object", pruned(at(test, {"expect", "object"})), pruned(object));
  return out;
}

Differences converted(const json::Value& from, const json::Value& expected) {
  Differences out;
  if (from.get_string({"apiVersion"}).starts_with("config.")) {
    json::Value result = is_old(from) ? config::convert_v1beta1_to_v1beta2(from)
                                      : config::convert_v1beta2_to_v1beta1(from);
    differ(out, "object", pruned(expected), pruned(result));
    return out;
  }
  Result<json::Value> result = api::convert_kueue(from, is_old(expected) ? "v1beta1" : "v1beta2");
  if (!result.ok()) return {"error: " + result.error().message};
  differ(out, "object", pruned(expected), pruned(*result));
  return out;
}

// One way, or there and back in steps.
Differences conversion(const json::Value& test) {
  const json::Array& steps = items(at(test, {"steps"}));
  if (steps.empty())
    return converted(at(test, {"input", "object"}), at(test, {"expect", "object"}));
  Differences out;
  for (const json::Value& step : steps) {
    const bool up = step.get_string({"call"}).ends_with("ConvertTo");
    const json::Value& after =
        up ? at(step, {"expect", "argsAfter", "dstRaw"}) : at(step, {"expect", "receiverAfter"});
    // Nothing is written down when the target came out as it was before.
    const json::Value& before = up ? at(step, {"args", "dstRaw"}) : at(step, {"receiver"});
    Differences more = converted(up ? at(step, {"receiver"}) : at(step, {"args", "srcRaw"}),
                                 after.is_null() ? before : after);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

Differences load(const json::Value& test) {
  const json::Value& yaml = at(test, {"input", "yaml"});
  auto loaded = yaml.is_string()
                    ? config::load(yaml.as_string(), "kueue-system")
                    : config::load_file(std::string(test.get_string({"input", "path"})));
  Differences out;
  if (compared_error(test, loaded.ok() ? Result<void>() : loaded.error(), out)) {
    if (!loaded.ok() &&
        !loaded.error().message.starts_with(test.get_string({"expect", "error", "text"})))
      differ(out, "error", at(test, {"expect", "error", "text"}), loaded.error().message);
    return out;
  }
  differ(out, "configuration", pruned(at(test, {"expect", "configuration"})),
         pruned(loaded->document));
  return out;
}

Differences validate(const json::Value& test) {
  const json::Value& object = at(test, {"input", "object"});
  const std::string_view call = test.get_string({"input", "call"});
  std::vector<ErrorCause> errors =
      call == "config.validateCustomLabels" ? config::validate_custom_labels(object)
      : call == "config.validateDeviceClassMappings"
          ? config::validate_device_class_mappings(object, gates_of(test))
          : config::validate(object, gates_of(test));
  return compared_errors(at(test, {"expect", "errors"}), errors);
}

// What the Configuration's validation says to such TLS settings.
Differences tls(const json::Value& test) {
  json::Value settings = argument(test, "cfg");
  if (!settings.is_object()) settings = json::Value::object();
  if (const json::Value& version = argument(test, "tlsMinVersion"); version.is_string())
    settings["minVersion"] = version;
  if (const json::Value& suites = argument(test, "cipherSuites"); suites.is_array())
    settings["cipherSuites"] = suites;
  json::Value document = json::Value::object(
      {{"apiVersion", "config.kueue.x-k8s.io/v1beta2"}, {"kind", "Configuration"}});
  config::apply_defaults(document, "kueue-system");
  document["tls"] = settings;
  std::string problems;
  for (const ErrorCause& cause : config::validate(document, gates_of(test)))
    if (cause.field.starts_with("tls")) problems += cause.message;
  const json::Value& error = at(test, {"expect", "error"});
  Differences out;
  if (error.is_null() != problems.empty() ||
      problems.find(error.get_string({"text"})) == std::string::npos)
    differ(out, "error", at(error, {"text"}), problems);
  return out;
}

Differences gates_of_flag_and_file(const json::Value& test) {
  json::Value document = json::Value::object();
  document["featureGates"] = argument(test, "featureGateMap");
  auto gates =
      config::effective_gates(test.get_string({"input", "args", "featureGateCLI"}), document);
  std::vector<ErrorCause> errors;
  if (!gates.ok()) errors = gates.error().causes;
  return compared_errors(at(test, {"expect", "errors"}), errors);
}

Differences waits_for_pods_ready(const json::Value& test) {
  auto configuration =
      schema::decode<api::config::Configuration>(at(test, {"input", "raw", "cfg"}));
  if (!configuration.ok()) return {"the Configuration does not decode"};
  return compared_result(test, bridge::waits_for_pods_ready(*configuration, gates_of(test)));
}

}  // namespace

void add_configuration_judges(Judges& judges) {
  judges.add("default apis-config-v1beta1", defaults);
  judges.add("default apis-config-v1beta2", defaults);
  judges.add("convert", conversion);
  judges.add("configLoad", load);
  judges.add("configValidate", validate);
  for (const char* call : {"convertTLSMinVersion", "convertCipherSuites", "ParseTLSOptions"})
    judges.add("function tlsconfig." + std::string(call), tls);
  judges.add("function config.LoadAndValidateFeatureGates", gates_of_flag_and_file);
  judges.add("function waitforpodsready.Enabled", waits_for_pods_ready);
}

}  // namespace kueue::vectors
