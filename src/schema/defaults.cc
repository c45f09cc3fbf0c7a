#include "schema/defaults.h"

#include <algorithm>
#include <charconv>

#include "json/json.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

// Most defaults are short scalars; those are read without the parser.
json::Value read_default(std::string_view text) {
  if (text == "true") return json::Value(true);
  if (text == "false") return json::Value(false);
  if (text == "{}") return json::Value::object();
  if (text == "[]") return json::Value::array();
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"' &&
      text.find('\\') == std::string_view::npos)
    return json::Value(text.substr(1, text.size() - 2));
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return json::Value(number);
  auto parsed = json::parse(text);
  return parsed.ok() ? std::move(parsed).value() : json::Value();
}

bool may_hold_defaults(const Type& type) {
  return type.kind == Kind::kStruct || type.kind == Kind::kMap || type.kind == Kind::kList;
}

void apply(const Type& type, json::Value& value, int depth);

void apply_struct(const Type& type, json::Value& value, int depth) {
  json::Object& object = value.as_object();
  for (const Field& field : type.fields) {
    const Type& field_type = *field.type;
    const std::string_view text =
        field.default_json.empty() ? field_type.default_json : field.default_json;
    if (text.empty() || text == "null") continue;
    if (object.contains(field.name)) continue;
    object.append(std::string(field.name), read_default(text));
  }
  FieldCursor cursor(type);
  for (auto& [key, member] : object) {
    if (!member.is_object() && !member.is_array()) continue;
    const Field* field = cursor.find(key);
    if (field != nullptr) apply(*field->type, member, depth + 1);
  }
}

void apply(const Type& type, json::Value& value, int depth) {
  if (depth > kMaxDepth || !may_hold_defaults(type)) return;
  if (type.kind == Kind::kStruct) {
    if (value.is_object()) apply_struct(type, value, depth);
    return;
  }
  if (!type.element || !may_hold_defaults(*type.element)) return;
  if (type.kind == Kind::kMap && value.is_object()) {
    for (auto& [key, item] : value.as_object()) apply(*type.element, item, depth + 1);
  } else if (type.kind == Kind::kList && value.is_array()) {
    for (json::Value& item : value.as_array()) apply(*type.element, item, depth + 1);
  }
}

void drop(const Type& type, json::Value& value, int depth) {
  if (depth > kMaxDepth) return;
  if (type.kind == Kind::kList) {
    if (!value.is_array() || !type.element || !may_hold_defaults(*type.element)) return;
    for (json::Value& item : value.as_array()) drop(*type.element, item, depth + 1);
    return;
  }
  if (!value.is_object() || (type.kind != Kind::kStruct && type.kind != Kind::kMap)) return;
  FieldCursor cursor(type);
  std::vector<std::string> nulls;
  for (auto& [key, member] : value.as_object()) {
    const Type* member_type = nullptr;
    if (type.kind == Kind::kMap) {
      if (type.element) member_type = &*type.element;
    } else if (const Field* field = cursor.find(key)) {
      member_type = &*field->type;
    }
    if (member_type == nullptr) continue;
    if (member.is_null()) {
      if (!member_type->nullable && member_type->kind != Kind::kAny) nulls.push_back(key);
    } else {
      drop(*member_type, member, depth + 1);
    }
  }
  value.as_object().erase_keys(std::move(nulls));
}

void fill(const Type& type, json::Value& value, int depth) {
  static constexpr std::string_view kByValue[] = {"spec", "template", "jobTemplate", "metadata"};
  if (!type.name.starts_with("io.k8s.") || !value.is_object() || depth > kMaxDepth) return;
  if (type.name.ends_with(".ReplicationControllerSpec")) return;  // holds a pointer
  for (const Field& field : type.fields) {
    if (field.type->kind != Kind::kStruct) continue;
    if (std::find(std::begin(kByValue), std::end(kByValue), field.name) == std::end(kByValue))
      continue;
    json::Value& member = value.as_object()[field.name];
    if (member.is_null()) member = json::Value::object();
    fill(*field.type, member, depth + 1);
  }
}

}  // namespace

void fill_values(const Type& type, json::Value& document) { fill(type, document, 0); }

void apply_defaults(const Type& type, json::Value& document) { apply(type, document, 0); }

void drop_nulls(const Type& type, json::Value& document) { drop(type, document, 0); }

}  // namespace kueue::schema
