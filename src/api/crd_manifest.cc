// Field tables to CustomResourceDefinitions.
#include "api/crd_manifest.h"

#include <algorithm>

#include "api/registry.h"
#include "json/json.h"

namespace kueue::api {
namespace {

using json::Value;
using schema::Constraints;
using schema::Field;
using schema::Kind;
using schema::Type;

constexpr std::string_view kQuantityPattern =
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
    "([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

// Tables hold JSON texts that the generator wrote.
Value trusted_json(std::string_view text) {
  Result<Value> value = json::parse(text);
  KUEUE_CHECK(value.ok(), "a table holds broken JSON");
  return std::move(*value);
}

Value strings(std::span<const std::string_view> texts) {
  json::Array items;
  for (std::string_view text : texts) items.emplace_back(text);
  return items;
}

void set_number(json::Object& out, std::string_view key, std::optional<double> number) {
  if (!number) return;
  const auto whole = static_cast<int64_t>(*number);
  out.set(key, static_cast<double>(whole) == *number ? Value(whole) : Value(*number));
}

void set_count(json::Object& out, std::string_view key, std::optional<int64_t> count) {
  if (count) out.set(key, *count);
}

void add_constraints(json::Object& out, const Constraints& c) {
  set_number(out, "minimum", c.minimum);
  set_number(out, "maximum", c.maximum);
  if (c.exclusive_minimum) out.set("exclusiveMinimum", true);
  if (c.exclusive_maximum) out.set("exclusiveMaximum", true);
  set_number(out, "multipleOf", c.multiple_of);
  set_count(out, "minLength", c.min_length);
  set_count(out, "maxLength", c.max_length);
  set_count(out, "minItems", c.min_items);
  set_count(out, "maxItems", c.max_items);
  set_count(out, "minProperties", c.min_properties);
  set_count(out, "maxProperties", c.max_properties);
  if (c.unique_items) out.set("uniqueItems", true);
  if (!c.pattern.empty()) out.set("pattern", c.pattern);
  if (!c.format.empty()) out.set("format", c.format);
  if (!c.enum_values.empty()) {
    json::Array values;
    for (std::string_view text : c.enum_values) values.push_back(trusted_json(text));
    out.set("enum", std::move(values));
  }
}

void add_rules(json::Object& out, std::span<const schema::Rule> rules) {
  if (rules.empty()) return;
  json::Array items;
  for (const schema::Rule& rule : rules) {
    json::Object item;
    if (!rule.field_path.empty()) item.set("fieldPath", rule.field_path);
    if (!rule.message.empty()) item.set("message", rule.message);
    if (!rule.message_expression.empty()) item.set("messageExpression", rule.message_expression);
    if (rule.optional_old_self) item.set("optionalOldSelf", true);
    if (!rule.reason.empty()) item.set("reason", rule.reason);
    item.set("rule", rule.rule);
    items.emplace_back(std::move(item));
  }
  out.set("x-kubernetes-validations", std::move(items));
}

void set_type(json::Object& out, std::string_view type, std::string_view format = {}) {
  out.set("type", type);
  if (!format.empty()) out.set("format", format);
}

// type, format and what belongs to the kind itself.
void add_kind(json::Object& out, const Type& type) {
  switch (type.kind) {
    case Kind::kAny:
      return;
    case Kind::kBool:
      return set_type(out, "boolean");
    case Kind::kInt32:
      return set_type(out, "integer", "int32");
    case Kind::kInt64:
      return set_type(out, "integer", "int64");
    case Kind::kDouble:
      return set_type(out, "number", "double");
    case Kind::kString:
    case Kind::kDuration:
      return set_type(out, "string");
    case Kind::kBytes:
      return set_type(out, "string", "byte");
    case Kind::kTime:
    case Kind::kMicroTime:
      return set_type(out, "string", "date-time");
    case Kind::kStruct:
    case Kind::kMap:
      return set_type(out, "object");
    case Kind::kList:
      return set_type(out, "array");
    case Kind::kQuantity:
      out.set("pattern", kQuantityPattern);
      [[fallthrough]];
    case Kind::kIntOrString:
      out.set("anyOf", Value::array({Value::object({{"type", "integer"}}),
                                     Value::object({{"type", "string"}})}));
      out.set("x-kubernetes-int-or-string", true);
      return;
  }
}

void add_list(json::Object& out, const Type& type) {
  if (!type.list_map_keys.empty())
    out.set("x-kubernetes-list-map-keys", strings(type.list_map_keys));
  switch (type.list_type) {
    case schema::ListType::kAtomic:
      if (type.list_type_given) out.set("x-kubernetes-list-type", "atomic");
      return;
    case schema::ListType::kSet:
      out.set("x-kubernetes-list-type", "set");
      return;
    case schema::ListType::kMap:
      out.set("x-kubernetes-list-type", "map");
      return;
  }
}

Value property(const Field& field, bool descriptions, bool root) {
  // The API server checks metadata itself; a structural schema must not spell it out.
  if (root && field.name == "metadata") return Value::object({{"type", "object"}});
  Value schema = crd_schema(*field.type, descriptions, /*root=*/false);
  if (!field.default_json.empty()) schema["default"] = trusted_json(field.default_json);
  if (descriptions && !field.doc.empty()) schema["description"] = Value(field.doc);
  return schema;
}

Value columns(std::span<const schema::PrinterColumn> columns) {
  json::Array items;
  for (const schema::PrinterColumn& column : columns) {
    json::Object item;
    if (!column.format.empty()) item.set("format", column.format);
    item.set("jsonPath", column.json_path);
    item.set("name", column.name);
    if (column.priority != 0) item.set("priority", static_cast<int64_t>(column.priority));
    item.set("type", column.type);
    items.emplace_back(std::move(item));
  }
  return items;
}

Value version(const schema::ResourceInfo& info, bool descriptions) {
  json::Object out;
  if (!info.columns.empty()) out.set("additionalPrinterColumns", columns(info.columns));
  if (info.deprecated) out.set("deprecated", true);
  if (!info.deprecation_warning.empty()) out.set("deprecationWarning", info.deprecation_warning);
  out.set("name", info.version);
  out.set(
      "schema",
      Value::object({{"openAPIV3Schema", crd_schema(*info.type, descriptions, /*root=*/true)}}));
  if (!info.selectable_fields.empty()) {
    json::Array fields;
    for (std::string_view path : info.selectable_fields)
      fields.push_back(Value::object({{"jsonPath", path}}));
    out.set("selectableFields", std::move(fields));
  }
  out.set("served", true);
  out.set("storage", info.storage);
  json::Object subresources;
  if (info.has_status) subresources.set("status", Value::object());
  if (info.scale) {
    Value scale = Value::object({{"specReplicasPath", info.scale->spec_replicas},
                                 {"statusReplicasPath", info.scale->status_replicas}});
    if (!info.scale->label_selector.empty())
      scale["labelSelectorPath"] = Value(info.scale->label_selector);
    subresources.set("scale", std::move(scale));
  }
  if (!subresources.empty()) out.set("subresources", std::move(subresources));
  return out;
}

Value manifest(std::span<const schema::ResourceInfo* const> versions, const CrdOptions& options) {
  const schema::ResourceInfo& info = *versions.front();
  Value names = Value::object({{"kind", info.kind},
                               {"listKind", std::string(info.kind) + "List"},
                               {"plural", info.plural},
                               {"singular", info.singular}});
  if (!info.short_names.empty()) names["shortNames"] = strings(info.short_names);
  if (!info.categories.empty()) names["categories"] = strings(info.categories);
  Value spec = Value::object({{"group", info.group},
                              {"names", std::move(names)},
                              {"scope", info.namespaced ? "Namespaced" : "Cluster"}});
  if (options.conversion_client_config != nullptr && needs_conversion(info.kind)) {
    spec["conversion"] = Value::object(
        {{"strategy", "Webhook"},
         {"webhook", Value::object({{"clientConfig", *options.conversion_client_config},
                                    {"conversionReviewVersions", Value::array({"v1"})}})}});
  }
  json::Array list;
  for (const schema::ResourceInfo* one : versions)
    list.push_back(version(*one, options.descriptions));
  spec["versions"] = Value(std::move(list));
  return Value::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                        {"kind", "CustomResourceDefinition"},
                        {"metadata", Value::object({{"name", std::string(info.plural) + "." +
                                                                 std::string(info.group)}})},
                        {"spec", std::move(spec)}});
}

}  // namespace

json::Value crd_schema(const schema::Type& type, bool descriptions, bool root) {
  json::Object out;
  if (descriptions && !type.doc.empty()) out.set("description", type.doc);
  add_kind(out, type);
  if (type.kind == Kind::kMap)
    out.set("additionalProperties", crd_schema(*type.element, descriptions, false));
  if (type.kind == Kind::kList) {
    out.set("items", crd_schema(*type.element, descriptions, false));
    add_list(out, type);
  }
  if (type.kind == Kind::kStruct && !type.fields.empty()) {
    json::Object properties;
    json::Array required;
    for (const Field& field : type.fields) {
      properties.append(std::string(field.name), property(field, descriptions, root));
      if (field.required) required.emplace_back(field.name);
    }
    out.set("properties", std::move(properties));
    if (!required.empty()) out.set("required", std::move(required));
  }
  if (!type.default_json.empty()) out.set("default", trusted_json(type.default_json));
  if (type.nullable) out.set("nullable", true);
  if (type.atomic_map) out.set("x-kubernetes-map-type", "atomic");
  if (type.preserve_unknown) out.set("x-kubernetes-preserve-unknown-fields", true);
  if (type.embedded_resource) out.set("x-kubernetes-embedded-resource", true);
  if (type.constraints != nullptr) add_constraints(out, *type.constraints);
  add_rules(out, type.rules);
  return out;
}

bool needs_conversion(std::string_view kind) {
  constexpr std::string_view kKinds[] = {"ClusterQueue", "Cohort", "LocalQueue",
                                         "MultiKueueCluster", "Workload"};
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

std::vector<json::Value> crd_manifests(const CrdOptions& options) {
  std::vector<const schema::ResourceInfo*> all(kueue_resources().begin(), kueue_resources().end());
  std::sort(all.begin(), all.end(),
            [](const schema::ResourceInfo* a, const schema::ResourceInfo* b) {
              return std::pair(a->plural, a->version) < std::pair(b->plural, b->version);
            });
  std::vector<json::Value> manifests;
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    while (end < all.size() && all[end]->plural == all[i]->plural) ++end;
    manifests.push_back(manifest(std::span(all).subspan(i, end - i), options));
    i = end;
  }
  return manifests;
}

}  // namespace kueue::api
