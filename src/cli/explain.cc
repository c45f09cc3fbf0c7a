// kueue explain and kueue install: what the tables say, without a server.
#include <algorithm>

#include "api/crd_manifest.h"
#include "api/registry.h"
#include "base/names.h"
#include "cli/actions.h"
#include "install/manifests.h"
#include "json/json.h"
#include "schema/type.h"

namespace kueue::cli {
namespace {

using schema::Field;
using schema::Kind;
using schema::ResourceInfo;
using schema::Type;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

std::string type_name(const Type& type) {
  switch (type.kind) {
    case Kind::kAny:
      return "Object";
    case Kind::kBool:
      return "boolean";
    case Kind::kInt32:
    case Kind::kInt64:
      return "integer";
    case Kind::kDouble:
      return "number";
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kTime:
    case Kind::kMicroTime:
      return "string";
    case Kind::kIntOrString:
      return "IntOrString";
    case Kind::kQuantity:
      return "Quantity";
    case Kind::kDuration:
      return "Duration";
    case Kind::kList:
      return "[]" + type_name(*type.element);
    case Kind::kMap:
      return "map[string]" + type_name(*type.element);
    case Kind::kStruct: {
      const size_t dot = type.name.rfind('.');
      return type.name.empty()
                 ? "Object"
                 : std::string(type.name.substr(dot == std::string_view::npos ? 0 : dot + 1));
    }
  }
  return "Object";
}

// The struct behind lists and maps.
const Type& element_of(const Type& type) {
  const Type* one = &type;
  while ((one->kind == Kind::kList || one->kind == Kind::kMap) && one->element)
    one = &*one->element;
  return *one;
}

void wrap(std::string_view text, size_t indent, std::string* out) {
  constexpr size_t kWidth = 80;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view paragraph = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!paragraph.empty()) {
      size_t n = paragraph.size();
      if (n > kWidth - indent) {
        n = paragraph.rfind(' ', kWidth - indent);
        if (n == std::string_view::npos || n == 0)
          n = std::min(paragraph.find(' '), paragraph.size());
      }
      *out += std::string(indent, ' ') + std::string(paragraph.substr(0, n)) + "\n";
      paragraph.remove_prefix(std::min(n + 1, paragraph.size()));
    }
  }
}

void append_limits(const Type& type, size_t indent, std::string* out) {
  const schema::Constraints* limits = type.constraints;
  if (limits == nullptr) return;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!limits->enum_values.empty()) {
    std::string values;
    for (const auto value : limits->enum_values)
      values += (values.empty() ? "" : ", ") + std::string(value);
    add("one of " + values);
  }
  if (limits->minimum)
    add("at least " + json::write(json::Value(static_cast<int64_t>(*limits->minimum))));
  if (limits->maximum)
    add("at most " + json::write(json::Value(static_cast<int64_t>(*limits->maximum))));
  if (limits->min_length) add("at least " + std::to_string(*limits->min_length) + " characters");
  if (limits->max_length) add("at most " + std::to_string(*limits->max_length) + " characters");
  if (limits->min_items) add("at least " + std::to_string(*limits->min_items) + " items");
  if (limits->max_items) add("at most " + std::to_string(*limits->max_items) + " items");
  if (limits->max_properties) add("at most " + std::to_string(*limits->max_properties) + " keys");
  if (!limits->pattern.empty()) add("matches " + std::string(limits->pattern));
  if (!text.empty()) wrap("Must be: " + text, indent, out);
}

void print_fields(const Type& type, std::string* out) {
  for (const Field& field : type.fields) {
    *out += "  " + std::string(field.name) + "\t<" + type_name(*field.type) + ">";
    if (field.required) *out += " -required-";
    *out += "\n";
    wrap(field.doc.empty() ? field.type->doc : field.doc, 4, out);
    append_limits(*field.type, 4, out);
    if (!field.default_json.empty())
      *out += "    Default: " + std::string(field.default_json) + "\n";
    *out += "\n";
  }
}

void print_recursive(const Type& type, size_t indent, std::vector<const Type*>* above,
                     std::string* out) {
  if (std::find(above->begin(), above->end(), &type) != above->end()) return;
  above->push_back(&type);
  for (const Field& field : type.fields) {
    *out += std::string(indent, ' ') + std::string(field.name) + "\t<" + type_name(*field.type) +
            ">" + (field.required ? " -required-" : "") + "\n";
    const Type& inner = element_of(*field.type);
    if (inner.kind == Kind::kStruct) print_recursive(inner, indent + 2, above, out);
  }
  above->pop_back();
}

bool named(const ResourceInfo& info, const std::string& word) {
  if (word == info.plural || word == info.singular || word == lower(info.kind)) return true;
  return std::find(info.short_names.begin(), info.short_names.end(), word) !=
         info.short_names.end();
}

// Our own kinds come before the built-in ones of the same name, and the stored version before older
// ones.
const ResourceInfo* find_info(const std::string& word, const std::string& api_version) {
  const ResourceInfo* found = nullptr;
  const auto look = [&](std::span<const ResourceInfo* const> list) {
    for (const ResourceInfo* info : list) {
      if (!named(*info, word)) continue;
      const std::string version =
          std::string(info->group) + (info->group.empty() ? "" : "/") + std::string(info->version);
      if (!api_version.empty() && api_version != version) continue;
      if (found == nullptr || (found->group == info->group && info->storage && !found->storage))
        found = info;
    }
  };
  look(api::kueue_resources());
  look(api::builtin_resources());
  look(api::other_resources());
  return found;
}

}  // namespace

int run_explain(const Arguments& arguments, Terminal& terminal) {
  if (arguments.given("output"))
    return usage_error(terminal, "--output is about one Workload: kueue explain workload NAME");
  return explain_path(arguments.positional()[0], arguments.text("api-version"),
                      arguments.is_set("recursive"), terminal);
}

int explain_path(const std::string& rest, const std::string& api_version, bool recursive,
                 Terminal& terminal) {
  std::vector<std::string> path;
  for (size_t start = 0; start <= rest.size();) {
    const size_t end = std::min(rest.find('.', start), rest.size());
    path.push_back(rest.substr(start, end - start));
    start = end + 1;
  }
  const ResourceInfo* info = find_info(lower(path[0]), api_version);
  if (info == nullptr || !info->type) {
    std::vector<std::string_view> names;
    for (const ResourceInfo* one : api::kueue_resources()) names.push_back(one->singular);
    for (const ResourceInfo* one : api::builtin_resources()) names.push_back(one->singular);
    const std::string near = nearest(lower(path[0]), names);
    terminal.err("error: no documentation for \"" + path[0] + "\"" +
                 (near.empty() ? "; only built-in kinds and Kueue's own are known here, kubectl "
                                 "explain asks the server"
                               : "; did you mean \"" + near + "\"?") +
                 "\n");
    return kFailed;
  }
  const Type* type = &*info->type;
  const Field* field = nullptr;
  for (size_t i = 1; i < path.size(); ++i) {
    const Type& inner = element_of(*type);
    field = inner.field(path[i]);
    if (field == nullptr) {
      std::vector<std::string_view> names;
      for (const Field& one : inner.fields) names.push_back(one.name);
      const std::string near = nearest(path[i], names);
      terminal.err("error: field \"" + path[i] + "\" does not exist in " + type_name(inner) +
                   (near.empty() ? "" : "; did you mean \"" + near + "\"?") + "\n");
      return kFailed;
    }
    type = &*field->type;
  }
  std::string out;
  if (!info->group.empty()) out += "GROUP:      " + std::string(info->group) + "\n";
  out += "KIND:       " + std::string(info->kind) + "\nVERSION:    " + std::string(info->version) +
         "\n\n";
  if (field != nullptr) {
    out += "FIELD: " + std::string(field->name) + " <" + type_name(*type) + ">" +
           (field->required ? " -required-" : "") + "\n\n";
  }
  const Type& inner = element_of(*type);
  out += "DESCRIPTION:\n";
  std::string_view doc = field != nullptr ? field->doc : std::string_view{};
  if (doc.empty()) doc = type->doc;
  if (doc.empty()) doc = inner.doc;
  wrap(doc.empty() ? "<empty>" : doc, 4, &out);
  append_limits(*type, 4, &out);
  if (inner.kind == Kind::kStruct && !inner.fields.empty()) {
    out += "\nFIELDS:\n";
    std::vector<const Type*> above;
    if (recursive) {
      print_recursive(inner, 2, &above, &out);
    } else {
      print_fields(inner, &out);
    }
  }
  terminal.out(out);
  return kOk;
}

int run_install(const Arguments& arguments, Terminal& terminal) {
  install::Options options;
  if (arguments.given("namespace")) options.namespace_ = arguments.text("namespace");
  if (arguments.given("image")) options.image = arguments.text("image");
  options.descriptions = !arguments.is_set("no-descriptions");
  if (!is_dns1123_label(options.namespace_))
    return usage_error(
        terminal, "--namespace: \"" + options.namespace_ + "\" cannot be the name of a namespace");
  if (options.image.empty()) return usage_error(terminal, "--image: it is empty");
  std::vector<std::string> parts = arguments.list("only");
  if (parts.empty()) parts.emplace_back();
  std::string out;
  for (const std::string& part : parts) {
    const auto objects = install::objects(options, part);
    if (!objects.ok()) return usage_error(terminal, "--only: " + objects.error().message);
    out += install::to_yaml(*objects);
  }
  terminal.out(out);
  return kOk;
}

}  // namespace kueue::cli
