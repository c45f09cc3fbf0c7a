#include "apiserver/discovery.h"

#include <algorithm>

#include "apiserver/api_services.h"
#include "apiserver/core.h"
#include "apiserver/encoding.h"
#include "apiserver/traits.h"
#include "json/json.h"
#include "wire/status.h"

namespace kueue::apiserver {

namespace {

json::Value strings(const std::vector<std::string>& texts) {
  json::Array array;
  for (const std::string& t : texts) array.emplace_back(t);
  return json::Value(std::move(array));
}

json::Value strings(std::span<const std::string_view> texts) {
  json::Array array;
  for (std::string_view t : texts) array.emplace_back(t);
  return json::Value(std::move(array));
}

std::string singular_of(const schema::ResourceInfo& info) {
  if (!info.singular.empty()) return std::string(info.singular);
  std::string s(info.kind);
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return s;
}

std::string group_version(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

json::Value api_resource(const Served& served) {
  const schema::ResourceInfo& info = *served.info;
  json::Value r = json::Value::object({{"name", info.plural},
                                       {"singularName", singular_of(info)},
                                       {"namespaced", info.namespaced},
                                       {"kind", info.kind},
                                       {"verbs", strings(verbs_of(served))}});
  if (!info.short_names.empty()) r["shortNames"] = strings(info.short_names);
  if (!info.categories.empty()) r["categories"] = strings(info.categories);
  if (!served.resource->traits->review)
    r["storageVersionHash"] = base64_encode(sha256_hex(served.resource->collection).substr(0, 8));
  return r;
}

json::Value resource_list(const Catalog::Version& version, std::string_view group) {
  json::Array resources;
  for (const Served* served : version.resources) {
    resources.push_back(api_resource(*served));
    for (const SubresourceEntry& s : subresources_of(*served)) {
      json::Value entry =
          json::Value::object({{"name", std::string(served->info->plural) + "/" + s.name},
                               {"singularName", ""},
                               {"namespaced", served->info->namespaced},
                               {"kind", s.kind},
                               {"verbs", strings(s.verbs)}});
      if (!s.version.empty()) {
        entry["group"] = s.group;
        entry["version"] = s.version;
      }
      resources.push_back(std::move(entry));
    }
  }
  json::Value list = json::Value::object({{"kind", "APIResourceList"}});
  if (!group.empty()) list["apiVersion"] = "v1";
  list["groupVersion"] = group_version(group, version.name);
  list["resources"] = json::Value(std::move(resources));
  return list;
}

json::Value group_entry(const Catalog::Group& group) {
  json::Array versions;
  for (const auto& v : group.versions)
    versions.push_back(json::Value::object(
        {{"groupVersion", group_version(group.name, v.name)}, {"version", v.name}}));
  json::Value preferred = versions.front();
  return json::Value::object({{"name", group.name},
                              {"versions", json::Value(std::move(versions))},
                              {"preferredVersion", std::move(preferred)}});
}

json::Value remote_group(const ApiService& service) {
  const auto version =
      json::Value::object({{"groupVersion", group_version(service.group, service.version)},
                           {"version", service.version}});
  return json::Value::object({{"name", service.group},
                              {"versions", json::Value::array({version})},
                              {"preferredVersion", version}});
}

json::Value discovery_resource(const Served& served) {
  const schema::ResourceInfo& info = *served.info;
  const auto kind = [](std::string_view group, std::string_view version, std::string_view name) {
    return json::Value::object({{"group", group}, {"version", version}, {"kind", name}});
  };
  json::Value r = json::Value::object({{"resource", info.plural},
                                       {"responseKind", kind(info.group, info.version, info.kind)},
                                       {"scope", info.namespaced ? "Namespaced" : "Cluster"},
                                       {"singularResource", singular_of(info)},
                                       {"verbs", strings(verbs_of(served))}});
  if (!info.short_names.empty()) r["shortNames"] = strings(info.short_names);
  if (!info.categories.empty()) r["categories"] = strings(info.categories);
  json::Array subresources;
  for (const SubresourceEntry& s : subresources_of(served)) {
    const bool own = s.version.empty();
    subresources.push_back(json::Value::object(
        {{"subresource", s.name},
         {"responseKind", kind(own ? info.group : std::string_view(s.group),
                               own ? info.version : std::string_view(s.version), s.kind)},
         {"verbs", strings(s.verbs)}}));
  }
  if (!subresources.empty()) r["subresources"] = json::Value(std::move(subresources));
  return r;
}

// What an APIService's server says of its resources, in the form of the aggregated document.
json::Value remote_version(Core& core, const ApiService& service) {
  json::Value version =
      json::Value::object({{"version", service.version}, {"resources", json::Value::array()}});
  const auto list = remote_resources(core, service);
  version["freshness"] = list ? "Current" : "Stale";
  if (!list || !list->find("resources")->is_array()) return version;
  json::Array& resources = version["resources"].as_array();
  for (const json::Value& r : list->find("resources")->as_array()) {
    const std::string name(r.get_string({"name"}));
    const size_t slash = name.find('/');
    json::Value entry = json::Value::object(
        {{"responseKind",
          json::Value::object({{"group", r.get_string({"group"}, service.group)},
                               {"version", r.get_string({"version"}, service.version)},
                               {"kind", r.get_string({"kind"})}})}});
    if (const json::Value* verbs = r.find("verbs")) entry["verbs"] = *verbs;
    if (slash != std::string::npos) {
      entry["subresource"] = name.substr(slash + 1);
      for (json::Value& parent : resources)
        if (parent.get_string({"resource"}) == name.substr(0, slash)) {
          json::Value& subresources = parent["subresources"];
          if (!subresources.is_array()) subresources = json::Value::array();
          subresources.as_array().push_back(std::move(entry));
          break;
        }
      continue;
    }
    entry["resource"] = name;
    entry["scope"] = r.get_bool({"namespaced"}) ? "Namespaced" : "Cluster";
    entry["singularResource"] = r.get_string({"singularName"});
    if (const json::Value* names = r.find("shortNames")) entry["shortNames"] = *names;
    resources.push_back(std::move(entry));
  }
  return version;
}

// The groups for /api (core) or /apis (the rest) in one document.
json::Value aggregated(Core& core, const Catalog& catalog, bool core_group) {
  json::Array items;
  for (const Catalog::Group& group : catalog.groups()) {
    if (group.name.empty() != core_group) continue;
    json::Array versions;
    for (const auto& v : group.versions) {
      json::Array resources;
      for (const Served* served : v.resources) resources.push_back(discovery_resource(*served));
      versions.push_back(json::Value::object({{"version", v.name},
                                              {"resources", json::Value(std::move(resources))},
                                              {"freshness", "Current"}}));
    }
    json::Value metadata = json::Value::object();
    if (!group.name.empty()) metadata["name"] = group.name;
    items.push_back(json::Value::object(
        {{"metadata", std::move(metadata)}, {"versions", json::Value(std::move(versions))}}));
  }
  if (!core_group)
    for (const ApiService& service : api_services(core))
      items.push_back(
          json::Value::object({{"metadata", json::Value::object({{"name", service.group}})},
                               {"versions", json::Value::array({remote_version(core, service)})}}));
  return json::Value::object({{"kind", "APIGroupDiscoveryList"},
                              {"apiVersion", "apidiscovery.k8s.io/v2"},
                              {"metadata", json::Value::object()},
                              {"items", json::Value(std::move(items))}});
}

void reply_aggregated(Call& call, bool core_group) {
  wire::Response response;
  std::string tag = "\"" + call.catalog->tag();
  for (const ApiService& service : api_services(*call.core)) tag += "-" + service.name;
  tag += "\"";
  response.headers.set("ETag", tag);
  response.headers.set("Vary", "Accept");
  response.headers.set("Cache-Control", "public");
  response.headers.set("Content-Type",
                       "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  if (call.request.headers.get("If-None-Match") == tag)
    response.status = 304;
  else
    response.body = json::write(aggregated(*call.core, *call.catalog, core_group));
  reply(call, std::move(response));
}

json::Value root_paths(const Catalog& catalog) {
  std::vector<std::string> paths = {"/api", "/api/v1", "/apis"};
  for (const Catalog::Group& group : catalog.groups()) {
    if (group.name.empty()) continue;
    paths.push_back("/apis/" + group.name);
    for (const auto& v : group.versions) paths.push_back("/apis/" + group.name + "/" + v.name);
  }
  for (const char* p : {"/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"})
    paths.emplace_back(p);
  return json::Value::object({{"paths", strings(paths)}});
}

}  // namespace

std::vector<std::string> verbs_of(const Served& served) {
  if (!served.info->verbs.empty()) return {served.info->verbs.begin(), served.info->verbs.end()};
  if (served.resource->custom())
    return {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

std::vector<SubresourceEntry> subresources_of(const Served& served) {
  const schema::ResourceInfo& info = *served.info;
  const std::vector<std::string> three = {"get", "patch", "update"};
  std::vector<SubresourceEntry> entries;
  for (const schema::Subresource& s : info.subresources) {
    SubresourceEntry entry;
    entry.name = s.name;
    entry.kind = s.kind;
    if (s.group != info.group || s.version != info.version) {
      entry.group = s.group;
      entry.version = s.version;
    }
    entry.verbs.assign(s.verbs.begin(), s.verbs.end());
    entries.push_back(std::move(entry));
  }
  const auto has = [&](std::string_view name) {
    for (const SubresourceEntry& e : entries)
      if (e.name == name) return true;
    return false;
  };
  if (info.scale && !has("scale"))
    entries.push_back({"scale", "Scale", "autoscaling", "v1", three});
  if (info.has_status && !has("status"))
    entries.push_back({"status", std::string(info.kind), "", "", three});
  std::sort(entries.begin(), entries.end(),
            [](const SubresourceEntry& a, const SubresourceEntry& b) { return a.name < b.name; });
  return entries;
}

bool serve_discovery(Call& call) {
  std::string path = call.request.path;
  if (path.size() > 1 && path.ends_with("/")) path.pop_back();
  const Catalog& catalog = *call.catalog;
  const bool wants_aggregated = call.output.form == Output::Form::kDiscovery;
  if (path.empty() || path == "/") return reply_value(call, root_paths(catalog)), true;
  if (path == "/api") {
    if (wants_aggregated) return reply_aggregated(call, true), true;
    return reply_value(call, json::Value::object(
                                 {{"kind", "APIVersions"},
                                  {"versions", json::Value::array({"v1"})},
                                  {"serverAddressByClientCIDRs",
                                   json::Value::array({json::Value::object(
                                       {{"clientCIDR", "0.0.0.0/0"},
                                        {"serverAddress", call.request.headers.get("Host")}})})}})),
           true;
  }
  if (path == "/apis") {
    if (wants_aggregated) return reply_aggregated(call, false), true;
    json::Array groups;
    for (const Catalog::Group& group : catalog.groups())
      if (!group.name.empty()) groups.push_back(group_entry(group));
    for (const ApiService& service : api_services(*call.core))
      groups.push_back(remote_group(service));
    return reply_value(call, json::Value::object({{"kind", "APIGroupList"},
                                                  {"apiVersion", "v1"},
                                                  {"groups", json::Value(std::move(groups))}})),
           true;
  }
  if (path == "/api/v1") {
    if (const auto* version = catalog.version("", "v1"))
      return reply_value(call, resource_list(*version, "")), true;
    return false;
  }
  if (!path.starts_with("/apis/")) return false;
  const std::string rest = path.substr(6);
  const size_t slash = rest.find('/');
  const Catalog::Group* group = catalog.group(rest.substr(0, slash));
  if (group == nullptr && slash == std::string::npos)
    for (const ApiService& service : api_services(*call.core))
      if (service.group == rest) {
        json::Value entry = remote_group(service);
        entry["kind"] = "APIGroup";
        entry["apiVersion"] = "v1";
        return reply_value(call, entry), true;
      }
  if (group == nullptr || group->name.empty()) return false;
  if (slash == std::string::npos) {
    json::Value entry = group_entry(*group);
    entry["kind"] = "APIGroup";
    entry["apiVersion"] = "v1";
    return reply_value(call, entry), true;
  }
  const auto* version = catalog.version(group->name, rest.substr(slash + 1));
  if (version == nullptr) return false;
  return reply_value(call, resource_list(*version, group->name)), true;
}

}  // namespace kueue::apiserver
