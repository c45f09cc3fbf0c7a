#include "apiserver/catalog.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>

#include "apiserver/traits.h"

namespace kueue::apiserver {

namespace {

std::string path_of(std::string_view group, std::string_view version, std::string_view last) {
  std::string path;
  path.append(group).append("/").append(version).append("/").append(last);
  return path;
}

uint64_t fnv1a(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return (hash ^ 0xff) * 1099511628211ULL;
}

struct ParsedVersion {
  int stability = -1;  // 2 = stable, 1 = beta, 0 = alpha, -1 = other
  long major = 0;
  long minor = 0;
};

ParsedVersion parse_version(std::string_view text) {
  ParsedVersion parsed;
  size_t at = 1;
  const auto number = [&](long& n) {
    const size_t start = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && at - start < 9)
      n = n * 10 + (text[at++] - '0');
    return at > start;
  };
  if (text.empty() || text[0] != 'v' || !number(parsed.major)) return {};
  if (at == text.size()) {
    parsed.stability = 2;
    return parsed;
  }
  const bool beta = text.substr(at).starts_with("beta");
  if (!beta && !text.substr(at).starts_with("alpha")) return {};
  at += beta ? 4 : 5;
  if (!number(parsed.minor) || at != text.size()) return {};
  parsed.stability = beta ? 1 : 0;
  return parsed;
}

}  // namespace

bool version_before(std::string_view a, std::string_view b) {
  const ParsedVersion x = parse_version(a);
  const ParsedVersion y = parse_version(b);
  if (x.stability < 0 && y.stability < 0) return a < b;
  return std::tie(x.stability, x.major, x.minor) > std::tie(y.stability, y.major, y.minor);
}

const Served* Resource::version(std::string_view name) const {
  for (const Served& s : versions)
    if (s.info->version == name) return &s;
  return nullptr;
}

Catalog::Catalog(std::vector<ResourcePtr> resources) : resources_(std::move(resources)) {
  uint64_t hash = 14695981039346656037ULL;
  for (const ResourcePtr& resource : resources_) {
    by_collection_.emplace(resource->collection, resource.get());
    hash = fnv1a(hash, resource->crd_uid);
    hash = fnv1a(hash, std::to_string(resource->revision));
    for (const Served& served : resource->versions) {
      if (!served.served) continue;
      const schema::ResourceInfo& info = *served.info;
      if (!by_path_.emplace(path_of(info.group, info.version, info.plural), &served).second)
        continue;
      by_kind_.emplace(path_of(info.group, info.version, info.kind), &served);
      hash = fnv1a(hash, path_of(info.group, info.version, info.plural));
      for (std::string_view name : info.short_names) hash = fnv1a(hash, name);
      for (const auto& column : info.columns) hash = fnv1a(hash, column.json_path);
      auto group = std::find_if(groups_.begin(), groups_.end(),
                                [&](const Group& g) { return g.name == info.group; });
      if (group == groups_.end()) {
        groups_.push_back(Group{.name = std::string(info.group), .versions = {}});
        group = groups_.end() - 1;
      }
      auto version = std::find_if(group->versions.begin(), group->versions.end(),
                                  [&](const Version& v) { return v.name == info.version; });
      if (version == group->versions.end()) {
        group->versions.push_back(Version{.name = std::string(info.version), .resources = {}});
        version = group->versions.end() - 1;
      }
      version->resources.push_back(&served);
    }
  }
  for (Group& g : groups_) {
    std::sort(g.versions.begin(), g.versions.end(),
              [](const Version& a, const Version& b) { return version_before(a.name, b.name); });
    for (Version& v : g.versions)
      std::sort(v.resources.begin(), v.resources.end(),
                [](const Served* a, const Served* b) { return a->info->plural < b->info->plural; });
  }
  const auto rank = [](const Group& g) {
    if (g.name.empty()) return 0;
    return g.versions.front().resources.front()->resource->custom() ? 2 : 1;
  };
  std::vector<Group> ordered;
  for (int wanted = 0; wanted <= 2; ++wanted) {
    const size_t start = ordered.size();
    for (Group& g : groups_) {
      if (g.versions.empty() || rank(g) != wanted) continue;
      ordered.push_back(std::move(g));
      g.versions.clear();
    }
    if (wanted == 2)
      std::sort(ordered.begin() + static_cast<ptrdiff_t>(start), ordered.end(),
                [](const Group& a, const Group& b) { return a.name < b.name; });
  }
  groups_ = std::move(ordered);
  char buffer[20];
  std::snprintf(buffer, sizeof buffer, "%016llX", static_cast<unsigned long long>(hash));
  tag_ = buffer;
}

const Served* Catalog::find(std::string_view group, std::string_view version,
                            std::string_view plural) const {
  const auto it = by_path_.find(path_of(group, version, plural));
  return it == by_path_.end() ? nullptr : it->second;
}

const Served* Catalog::find_kind(std::string_view group, std::string_view version,
                                 std::string_view kind) const {
  const auto it = by_kind_.find(path_of(group, version, kind));
  return it == by_kind_.end() ? nullptr : it->second;
}

const Resource* Catalog::of_collection(std::string_view collection) const {
  const auto it = by_collection_.find(collection);
  return it == by_collection_.end() ? nullptr : it->second;
}

const Catalog::Group* Catalog::group(std::string_view name) const {
  for (const Group& g : groups_)
    if (g.name == name) return &g;
  return nullptr;
}

const Catalog::Version* Catalog::version(std::string_view group_name,
                                         std::string_view version) const {
  const Group* g = group(group_name);
  if (g == nullptr) return nullptr;
  for (const Version& v : g->versions)
    if (v.name == version) return &v;
  return nullptr;
}

std::vector<ResourcePtr> make_built_in(const std::vector<const schema::ResourceInfo*>& infos) {
  std::vector<std::shared_ptr<Resource>> made;
  for (const schema::ResourceInfo* info : infos) {
    std::shared_ptr<Resource> resource;
    for (const auto& r : made)
      if (r->group == info->group && r->plural == info->plural) resource = r;
    if (resource == nullptr) {
      resource = std::make_shared<Resource>();
      resource->group = info->group;
      resource->plural = info->plural;
      resource->kind = info->kind;
      resource->namespaced = info->namespaced;
      resource->collection = resource->group + "/" + resource->plural;
      if (resource->collection == "events.k8s.io/events") resource->collection = "/events";
      resource->traits = &traits_of(resource->group, resource->plural);
      made.push_back(resource);
    }
    Served served;
    served.info = info;
    served.api_version = info->group.empty()
                             ? std::string(info->version)
                             : std::string(info->group) + "/" + std::string(info->version);
    if (info->deprecated) served.warning = info->deprecation_warning;
    // The first version that is marked is the stored one.
    const bool have = resource->versions.size() > resource->storage &&
                      resource->versions[resource->storage].info->storage;
    if (info->storage && !have) resource->storage = resource->versions.size();
    resource->versions.push_back(std::move(served));
  }
  for (const auto& r : made)
    for (Served& s : r->versions) s.resource = r.get();
  return {made.begin(), made.end()};
}

}  // namespace kueue::apiserver
