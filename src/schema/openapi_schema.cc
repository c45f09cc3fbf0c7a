// Types as OpenAPI schemas.
#include "json/json.h"
#include "schema/openapi.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

using json::Value;

constexpr std::string_view kTimeName = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
constexpr std::string_view kMicroTimeName = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
constexpr std::string_view kQuantityName = "io.k8s.apimachinery.pkg.api.resource.Quantity";
constexpr std::string_view kIntOrStringName = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
constexpr std::string_view kQuantityPattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";

// Scalars that kube-apiserver gives a name in built-in documents.
constexpr Type kTimeComponent{.kind = Kind::kTime, .name = kTimeName};
constexpr Type kMicroTimeComponent{.kind = Kind::kMicroTime, .name = kMicroTimeName};
constexpr Type kQuantityComponent{.kind = Kind::kQuantity, .name = kQuantityName};
constexpr Type kIntOrStringComponent{.kind = Kind::kIntOrString, .name = kIntOrStringName};

bool is_meta(std::string_view name) {
  return name.starts_with("io.k8s.apimachinery.pkg.apis.meta.v1.") &&
         (name.ends_with(".ObjectMeta") || name.ends_with(".ListMeta") ||
          name.ends_with(".OwnerReference") || name.ends_with(".ManagedFieldsEntry"));
}

void set(Value& schema, std::string_view key, Value value) {
  schema.as_object().append(std::string(key), std::move(value));
}

Value parse_or_null(std::string_view text) {
  auto parsed = json::parse(text);
  return parsed.ok() ? std::move(parsed).value() : Value();
}

class Writer {
 public:
  Writer(OpenApiStyle style, std::vector<const Type*>& referred)
      : style_(style), referred_(referred) {}

  // `root`: write it even if it has a name.
  Value write(const Type& type, bool root, int depth) {
    if (depth > kMaxDepth) return Value::object();
    if (!root)
      if (const Type* component = component_of(type)) return reference(*component);
    Value schema = Value::object();
    if (!type.doc.empty()) set(schema, "description", type.doc);
    write_kind(type, schema, depth);
    if (type.constraints != nullptr) write_constraints(*type.constraints, schema, depth);
    write_extensions(type, schema);
    return schema;
  }

 private:
  // The Type that stands for this one in components; nullptr when it is written in place.
  const Type* component_of(const Type& type) const {
    if (type.kind == Kind::kStruct && !type.name.empty() &&
        (style_ == OpenApiStyle::kBuiltin || is_meta(type.name)))
      return &type;
    if (style_ == OpenApiStyle::kCustom || type.constraints != nullptr) return nullptr;
    switch (type.kind) {
      case Kind::kTime:
        return &kTimeComponent;
      case Kind::kMicroTime:
        return &kMicroTimeComponent;
      case Kind::kQuantity:
        return &kQuantityComponent;
      case Kind::kIntOrString:
        return &kIntOrStringComponent;
      case Kind::kAny:
        return type.name.empty() ? nullptr : &type;
      default:
        return nullptr;
    }
  }

  Value reference(const Type& type) {
    referred_.push_back(&type);
    std::string target = "#/components/schemas/";
    target += type.name;
    return Value::object({{"$ref", target}});
  }

  void write_kind(const Type& type, Value& schema, int depth) {
    switch (type.kind) {
      case Kind::kAny:
        if (style_ == OpenApiStyle::kBuiltin && !type.preserve_unknown)
          set(schema, "type", "object");
        return;
      case Kind::kBool:
        set(schema, "type", "boolean");
        return;
      case Kind::kInt32:
      case Kind::kInt64:
        set(schema, "type", "integer");
        if (type.kind == Kind::kInt32) set(schema, "format", "int32");
        if (type.kind == Kind::kInt64 && style_ == OpenApiStyle::kBuiltin)
          set(schema, "format", "int64");
        return;
      case Kind::kDouble:
        set(schema, "type", "number");
        if (style_ == OpenApiStyle::kBuiltin) set(schema, "format", "double");
        return;
      case Kind::kString:
      case Kind::kDuration:
        set(schema, "type", "string");
        return;
      case Kind::kBytes:
        set(schema, "type", "string");
        set(schema, "format", "byte");
        return;
      case Kind::kTime:
      case Kind::kMicroTime:
        set(schema, "type", "string");
        set(schema, "format", "date-time");
        return;
      case Kind::kIntOrString:
      case Kind::kQuantity:
        write_scalar_choice(type, schema);
        return;
      case Kind::kStruct:
        write_struct(type, schema, depth);
        return;
      case Kind::kMap:
        set(schema, "type", "object");
        set(schema, "additionalProperties", write_element(type, depth));
        return;
      case Kind::kList:
        set(schema, "type", "array");
        set(schema, "items", write_element(type, depth));
        return;
    }
  }

  void write_scalar_choice(const Type& type, Value& schema) {
    if (style_ == OpenApiStyle::kBuiltin) {
      if (type.kind == Kind::kIntOrString) set(schema, "format", "int-or-string");
      set(schema, "oneOf",
          choice(type.kind == Kind::kQuantity ? "string" : "integer",
                 type.kind == Kind::kQuantity ? "number" : "string"));
      return;
    }
    if (type.kind == Kind::kQuantity &&
        (type.constraints == nullptr || type.constraints->pattern.empty()))
      set(schema, "pattern", kQuantityPattern);
    set(schema, "anyOf", choice("integer", "string"));
    set(schema, "x-kubernetes-int-or-string", true);
  }

  static Value choice(std::string_view a, std::string_view b) {
    return Value::array({Value::object({{"type", a}}), Value::object({{"type", b}})});
  }

  Value write_element(const Type& type, int depth) {
    if (!type.element) return Value::object();
    const Type& element = *type.element;
    Value schema = write(element, false, depth + 1);
    if (!element.default_json.empty())
      return decorated(std::move(schema), {}, element.default_json);
    return schema;
  }

  // A schema with description and default of the place where it is used. $ref allows no neighbours,
  // hence allOf.
  static Value decorated(Value schema, std::string_view doc, std::string_view default_json) {
    if (doc.empty() && default_json.empty()) return schema;
    Value out = Value::object();
    if (!doc.empty()) set(out, "description", doc);
    const bool refers = schema.find("$ref") != nullptr;
    if (refers) {
      if (!default_json.empty()) set(out, "default", parse_or_null(default_json));
      set(out, "allOf", Value::array({std::move(schema)}));
      return out;
    }
    for (auto& [key, value] : schema.as_object()) {
      if (key == "description" && !doc.empty()) continue;
      set(out, key, std::move(value));
    }
    if (!default_json.empty()) set(out, "default", parse_or_null(default_json));
    return out;
  }

  void write_struct(const Type& type, Value& schema, int depth) {
    set(schema, "type", "object");
    Value required = Value::array();
    Value properties = Value::object();
    for (const Field& field : type.fields) {
      if (field.required) required.as_array().emplace_back(field.name);
      const Type& field_type = *field.type;
      const std::string_view default_json =
          field.default_json.empty() ? field_type.default_json : field.default_json;
      Value property = decorated(write(field_type, false, depth + 1), field.doc, default_json);
      write_patch(field, property);
      properties.as_object().append(std::string(field.name), std::move(property));
    }
    if (!required.as_array().empty()) set(schema, "required", std::move(required));
    if (!type.fields.empty()) set(schema, "properties", std::move(properties));
  }

  void write_patch(const Field& field, Value& property) {
    if (style_ != OpenApiStyle::kBuiltin) return;
    std::string_view strategy;
    switch (field.patch_strategy) {
      case PatchStrategy::kNone:
        break;
      case PatchStrategy::kMerge:
        strategy = "merge";
        break;
      case PatchStrategy::kReplace:
        strategy = "replace";
        break;
      case PatchStrategy::kRetainKeys:
        strategy = "retainKeys";
        break;
      case PatchStrategy::kMergeRetainKeys:
        strategy = "merge,retainKeys";
        break;
    }
    if (strategy.empty() && field.patch_merge_key.empty()) return;
    property = refers_alone(std::move(property));
    if (!field.patch_merge_key.empty())
      set(property, "x-kubernetes-patch-merge-key", field.patch_merge_key);
    if (!strategy.empty()) set(property, "x-kubernetes-patch-strategy", strategy);
  }

  static Value refers_alone(Value property) {
    if (property.find("$ref") == nullptr) return property;
    return Value::object({{"allOf", Value::array({std::move(property)})}});
  }

  void write_constraints(const Constraints& c, Value& schema, int depth) {
    if (!c.format.empty() && schema.find("format") == nullptr) set(schema, "format", c.format);
    auto number = [&](std::string_view key, const std::optional<double>& n) {
      if (!n) return;
      const auto whole = static_cast<int64_t>(*n);
      set(schema, key, static_cast<double>(whole) == *n ? Value(whole) : Value(*n));
    };
    auto count = [&](std::string_view key, const std::optional<int64_t>& n) {
      if (n) set(schema, key, *n);
    };
    number("maximum", c.maximum);
    if (c.exclusive_maximum) set(schema, "exclusiveMaximum", true);
    number("minimum", c.minimum);
    if (c.exclusive_minimum) set(schema, "exclusiveMinimum", true);
    count("maxLength", c.max_length);
    count("minLength", c.min_length);
    if (!c.pattern.empty() && schema.find("pattern") == nullptr) set(schema, "pattern", c.pattern);
    count("maxItems", c.max_items);
    count("minItems", c.min_items);
    if (c.unique_items) set(schema, "uniqueItems", true);
    number("multipleOf", c.multiple_of);
    count("maxProperties", c.max_properties);
    count("minProperties", c.min_properties);
    if (!c.enum_values.empty()) {
      Value values = Value::array();
      for (std::string_view text : c.enum_values) values.as_array().push_back(parse_or_null(text));
      set(schema, "enum", std::move(values));
    }
    write_parts("allOf", c.all_of, schema, depth);
    write_parts("anyOf", c.any_of, schema, depth);
    write_parts("oneOf", c.one_of, schema, depth);
    if (c.not_) set(schema, "not", write_part(*c.not_, depth + 1));
  }

  void write_parts(std::string_view key, std::span<const TypeRef> parts, Value& schema, int depth) {
    if (parts.empty()) return;
    // int-or-string has an anyOf of its own; a second one goes into allOf, where it means the same.
    Value list = Value::array();
    for (const TypeRef& part : parts) list.as_array().push_back(write_part(*part, depth + 1));
    if (schema.find(key) == nullptr) return set(schema, key, std::move(list));
    Value inner = Value::object();
    set(inner, key, std::move(list));
    if (Value* all = schema.find("allOf")) {
      all->as_array().push_back(std::move(inner));
    } else {
      set(schema, "allOf", Value::array({std::move(inner)}));
    }
  }

  // Elements of junctors: limits, required members and the limits of members.
  Value write_part(const Type& part, int depth) {
    Value schema = Value::object();
    if (depth > kMaxDepth) return schema;
    Value required = Value::array();
    Value properties = Value::object();
    for (const Field& field : part.fields) {
      if (field.required) required.as_array().emplace_back(field.name);
      Value property = write_part(*field.type, depth + 1);
      if (!property.as_object().empty())
        properties.as_object().append(std::string(field.name), std::move(property));
    }
    if (!required.as_array().empty()) set(schema, "required", std::move(required));
    if (!properties.as_object().empty()) set(schema, "properties", std::move(properties));
    if (part.element) set(schema, "items", write_part(*part.element, depth + 1));
    if (part.constraints != nullptr) write_constraints(*part.constraints, schema, depth);
    return schema;
  }

  void write_extensions(const Type& type, Value& schema) {
    if (type.nullable) set(schema, "nullable", true);
    if (type.embedded_resource) set(schema, "x-kubernetes-embedded-resource", true);
    if (type.kind == Kind::kList && !type.list_map_keys.empty()) {
      Value keys = Value::array();
      for (std::string_view key : type.list_map_keys) keys.as_array().emplace_back(key);
      set(schema, "x-kubernetes-list-map-keys", std::move(keys));
    }
    if (type.kind == Kind::kList) {
      if (type.list_type == ListType::kMap) set(schema, "x-kubernetes-list-type", "map");
      if (type.list_type == ListType::kSet) set(schema, "x-kubernetes-list-type", "set");
      if (type.list_type == ListType::kAtomic && type.list_type_given)
        set(schema, "x-kubernetes-list-type", "atomic");
    }
    if (type.atomic_map) set(schema, "x-kubernetes-map-type", "atomic");
    if (type.preserve_unknown) set(schema, "x-kubernetes-preserve-unknown-fields", true);
    if (!type.rules.empty()) {
      Value rules = Value::array();
      for (const Rule& rule : type.rules) rules.as_array().push_back(write_rule(rule));
      set(schema, "x-kubernetes-validations", std::move(rules));
    }
  }

  static Value write_rule(const Rule& rule) {
    Value out = Value::object({{"rule", rule.rule}});
    if (!rule.message.empty()) set(out, "message", rule.message);
    if (!rule.message_expression.empty()) set(out, "messageExpression", rule.message_expression);
    if (!rule.reason.empty()) set(out, "reason", rule.reason);
    if (!rule.field_path.empty()) set(out, "fieldPath", rule.field_path);
    if (rule.optional_old_self) set(out, "optionalOldSelf", true);
    return out;
  }

  OpenApiStyle style_;
  std::vector<const Type*>& referred_;
};

}  // namespace

json::Value openapi_schema(const Type& type, OpenApiStyle style,
                           std::vector<const Type*>& referred) {
  return Writer(style, referred).write(type, true, 0);
}

}  // namespace kueue::schema
