// The manager's Configuration (config.kueue.x-k8s.io): from the text of a file to a defaulted and
// validated value. v1beta2 is what the program works with; v1beta1 is converted when it is read.
// Pure but for load_file and default_namespace, which read files. Thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/config.h"
#include "base/feature_gates.h"
#include "base/result.h"
#include "config/extensions.h"
#include "json/value.h"

namespace kueue::config {

struct Loaded {
  api::config::Configuration configuration;
  json::Value document;               // the same, v1beta2, with defaults
  Extensions extensions;              // of further documents of the file
  std::vector<std::string> warnings;  // deprecated version or fields
  std::vector<ErrorCause> not_built;  // see not_built()
};

// YAML or JSON; empty text is the default Configuration. Unknown fields, wrong types and other
// kinds are kBadRequest errors that name path and, where it can be found, line, one cause for each
// of them; an unknown field with a near name says so. Does not validate values: see validate().
Result<Loaded> load(std::string_view text, std::string_view namespace_if_absent = {});
// "" = no file: the default Configuration. kNotFound, kBadRequest.
Result<Loaded> load_file(const std::string& path);

// What stands against a Configuration, and where.
struct Fault {
  std::string field;  // "" = the whole text
  std::string message;
  size_t line = 0;  // of the member, or of the one around it; 0 = unknown
};
struct Checked {
  std::vector<Fault> faults;    // what a manager would refuse; by line
  std::vector<Fault> warnings;  // what it would start with all the same; by line
  bool empty = false;           // the text says nothing: everything has its default
};
// Everything at once: shape, values, gates (`gates_flag` as in effective_gates()), extensions.
Checked check(std::string_view text, std::string_view gates_flag = {});

// What a file asks for that this program cannot do yet and therefore leaves out; field and message.
// Of the file's own members, without defaults; either version.
std::vector<ErrorCause> not_built(const json::Value& given);

// Namespace of the service account this process runs under, or "kueue-system".
std::string default_namespace();

// Defaults in place (spec section 13). `namespace_if_absent` "" means default_namespace().
void apply_defaults(json::Value& v1beta2, std::string_view namespace_if_absent = {});
void apply_v1beta1_defaults(json::Value& v1beta1, std::string_view namespace_if_absent = {});
// Between the versions; what the other version does not know is dropped.
json::Value convert_v1beta1_to_v1beta2(const json::Value& v1beta1);
json::Value convert_v1beta2_to_v1beta1(const json::Value& v1beta2);

// Every violation of a v1beta2 Configuration, in the order of Kueue's own checks; texts and reasons
// are Kueue's.
std::vector<ErrorCause> validate(const json::Value& v1beta2, const FeatureGates& gates);
// Parts of it, for callers that look at one thing.
std::vector<ErrorCause> validate_custom_labels(const json::Value& v1beta2);
std::vector<ErrorCause> validate_device_class_mappings(const json::Value& v1beta2,
                                                       const FeatureGates& gates);

// The gates of a run: those of the flag (Kubernetes' syntax), or those of the Configuration; both
// at once are an error, as are unknown and locked gates and gates that are on while what they
// depend on is off. Field "featureGates", the reason FieldValueInvalid.
Result<FeatureGates> effective_gates(std::string_view flag, const json::Value& v1beta2);

// Framework names that integrations.frameworks may hold, in Kueue's order.
std::span<const std::string_view> known_frameworks();
// Those of them that this program manages jobs of.
std::span<const std::string_view> built_frameworks();

}  // namespace kueue::config
