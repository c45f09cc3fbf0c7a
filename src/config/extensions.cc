#include "config/extensions.h"

#include "base/feature_gates.h"
#include "json/json.h"

namespace kueue::config {
namespace {

constexpr std::string_view kVersion = "config.kueue-cpp.dev/v1alpha1";

Error wrong(const std::string& path, const std::string& rule) {
  Error error = make_error(ErrorCode::kBadRequest, "Extensions: " + path + ": " + rule);
  error.causes.push_back({"FieldValueInvalid", rule, path});
  return error;
}

Result<void> only(const json::Value& object, const std::string& path,
                  const std::vector<std::string_view>& known) {
  if (!object.is_object()) return wrong(path, "must be an object");
  for (const auto& [key, value] : object.as_object()) {
    bool found = false;
    for (const std::string_view one : known) found |= key == one;
    if (found) continue;
    const std::string near(nearest_word(key, known));
    return wrong(path.empty() ? key : path + "." + key,
                 "unknown field" + (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
  return {};
}

Result<Extensions> read(const json::Value& document) {
  Extensions out;
  KUEUE_TRY(only(document, "", {"apiVersion", "kind", "boundedTermination"}));
  const json::Value* bounded = document.find("boundedTermination");
  if (bounded == nullptr) return out;
  KUEUE_TRY(only(*bounded, "boundedTermination", {"after", "conditions"}));
  const json::Value* after = bounded->find("after");
  if (after == nullptr) return wrong("boundedTermination.after", "required");
  const auto time = parse_duration(after->string_or(""));
  if (!after->is_string() || !time.ok())
    return wrong("boundedTermination.after", "must be a time, such as 10m");
  if (time->ns <= 0) return wrong("boundedTermination.after", "must be above zero");
  out.termination_bound = *time;
  if (const json::Value* conditions = bounded->find("conditions")) {
    if (!conditions->is_bool()) return wrong("boundedTermination.conditions", "must be a boolean");
    out.termination_conditions = conditions->as_bool();
  }
  return out;
}

}  // namespace

Result<LoadedExtensions> load_extensions(std::string_view text) {
  LoadedExtensions out;
  KUEUE_ASSIGN(const std::vector<json::Value> documents, json::parse_yaml_all(text));
  bool found = false;
  for (size_t i = 1; i < documents.size(); ++i) {
    const json::Value& document = documents[i];
    const std::string version(document.get_string({"apiVersion"}));
    const std::string kind(document.get_string({"kind"}));
    if (!version.starts_with("config.kueue-cpp.dev/")) {
      out.warnings.push_back("document " + std::to_string(i + 1) +
                             " of the Configuration's file is not read");
      continue;
    }
    if (version != kVersion || kind != "Extensions")
      return wrong("kind", "expected Extensions of " + std::string(kVersion));
    if (found) return wrong("kind", "there may be one document of this kind");
    found = true;
    KUEUE_ASSIGN(out.extensions, read(document));
  }
  return out;
}

}  // namespace kueue::config
