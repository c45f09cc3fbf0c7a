// Reading: YAML, strict decoding with paths, lines and near names.
#include <algorithm>
#include <tuple>

#include "api/registry.h"
#include "base/files.h"
#include "config/config.h"
#include "config/misfits.h"
#include "json/json.h"
#include "json/yaml_lines.h"
#include "schema/codec.h"
#include "schema/errors.h"

namespace kueue::config {
namespace {

constexpr std::string_view kGroup = "config.kueue.x-k8s.io";
constexpr std::string_view kOld = "config.kueue.x-k8s.io/v1beta1";
constexpr std::string_view kCurrent = "config.kueue.x-k8s.io/v1beta2";

std::string hint_of(const Misfit& misfit, size_t line) {
  std::string hint;
  if (line > 0) hint = "line " + std::to_string(line);
  if (!misfit.near.empty())
    hint += (hint.empty() ? "" : ": ") + std::string("did you mean ") +
            schema::go_quote(misfit.near) + "?";
  return hint;
}

// Unknown fields in Kueue's words, which programs may look for; the rest in ours.
Error refused(const std::vector<Misfit>& misfits, const json::YamlLines& lines) {
  Error error = make_error(ErrorCode::kBadRequest, "");
  std::string unknown, hints, rules;
  for (const Misfit& misfit : misfits) {
    const std::string hint = hint_of(misfit, lines.near(misfit.path));
    std::string complaint = misfit.rule;
    if (misfit.unknown()) {
      complaint = "unknown field " + schema::go_quote(misfit.path);
      unknown += (unknown.empty() ? "strict decoding error: " : ", ") + complaint;
      if (!hint.empty()) hints += (hints.empty() ? "" : "; ") + misfit.path + " " + hint;
    }
    if (!hint.empty()) complaint += " (" + hint + ")";
    if (!misfit.unknown()) rules += (rules.empty() ? "" : "; ") + misfit.path + ": " + complaint;
    error.causes.push_back({"FieldValueInvalid", complaint, misfit.path});
  }
  error.message = unknown + (hints.empty() ? "" : " (" + hints + ")");
  if (!rules.empty()) error.message += (unknown.empty() ? "" : "; ") + rules;
  return error;
}

Error at_line(Error error, const json::YamlLines& lines) {
  if (error.causes.empty()) return error;
  const size_t line = lines.near(error.causes.front().field);
  if (line > 0) error.message += " (line " + std::to_string(line) + ")";
  return error;
}

Fault fault_at(const json::YamlLines& lines, std::string field, std::string message) {
  const size_t line = lines.near(field);
  return {std::move(field), std::move(message), line};
}

// The document of a text that was parsed; null becomes the default Configuration. Wrong headers.
std::vector<Fault> header_faults(json::Value& document, const json::YamlLines& lines) {
  if (document.is_null())
    document = json::Value::object({{"apiVersion", kCurrent}, {"kind", "Configuration"}});
  if (!document.is_object()) return {{"", "the Configuration must be an object", 1}};
  std::vector<Fault> faults;
  const auto header = [&](const char* field, std::string message) {
    faults.push_back(fault_at(lines, field, std::move(message)));
  };
  const std::string version(document.get_string({"apiVersion"}));
  const std::string kind(document.get_string({"kind"}));
  if (kind.empty()) header("kind", "Object 'Kind' is missing in the Configuration");
  if (version.empty()) header("apiVersion", "Object 'apiVersion' is missing in the Configuration");
  if (!faults.empty()) return faults;
  if (kind != "Configuration" || (version != kOld && version != kCurrent))
    header(kind == "Configuration" ? "apiVersion" : "kind",
           "no kind \"" + kind + "\" is registered for version \"" + version +
               "\": expected Configuration of config.kueue.x-k8s.io/v1beta2");
  return faults;
}

// Of a document without misfits: defaults, the current version, the struct.
Result<Loaded> finish(json::Value document, std::string_view namespace_if_absent) {
  Loaded out;
  out.not_built = not_built(document);
  if (document.get_string({"apiVersion"}) == kOld) {
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
  KUEUE_ASSIGN(out.configuration, schema::decode<api::config::Configuration>(document));
  // Encoded anew: durations and quantities in their canonical form.
  out.document = schema::encode(out.configuration);
  return out;
}

const schema::Type& type_of(const json::Value& document) {
  const bool old = document.get_string({"apiVersion"}) == kOld;
  const schema::ResourceInfo* resource =
      api::find_kind(kGroup, old ? "v1beta1" : "v1beta2", "Configuration");
  KUEUE_CHECK(resource != nullptr, "the Configuration has a table");
  return *resource->type;
}

// Each gate by itself, then what they need of each other.
std::vector<ErrorCause> gate_faults(std::string_view flag, const json::Value& document,
                                    FeatureGates* gates) {
  std::vector<ErrorCause> out;
  const json::Value* map = document.find("featureGates");
  if (flag.empty() && map != nullptr && map->is_object()) {
    for (const auto& [name, value] : map->as_object()) {
      if (!value.is_bool()) continue;
      const auto set = gates->set(name, value.as_bool());
      if (!set.ok())
        out.push_back({"FieldValueInvalid", set.error().message, "featureGates." + name});
    }
  }
  if (!out.empty()) return out;
  auto all = effective_gates(flag, document);
  if (all.ok()) {
    *gates = *all;
  } else if (all.error().causes.empty()) {
    out.push_back({"FieldValueInvalid", all.error().message, "featureGates"});
  } else {
    out = all.error().causes;
  }
  return out;
}

bool is_below(std::string_view field, std::string_view above) {
  return field.starts_with(above) &&
         (field.size() == above.size() || field[above.size()] == '.' || field[above.size()] == '[');
}

void check_values(json::Value document, std::string_view gates_flag, const json::YamlLines& lines,
                  Checked& out) {
  const bool old = document.get_string({"apiVersion"}) == kOld;
  const auto loaded = finish(std::move(document), {});
  if (!loaded.ok()) {
    const auto& causes = loaded.error().causes;
    const std::string field = causes.empty() ? "" : causes.front().field;
    out.faults.push_back(
        fault_at(lines, field, causes.empty() ? loaded.error().message : causes.front().message));
    return;
  }
  for (const std::string& warning : loaded->warnings)
    out.warnings.push_back(fault_at(lines, old ? "apiVersion" : "", warning));
  for (const ErrorCause& one : loaded->not_built)
    out.warnings.push_back(fault_at(lines, one.field, one.message));
  FeatureGates gates;
  std::vector<ErrorCause> causes = gate_faults(gates_flag, loaded->document, &gates);
  for (ErrorCause& cause : validate(loaded->document, gates)) causes.push_back(std::move(cause));
  const size_t before = out.faults.size();
  for (const ErrorCause& cause : causes) {
    // What was taken out for its shape is not missing.
    const bool told =
        std::any_of(out.faults.begin(), out.faults.begin() + static_cast<std::ptrdiff_t>(before),
                    [&](const Fault& fault) { return is_below(cause.field, fault.field); });
    if (!told) out.faults.push_back(fault_at(lines, cause.field, cause.message));
  }
}

}  // namespace

Result<Loaded> load(std::string_view text, std::string_view namespace_if_absent) {
  json::Value document;
  if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    KUEUE_ASSIGN(document, json::parse_yaml(text));
  }
  const json::YamlLines lines(text);
  if (auto faults = header_faults(document, lines); !faults.empty())
    return make_error(ErrorCode::kBadRequest, faults.front().message);
  const std::vector<Misfit> misfits = take_misfits(type_of(document), document);
  if (!misfits.empty()) return refused(misfits, lines);
  auto loaded = finish(std::move(document), namespace_if_absent);
  if (!loaded.ok()) return at_line(loaded.error(), lines);
  KUEUE_ASSIGN(LoadedExtensions ours, load_extensions(text));
  loaded->extensions = ours.extensions;
  for (std::string& warning : ours.warnings) loaded->warnings.push_back(std::move(warning));
  return loaded;
}

Checked check(std::string_view text, std::string_view gates_flag) {
  Checked out;
  json::Value document;
  if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    auto parsed = json::parse_yaml(text);
    if (!parsed.ok()) {
      out.faults.push_back({"", parsed.error().message, 0});
      return out;
    }
    document = *std::move(parsed);
  }
  out.empty = document.is_null();
  const json::YamlLines lines(text);
  out.faults = header_faults(document, lines);
  const bool other = std::any_of(out.faults.begin(), out.faults.end(), [&](const Fault& fault) {
    return fault.field.empty() || !document.get_string({fault.field}).empty();
  });
  if (other) return out;  // something else altogether
  // Without a header it is taken for what it should be, to say the rest too.
  if (!out.faults.empty()) document["apiVersion"] = kCurrent, document["kind"] = "Configuration";
  for (const Misfit& misfit : take_misfits(type_of(document), document)) {
    std::string rule = misfit.rule;
    if (misfit.unknown()) {
      rule = "unknown field";
      if (!misfit.near.empty()) rule += "; did you mean \"" + std::string(misfit.near) + "\"?";
    }
    out.faults.push_back(fault_at(lines, misfit.path, std::move(rule)));
  }
  check_values(std::move(document), gates_flag, lines, out);
  const auto ours = load_extensions(text);
  if (ours.ok()) {
    for (const std::string& warning : ours->warnings) out.warnings.push_back({"", warning, 0});
  } else {
    out.faults.push_back({"", ours.error().message, 0});
  }
  const auto by_line = [](const Fault& a, const Fault& b) {
    return std::tie(a.line, a.field, a.message) < std::tie(b.line, b.field, b.message);
  };
  std::sort(out.faults.begin(), out.faults.end(), by_line);
  std::sort(out.warnings.begin(), out.warnings.end(), by_line);
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
