#include "schema/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "schema/walk.h"

namespace kueue::schema {
namespace {

using json::Value;

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

void set(Value& object, std::string_view key, Value value) {
  object.as_object().append(std::string(key), std::move(value));
}

std::string capital(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

// "batch", "core", "exCom", "kueueXK8sIo"; groups of Kubernetes lose their domain.
std::string group_word(std::string_view group) {
  if (group.empty()) return "core";
  if (group.ends_with(".k8s.io") && group != "kueue.x-k8s.io" &&
      group.find(".x-") == std::string_view::npos && group.find("x-k8s") == std::string_view::npos)
    group.remove_suffix(7);
  std::string out;
  bool upper = false;
  for (char c : group) {
    if (c == '.' || c == '-') {
      upper = true;
    } else {
      out += upper ? capital(std::string_view(&c, 1)) : std::string(1, c);
      upper = false;
    }
  }
  return out;
}

struct Parameter {
  std::string_view name;
  std::string_view type;
};

constexpr Parameter kWriteParameters[] = {
    {"dryRun", "string"}, {"fieldManager", "string"}, {"fieldValidation", "string"}};
constexpr Parameter kPatchParameters[] = {{"dryRun", "string"},
                                          {"fieldManager", "string"},
                                          {"fieldValidation", "string"},
                                          {"force", "boolean"}};
constexpr Parameter kListParameters[] = {{"allowWatchBookmarks", "boolean"},
                                         {"continue", "string"},
                                         {"fieldSelector", "string"},
                                         {"labelSelector", "string"},
                                         {"limit", "integer"},
                                         {"resourceVersion", "string"},
                                         {"resourceVersionMatch", "string"},
                                         {"sendInitialEvents", "boolean"},
                                         {"timeoutSeconds", "integer"},
                                         {"watch", "boolean"}};
constexpr Parameter kDeleteParameters[] = {
    {"dryRun", "string"},
    {"gracePeriodSeconds", "integer"},
    {"ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"},
    {"orphanDependents", "boolean"},
    {"propagationPolicy", "string"}};

Value parameters(std::span<const Parameter> list) {
  Value out = Value::array();
  for (const Parameter& p : list)
    out.as_array().push_back(
        Value::object({{"name", p.name},
                       {"in", "query"},
                       {"schema", Value::object({{"type", p.type}, {"uniqueItems", true}})}}));
  return out;
}

Value path_parameter(std::string_view name) {
  return Value::object({{"name", name},
                        {"in", "path"},
                        {"required", true},
                        {"schema", Value::object({{"type", "string"}, {"uniqueItems", true}})}});
}

class Document {
 public:
  Document(std::string_view group, std::string_view version, const FindType& find_type)
      : group_(group), version_(version), find_type_(find_type) {
    base_ = group.empty() ? fmt::format("/api/{}", version)
                          : fmt::format("/apis/{}/{}", group, version);
    tag_ = fmt::format("{}_{}", group_word(group), version);
    operation_ = capital(group_word(group)) + capital(version);
  }

  Value build(std::span<const ResourceInfo* const> resources) {
    for (std::string_view name : {"Status", "DeleteOptions", "Patch", "ListMeta"}) need_meta(name);
    for (const ResourceInfo* resource : resources) add_resource(*resource);
    write_components();
    Value schemas = Value::object();
    for (auto& [name, schema] : schemas_) set(schemas, name, std::move(schema));
    Value paths = Value::object();
    for (auto& [path, item] : paths_) set(paths, path, std::move(item));
    return Value::object(
        {{"openapi", "3.0.0"},
         {"info", Value::object({{"title", "Kubernetes"}, {"version", "1.36"}})},
         {"paths", std::move(paths)},
         {"components",
          Value::object(
              {{"schemas", std::move(schemas)},
               {"securitySchemes",
                Value::object(
                    {{"BearerToken", Value::object({{"type", "apiKey"},
                                                    {"description", "Bearer Token authentication"},
                                                    {"name", "authorization"},
                                                    {"in", "header"}})}})}})}});
  }

 private:
  static Value ref(std::string_view name) {
    return Value::object({{"$ref", fmt::format("#/components/schemas/{}", name)}});
  }

  void need_meta(std::string_view name) {
    const std::string full = fmt::format("{}{}", kMeta, name);
    const Type* type = find_type_ ? find_type_(full) : nullptr;
    if (type != nullptr) {
      pending_.push_back({type, OpenApiStyle::kBuiltin});
    } else {
      schemas_.emplace(full, Value::object({{"type", "object"}}));
    }
  }

  void add_resource(const ResourceInfo& resource) {
    const Type& type = *resource.type;
    const OpenApiStyle style = style_of(resource);
    add_kind(resource, type, style);
    add_list(resource, type);
    const std::string scope = resource.namespaced ? "/namespaces/{namespace}" : "";
    const std::string collection = fmt::format("{}{}/{}", base_, scope, resource.plural);
    paths_.insert_or_assign(collection, collection_item(resource));
    paths_.insert_or_assign(collection + "/{name}", object_item(resource, "", true));
    if (resource.has_status)
      paths_.insert_or_assign(collection + "/{name}/status",
                              object_item(resource, "Status", false));
    if (resource.namespaced)
      paths_.insert_or_assign(fmt::format("{}/{}", base_, resource.plural),
                              all_namespaces_item(resource));
  }

  Value kind_of(std::string_view kind) const {
    return Value::object({{"group", group_}, {"version", version_}, {"kind", kind}});
  }

  void add_kind(const ResourceInfo& resource, const Type& type, OpenApiStyle style) {
    std::vector<const Type*> referred;
    Value schema = openapi_schema(type, style, referred);
    enqueue(referred, style);
    set(schema, "x-kubernetes-group-version-kind", Value::array({kind_of(resource.kind)}));
    schemas_.insert_or_assign(std::string(type.name), std::move(schema));
    done_.insert(type.name);
  }

  void add_list(const ResourceInfo& resource, const Type& type) {
    Value properties = Value::object(
        {{"apiVersion", Value::object({{"type", "string"}})},
         {"items", Value::object({{"description", fmt::format("List of {}.", resource.plural)},
                                  {"type", "array"},
                                  {"items", ref(type.name)}})},
         {"kind", Value::object({{"type", "string"}})},
         {"metadata", ref(fmt::format("{}ListMeta", kMeta))}});
    schemas_.insert_or_assign(
        fmt::format("{}List", type.name),
        Value::object(
            {{"description", fmt::format("{}List is a list of {}", resource.kind, resource.kind)},
             {"type", "object"},
             {"required", Value::array({"items"})},
             {"properties", std::move(properties)},
             {"x-kubernetes-group-version-kind",
              Value::array({kind_of(fmt::format("{}List", resource.kind))})}}));
  }

  struct Pending {
    const Type* type;
    OpenApiStyle style;
  };

  void enqueue(const std::vector<const Type*>& referred, OpenApiStyle style) {
    // What ObjectMeta refers to is Kubernetes' own in any document.
    for (const Type* type : referred)
      pending_.push_back(
          {type, type->name.starts_with("io.k8s.") ? OpenApiStyle::kBuiltin : style});
  }

  void write_components() {
    while (!pending_.empty()) {
      const Pending next = pending_.back();
      pending_.pop_back();
      if (!done_.insert(next.type->name).second) continue;
      std::vector<const Type*> referred;
      Value schema = openapi_schema(*next.type, next.style, referred);
      enqueue(referred, next.style);
      schemas_.insert_or_assign(std::string(next.type->name), std::move(schema));
    }
  }

  // An answer of the given schema in every media type we write.
  static Value response(std::string_view schema, bool watches = false) {
    Value content = Value::object();
    set(content, "application/json", Value::object({{"schema", ref(schema)}}));
    if (watches)
      set(content, "application/json;stream=watch", Value::object({{"schema", ref(schema)}}));
    set(content, "application/yaml", Value::object({{"schema", ref(schema)}}));
    return Value::object({{"description", "OK"}, {"content", std::move(content)}});
  }

  Value operation(const ResourceInfo& resource, std::string id, std::string_view action,
                  Value query, Value body, Value responses) const {
    Value out = Value::object({{"tags", Value::array({tag_})}, {"operationId", std::move(id)}});
    if (!query.is_null() && !query.as_array().empty()) set(out, "parameters", std::move(query));
    if (!body.is_null()) set(out, "requestBody", std::move(body));
    set(responses, "401", Value::object({{"description", "Unauthorized"}}));
    set(out, "responses", std::move(responses));
    set(out, "x-kubernetes-action", action);
    set(out, "x-kubernetes-group-version-kind", kind_of(resource.kind));
    return out;
  }

  std::string id(std::string_view verb, const ResourceInfo& resource,
                 std::string_view suffix = {}) const {
    return fmt::format("{}{}{}{}{}", verb, operation_, resource.namespaced ? "Namespaced" : "",
                       resource.kind, suffix);
  }

  static Value object_body(std::string_view name) {
    return Value::object(
        {{"content", Value::object({{"*/*", Value::object({{"schema", ref(name)}})}})},
         {"required", true}});
  }

  static Value responses(std::initializer_list<std::string_view> codes, std::string_view schema,
                         bool watches = false) {
    Value out = Value::object();
    for (std::string_view code : codes) set(out, code, response(schema, watches));
    return out;
  }

  Value scope_parameters(const ResourceInfo& resource, bool named) const {
    Value out = Value::array();
    if (named) out.as_array().push_back(path_parameter("name"));
    if (resource.namespaced) out.as_array().push_back(path_parameter("namespace"));
    static constexpr Parameter kPretty[] = {{"pretty", "string"}};
    out.as_array().push_back(std::move(parameters(kPretty).as_array()[0]));
    return out;
  }

  Value collection_item(const ResourceInfo& resource) const {
    const std::string name(resource.type->name);
    const std::string status = fmt::format("{}Status", kMeta);
    std::vector<Parameter> sweep(std::begin(kDeleteParameters), std::end(kDeleteParameters));
    for (const Parameter& p : kListParameters)
      if (p.name != "watch" && p.name != "allowWatchBookmarks") sweep.push_back(p);
    std::sort(sweep.begin(), sweep.end(),
              [](const Parameter& a, const Parameter& b) { return a.name < b.name; });
    return Value::object(
        {{"get", operation(resource, id("list", resource), "list", parameters(kListParameters), {},
                           responses({"200"}, name + "List", true))},
         {"post", operation(resource, id("create", resource), "post", parameters(kWriteParameters),
                            object_body(name), responses({"200", "201", "202"}, name))},
         {"delete", operation(resource,
                              fmt::format("delete{}Collection{}{}", operation_,
                                          resource.namespaced ? "Namespaced" : "", resource.kind),
                              "deletecollection", parameters(sweep), delete_body(),
                              responses({"200"}, status))},
         {"parameters", scope_parameters(resource, false)}});
  }

  static Value delete_body() {
    return Value::object(
        {{"content",
          Value::object({{"*/*", Value::object({{"schema", ref(fmt::format("{}DeleteOptions",
                                                                           kMeta))}})}})}});
  }

  Value patch_body(const ResourceInfo& resource) const {
    Value content = Value::object();
    for (std::string_view type :
         {"application/apply-patch+yaml", "application/json-patch+json",
          "application/merge-patch+json", "application/strategic-merge-patch+json"}) {
      if (type.find("strategic") != std::string_view::npos &&
          style_of(resource) == OpenApiStyle::kCustom)
        continue;
      set(content, type, Value::object({{"schema", ref(fmt::format("{}Patch", kMeta))}}));
    }
    return Value::object({{"content", std::move(content)}, {"required", true}});
  }

  Value object_item(const ResourceInfo& resource, std::string_view suffix, bool deletable) const {
    const std::string name(resource.type->name);
    Value item = Value::object();
    set(item, "get",
        operation(resource, id("read", resource, suffix), "get", {}, {}, responses({"200"}, name)));
    set(item, "put",
        operation(resource, id("replace", resource, suffix), "put", parameters(kWriteParameters),
                  object_body(name), responses({"200", "201"}, name)));
    if (deletable)
      set(item, "delete",
          operation(resource, id("delete", resource), "delete", parameters(kDeleteParameters),
                    delete_body(), responses({"200", "202"}, fmt::format("{}Status", kMeta))));
    set(item, "patch",
        operation(resource, id("patch", resource, suffix), "patch", parameters(kPatchParameters),
                  patch_body(resource), responses({"200", "201"}, name)));
    set(item, "parameters", scope_parameters(resource, true));
    return item;
  }

  Value all_namespaces_item(const ResourceInfo& resource) const {
    Value query = parameters(kListParameters);
    return Value::object(
        {{"get",
          operation(resource, fmt::format("list{}{}ForAllNamespaces", operation_, resource.kind),
                    "list", {}, {},
                    responses({"200"}, fmt::format("{}List", resource.type->name), true))},
         {"parameters", std::move(query)}});
  }

  std::string_view group_;
  std::string_view version_;
  const FindType& find_type_;
  std::string base_;
  std::string tag_;
  std::string operation_;
  std::map<std::string, Value> schemas_;
  std::map<std::string, Value> paths_;
  std::set<std::string_view> done_;
  std::vector<Pending> pending_;
};

}  // namespace

OpenApiStyle style_of(const ResourceInfo& resource) {
  return resource.type && resource.type->name.starts_with("io.k8s.") ? OpenApiStyle::kBuiltin
                                                                     : OpenApiStyle::kCustom;
}

json::Value openapi_document(std::string_view group, std::string_view version,
                             std::span<const ResourceInfo* const> resources,
                             const FindType& find_type) {
  return Document(group, version, find_type).build(resources);
}

json::Value openapi_index(std::span<const OpenApiIndexEntry> entries) {
  Value paths = Value::object();
  for (const OpenApiIndexEntry& entry : entries)
    set(paths, entry.path,
        Value::object({{"serverRelativeURL",
                        fmt::format("/openapi/v3/{}?hash={}", entry.path, entry.hash)}}));
  return Value::object({{"paths", std::move(paths)}});
}

}  // namespace kueue::schema
