// Requests and discovery.
#include "cli/cluster.h"

#include <algorithm>

#include "cli/args.h"
#include "json/json.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::cli {
namespace {

constexpr Duration kTimeout = Duration::seconds(60);
constexpr const char* kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

std::vector<std::string> strings(const json::Value* list) {
  std::vector<std::string> result;
  if (list == nullptr || !list->is_array()) return result;
  for (const json::Value& one : list->as_array()) result.emplace_back(one.string_or(""));
  return result;
}

const json::Array& items(const json::Value* list) {
  static const json::Array empty;
  return list != nullptr && list->is_array() ? list->as_array() : empty;
}

bool has(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Whether "name", "name.group" or "name.version.group" means this type.
bool matches(const ResourceType& type, const std::string& word) {
  const size_t dot = word.find('.');
  const std::string name = word.substr(0, dot);
  const bool named = name == type.plural || name == type.singular || name == lower(type.kind) ||
                     has(type.short_names, name);
  if (!named) return false;
  if (dot == std::string::npos) return type.preferred;
  const std::string rest = word.substr(dot + 1);
  if (rest == type.group) return type.preferred;
  return rest == type.version + (type.group.empty() ? "" : "." + type.group);
}

}  // namespace

std::string ResourceType::object_name(std::string_view name) const {
  const std::string type = singular.empty() ? lower(kind) : singular;
  return (group.empty() ? type : type + "." + group) + "/" + std::string(name);
}

bool ResourceType::can(std::string_view verb) const { return has(verbs, verb); }

Cluster::Cluster(std::shared_ptr<wire::Transport> transport, std::string default_namespace)
    : transport_(std::move(transport)), default_namespace_(std::move(default_namespace)) {}

Result<json::Value> Cluster::request(std::string_view method, const std::string& path,
                                     const Query& query, const std::string& accept,
                                     const std::string& body, const std::string& content_type,
                                     int* code) {
  wire::Request request;
  request.method = method;
  request.path = path;
  request.query = query;
  request.headers.set("Accept", accept);
  request.body = body;
  if (!content_type.empty()) request.headers.set("Content-Type", content_type);
  KUEUE_ASSIGN(const wire::Response response, transport_->round_trip(request, kTimeout));
  if (code != nullptr) *code = response.status;
  if (response.status < 200 || response.status > 299) return wire::error_from_response(response);
  return json::parse(response.body, {.max_bytes = 1u << 30});
}

Result<std::string> Cluster::request_text(const std::string& path) {
  wire::Request request;
  request.path = path;
  KUEUE_ASSIGN(wire::Response response, transport_->round_trip(request, kTimeout));
  if (response.status < 200 || response.status > 299) return wire::error_from_response(response);
  return std::move(response.body);
}

std::string Cluster::path(const ResourceType& type, const std::string& namespace_,
                          const std::string& name, const std::string& subresource) {
  wire::ResourcePath parts;
  parts.group = type.group;
  parts.version = type.version;
  parts.namespace_ = type.namespaced ? namespace_ : "";
  parts.resource = type.plural;
  parts.name = name;
  parts.subresource = subresource;
  return wire::resource_path(parts);
}

void Cluster::add_aggregated(const json::Value& list) {
  for (const json::Value& group : items(list.find("items"))) {
    std::vector<std::string> seen;
    for (const json::Value& version : items(group.find("versions"))) {
      std::vector<std::string> seen_here;
      for (const json::Value& resource : items(version.find("resources"))) {
        ResourceType type;
        type.group = group.get_string({"metadata", "name"});
        type.version = version.get_string({"version"});
        type.plural = resource.get_string({"resource"});
        type.kind = resource.get_string({"responseKind", "kind"});
        type.singular = resource.get_string({"singularResource"});
        type.namespaced = resource.get_string({"scope"}) == "Namespaced";
        type.short_names = strings(resource.find("shortNames"));
        type.categories = strings(resource.find("categories"));
        type.verbs = strings(resource.find("verbs"));
        type.preferred = !has(seen, type.plural);
        seen_here.push_back(type.plural);
        types_->push_back(std::move(type));
      }
      seen.insert(seen.end(), seen_here.begin(), seen_here.end());
    }
  }
}

Result<void> Cluster::add_group_version(const std::string& group, const std::string& version,
                                        bool first) {
  const std::string path = group.empty() ? "/api/" + version : "/apis/" + group + "/" + version;
  auto list = request("GET", path);
  // An extension server that is down must not hide the rest.
  if (!list.ok()) return {};
  for (const json::Value& resource : items(list->find("resources"))) {
    ResourceType type;
    type.plural = resource.get_string({"name"});
    if (type.plural.find('/') != std::string::npos) continue;
    type.group = group;
    type.version = version;
    type.kind = resource.get_string({"kind"});
    type.singular = resource.get_string({"singularName"});
    type.namespaced = resource.get_bool({"namespaced"});
    type.short_names = strings(resource.find("shortNames"));
    type.categories = strings(resource.find("categories"));
    type.verbs = strings(resource.find("verbs"));
    type.preferred = first || std::none_of(types_->begin(), types_->end(), [&](const auto& t) {
                       return t.group == group && t.plural == type.plural;
                     });
    types_->push_back(std::move(type));
  }
  return {};
}

Result<void> Cluster::discover_group_versions() {
  KUEUE_TRY(add_group_version("", "v1", true));
  KUEUE_ASSIGN(const json::Value groups, request("GET", "/apis"));
  for (const json::Value& group : items(groups.find("groups"))) {
    const std::string name(group.get_string({"name"}));
    const std::string preferred(group.get_string({"preferredVersion", "version"}));
    if (!preferred.empty()) KUEUE_TRY(add_group_version(name, preferred, true));
    for (const json::Value& version : items(group.find("versions"))) {
      const std::string one(version.get_string({"version"}));
      if (one != preferred) KUEUE_TRY(add_group_version(name, one, false));
    }
  }
  return {};
}

Result<void> Cluster::discover() {
  types_.emplace();
  for (const char* path : {"/api", "/apis"}) {
    auto list = request("GET", path, {}, kAggregated);
    if (!list.ok()) {
      types_.reset();
      return std::move(list).error();
    }
    if (list->get_string({"kind"}) != "APIGroupDiscoveryList") {
      types_.emplace();
      return discover_group_versions();
    }
    add_aggregated(*list);
  }
  return {};
}

Result<const std::vector<ResourceType>*> Cluster::types() {
  if (!types_) KUEUE_TRY(discover());
  return const_cast<const std::vector<ResourceType>*>(&*types_);
}

Result<ResourceType> Cluster::find_type(const std::string& word) {
  KUEUE_ASSIGN(const auto* all, types());
  const std::string wanted = lower(word);
  std::vector<std::string_view> names;
  for (const ResourceType& type : *all) {
    if (matches(type, wanted)) return type;
    names.push_back(type.plural);
    names.push_back(type.singular);
  }
  // What people of Kueue type; its CRD's own short name is kwl.
  if (wanted == "wl")
    for (const ResourceType& type : *all)
      if (type.preferred && type.plural == "workloads" && type.group == "kueue.x-k8s.io")
        return type;
  std::string near = nearest(wanted, names);
  // "kw" for "kwl": too short for a measure of nearness.
  for (const ResourceType& type : *all) {
    for (const std::string& name : type.short_names) {
      const bool inside = wanted.size() > 1 && name.find(wanted) != std::string::npos;
      if (near.empty() && inside) near = name;
    }
  }
  return make_error(ErrorCode::kNotFound,
                    "the server doesn't have a resource type \"" + word + "\"" +
                        (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

Result<std::vector<ResourceType>> Cluster::find_types(const std::string& words) {
  std::vector<ResourceType> result;
  size_t start = 0;
  while (start <= words.size()) {
    const size_t end = std::min(words.find(',', start), words.size());
    const std::string word = words.substr(start, end - start);
    start = end + 1;
    if (word.empty())
      return make_error(ErrorCode::kInvalid, "empty resource type in \"" + words + "\"");
    KUEUE_ASSIGN(const auto* all, types());
    bool category = false;
    for (const ResourceType& type : *all) {
      if (!type.preferred || !has(type.categories, word)) continue;
      category = true;
      if (type.can("list")) result.push_back(type);
    }
    if (category) continue;
    KUEUE_ASSIGN(ResourceType type, find_type(word));
    result.push_back(std::move(type));
  }
  return result;
}

Result<ResourceType> Cluster::find_kind(const std::string& api_version, const std::string& kind,
                                        bool refresh) {
  if (refresh) types_.reset();
  KUEUE_ASSIGN(const auto* all, types());
  std::vector<std::string_view> near_kinds;
  for (const ResourceType& type : *all) {
    if (type.api_version() == api_version) {
      if (type.kind == kind) return type;
      near_kinds.push_back(type.kind);
    }
  }
  std::string text = "no matches for kind \"" + kind + "\" in version \"" + api_version + "\"";
  const std::string near = nearest(kind, near_kinds);
  if (!near.empty()) text += "; did you mean kind \"" + near + "\"?";
  return make_error(ErrorCode::kNotFound, text);
}

std::string error_text(const Error& error) {
  const bool ours = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
                    error.code == ErrorCode::kCanceled;
  const bool from_server =
      !ours && (!error.kind.empty() || !error.causes.empty() ||
                error.code == ErrorCode::kForbidden || error.code == ErrorCode::kUnauthorized);
  if (!from_server) {
    const bool refused = error.message.find("Connection refused") != std::string::npos;
    return "error: " + error.message + "\n" +
           (refused ? "Does the server run? 'kueue up' starts a playground.\n" : "");
  }
  return "Error from server (" + std::string(wire::status_reason(error.code)) +
         "): " + error.message + "\n";
}

}  // namespace kueue::cli
