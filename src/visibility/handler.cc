#include "visibility/handler.h"

#include <algorithm>
#include <charconv>

#include "api/registry.h"
#include "json/json.h"
#include "schema/openapi.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::visibility {
namespace {

using json::Value;

constexpr std::string_view kGroup = "visibility.kueue.x-k8s.io";
// The preferred one first.
constexpr std::string_view kVersions[] = {"v1beta2", "v1beta1"};
constexpr std::string_view kPendingWorkloads = "pendingworkloads";
constexpr std::string_view kExplanation = "explanation";
constexpr int64_t kDefaultLimit = 1000;
constexpr int64_t kMaxLimit = 100'000;

std::string group_version(std::string_view version) {
  return std::string(kGroup) + "/" + std::string(version);
}

Value version_entry(std::string_view version) {
  return Value::object({{"groupVersion", group_version(version)}, {"version", version}});
}

void add_group(Value& to) {
  to["name"] = kGroup;
  Value& versions = to["versions"];
  versions = Value::array();
  for (const std::string_view version : kVersions)
    versions.as_array().push_back(version_entry(version));
  to["preferredVersion"] = version_entry(kVersions[0]);
}

Value group_list(const std::string& address) {
  Value group = Value::object();
  add_group(group);
  group["serverAddressByClientCIDRs"] =
      Value::array({Value::object({{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", address}})});
  return Value::object({{"kind", "APIGroupList"}, {"groups", Value::array({std::move(group)})}});
}

Value api_group() {
  Value group = Value::object({{"kind", "APIGroup"}, {"apiVersion", "v1"}});
  add_group(group);
  return group;
}

Value resource_list(std::string_view version) {
  Value resources = Value::array();
  for (const auto& [plural, singular, namespaced] :
       {std::tuple{"clusterqueues", "clusterqueue", false},
        std::tuple{"localqueues", "localqueue", true}}) {
    resources.as_array().push_back(Value::object({{"name", plural},
                                                  {"singularName", singular},
                                                  {"namespaced", namespaced},
                                                  {"kind", "PendingWorkloadsSummary"},
                                                  {"verbs", Value::array()}}));
    resources.as_array().push_back(
        Value::object({{"name", std::string(plural) + "/" + std::string(kPendingWorkloads)},
                       {"singularName", ""},
                       {"namespaced", namespaced},
                       {"kind", "PendingWorkloadsSummary"},
                       {"verbs", Value::array({"get"})}}));
  }
  return Value::object({{"kind", "APIResourceList"},
                        {"apiVersion", "v1"},
                        {"groupVersion", group_version(version)},
                        {"resources", std::move(resources)}});
}

bool known_version(std::string_view version) {
  return std::find(std::begin(kVersions), std::end(kVersions), version) != std::end(kVersions);
}

// Of PendingWorkloads, with the one operation each queue has. Both versions have the same fields;
// there are tables of the newer one, so the older is that under its own name.
Value openapi_of(std::string_view version) {
  constexpr std::string_view kTables = kVersions[0];
  std::vector<const schema::ResourceInfo*> infos;
  for (const schema::ResourceInfo* info : api::other_resources())
    if (info->group == kGroup && info->version == kTables) infos.push_back(info);
  Value document = schema::openapi_document(kGroup, kTables, infos, &api::find_type);
  document["info"]["title"] = "Kueue visibility-server";
  if (version == kTables) return document;
  std::string text = json::write(document);
  for (size_t at = text.find(kTables); at != std::string::npos; at = text.find(kTables, at))
    text.replace(at, kTables.size(), version);
  return json::parse(text).value();
}

Value openapi_index() {
  std::vector<schema::OpenApiIndexEntry> entries;
  for (const std::string_view version : kVersions)
    entries.push_back({.path = "apis/" + group_version(version), .hash = KUEUE_VERSION});
  return schema::openapi_index(entries);
}

// Of old clients and the aggregator, which fetch it whether or not they need it.
Value openapi_v2() {
  return Value::object(
      {{"swagger", "2.0"},
       {"info", Value::object({{"title", "Kueue visibility-server"}, {"version", KUEUE_VERSION}})},
       {"paths", Value::object()}});
}

// A number of the query; `fallback` when it is absent.
Result<int64_t> number_of(const wire::Request& request, std::string_view key, int64_t fallback) {
  const std::string_view text = request.query_value(key);
  if (text.empty()) return fallback;
  int64_t number = 0;
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range)
    return make_error(
        ErrorCode::kBadRequest,
        "strconv.ParseInt: parsing " + json::write(Value(text)) + ": value out of range");
  if (error != std::errc() || end != digits.data() + digits.size())
    return make_error(ErrorCode::kBadRequest,
                      "strconv.ParseInt: parsing " + json::write(Value(text)) + ": invalid syntax");
  return number;
}

Value item_of(const Pending& pending) {
  Value metadata = Value::object({{"name", pending.name}, {"namespace", pending.namespace_}});
  if (!pending.created.is_zero()) metadata["creationTimestamp"] = format_time(pending.created);
  if (!pending.owners.empty()) {
    Value& owners = metadata["ownerReferences"];
    owners = Value::array();
    for (const Owner& owner : pending.owners)
      owners.as_array().push_back(Value::object({{"apiVersion", owner.api_version},
                                                 {"kind", owner.kind},
                                                 {"name", owner.name},
                                                 {"uid", owner.uid}}));
  }
  return Value::object({{"metadata", std::move(metadata)},
                        {"priority", pending.priority},
                        {"localQueueName", pending.local_queue},
                        {"positionInClusterQueue", pending.position_in_cluster_queue},
                        {"positionInLocalQueue", pending.position_in_local_queue}});
}

std::string verb_of(const std::string& method) {
  std::string verb = method == "POST" ? "create" : method == "PUT" ? "update" : method;
  for (char& c : verb)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return verb;
}

// What a SubjectAccessReview is to decide.
Value attributes_of(const wire::Request& request, const std::optional<wire::ResourcePath>& path) {
  if (!path || path->resource.empty())
    return Value::object(
        {{"nonResourceAttributes",
          Value::object({{"path", request.path}, {"verb", verb_of(request.method)}})}});
  Value attributes = Value::object({{"group", path->group},
                                    {"version", path->version},
                                    {"resource", path->resource},
                                    {"verb", verb_of(request.method)}});
  if (!path->namespace_.empty()) attributes["namespace"] = path->namespace_;
  if (!path->name.empty()) attributes["name"] = path->name;
  if (!path->subresource.empty()) attributes["subresource"] = path->subresource;
  return Value::object({{"resourceAttributes", std::move(attributes)}});
}

Error refusal(const wire::Identity& user, const wire::Request& request,
              const std::optional<wire::ResourcePath>& path) {
  const std::string who = "User \"" + user.user + "\" cannot " + verb_of(request.method);
  if (!path || path->resource.empty())
    return make_error(ErrorCode::kForbidden,
                      "forbidden: " + who + " path \"" + request.path + "\"");
  std::string what = path->resource;
  if (!path->subresource.empty()) what += "/" + path->subresource;
  const std::string where = path->namespace_.empty()
                                ? " at the cluster scope"
                                : " in the namespace \"" + path->namespace_ + "\"";
  return wire::forbidden(
      path->group, path->resource, path->name,
      who + " resource \"" + what + "\" in API group \"" + path->group + "\"" + where);
}

wire::Response ok_text() {
  wire::Response response;
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.body = "ok";
  return response;
}

// Everything that is no list of pending workloads; nullopt when the path is unknown.
std::optional<Value> document_at(std::string_view path, const std::string& address) {
  const std::string root = "/apis/" + std::string(kGroup);
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/") {
    Value paths = Value::array({"/apis", root});
    for (const std::string_view version : kVersions)
      paths.as_array().emplace_back("/apis/" + group_version(version));
    for (const char* other : {"/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz"})
      paths.as_array().emplace_back(other);
    return Value::object({{"paths", std::move(paths)}});
  }
  if (path == "/apis") return group_list(address);
  if (path == root) return api_group();
  if (path == "/openapi/v2") return openapi_v2();
  if (path == "/openapi/v3") return openapi_index();
  if (path == "/version") return Value::object({{"gitVersion", "v" KUEUE_VERSION}});
  for (const std::string_view version : kVersions) {
    if (path == "/apis/" + group_version(version)) return resource_list(version);
    if (path == "/openapi/v3/apis/" + group_version(version)) return openapi_of(version);
  }
  return std::nullopt;
}

}  // namespace

Handler::Handler(Source& source, Access& access, std::string address)
    : source_(source), access_(access), address_(std::move(address)) {}

void Handler::handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  sink->respond(answer(request));
}

wire::Response Handler::answer(const wire::Request& request) {
  if (request.path == "/healthz" || request.path == "/livez" || request.path == "/readyz")
    return ok_text();
  const auto user = access_.authenticate(request);
  if (!user.ok()) return wire::error_response(user.error());
  const auto path = wire::parse_resource_path(request.path);
  const auto allowed = access_.allowed(*user, attributes_of(request, path));
  if (!allowed.ok()) return wire::error_response(wire::internal_error(allowed.error().message));
  if (!*allowed) return wire::error_response(refusal(*user, request, path));
  const bool queue = path && path->group == kGroup && known_version(path->version) &&
                     path->subresource == kPendingWorkloads && !path->name.empty() &&
                     ((path->resource == "clusterqueues" && path->namespace_.empty()) ||
                      (path->resource == "localqueues" && !path->namespace_.empty()));
  const bool explained = path && path->group == kGroup && path->version == kVersions[0] &&
                         path->resource == "workloads" && path->subresource == kExplanation &&
                         !path->namespace_.empty() && !path->name.empty();
  std::optional<Value> document;
  if (!queue && !explained) document = document_at(request.path, address_);
  if (!queue && !explained && !document) {
    Value status = wire::status_from_error(wire::unknown_path());
    status["details"] = Value::object();
    return wire::json_response(status, 404);
  }
  if (request.method != "GET")
    return wire::error_response(wire::method_not_allowed(
        kGroup, document ? std::string("documents") : path->resource, verb_of(request.method)));
  if (explained) return explanation(path->namespace_, path->name);
  if (queue) return pending(request, path->version, path->namespace_, path->resource, path->name);
  return wire::json_response(*document);
}

wire::Response Handler::explanation(const std::string& namespace_, const std::string& name) {
  const std::optional<Value> found = source_.explanation(namespace_, name);
  if (!found) return wire::error_response(wire::not_found(kGroup, "workloads", name));
  return wire::json_response(*found);
}

wire::Response Handler::pending(const wire::Request& request, std::string_view version,
                                std::string_view namespace_, std::string_view resource,
                                std::string_view name) {
  const auto asked = number_of(request, "limit", 0);
  if (!asked.ok()) return wire::error_response(asked.error());
  const auto from = number_of(request, "offset", 0);
  if (!from.ok()) return wire::error_response(from.error());
  const auto limit =
      static_cast<size_t>(std::clamp<int64_t>(*asked == 0 ? kDefaultLimit : *asked, 0, kMaxLimit));
  const auto offset = static_cast<size_t>(std::max<int64_t>(*from, 0));
  const bool local = resource == "localqueues";
  const auto found = local ? source_.of_local_queue(namespace_, name, offset, limit)
                           : source_.of_cluster_queue(name, offset, limit);
  if (!found)
    return wire::error_response(
        wire::not_found(kGroup, local ? "localqueue" : "clusterqueue", name));
  Value items = Value::array();
  items.as_array().reserve(found->size());
  for (const Pending& one : *found) items.as_array().push_back(item_of(one));
  return wire::json_response(Value::object({{"kind", "PendingWorkloadsSummary"},
                                            {"apiVersion", group_version(version)},
                                            {"metadata", Value::object()},
                                            {"items", std::move(items)}}));
}

}  // namespace kueue::visibility
