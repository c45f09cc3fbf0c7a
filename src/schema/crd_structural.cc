// The check of one openAPIV3Schema: is it structural, are its extensions used where they belong, do
// its defaults validate.
#include <fmt/format.h>

#include "json/json.h"
#include "schema/crd.h"
#include "schema/defaults.h"
#include "schema/errors.h"
#include "schema/formats.h"
#include "schema/pattern.h"
#include "schema/prune.h"
#include "schema/validate.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

std::string_view text(const json::Value& schema, std::string_view name) {
  const json::Value* value = schema.find(name);
  return value == nullptr ? std::string_view() : value->string_or({});
}

bool flag(const json::Value& schema, std::string_view name) {
  const json::Value* value = schema.find(name);
  return value != nullptr && value->bool_or(false);
}

bool has_line_break(std::string_view s) {
  return s.find_first_of("\r\n") != std::string_view::npos;
}

// Where a schema stands; decides what must be said about a missing type.
enum class Place : uint8_t { kRoot, kField, kItem };

class StructuralChecker {
 public:
  StructuralChecker(const CrdCheckOptions& options, std::vector<ErrorCause>& errors)
      : options_(options), errors_(errors) {}

  // `uncorrelated`: the list above whose items have no identity over updates; nullptr when there is
  // none.
  void check(const json::Value& schema, const Path& at, Place place, int depth,
             const Path* uncorrelated = nullptr) {
    if (depth > kMaxDepth) return;
    if (!schema.is_object()) return;
    check_unsupported(schema, at);
    check_type(schema, at, place);
    check_object_keywords(schema, at, place);
    check_preserve(schema, at);
    check_embedded(schema, at);
    check_list_type(schema, at);
    check_map_type(schema, at);
    check_values(schema, at);
    check_rules(schema, at, place, uncorrelated);
    check_parts(schema, at, depth);
    if (const json::Value* properties = schema.find("properties");
        properties != nullptr && properties->is_object()) {
      const Path in = at.child("properties");
      for (const auto& [name, property] : properties->as_object()) {
        const Path below = in.key(name);
        if (place == Place::kRoot && check_root_property(name, property, below)) continue;
        check(property, below, Place::kField, depth + 1, uncorrelated);
      }
    }
    if (const json::Value* items = schema.find("items"); items != nullptr && items->is_object())
      check(*items, at.child("items"), Place::kItem, depth + 1,
            uncorrelated == nullptr && text(schema, "x-kubernetes-list-type") != "map"
                ? &at
                : uncorrelated);
    if (const json::Value* more = schema.find("additionalProperties");
        more != nullptr && more->is_object())
      check(*more, at.child("additionalProperties"), Place::kField, depth + 1, uncorrelated);
    check_default(schema, at, place);
  }

 private:
  void add(ErrorCause cause) { errors_.push_back(std::move(cause)); }

  void check_unsupported(const json::Value& schema, const Path& at) {
    static constexpr std::string_view kNever[] = {"$ref", "id", "patternProperties",
                                                  "additionalItems", "dependencies"};
    for (std::string_view name : kNever)
      if (schema.find(name) != nullptr)
        add(forbidden(at.child(name), fmt::format("{} is not supported", name)));
    if (const json::Value* value = schema.find("definitions");
        value != nullptr && value->is_object() && !value->as_object().empty())
      add(forbidden(at.child("definitions"), "definitions is not supported"));
    if (flag(schema, "uniqueItems"))
      add(forbidden(at.child("uniqueItems"),
                    "uniqueItems cannot be set to true since the runtime complexity becomes "
                    "quadratic"));
    if (const json::Value* items = schema.find("items"); items != nullptr && items->is_array())
      add(forbidden(at.child("items"), "items must be a schema object and not an array"));
  }

  void check_type(const json::Value& schema, const Path& at, Place place) {
    const std::string_view type = text(schema, "type");
    const Path at_type = at.child("type");
    if (type.empty()) {
      // $ref and an explicit false are refused elsewhere; one complaint is enough.
      const bool free = schema.find("x-kubernetes-preserve-unknown-fields") != nullptr ||
                        schema.find("$ref") != nullptr ||
                        flag(schema, "x-kubernetes-int-or-string");
      if (place == Place::kRoot) {
        add(required_value(at_type, "must not be empty at the root"));
      } else if (!free) {
        add(required_value(at_type, place == Place::kItem
                                        ? "must not be empty for specified array items"
                                        : "must not be empty for specified object fields"));
      }
      return;
    }
    static constexpr std::string_view kTypes[] = {"array",  "boolean", "integer",
                                                  "number", "object",  "string"};
    bool known = false;
    for (std::string_view t : kTypes) known = known || t == type;
    if (!known) add(not_supported(at_type, type, kTypes));
    if (type == "null")
      add(forbidden(at_type, "type cannot be set to null, use nullable as an alternative"));
    if (place == Place::kRoot && known && type != "object")
      add(invalid_value(at_type, type, "must be object at the root"));
    if (type == "array" && schema.find("items") == nullptr)
      add(required_value(at.child("items"), "must be specified"));
    const std::string_view format = text(schema, "format");
    if (!format.empty() && !known_format(format) && options_.warnings != nullptr)
      options_.warnings->push_back(fmt::format("unrecognized format {}", go_quote(format)));
  }

  void check_object_keywords(const json::Value& schema, const Path& at, Place place) {
    const json::Value* properties = schema.find("properties");
    const json::Value* more = schema.find("additionalProperties");
    const bool has_properties =
        properties != nullptr && properties->is_object() && !properties->as_object().empty();
    if (place == Place::kRoot) {
      if (more != nullptr)
        add(forbidden(at.child("additionalProperties"), "must not be used at the root"));
      if (flag(schema, "nullable"))
        add(forbidden(at.child("nullable"), "nullable cannot be true at the root"));
      return;
    }
    const bool denies = more != nullptr && more->is_bool() && !more->as_bool();
    if (has_properties && more != nullptr && !denies)
      add(forbidden(at.child("additionalProperties"),
                    "additionalProperties and properties are mutual exclusive"));
    if (has_properties && denies)
      add(forbidden(at.child("additionalProperties"),
                    "additionalProperties cannot be set to false"));
  }

  void check_preserve(const json::Value& schema, const Path& at) {
    const json::Value* preserve = schema.find("x-kubernetes-preserve-unknown-fields");
    if (preserve != nullptr && preserve->is_bool() && !preserve->as_bool())
      add(invalid_value(at.child("x-kubernetes-preserve-unknown-fields"), false,
                        "must be true or undefined"));
  }

  void check_embedded(const json::Value& schema, const Path& at) {
    if (!flag(schema, "x-kubernetes-embedded-resource")) return;
    const json::Value* properties = schema.find("properties");
    const bool has_properties =
        properties != nullptr && properties->is_object() && !properties->as_object().empty();
    if (!has_properties && !flag(schema, "x-kubernetes-preserve-unknown-fields"))
      add(required_value(at.child("properties"),
                         "must not be empty if x-kubernetes-embedded-resource is true without "
                         "x-kubernetes-preserve-unknown-fields"));
    if (const std::string_view type = text(schema, "type"); type != "object")
      add(invalid_value(at.child("type"), type,
                        "must be object if x-kubernetes-embedded-resource is true"));
  }

  void check_list_type(const json::Value& schema, const Path& at) {
    const std::string_view list_type = text(schema, "x-kubernetes-list-type");
    const json::Value* keys = schema.find("x-kubernetes-list-map-keys");
    const bool has_keys = keys != nullptr && keys->is_array() && !keys->as_array().empty();
    const Path at_list_type = at.child("x-kubernetes-list-type");
    if (!list_type.empty()) {
      const std::string_view type = text(schema, "type");
      if (type != "array")
        add(invalid_value(at.child("type"), type,
                          "must be array if x-kubernetes-list-type is specified"));
      static constexpr std::string_view kListTypes[] = {"atomic", "set", "map"};
      if (list_type != "atomic" && list_type != "set" && list_type != "map")
        add(not_supported(at_list_type, list_type, kListTypes));
    }
    if (has_keys && list_type != "map")
      add(required_value(at_list_type, "must be map if x-kubernetes-list-map-keys is non-empty"));
    const json::Value* items = schema.find("items");
    const bool has_items = items != nullptr && items->is_object();
    if (list_type == "map") check_list_map(schema, items, has_keys, at);
    if (list_type == "set" && has_items) check_list_set(*items, at.child("items"));
  }

  void check_list_map(const json::Value& schema, const json::Value* items, bool has_keys,
                      const Path& at) {
    const Path at_keys = at.child("x-kubernetes-list-map-keys");
    const Path at_items = at.child("items");
    if (!has_keys)
      add(required_value(at_keys, "must not be empty if x-kubernetes-list-type is map"));
    if (items == nullptr || !items->is_object()) return;
    if (const std::string_view type = text(*items, "type"); type != "object")
      add(invalid_value(at_items.child("type"), type,
                        "must be object if parent array's x-kubernetes-list-type is map"));
    if (flag(*items, "nullable"))
      add(forbidden(at_items.child("nullable"),
                    "cannot be nullable when x-kubernetes-list-type is map"));
    if (!has_keys) return;
    const json::Value& keys = *schema.find("x-kubernetes-list-map-keys");
    bool unknown = false;
    bool twice = false;
    const Path at_properties = at_items.child("properties");
    for (size_t i = 0; i < keys.as_array().size(); ++i) {
      const std::string_view key = keys.as_array()[i].string_or({});
      for (size_t k = 0; k < i; ++k) twice = twice || keys.as_array()[k].string_or({}) == key;
      const json::Value* property = items->find_path({"properties", key});
      if (property == nullptr) {
        unknown = true;
        continue;
      }
      check_map_key(*items, *property, key, at_properties.key(key));
    }
    if (unknown) add(invalid_value(at_keys, keys, "entries must all be names of item properties"));
    if (twice) add(invalid_value(at_keys, keys, "must not contain duplicate entries"));
  }

  void check_map_key(const json::Value& items, const json::Value& property, std::string_view key,
                     const Path& at) {
    const std::string_view type = text(property, "type");
    if (type == "array" || type == "object")
      add(invalid_value(at.child("type"), type,
                        "must be a scalar type if parent array's x-kubernetes-list-type is map"));
    if (flag(property, "nullable"))
      add(forbidden(at.child("nullable"),
                    "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"));
    bool is_required = property.find("default") != nullptr;
    if (const json::Value* required = items.find("required");
        required != nullptr && required->is_array())
      for (const json::Value& name : required->as_array())
        is_required = is_required || name.string_or({}) == key;
    if (!is_required)
      add(required_value(at.child("default"),
                         "this property is in x-kubernetes-list-map-keys, so it must have a "
                         "default or be a required property"));
  }

  void check_list_set(const json::Value& items, const Path& at) {
    if (flag(items, "nullable"))
      add(forbidden(at.child("nullable"), "cannot be nullable when x-kubernetes-list-type is set"));
    const std::string_view type = text(items, "type");
    const json::Value* map_type = items.find("x-kubernetes-map-type");
    if (type == "object" && text(items, "x-kubernetes-map-type") != "atomic")
      add(invalid_value(at.child("x-kubernetes-map-type"),
                        map_type != nullptr ? *map_type : json::Value(),
                        "must be atomic as item of a list with x-kubernetes-list-type=set"));
    const std::string_view list_type = text(items, "x-kubernetes-list-type");
    if (type == "array" && !list_type.empty() && list_type != "atomic")
      add(invalid_value(at.child("x-kubernetes-list-type"), list_type,
                        "must be atomic as item of a list with x-kubernetes-list-type=set"));
  }

  void check_map_type(const json::Value& schema, const Path& at) {
    const std::string_view map_type = text(schema, "x-kubernetes-map-type");
    if (map_type.empty()) return;
    if (const std::string_view type = text(schema, "type"); type != "object")
      add(invalid_value(at.child("type"), type,
                        "must be object if x-kubernetes-map-type is specified"));
    static constexpr std::string_view kMapTypes[] = {"atomic", "granular"};
    if (map_type != "atomic" && map_type != "granular")
      add(not_supported(at.child("x-kubernetes-map-type"), map_type, kMapTypes));
  }

  void check_values(const json::Value& schema, const Path& at) {
    const std::string_view pattern = text(schema, "pattern");
    if (pattern.empty()) return;
    const std::string problem = pattern_problem(pattern);
    if (!problem.empty())
      add(invalid_value(at.child("pattern"), pattern,
                        "must be a valid regular expression, but isn't: " + problem));
  }

  void check_rules(const json::Value& schema, const Path& at, Place place,
                   const Path* uncorrelated) {
    const json::Value* rules = schema.find("x-kubernetes-validations");
    if (rules == nullptr || !rules->is_array() || rules->as_array().empty()) return;
    const size_t before = errors_.size();
    const Path in = at.child("x-kubernetes-validations");
    for (size_t i = 0; i < rules->as_array().size(); ++i)
      check_rule_form(schema, rules->as_array()[i], in.index(i), uncorrelated);
    if (!options_.check_rule || errors_.size() != before) return;
    const bool is_root = place == Place::kRoot;
    const auto built =
        is_root ? DynamicSchema::build(schema, options_.object_meta, "", "", "") : wrap(schema);
    const Type& type = is_root ? built->root() : *built->root().field("self")->type;
    for (size_t i = 0; i < type.rules.size(); ++i)
      options_.check_rule(type, type.rules[i], in.index(i), errors_);
  }

  // The Type of a schema that is no root: built as the only property of one.
  std::shared_ptr<const DynamicSchema> wrap(const json::Value& schema) const {
    const json::Value outer = json::Value::object(
        {{"type", "object"}, {"properties", json::Value::object({{"self", schema}})}});
    return DynamicSchema::build(outer, options_.object_meta, "", "", "");
  }

  // True when the rule compares with the value before the update.
  static bool mentions_old_self(std::string_view rule) {
    return matches_pattern(R"((^|[^A-Za-z0-9_."'])oldSelf([^A-Za-z0-9_]|$))", rule);
  }

  void check_rule_form(const json::Value& schema, const json::Value& rule, const Path& at,
                       const Path* uncorrelated) {
    const std::string_view body = text(rule, "rule");
    if (uncorrelated != nullptr && mentions_old_self(body))
      add(invalid_value(
          at.child("rule"), body,
          "oldSelf cannot be used on the uncorrelatable portion of the schema within " +
              uncorrelated->str()));
    const json::Value* message = rule.find("message");
    const std::string_view message_text = text(rule, "message");
    if (body.find_first_not_of(" \t\r\n") == std::string_view::npos)
      add(required_value(at.child("rule"), "rule is not specified"));
    if (!message_text.empty() &&
        message_text.find_first_not_of(" \t\r\n") == std::string_view::npos)
      add(invalid_value(at.child("message"), message_text,
                        "message must be non-empty if specified"));
    if (has_line_break(message_text))
      add(invalid_value(at.child("message"), message_text, "must not contain line breaks"));
    if (has_line_break(body) && (message == nullptr || message_text.empty()))
      add(required_value(at.child("message"),
                         "message must be specified if rule contains line breaks"));
    static constexpr std::string_view kReasons[] = {"FieldValueDuplicate", "FieldValueForbidden",
                                                    "FieldValueInvalid", "FieldValueRequired"};
    if (const std::string_view reason = text(rule, "reason"); !reason.empty()) {
      bool known = false;
      for (std::string_view r : kReasons) known = known || r == reason;
      if (!known) add(not_supported(at.child("reason"), reason, kReasons));
    }
    const std::string_view field_path = text(rule, "fieldPath");
    if (!field_path.empty() && !leads_somewhere(schema, field_path))
      add(invalid_value(at.child("fieldPath"), field_path, "must be a valid path"));
  }

  // Field paths of rules: .a.b, ['a.b'], never into lists.
  static bool leads_somewhere(const json::Value& schema, std::string_view path) {
    const json::Value* node = &schema;
    while (!path.empty()) {
      std::string_view name;
      if (path.starts_with("['")) {
        const size_t end = path.find("']");
        if (end == std::string_view::npos) return false;
        name = path.substr(2, end - 2);
        path.remove_prefix(end + 2);
      } else if (path.starts_with('.')) {
        const size_t end = std::min(path.find_first_of(".[", 1), path.size());
        name = path.substr(1, end - 1);
        path.remove_prefix(end);
      } else {
        return false;
      }
      const json::Value* next = node->find_path({"properties", name});
      if (next == nullptr) {
        next = node->find("additionalProperties");
        if (next == nullptr || !next->is_object()) return false;
      }
      node = next;
    }
    return true;
  }

  void check_parts(const json::Value& schema, const Path& at, int depth) {
    for (std::string_view name :
         {std::string_view("allOf"), std::string_view("anyOf"), std::string_view("oneOf")}) {
      const json::Value* parts = schema.find(name);
      if (parts == nullptr || !parts->is_array()) continue;
      const Path in = at.child(name);
      for (size_t i = 0; i < parts->as_array().size(); ++i) {
        const json::Value& part = parts->as_array()[i];
        if (flag(schema, "x-kubernetes-int-or-string") && is_type_choice(part)) continue;
        check_part(part, in.index(i), depth + 1);
      }
    }
    if (const json::Value* part = schema.find("not"); part != nullptr && part->is_object())
      check_part(*part, at.child("not"), depth + 1);
  }

  // What an int-or-string schema may hold in anyOf, or in anyOf below allOf.
  static bool is_type_choice(const json::Value& part) {
    if (!part.is_object() || part.as_object().size() != 1) return false;
    const std::string_view type = text(part, "type");
    if (type == "integer" || type == "string") return true;
    const json::Value* inner = part.find("anyOf");
    if (inner == nullptr || !inner->is_array()) return false;
    for (const json::Value& item : inner->as_array())
      if (!is_type_choice(item)) return false;
    return true;
  }

  // Junctors must not say anything about structure.
  void check_part(const json::Value& part, const Path& at, int depth) {
    if (depth > kMaxDepth || !part.is_object()) return;
    struct Banned {
      std::string_view name;
      std::string_view detail;
    };
    static constexpr Banned kBanned[] = {
        {"additionalProperties", "must be undefined to be structural"},
        {"default", "must be undefined to be structural"},
        {"description", "must be empty to be structural"},
        {"nullable", "must be false to be structural"},
        {"title", "must be empty to be structural"},
        {"type", "must be empty to be structural"},
        {"x-kubernetes-embedded-resource", "must be false to be structural"},
        {"x-kubernetes-int-or-string", "must be false to be structural"},
        {"x-kubernetes-list-map-keys", "must be undefined to be structural"},
        {"x-kubernetes-list-type", "must be undefined to be structural"},
        {"x-kubernetes-map-type", "must be undefined to be structural"},
        {"x-kubernetes-preserve-unknown-fields", "must be undefined to be structural"},
        {"x-kubernetes-validations", "must be empty to be structural"},
    };
    for (const Banned& banned : kBanned) {
      const json::Value* value = part.find(banned.name);
      if (value == nullptr || (value->is_bool() && !value->as_bool()) ||
          (value->is_string() && value->as_string().empty()))
        continue;
      add(forbidden(at.child(banned.name), banned.detail));
    }
    check_unsupported(part, at);
    check_values(part, at);
    if (const json::Value* properties = part.find("properties");
        properties != nullptr && properties->is_object()) {
      const Path in = at.child("properties");
      for (const auto& [name, property] : properties->as_object())
        check_part(property, in.key(name), depth + 1);
    }
    if (const json::Value* items = part.find("items"); items != nullptr && items->is_object())
      check_part(*items, at.child("items"), depth + 1);
    check_parts(part, at, depth);
  }

  // apiVersion, kind and metadata of the root. True when nothing below is to be checked.
  bool check_root_property(std::string_view name, const json::Value& property, const Path& at) {
    const std::string_view type = text(property, "type");
    if (name == "apiVersion" || name == "kind") {
      if (type != "string" && !type.empty())
        add(invalid_value(at.child("type"), type, "must be string"));
      return true;
    }
    if (name != "metadata") return false;
    if (type != "object" && !type.empty())
      add(invalid_value(at.child("type"), type, "must be object"));
    if (property.find("default") != nullptr)
      add(forbidden(at.child("default"), "must not be set in top-level metadata"));
    static constexpr std::string_view kAllowed[] = {"type", "description", "properties", "default",
                                                    "required"};
    bool more = false;
    for (const auto& [keyword, value] : property.as_object()) {
      bool allowed = false;
      for (std::string_view a : kAllowed) allowed = allowed || a == keyword;
      more = more || !allowed;
      if (keyword == "properties" && value.is_object())
        for (const auto& [field, limit] : value.as_object())
          more = more || (field != "name" && field != "generateName");
    }
    if (more)
      add(forbidden(at,
                    "must not specify anything other than name and generateName, but metadata is "
                    "implicitly specified"));
    return true;
  }

  void check_default(const json::Value& schema, const Path& at, Place place) {
    const json::Value* value = schema.find("default");
    if (value == nullptr || value->is_null()) return;
    const Path at_default = at.child("default");
    if (place == Place::kRoot) {
      for (std::string_view name : {std::string_view("apiVersion"), std::string_view("kind")})
        if (value->find(name) == nullptr) add(required_value(at_default.child(name)));
      return;
    }
    const auto built = wrap(schema);
    const Type& type = *built->root().field("self")->type;
    if (!find_unknown(type, *value, 1).empty()) {
      add(invalid_value(at_default, *value, "must not have unknown fields"));
      return;
    }
    json::Value filled = *value;
    drop_nulls(type, filled);
    apply_defaults(type, filled);
    const std::string prefix = at_default.str();
    for (ErrorCause& cause : validate(type, filled)) {
      // The value is checked as a document of its own; its paths continue that of the default.
      if (cause.field.empty() || cause.field == "<nil>") {
        cause.field = prefix;
      } else {
        cause.field = prefix + (cause.field.starts_with('[') ? "" : ".") + cause.field;
      }
      add(std::move(cause));
    }
  }

  const CrdCheckOptions& options_;
  std::vector<ErrorCause>& errors_;
};

}  // namespace

std::vector<ErrorCause> validate_structural(const json::Value& schema, const Path& at,
                                            const CrdCheckOptions& options) {
  std::vector<ErrorCause> errors;
  StructuralChecker(options, errors).check(schema, at, Place::kRoot, 0);
  return errors;
}

}  // namespace kueue::schema
