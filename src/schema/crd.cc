#include "schema/crd.h"

#include <fmt/format.h>

#include <deque>
#include <map>

#include "json/json.h"
#include "schema/scalars.h"

namespace kueue::schema {

// Deques: what Types point to must not move while more is added.
struct DynamicSchema::Storage {
  std::deque<std::string> texts;
  std::map<std::string_view, std::string_view> interned;
  std::deque<Type> types;
  std::deque<Constraints> constraints;
  std::deque<std::vector<Field>> fields;
  std::deque<std::vector<std::string_view>> names;
  std::deque<std::vector<TypeRef>> parts;
  std::deque<std::vector<Rule>> rules;

  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    const auto found = interned.find(text);
    if (found != interned.end()) return found->second;
    const std::string_view kept = texts.emplace_back(text);
    interned.emplace(kept, kept);
    return kept;
  }
};

namespace {

bool flag(const json::Value& schema, std::string_view name) {
  const json::Value* value = schema.find(name);
  return value != nullptr && value->bool_or(false);
}

std::string_view text(const json::Value& schema, std::string_view name) {
  const json::Value* value = schema.find(name);
  return value == nullptr ? std::string_view() : value->string_or({});
}

const json::Array* array(const json::Value& schema, std::string_view name) {
  const json::Value* value = schema.find(name);
  return value != nullptr && value->is_array() ? &value->as_array() : nullptr;
}

std::optional<double> number(const json::Value& schema, std::string_view name) {
  const json::Value* value = schema.find(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->as_double();
}

std::optional<int64_t> integer(const json::Value& schema, std::string_view name) {
  const json::Value* value = schema.find(name);
  if (value == nullptr || !value->is_int()) return std::nullopt;
  return value->as_int();
}

// "com.example.v1.CronTab".
std::string root_name(std::string_view group, std::string_view version, std::string_view kind) {
  std::string reversed;
  while (!group.empty()) {
    const size_t dot = group.rfind('.');
    if (!reversed.empty()) reversed += '.';
    reversed += group.substr(dot == std::string_view::npos ? 0 : dot + 1);
    group = dot == std::string_view::npos ? std::string_view() : group.substr(0, dot);
  }
  return fmt::format("{}.{}.{}", reversed, version, kind);
}

class Builder {
 public:
  Builder(DynamicSchema::Storage& storage, TypeRef object_meta)
      : storage_(storage), object_meta_(object_meta) {}

  const Type* root(const json::Value& schema, std::string name) {
    Type type = convert(schema);
    // A root without properties is still a struct: it has metadata.
    type.kind = Kind::kStruct;
    type.name = storage_.keep(name);
    type.doc = storage_.keep(text(schema, "description"));
    const json::Value* metadata = schema.find_path({"properties", "metadata"});
    std::vector<Field> fields = resource_fields(schema, metadata_type(metadata));
    for (const Field& field : type.fields)
      if (field.name != "apiVersion" && field.name != "kind" && field.name != "metadata")
        fields.push_back(field);
    type.fields = storage_.fields.emplace_back(std::move(fields));
    return &storage_.types.emplace_back(type);
  }

 private:
  TypeRef store(Type type) {
    if (is_plain(type)) {
      switch (type.kind) {
        case Kind::kAny:
          return &kAnyType;
        case Kind::kBool:
          return &kBoolType;
        case Kind::kInt32:
          return &kInt32Type;
        case Kind::kInt64:
          return &kInt64Type;
        case Kind::kDouble:
          return &kDoubleType;
        case Kind::kString:
          return &kStringType;
        case Kind::kIntOrString:
          return &kIntOrStringType;
        default:
          break;
      }
    }
    return &storage_.types.emplace_back(type);
  }

  static bool is_plain(const Type& type) {
    return type.constraints == nullptr && type.rules.empty() && !type.nullable &&
           !type.preserve_unknown && type.doc.empty() && type.default_json.empty() &&
           type.name.empty();
  }

  // apiVersion, kind and metadata of a root or an embedded resource.
  std::vector<Field> resource_fields(const json::Value& schema, TypeRef metadata) {
    std::vector<Field> fields;
    for (std::string_view name : {"apiVersion", "kind", "metadata"}) {
      Field field;
      field.name = name;
      field.type = name == "metadata" ? metadata : TypeRef(&kStringType);
      if (const json::Value* own = schema.find_path({"properties", name}))
        field.doc = storage_.keep(text(*own, "description"));
      fields.push_back(field);
    }
    return fields;
  }

  // ObjectMeta, with the limits a schema sets on name and generateName.
  TypeRef metadata_type(const json::Value* schema) {
    const json::Value* limits = schema != nullptr ? schema->find("properties") : nullptr;
    if (!object_meta_) return &kAnyType;
    if (limits == nullptr || !limits->is_object() || limits->as_object().empty())
      return object_meta_;
    Type type = *object_meta_;
    std::vector<Field> fields(type.fields.begin(), type.fields.end());
    for (Field& field : fields)
      if (const json::Value* limit = limits->find(field.name))
        if (field.name == "name" || field.name == "generateName")
          field.type = store(convert(*limit));
    type.fields = storage_.fields.emplace_back(std::move(fields));
    return &storage_.types.emplace_back(type);
  }

  Type convert(const json::Value& schema) {
    Type type;
    type.preserve_unknown = flag(schema, "x-kubernetes-preserve-unknown-fields");
    type.embedded_resource = flag(schema, "x-kubernetes-embedded-resource");
    type.nullable = flag(schema, "nullable");
    type.atomic_map = text(schema, "x-kubernetes-map-type") == "atomic";
    const std::string_view name = text(schema, "type");
    const std::string_view format = text(schema, "format");
    if (flag(schema, "x-kubernetes-int-or-string")) {
      type.kind = Kind::kIntOrString;
    } else if (name == "object" || (name.empty() && has_properties(schema))) {
      convert_object(schema, type);
    } else if (name == "array") {
      convert_array(schema, type);
    } else if (name == "string") {
      type.kind = Kind::kString;
    } else if (name == "integer") {
      type.kind = format == "int32" ? Kind::kInt32 : Kind::kInt64;
    } else if (name == "number") {
      type.kind = Kind::kDouble;
    } else if (name == "boolean") {
      type.kind = Kind::kBool;
    }
    type.constraints = convert_constraints(schema, type.kind);
    type.rules = convert_rules(schema);
    return type;
  }

  static bool has_properties(const json::Value& schema) {
    const json::Value* properties = schema.find("properties");
    return properties != nullptr && properties->is_object() && !properties->as_object().empty();
  }

  void convert_object(const json::Value& schema, Type& type) {
    const json::Value* additional = schema.find("additionalProperties");
    if (!has_properties(schema) && additional != nullptr && !type.embedded_resource) {
      if (additional->is_object()) {
        type.kind = Kind::kMap;
        type.element = convert_element(*additional);
        return;
      }
      if (additional->bool_or(false)) {
        type.kind = Kind::kMap;
        type.element = store(Type{.kind = Kind::kAny, .preserve_unknown = true});
        return;
      }
    }
    type.kind = Kind::kStruct;
    std::vector<Field> fields;
    if (type.embedded_resource) {
      fields = resource_fields(schema, metadata_type(schema.find_path({"properties", "metadata"})));
      fields[0].required = fields[1].required = true;
    }
    add_properties(schema, fields, type.embedded_resource);
    if (!fields.empty()) type.fields = storage_.fields.emplace_back(std::move(fields));
  }

  void add_properties(const json::Value& schema, std::vector<Field>& fields, bool embedded) {
    if (!has_properties(schema)) return;
    for (const auto& [name, property] : schema.find("properties")->as_object()) {
      if (embedded && (name == "apiVersion" || name == "kind" || name == "metadata")) continue;
      if (!property.is_object()) continue;
      Field field;
      field.name = storage_.keep(name);
      field.type = store(convert(property));
      field.doc = storage_.keep(text(property, "description"));
      if (const json::Value* value = property.find("default"))
        field.default_json = storage_.keep(json::write(*value));
      field.required = is_required(schema, name);
      fields.push_back(field);
    }
  }

  static bool is_required(const json::Value& schema, std::string_view name) {
    if (const json::Array* required = array(schema, "required"))
      for (const json::Value& item : *required)
        if (item.string_or({}) == name) return true;
    return false;
  }

  void convert_array(const json::Value& schema, Type& type) {
    type.kind = Kind::kList;
    const json::Value* items = schema.find("items");
    type.element = items != nullptr && items->is_object() ? convert_element(*items) : &kAnyType;
    const std::string_view list_type = text(schema, "x-kubernetes-list-type");
    type.list_type_given = !list_type.empty();
    if (list_type == "set") type.list_type = ListType::kSet;
    if (list_type == "map") type.list_type = ListType::kMap;
    if (const json::Array* keys = array(schema, "x-kubernetes-list-map-keys")) {
      auto& names = storage_.names.emplace_back();
      for (const json::Value& key : *keys) names.push_back(storage_.keep(key.string_or({})));
      type.list_map_keys = names;
    }
  }

  // Items and map values keep description and default at the type: they have no field.
  TypeRef convert_element(const json::Value& schema) {
    Type type = convert(schema);
    type.doc = storage_.keep(text(schema, "description"));
    if (const json::Value* value = schema.find("default"))
      type.default_json = storage_.keep(json::write(*value));
    return store(type);
  }

  // An element of a junctor: limits, required members and nothing else.
  TypeRef convert_part(const json::Value& schema) {
    Type type;
    std::vector<Field> fields;
    if (const json::Value* properties = schema.find("properties");
        properties != nullptr && properties->is_object()) {
      for (const auto& [name, property] : properties->as_object()) {
        Field field;
        field.name = storage_.keep(name);
        field.type = convert_part(property);
        field.required = is_required(schema, name);
        fields.push_back(field);
      }
    }
    add_bare_required(schema, fields);
    if (!fields.empty()) type.fields = storage_.fields.emplace_back(std::move(fields));
    if (const json::Value* items = schema.find("items")) type.element = convert_part(*items);
    type.constraints = convert_constraints(schema, Kind::kAny);
    return store_part(type);
  }

  // Required members without a property of their own.
  void add_bare_required(const json::Value& schema, std::vector<Field>& fields) {
    const json::Array* required = array(schema, "required");
    if (required == nullptr) return;
    for (const json::Value& item : *required) {
      const std::string_view name = item.string_or({});
      bool known = false;
      for (const Field& field : fields) known = known || field.name == name;
      if (known || name.empty()) continue;
      Field field;
      field.name = storage_.keep(name);
      field.type = &kAnyType;
      field.required = true;
      fields.push_back(field);
    }
  }

  TypeRef store_part(Type type) { return &storage_.types.emplace_back(type); }

  std::span<const Rule> convert_rules(const json::Value& schema) {
    const json::Array* list = array(schema, "x-kubernetes-validations");
    if (list == nullptr || list->empty()) return {};
    auto& rules = storage_.rules.emplace_back();
    for (const json::Value& item : *list) {
      Rule rule;
      rule.rule = storage_.keep(text(item, "rule"));
      rule.message = storage_.keep(text(item, "message"));
      rule.message_expression = storage_.keep(text(item, "messageExpression"));
      rule.reason = storage_.keep(text(item, "reason"));
      rule.field_path = storage_.keep(text(item, "fieldPath"));
      rule.optional_old_self = flag(item, "optionalOldSelf");
      rules.push_back(rule);
    }
    return rules;
  }

  // int-or-string schemas carry anyOf [{type: integer}, {type: string}] as a decoration.
  static bool is_int_or_string_decoration(const json::Value& part) {
    if (!part.is_object()) return false;
    if (part.as_object().size() != 1) return false;
    const std::string_view type = text(part, "type");
    if (type == "integer" || type == "string") return true;
    const json::Array* inner = array(part, "anyOf");
    if (inner == nullptr) return false;
    for (const json::Value& item : *inner)
      if (!is_int_or_string_decoration(item)) return false;
    return true;
  }

  std::span<const TypeRef> convert_parts(const json::Value& schema, std::string_view name,
                                         bool int_or_string) {
    const json::Array* list = array(schema, name);
    if (list == nullptr) return {};
    std::vector<TypeRef> parts;
    for (const json::Value& part : *list) {
      if (int_or_string && is_int_or_string_decoration(part)) continue;
      parts.push_back(convert_part(part));
    }
    if (parts.empty()) return {};
    return storage_.parts.emplace_back(std::move(parts));
  }

  const Constraints* convert_constraints(const json::Value& schema, Kind kind) {
    static constexpr std::string_view kKeywords[] = {
        "minimum",  "maximum", "multipleOf", "minLength", "maxLength",     "minItems",
        "maxItems", "pattern", "format",     "enum",      "minProperties", "maxProperties",
        "allOf",    "anyOf",   "oneOf",      "not",       "uniqueItems",   "required"};
    bool any = false;
    for (std::string_view keyword : kKeywords) any = any || schema.find(keyword) != nullptr;
    if (!any) return nullptr;
    Constraints c;
    c.minimum = number(schema, "minimum");
    c.maximum = number(schema, "maximum");
    c.exclusive_minimum = flag(schema, "exclusiveMinimum");
    c.exclusive_maximum = flag(schema, "exclusiveMaximum");
    c.multiple_of = number(schema, "multipleOf");
    c.min_length = integer(schema, "minLength");
    c.max_length = integer(schema, "maxLength");
    c.min_items = integer(schema, "minItems");
    c.max_items = integer(schema, "maxItems");
    c.min_properties = integer(schema, "minProperties");
    c.max_properties = integer(schema, "maxProperties");
    c.unique_items = flag(schema, "uniqueItems");
    c.pattern = storage_.keep(text(schema, "pattern"));
    // The format of an int32 is in its kind.
    if (kind != Kind::kInt32) c.format = storage_.keep(text(schema, "format"));
    if (const json::Array* values = array(schema, "enum"); values != nullptr && !values->empty()) {
      auto& texts = storage_.names.emplace_back();
      for (const json::Value& value : *values) texts.push_back(storage_.keep(json::write(value)));
      c.enum_values = texts;
    }
    const bool int_or_string = kind == Kind::kIntOrString;
    c.all_of = convert_parts(schema, "allOf", int_or_string);
    c.any_of = convert_parts(schema, "anyOf", int_or_string);
    c.one_of = convert_parts(schema, "oneOf", int_or_string);
    if (const json::Value* part = schema.find("not"); part != nullptr && part->is_object())
      c.not_ = convert_part(*part);
    if (kind == Kind::kStruct || kind == Kind::kMap) add_unlisted_required(schema, c);
    if (is_empty(c)) return nullptr;
    return &storage_.constraints.emplace_back(c);
  }

  // Required members a struct has no property for: only possible to satisfy where unknown members
  // are preserved. Kept as a part of allOf, for a Field would make them known.
  void add_unlisted_required(const json::Value& schema, Constraints& c) {
    const json::Array* required = array(schema, "required");
    if (required == nullptr) return;
    std::vector<Field> fields;
    for (const json::Value& item : *required) {
      const std::string_view name = item.string_or({});
      if (name.empty() || schema.find_path({"properties", name}) != nullptr) continue;
      if (name == "apiVersion" || name == "kind" || name == "metadata") continue;
      Field field;
      field.name = storage_.keep(name);
      field.type = &kAnyType;
      field.required = true;
      fields.push_back(field);
    }
    if (fields.empty()) return;
    Type part;
    part.fields = storage_.fields.emplace_back(std::move(fields));
    std::vector<TypeRef> parts(c.all_of.begin(), c.all_of.end());
    parts.push_back(store_part(part));
    c.all_of = storage_.parts.emplace_back(std::move(parts));
  }

  static bool is_empty(const Constraints& c) {
    return !c.minimum && !c.maximum && !c.multiple_of && !c.min_length && !c.max_length &&
           !c.min_items && !c.max_items && !c.min_properties && !c.max_properties &&
           !c.unique_items && c.pattern.empty() && c.format.empty() && c.enum_values.empty() &&
           c.all_of.empty() && c.any_of.empty() && c.one_of.empty() && !c.not_;
  }

  DynamicSchema::Storage& storage_;
  TypeRef object_meta_;
};

}  // namespace

DynamicSchema::DynamicSchema() : storage_(std::make_unique<Storage>()) {}
DynamicSchema::~DynamicSchema() = default;

std::shared_ptr<const DynamicSchema> DynamicSchema::build(const json::Value& schema,
                                                          TypeRef object_meta,
                                                          std::string_view group,
                                                          std::string_view version,
                                                          std::string_view kind) {
  std::shared_ptr<DynamicSchema> built(new DynamicSchema());
  built->root_ =
      Builder(*built->storage_, object_meta).root(schema, root_name(group, version, kind));
  return built;
}

struct Crd::Storage {
  json::Value definition;  // texts of the ResourceInfos point into it
  std::vector<std::shared_ptr<const DynamicSchema>> schemas;
  std::deque<std::vector<std::string_view>> names;
  std::deque<std::vector<PrinterColumn>> columns;
  std::deque<std::string> texts;
};

Crd::Crd() : storage_(std::make_unique<Storage>()) {}
Crd::~Crd() = default;

const CrdVersion* Crd::version(std::string_view name) const {
  for (const CrdVersion& v : versions_)
    if (v.resource.version == name) return &v;
  return nullptr;
}

const CrdVersion* Crd::storage_version() const {
  for (const CrdVersion& v : versions_)
    if (v.storage) return &v;
  return nullptr;
}

namespace {

// The definition is kept for its texts; the schemas, most of its bytes, live on as Types.
json::Value without_schemas(json::Value definition) {
  if (json::Value* versions = definition.find_path({"spec", "versions"});
      versions != nullptr && versions->is_array())
    for (json::Value& version : versions->as_array()) version.erase_path({"schema"});
  return definition;
}

std::vector<std::string_view> text_list(const json::Value* list) {
  std::vector<std::string_view> out;
  if (list != nullptr && list->is_array())
    for (const json::Value& item : list->as_array()) out.push_back(item.string_or({}));
  return out;
}

std::vector<PrinterColumn> printer_columns(const json::Value& version) {
  static constexpr PrinterColumn kAge{
      .name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"};
  std::vector<PrinterColumn> columns;
  const json::Array* list = array(version, "additionalPrinterColumns");
  if (list == nullptr || list->empty()) return {kAge};
  for (const json::Value& item : *list) {
    PrinterColumn column;
    column.name = text(item, "name");
    column.type = text(item, "type");
    column.json_path = text(item, "jsonPath");
    column.priority = static_cast<int32_t>(integer(item, "priority").value_or(0));
    column.format = text(item, "format");
    column.doc = text(item, "description");
    columns.push_back(column);
  }
  return columns;
}

std::string deprecation_text(const json::Value& version, std::string_view group,
                             std::string_view kind) {
  if (!flag(version, "deprecated")) return {};
  const std::string_view own = text(version, "deprecationWarning");
  if (!own.empty()) return std::string(own);
  return fmt::format("{}/{} {} is deprecated", group, text(version, "name"), kind);
}

}  // namespace

Result<std::shared_ptr<const Crd>> Crd::build(const json::Value& definition, TypeRef object_meta) {
  std::shared_ptr<Crd> crd(new Crd());
  Storage& storage = *crd->storage_;
  storage.definition = without_schemas(definition);
  const json::Value& kept = storage.definition;
  const json::Value* spec = kept.find("spec");
  const json::Value* names = spec != nullptr ? spec->find("names") : nullptr;
  const json::Array* versions = spec != nullptr ? array(*spec, "versions") : nullptr;
  if (names == nullptr || versions == nullptr || versions->empty())
    return make_error(ErrorCode::kInvalid,
                      "a CustomResourceDefinition needs spec.names and spec.versions");
  ResourceInfo common;
  common.group = text(*spec, "group");
  common.kind = text(*names, "kind");
  common.plural = text(*names, "plural");
  common.singular = text(*names, "singular");
  if (common.group.empty() || common.kind.empty() || common.plural.empty())
    return make_error(ErrorCode::kInvalid,
                      "a CustomResourceDefinition needs spec.group, spec.names.kind and "
                      "spec.names.plural");
  if (common.singular.empty()) {
    std::string& singular = storage.texts.emplace_back(common.kind);
    for (char& c : singular)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    common.singular = singular;
  }
  common.namespaced = text(*spec, "scope") != "Cluster";
  common.short_names = storage.names.emplace_back(text_list(names->find("shortNames")));
  common.categories = storage.names.emplace_back(text_list(names->find("categories")));
  for (size_t i = 0; i < versions->size(); ++i) {
    const json::Value& item = (*versions)[i];
    CrdVersion version;
    version.resource = common;
    ResourceInfo& info = version.resource;
    info.version = text(item, "name");
    version.served = flag(item, "served");
    version.storage = flag(item, "storage");
    version.deprecation_warning = deprecation_text(item, info.group, info.kind);
    info.has_status = item.find_path({"subresources", "status"}) != nullptr;
    if (const json::Value* scale = item.find_path({"subresources", "scale"}))
      info.scale = ScalePaths{text(*scale, "specReplicasPath"), text(*scale, "statusReplicasPath"),
                              text(*scale, "labelSelectorPath")};
    info.columns = storage.columns.emplace_back(printer_columns(item));
    auto& selectable = storage.names.emplace_back();
    if (const json::Array* fields = array(item, "selectableFields"))
      for (const json::Value& field : *fields) selectable.push_back(text(field, "jsonPath"));
    info.selectable_fields = selectable;
    static const json::Value kNothing = json::Value::object();
    const json::Value* schema = definition.find_path({"spec", "versions"})
                                    ->as_array()[i]
                                    .find_path({"schema", "openAPIV3Schema"});
    storage.schemas.push_back(DynamicSchema::build(
        schema != nullptr ? *schema : kNothing, object_meta, info.group, info.version, info.kind));
    info.type = &storage.schemas.back()->root();
    crd->versions_.push_back(std::move(version));
  }
  return std::shared_ptr<const Crd>(std::move(crd));
}

}  // namespace kueue::schema
