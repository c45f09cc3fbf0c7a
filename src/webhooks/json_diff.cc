#include "webhooks/json_diff.h"

#include <string>
#include <string_view>

namespace kueue::webhooks {
namespace {

std::string pointer(const std::string& path, std::string_view name) {
  std::string out = path + '/';
  for (char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

void emit(std::string_view op, const std::string& path, const json::Value* value,
          json::Array* out) {
  json::Value operation = json::Value::object({{"op", op}, {"path", path}});
  if (value != nullptr) operation["value"] = *value;
  out->push_back(std::move(operation));
}

void compare(const json::Value& from, const json::Value& to, const std::string& path,
             json::Array* out) {
  if (from == to) return;
  if (from.is_object() && to.is_object()) {
    for (const auto& [key, value] : from.as_object())
      if (to.find(key) == nullptr) emit("remove", pointer(path, key), nullptr, out);
    for (const auto& [key, value] : to.as_object()) {
      const json::Value* before = from.find(key);
      if (before == nullptr) {
        emit("add", pointer(path, key), &value, out);
      } else {
        compare(*before, value, pointer(path, key), out);
      }
    }
    return;
  }
  if (from.is_array() && to.is_array() && from.as_array().size() <= to.as_array().size()) {
    const json::Array& a = from.as_array();
    const json::Array& b = to.as_array();
    for (size_t i = 0; i < b.size(); ++i) {
      if (i < a.size()) {
        compare(a[i], b[i], path + '/' + std::to_string(i), out);
      } else {
        emit("add", path + "/-", &b[i], out);
      }
    }
    return;
  }
  emit("replace", path, &to, out);
}

}  // namespace

json::Value diff(const json::Value& from, const json::Value& to) {
  json::Array out;
  compare(from, to, "", &out);
  return json::Value(std::move(out));
}

}  // namespace kueue::webhooks
