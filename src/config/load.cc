// Reading: YAML, strict decoding with paths, lines and near names.
#include <algorithm>

#include "api/registry.h"
#include "base/files.h"
#include "config/config.h"
#include "config/yaml_lines.h"
#include "json/json.h"
#include "schema/codec.h"
#include "schema/decode_check.h"
#include "schema/errors.h"

namespace kueue::config {
namespace {

constexpr std::string_view kGroup = "config.kueue.x-k8s.io";

struct Unknown {
  std::string path;
  std::string_view near;  // "" when no field has a near name
};

// Members that the type does not have, in the order of their paths.
void find_unknown(const schema::Type& type, const json::Value& value, const std::string& path,
                  std::vector<Unknown>* out) {
  if (value.is_array() && type.element) {
    size_t i = 0;
    for (const json::Value& item : value.as_array())
      find_unknown(*type.element, item, path + '[' + std::to_string(i++) + ']', out);
    return;
  }
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.as_object()) {
    std::string at = path.empty() ? key : path + '.' + key;
    if (type.kind == schema::Kind::kMap) {
      if (type.element) find_unknown(*type.element, member, at, out);
      continue;
    }
    if (type.kind != schema::Kind::kStruct || type.preserve_unknown) return;
    const schema::Field* field = type.field(key);
    if (field != nullptr) {
      if (field->type) find_unknown(*field->type, member, at, out);
      continue;
    }
    std::vector<std::string_view> names;
    for (const schema::Field& f : type.fields) names.push_back(f.name);
    out->push_back({at, nearest_word(key, names)});
  }
}

Result<void> refuse_unknown(const schema::Type& type, const json::Value& document,
                            std::string_view text) {
  std::vector<Unknown> unknown;
  find_unknown(type, document, "", &unknown);
  if (unknown.empty()) return {};
  std::sort(unknown.begin(), unknown.end(),
            [](const Unknown& a, const Unknown& b) { return a.path < b.path; });
  Error error = make_error(ErrorCode::kBadRequest, "strict decoding error: ");
  std::string hints;
  for (size_t i = 0; i < unknown.size(); ++i) {
    std::string complaint = "unknown field " + schema::go_quote(unknown[i].path);
    error.message += (i == 0 ? "" : ", ") + complaint;
    size_t line = line_of(text, unknown[i].path);
    std::string hint;
    if (line > 0) hint = "line " + std::to_string(line);
    if (!unknown[i].near.empty())
      hint += (hint.empty() ? "" : ": ") + std::string("did you mean ") +
              schema::go_quote(unknown[i].near) + "?";
    if (!hint.empty()) hints += (hints.empty() ? "" : "; ") + unknown[i].path + " " + hint;
    error.causes.push_back({"FieldValueInvalid",
                            hint.empty() ? complaint : complaint + " (" + hint + ")",
                            unknown[i].path});
  }
  if (!hints.empty()) error.message += " (" + hints + ")";
  return error;
}

Error at_line(Error error, std::string_view text) {
  if (error.causes.empty()) return error;
  size_t line = line_of(text, error.causes.front().field);
  if (line > 0) error.message += " (line " + std::to_string(line) + ")";
  return error;
}

}  // namespace

Result<Loaded> load(std::string_view text, std::string_view namespace_if_absent) {
  Loaded out;
  json::Value document;
  if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    KUEUE_ASSIGN(document, json::parse_yaml(text));
  }
  if (document.is_null()) {
    document = json::Value::object(
        {{"apiVersion", "config.kueue.x-k8s.io/v1beta2"}, {"kind", "Configuration"}});
  }
  if (!document.is_object())
    return make_error(ErrorCode::kBadRequest, "the Configuration must be an object");
  std::string version(document.get_string({"apiVersion"}));
  std::string kind(document.get_string({"kind"}));
  if (kind.empty())
    return make_error(ErrorCode::kBadRequest, "Object 'Kind' is missing in the Configuration");
  if (version.empty())
    return make_error(ErrorCode::kBadRequest,
                      "Object 'apiVersion' is missing in the Configuration");
  bool old = version == "config.kueue.x-k8s.io/v1beta1";
  if (kind != "Configuration" || (!old && version != "config.kueue.x-k8s.io/v1beta2"))
    return make_error(ErrorCode::kBadRequest,
                      "no kind \"" + kind + "\" is registered for version \"" + version +
                          "\": expected Configuration of config.kueue.x-k8s.io/v1beta2");
  const schema::ResourceInfo* resource = api::find_kind(kGroup, old ? "v1beta1" : "v1beta2", kind);
  KUEUE_CHECK(resource != nullptr, "the Configuration has a table");
  KUEUE_TRY(refuse_unknown(*resource->type, document, text));
  Result<void> types =
      schema::check_types(*resource->type, document, kind, old ? "v1beta1" : "v1beta2");
  if (!types.ok()) return at_line(types.error(), text);
  if (old) {
    out.warnings.push_back(
        "config.kueue.x-k8s.io/v1beta1 Configuration is deprecated; use "
        "config.kueue.x-k8s.io/v1beta2");
    apply_v1beta1_defaults(document, namespace_if_absent);
    bool waits = document.get_bool({"waitForPodsReady", "enable"});
    document = convert_v1beta1_to_v1beta2(document);
    apply_defaults(document, namespace_if_absent);
    if (!waits) document.erase_path({"waitForPodsReady"});
  } else {
    apply_defaults(document, namespace_if_absent);
  }
  auto decoded = schema::decode<api::config::Configuration>(document);
  if (!decoded.ok()) return at_line(decoded.error(), text);
  out.configuration = std::move(*decoded);
  // Encoded anew: durations and quantities in their canonical form.
  out.document = schema::encode(out.configuration);
  KUEUE_ASSIGN(LoadedExtensions ours, load_extensions(text));
  out.extensions = ours.extensions;
  for (std::string& warning : ours.warnings) out.warnings.push_back(std::move(warning));
  return out;
}

Result<Loaded> load_file(const std::string& path) {
  if (path.empty()) return load("");
  Result<std::string> text = read_file(path);
  if (!text.ok()) {
    Error error = text.error();
    error.message = "read " + error.message;
    return error;
  }
  Result<Loaded> loaded = load(*text);
  if (loaded.ok()) return loaded;
  Error error = loaded.error();
  error.message = path + ": " + error.message;
  return error;
}

}  // namespace kueue::config
