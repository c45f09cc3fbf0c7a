#include "config/misfits.h"

#include <algorithm>
#include <tuple>

#include "base/feature_gates.h"
#include "base/time.h"
#include "json/json.h"
#include "schema/decode_check.h"

namespace kueue::config {
namespace {

using json::Value;
using schema::Kind;
using schema::Type;

constexpr size_t kShown = 40;  // characters of a value in a message

std::string shown(const Value& value) {
  std::string text = json::write(value);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  switch (value.type()) {
    case json::Type::kNull:
      return "null";
    case json::Type::kBool:
      return text;
    case json::Type::kInt:
    case json::Type::kUint:
    case json::Type::kDouble:
      return "the number " + text;
    case json::Type::kString:
      return "the text " + text;
    case json::Type::kArray:
      return "the list " + text;
    case json::Type::kObject:
      return "an object with fields of its own";
  }
  return text;
}

bool whole_number(const Value& value) {
  return value.is_string() && !value.as_string().empty() &&
         value.as_string().find_first_not_of("0123456789") == std::string::npos;
}

// What a value of this type has to be; "" when this one is.
std::string wanted(const Type& type, const Value& value) {
  switch (type.kind) {
    case Kind::kAny:
    case Kind::kBytes:
    case Kind::kTime:
    case Kind::kMicroTime:
      return "";
    case Kind::kBool:
      return value.is_bool() ? "" : "true or false";
    case Kind::kInt32:
      if (value.is_int() && value.as_int() >= INT32_MIN && value.as_int() <= INT32_MAX) return "";
      return value.is_int() ? "a whole number of 32 bits" : "a whole number";
    case Kind::kInt64:
      return value.is_int() ? "" : "a whole number";
    case Kind::kDouble:
      return value.is_number() ? "" : "a number";
    case Kind::kString:
      return value.is_string() ? "" : "a text";
    case Kind::kDuration:
      if (value.is_string() &&
          (value.as_string().empty() || parse_duration(value.as_string()).ok()))
        return "";
      return "a time such as 30s, 5m or 1h30m";
    case Kind::kQuantity:
      if (value.is_number() ||
          (value.is_string() && schema::quantity_problem(value.as_string()).empty()))
        return "";
      return "a quantity such as 500m, 2 or 4Gi";
    case Kind::kIntOrString:
      return value.is_string() || value.is_int() ? "" : "a whole number or a text";
    case Kind::kStruct:
      return value.is_object() ? "" : "an object (fields below it)";
    case Kind::kMap:
      return value.is_object() ? "" : "a map (keys with values below it)";
    case Kind::kList:
      return value.is_array() ? "" : "a list";
  }
  return "";
}

std::string advice(const Type& type, const Value& value) {
  const bool number = type.kind == Kind::kInt32 || type.kind == Kind::kInt64;
  if (number && whole_number(value)) return "; write it without quotes";
  if (type.kind == Kind::kBool && value.is_string() &&
      (value.as_string() == "true" || value.as_string() == "false"))
    return "; write it without quotes";
  if (type.kind == Kind::kString && (value.is_number() || value.is_bool()))
    return "; write it in quotes";
  if (type.kind == Kind::kList && !value.is_object()) return "; write each item after \"- \"";
  return "";
}

class Finder {
 public:
  std::vector<Misfit> found;

  // False: this value has to go.
  bool look(const Type& type, Value& value, const std::string& path) {
    if (value.is_null()) return true;
    if (const std::string rule = wanted(type, value); !rule.empty()) {
      found.push_back(
          {path, "must be " + rule + ", not " + shown(value) + advice(type, value), {}});
      return false;
    }
    if (type.kind == Kind::kList && type.element) {
      size_t i = 0;
      for (Value& item : value.as_array())
        if (!look(*type.element, item, path + '[' + std::to_string(i++) + ']')) item = Value();
    }
    if (type.kind == Kind::kStruct || (type.kind == Kind::kMap && type.element))
      members(type, value, path);
    return true;
  }

 private:
  void members(const Type& type, Value& value, const std::string& path) {
    std::vector<std::string> gone;
    for (auto& [key, member] : value.as_object()) {
      const std::string at = path.empty() ? key : path + '.' + key;
      const schema::Field* field = type.field(key);
      if (type.kind == Kind::kMap) {
        if (!look(*type.element, member, at)) gone.push_back(key);
      } else if (field != nullptr) {
        if (field->type && !look(*field->type, member, at)) gone.push_back(key);
      } else if (!type.preserve_unknown) {
        std::vector<std::string_view> names;
        for (const schema::Field& f : type.fields) names.push_back(f.name);
        found.push_back({at, "", nearest_word(key, names)});
        gone.push_back(key);
      }
    }
    value.as_object().erase_keys(std::move(gone));
  }
};

}  // namespace

std::vector<Misfit> take_misfits(const Type& type, Value& document) {
  Finder finder;
  finder.look(type, document, "");
  std::sort(finder.found.begin(), finder.found.end(), [](const Misfit& a, const Misfit& b) {
    return std::tuple(!a.unknown(), std::string_view(a.path)) <
           std::tuple(!b.unknown(), std::string_view(b.path));
  });
  return std::move(finder.found);
}

}  // namespace kueue::config
