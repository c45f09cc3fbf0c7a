#include "schema/list_key.h"

#include "json/json.h"

namespace kueue::schema {
namespace {

std::string_view default_of(const Type& item_type, std::string_view key) {
  const Field* field = item_type.field(key);
  if (field == nullptr) return {};
  return field->default_json.empty() ? field->type->default_json : field->default_json;
}

}  // namespace

json::Value list_map_key(const Type& list, const json::Value& item) {
  json::Value key = json::Value::object();
  if (!item.is_object()) return key;
  for (std::string_view name : list.list_map_keys) {
    if (const json::Value* member = item.find(name)) {
      key.as_object().append(std::string(name), *member);
      continue;
    }
    if (!list.element) continue;
    const std::string_view text = default_of(*list.element, name);
    if (text.empty()) continue;
    auto value = json::parse(text);
    if (value.ok()) key.as_object().append(std::string(name), std::move(value).value());
  }
  return key;
}

std::string list_map_key_text(const Type& list, const json::Value& item) {
  std::string out;
  if (!item.is_object()) return out;
  for (std::string_view name : list.list_map_keys) {
    if (const json::Value* member = item.find(name)) {
      json::write_to(out, *member);
    } else if (list.element) {
      out += default_of(*list.element, name);
    }
    out += '\n';
  }
  return out;
}

ListMapIndex::ListMapIndex(const Type& list, const json::Value& items) : list_(list) {
  if (!items.is_array()) return;
  for (const json::Value& item : items.as_array())
    items_.try_emplace(list_map_key_text(list, item), &item);
}

const json::Value* ListMapIndex::find(const json::Value& item) const {
  const auto found = items_.find(list_map_key_text(list_, item));
  return found == items_.end() ? nullptr : found->second;
}

}  // namespace kueue::schema
