#include "schema/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "json/json.h"
#include "schema/decode_check.h"
#include "schema/errors.h"
#include "schema/formats.h"
#include "schema/list_key.h"
#include "schema/pattern.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

using Errors = std::vector<ErrorCause>;

constexpr std::string_view kQuantityPattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";
constexpr std::string_view kNotChecked =
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation";

bool is_integral(const json::Value& value) {
  if (value.type() != json::Type::kDouble) return value.is_int();
  const double d = value.as_double();
  return std::isfinite(d) && std::floor(d) == d && std::abs(d) < 9.3e18;
}

std::string_view type_of(const json::Value& value) {
  switch (value.type()) {
    case json::Type::kNull:
      return "null";
    case json::Type::kBool:
      return "boolean";
    case json::Type::kInt:
      return "integer";
    case json::Type::kUint:  // beyond int64: a float64 to kube-apiserver
      return "number";
    case json::Type::kDouble:
      return is_integral(value) ? "integer" : "number";
    case json::Type::kString:
      return "string";
    case json::Type::kArray:
      return "array";
    case json::Type::kObject:
      return "object";
  }
  return {};
}

std::string_view expected_type(Kind kind) {
  switch (kind) {
    case Kind::kAny:
      return {};
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
    case Kind::kDuration:
      return "string";
    case Kind::kStruct:
    case Kind::kMap:
      return "object";
    case Kind::kList:
      return "array";
    case Kind::kIntOrString:
    case Kind::kQuantity:
      return "integer,string";
  }
  return {};
}

bool type_fits(Kind kind, const json::Value& value) {
  const std::string_view have = type_of(value);
  if (kind == Kind::kAny) return true;
  if (kind == Kind::kDouble) return value.is_number();
  if (kind == Kind::kIntOrString || kind == Kind::kQuantity)
    return have == "integer" || have == "string";
  return have == expected_type(kind);
}

int64_t count_code_points(std::string_view text) {
  int64_t n = 0;
  for (char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return n;
}

std::string number_text(double d) { return json::write(json::Value(d)); }

bool equals_enum(std::string_view text, const json::Value& value) {
  if (value.is_string() && text.size() >= 2 && text.front() == '"' &&
      text.find('\\') == std::string_view::npos)
    return text.substr(1, text.size() - 2) == value.as_string();
  auto parsed = json::parse(text);
  return parsed.ok() && parsed.value() == value;
}

std::string enum_text(std::string_view text) {
  auto parsed = json::parse(text);
  if (parsed.ok() && parsed.value().is_string()) return parsed.value().as_string();
  return std::string(text);
}

// Limits, required members and shapes of a value and everything below it.
class LimitChecker {
 public:
  LimitChecker(Errors& errors, bool ratchet, bool builtin, size_t max_errors)
      : errors_(errors), ratchet_(ratchet), builtin_(builtin), max_errors_(max_errors) {}

  // `old` is the same node before the update, nullptr when there is none or ratcheting is off.
  void check(const Type& type, const json::Value& value, const json::Value* old, const Path& path,
             int depth) {
    if (depth > kMaxDepth || errors_.size() >= max_errors_) return;
    if (ratchet_ && old != nullptr && *old == value) return;
    if (value.is_null() && (builtin_ || type.nullable || type.kind == Kind::kAny)) return;
    const Constraints* c = type.constraints;
    if (!check_type(type, value, path)) {
      if (c != nullptr && value.is_number())
        check_enum(*c, value, path);  // as Kubernetes: both are told
      return;
    }
    if (c != nullptr) {
      check_junctors(*c, value, path, depth);
      if (value.is_string()) check_string(*c, value, path);
    }
    if (value.is_string()) check_format(type, value, path);
    if (c != nullptr) {
      if (value.is_number()) check_number(*c, value, path);
      check_enum(*c, value, path);
    }
    if (value.is_array()) check_list(type, value, old, path, depth);
    if (value.is_object()) check_object(type, value, old, path, depth);
  }

 private:
  std::string in_body(const Path& path, std::string_view rest) const {
    return fmt::format("{} in body {}", path.str(), rest);
  }
  void invalid(const Path& path, const json::Value& value, const std::string& rest) {
    errors_.push_back(invalid_value(path, value, in_body(path, rest)));
  }
  void wrong_type(const Path& path, std::string_view have, std::string_view want) {
    errors_.push_back(type_invalid(
        path, have, in_body(path, fmt::format("must be of type {}: {}", want, go_quote(have)))));
  }
  void checked_value(const Path& path, std::string_view format) {
    const std::string how =
        format.empty() ? "(default format)" : fmt::format("with format {}", format);
    errors_.push_back(invalid_value(
        Path(), "",
        fmt::format("Checked value must be of type integer {} in {}", how, path.str())));
  }
  void junction(const Path& path, std::string_view rest) {
    errors_.push_back(invalid_value(Path(), "", fmt::format("\"{}\" must {}", path.str(), rest)));
  }

  // False when the value is of another type, so that no further check makes sense.
  bool check_type(const Type& type, const json::Value& value, const Path& path) {
    std::string_view format = type.constraints != nullptr ? type.constraints->format : "";
    const bool integer = type.kind == Kind::kInt32 || type.kind == Kind::kInt64;
    if (type.kind == Kind::kInt32) format = "int32";
    if (type_fits(type.kind, value)) {
      if (type.kind != Kind::kInt32) return true;
      const double d = value.as_double();
      if (d < INT32_MIN || d > INT32_MAX) checked_value(path, format);
      return true;
    }
    if (integer && value.is_number()) {
      if (format.empty()) {
        wrong_type(path, "number", "integer");
      } else {
        wrong_type(path, "float64", format);
      }
      checked_value(path, format);
      return false;
    }
    wrong_type(path, type_of(value), expected_type(type.kind));
    return false;
  }

  void check_string(const Constraints& c, const json::Value& value, const Path& path) {
    const std::string& text = value.as_string();
    if (c.max_length || c.min_length) {
      const int64_t length = count_code_points(text);
      if (c.max_length && length > *c.max_length) errors_.push_back(too_long(path, *c.max_length));
      if (c.min_length && length < *c.min_length)
        invalid(path, value, fmt::format("should be at least {} chars long", *c.min_length));
    }
    if (!c.pattern.empty() && !matches_pattern(c.pattern, text))
      invalid(path, value, fmt::format("should match '{}'", c.pattern));
  }

  void check_format(const Type& type, const json::Value& value, const Path& path) {
    std::string_view format = type.constraints != nullptr ? type.constraints->format : "";
    const std::string& text = value.as_string();
    if (type.kind == Kind::kQuantity) {
      const bool has_pattern = type.constraints != nullptr && !type.constraints->pattern.empty();
      const std::string_view problem = quantity_problem(text);
      if (is_quantity_range_problem(problem)) {
        invalid(path, value, std::string(problem));
      } else if (!has_pattern && !problem.empty()) {
        invalid(path, value, fmt::format("should match '{}'", kQuantityPattern));
      }
      return;
    }
    if (format.empty()) {
      if (type.kind == Kind::kTime || type.kind == Kind::kMicroTime) format = "date-time";
      if (type.kind == Kind::kBytes) format = "byte";
    }
    if (format.empty() || has_format(format, text)) return;
    errors_.push_back(type_invalid(
        path, text, in_body(path, fmt::format("must be of type {}: {}", format, go_quote(text)))));
  }

  void check_number(const Constraints& c, const json::Value& value, const Path& path) {
    const double d = value.as_double();
    if (c.multiple_of && *c.multiple_of > 0) {
      const double quotient = d / *c.multiple_of;
      if (std::abs(quotient - std::round(quotient)) > 1e-9)
        invalid(path, value,
                fmt::format("should be a multiple of {}", number_text(*c.multiple_of)));
    }
    if (c.maximum) {
      if (c.exclusive_maximum && d >= *c.maximum)
        invalid(path, value, fmt::format("should be less than {}", number_text(*c.maximum)));
      if (!c.exclusive_maximum && d > *c.maximum)
        invalid(path, value,
                fmt::format("should be less than or equal to {}", number_text(*c.maximum)));
    }
    if (c.minimum) {
      if (c.exclusive_minimum && d <= *c.minimum)
        invalid(path, value, fmt::format("should be greater than {}", number_text(*c.minimum)));
      if (!c.exclusive_minimum && d < *c.minimum)
        invalid(path, value,
                fmt::format("should be greater than or equal to {}", number_text(*c.minimum)));
    }
  }

  void check_enum(const Constraints& c, const json::Value& value, const Path& path) {
    if (c.enum_values.empty()) return;
    for (std::string_view text : c.enum_values)
      if (equals_enum(text, value)) return;
    std::vector<std::string> texts;
    for (std::string_view text : c.enum_values) texts.push_back(enum_text(text));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    errors_.push_back(not_supported(path, value, views));
  }

  // Errors of a value under one element of a junctor.
  Errors check_part(const Type& part, const json::Value& value, const Path& path, int depth) {
    Errors found;
    LimitChecker(found, false, builtin_, max_errors_).check(part, value, nullptr, path, depth + 1);
    return found;
  }

  void check_junctors(const Constraints& c, const json::Value& value, const Path& path, int depth) {
    if (!c.any_of.empty()) check_any_of(c.any_of, value, path, depth);
    if (!c.one_of.empty()) check_one_of(c.one_of, value, path, depth);
    if (!c.all_of.empty()) {
      size_t valid = 0;
      for (const TypeRef& part : c.all_of) {
        Errors found = check_part(*part, value, path, depth);
        valid += found.empty() ? 1 : 0;
        std::move(found.begin(), found.end(), std::back_inserter(errors_));
      }
      if (valid == 0) {
        junction(path, "validate all the schemas (allOf). None validated");
      } else if (valid < c.all_of.size()) {
        junction(path, "validate all the schemas (allOf)");
      }
    }
    if (c.not_ && check_part(*c.not_, value, path, depth).empty())
      junction(path, "not validate the schema (not)");
  }

  void check_any_of(std::span<const TypeRef> parts, const json::Value& value, const Path& path,
                    int depth) {
    Errors best;
    for (size_t i = 0; i < parts.size(); ++i) {
      Errors found = check_part(*parts[i], value, path, depth);
      if (found.empty()) return;
      if (i == 0 || found.size() < best.size()) best = std::move(found);
    }
    junction(path, "validate at least one schema (anyOf)");
    std::move(best.begin(), best.end(), std::back_inserter(errors_));
  }

  void check_one_of(std::span<const TypeRef> parts, const json::Value& value, const Path& path,
                    int depth) {
    Errors best;
    size_t valid = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      Errors found = check_part(*parts[i], value, path, depth);
      valid += found.empty() ? 1 : 0;
      if (i == 0 || found.size() < best.size()) best = std::move(found);
    }
    if (valid == 1) return;
    if (valid == 0) {
      junction(path, "validate one and only one schema (oneOf). Found none valid");
      std::move(best.begin(), best.end(), std::back_inserter(errors_));
    } else {
      junction(path, fmt::format("validate one and only one schema (oneOf). Found {} valid "
                                 "alternatives",
                                 valid));
    }
  }

  void check_list(const Type& type, const json::Value& value, const json::Value* old,
                  const Path& path, int depth) {
    const json::Array& items = value.as_array();
    const auto n = static_cast<int64_t>(items.size());
    if (const Constraints* c = type.constraints) {
      if (c->min_items && n < *c->min_items)
        invalid(path, n, fmt::format("should have at least {} items", *c->min_items));
      if (c->max_items && n > *c->max_items) errors_.push_back(too_many(path, n, *c->max_items));
      if (c->unique_items && has_duplicates(items))
        invalid(path, value, "shouldn't contain duplicates");
    }
    if (!type.element) return;
    const Type& element = *type.element;
    const bool correlate =
        ratchet_ && old != nullptr && old->is_array() && type.list_type == ListType::kMap;
    if (correlate) {
      const ListMapIndex index(type, *old);
      for (size_t i = 0; i < items.size(); ++i)
        check(element, items[i], index.find(items[i]), path.index(i), depth + 1);
      return;
    }
    for (size_t i = 0; i < items.size(); ++i)
      check(element, items[i], nullptr, path.index(i), depth + 1);
  }

  static bool has_duplicates(const json::Array& items) {
    std::unordered_set<std::string> seen;
    for (const json::Value& item : items)
      if (!seen.insert(json::write_sorted(item)).second) return true;
    return false;
  }

  void check_object(const Type& type, const json::Value& value, const json::Value* old,
                    const Path& path, int depth) {
    const json::Object& object = value.as_object();
    const auto n = static_cast<int64_t>(object.size());
    if (const Constraints* c = type.constraints) {
      if (c->max_properties && n > *c->max_properties)
        errors_.push_back(too_many(path, n, *c->max_properties));
      if (c->min_properties && n < *c->min_properties)
        invalid(path, n, fmt::format("should have at least {} properties", *c->min_properties));
    }
    for (const Field& field : type.fields)
      if (field.required && is_absent(object.find(field.name)))
        errors_.push_back(required_value(path.child(field.name)));
    if (type.embedded_resource) check_embedded(value, path);
    const json::Object* before =
        ratchet_ && old != nullptr && old->is_object() ? &old->as_object() : nullptr;
    FieldCursor cursor(type);
    for (const auto& [key, member] : object) {
      const Type* member_type = nullptr;
      if (const Field* field = cursor.find(key)) {
        member_type = &*field->type;
      } else if (type.kind != Kind::kStruct && type.element) {
        member_type = &*type.element;
      }
      if (member_type == nullptr) continue;
      const json::Value* old_member = before != nullptr ? before->find(key) : nullptr;
      check(*member_type, member, old_member, path.child(key), depth + 1);
    }
  }

  bool is_absent(const json::Value* member) const {
    return member == nullptr || (builtin_ && member->is_null());
  }

  void check_embedded(const json::Value& value, const Path& path) {
    for (std::string_view name : {std::string_view("apiVersion"), std::string_view("kind")}) {
      const json::Value* member = value.find(name);
      if (member != nullptr && member->is_string() && member->as_string().empty())
        errors_.push_back(invalid_value(path.child(name), "", "must not be empty"));
    }
  }

  Errors& errors_;
  bool ratchet_;
  bool builtin_;  // null is absent, as where documents are decoded into Go structs
  size_t max_errors_;
};

// Duplicates in list sets and list maps.
void find_duplicates(const Type& type, const json::Value& value, const Path& path, Errors& errors,
                     int depth) {
  if (depth > kMaxDepth) return;
  if (value.is_object()) {
    FieldCursor cursor(type);
    for (const auto& [key, member] : value.as_object()) {
      if (!member.is_object() && !member.is_array()) continue;
      if (type.kind == Kind::kMap) {
        if (type.element)
          find_duplicates(*type.element, member, path.child(key), errors, depth + 1);
      } else if (const Field* field = cursor.find(key)) {
        find_duplicates(*field->type, member, path.child(key), errors, depth + 1);
      }
    }
    return;
  }
  if (!value.is_array() || type.kind != Kind::kList || !type.element) return;
  const json::Array& items = value.as_array();
  if (type.list_type != ListType::kAtomic && items.size() > 1) {
    std::unordered_map<std::string, int> seen;
    for (size_t i = 0; i < items.size(); ++i) {
      const bool map = type.list_type == ListType::kMap;
      const std::string text =
          map ? list_map_key_text(type, items[i]) : json::write_sorted(items[i]);
      if (++seen[text] != 2) continue;  // told once per value
      errors.push_back(
          duplicate_value(path.index(i), map ? list_map_key(type, items[i]) : items[i]));
    }
  }
  for (size_t i = 0; i < items.size(); ++i)
    find_duplicates(*type.element, items[i], path.index(i), errors, depth + 1);
}

// Hands every node whose Type has rules to the evaluator, with its counterpart before the update.
class RuleWalker {
 public:
  RuleWalker(RuleEvaluator& rules, Errors& errors, std::vector<std::string>* warnings,
             size_t max_errors)
      : rules_(rules), errors_(errors), warnings_(warnings), max_errors_(max_errors) {}

  void walk(const Type& type, const json::Value& value, const json::Value* old, const Path& path,
            int depth) {
    if (depth > kMaxDepth || value.is_null() || errors_.size() >= max_errors_) return;
    if (!type.rules.empty()) evaluate(type, value, old, path);
    if (value.is_object()) {
      if (!type.fields.empty() || type.element) walk_object(type, value, old, path, depth);
    } else if (value.is_array() && type.element) {
      walk_list(type, value, old, path, depth);
    }
  }

 private:
  void evaluate(const Type& type, const json::Value& value, const json::Value* old,
                const Path& path) {
    if (old != nullptr && old->is_null() != value.is_null()) old = nullptr;
    Errors failed;
    rules_.evaluate({.type = type, .self = value, .old_self = old, .path = path}, failed);
    if (failed.empty()) return;
    name_root(failed);
    if (old != nullptr && *old == value) {
      // Nothing changed here: only transition rules may refuse, the others warn.
      Errors refused;
      rules_.evaluate(
          {.type = type, .self = value, .old_self = old, .unchanged = true, .path = path}, refused);
      if (warnings_ != nullptr) {
        for (const ErrorCause& cause : failed) {
          if (std::find(refused.begin(), refused.end(), cause) == refused.end())
            warnings_->push_back(cause.field + ": " + cause.message);
        }
      }
      failed = std::move(refused);
    }
    std::move(failed.begin(), failed.end(), std::back_inserter(errors_));
  }

  static void name_root(Errors& errors) {
    for (ErrorCause& cause : errors)
      if (cause.field.empty()) cause.field = "<nil>";
  }

  void walk_object(const Type& type, const json::Value& value, const json::Value* old,
                   const Path& path, int depth) {
    FieldCursor cursor(type);
    for (const auto& [key, member] : value.as_object()) {
      const Type* member_type = nullptr;
      if (const Field* field = cursor.find(key)) {
        member_type = &*field->type;
      } else if (type.kind == Kind::kMap && type.element) {
        member_type = &*type.element;
      }
      if (member_type == nullptr) continue;
      if (member_type->rules.empty() && !member.is_object() && !member.is_array()) continue;
      const json::Value* old_member = old != nullptr ? old->find(key) : nullptr;
      walk(*member_type, member, old_member, path.child(key), depth + 1);
    }
  }

  void walk_list(const Type& type, const json::Value& value, const json::Value* old,
                 const Path& path, int depth) {
    const json::Array& items = value.as_array();
    const Type& element = *type.element;
    if (type.list_type == ListType::kMap && old != nullptr && old->is_array()) {
      const ListMapIndex index(type, *old);
      for (size_t i = 0; i < items.size(); ++i)
        walk(element, items[i], index.find(items[i]), path.index(i), depth + 1);
      return;
    }
    for (size_t i = 0; i < items.size(); ++i)
      walk(element, items[i], nullptr, path.index(i), depth + 1);
  }

  RuleEvaluator& rules_;
  Errors& errors_;
  std::vector<std::string>* warnings_;
  size_t max_errors_;
};

bool blocks_rules(const ErrorCause& cause) {
  return cause.reason == "FieldValueNotSupported" || cause.reason == "FieldValueRequired" ||
         cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTooMany" ||
         cause.reason == "FieldValueTypeInvalid";
}

bool any_rules(const Type& type, std::unordered_set<const Type*>& seen) {
  if (!seen.insert(&type).second) return false;
  if (!type.rules.empty()) return true;
  if (type.element && any_rules(*type.element, seen)) return true;
  for (const Field& field : type.fields)
    if (any_rules(*field.type, seen)) return true;
  return false;
}

}  // namespace

std::vector<ErrorCause> validate(const Type& type, const json::Value& document,
                                 const ValidateOptions& options) {
  Errors errors = options.earlier;
  const size_t first = errors.size();
  // Kinds of Kubernetes itself: kube-apiserver minds neither nulls nor equal keys in their lists
  // (two ports may differ in the protocol only by default).
  const bool builtin = type.name.starts_with("io.k8s.");
  LimitChecker(errors, false, builtin, options.max_errors)
      .check(type, document, nullptr, Path(), 0);
  if (errors.size() > first && options.old != nullptr) {
    // There are errors; those of values that did not change are forgiven.
    errors.resize(first);
    LimitChecker(errors, true, builtin, options.max_errors)
        .check(type, document, options.old, Path(), 0);
  }
  Errors duplicates;
  if (!builtin) find_duplicates(type, document, Path(), duplicates, 0);
  if (!duplicates.empty() && options.old != nullptr) {
    // As kube-apiserver does: who had duplicates before may keep them.
    Errors before;
    find_duplicates(type, *options.old, Path(), before, 0);
    if (!before.empty()) duplicates.clear();
  }
  std::move(duplicates.begin(), duplicates.end(), std::back_inserter(errors));
  if (options.rules == nullptr) return errors;
  if (std::any_of(errors.begin(), errors.end(), blocks_rules)) {
    std::unordered_set<const Type*> seen;
    if (any_rules(type, seen)) errors.push_back(invalid_value(Path(), nullptr, kNotChecked));
    return errors;
  }
  RuleWalker(*options.rules, errors, options.warnings, options.max_errors)
      .walk(type, document, options.old, Path(), 0);
  return errors;
}

}  // namespace kueue::schema
