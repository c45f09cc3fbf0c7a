// Look-up of kinds in the generated tables.
#include "api/registry.h"

#include <algorithm>

#include "api/gen/resources.h"
#include "api/gen/tables.h"

namespace kueue::api {
namespace {

template <typename Match>
const schema::ResourceInfo* find_if(Match match) {
  for (auto family : {builtin_resources(), kueue_resources(), other_resources()}) {
    auto it = std::find_if(family.begin(), family.end(), match);
    if (it != family.end()) return *it;
  }
  return nullptr;
}

}  // namespace

std::span<const schema::ResourceInfo* const> builtin_resources() { return gen::kBuiltinResources; }
std::span<const schema::ResourceInfo* const> kueue_resources() { return gen::kKueueResources; }
std::span<const schema::ResourceInfo* const> other_resources() { return gen::kOtherResources; }

const schema::ResourceInfo* find_resource(std::string_view group, std::string_view version,
                                          std::string_view plural) {
  return find_if([&](const schema::ResourceInfo* r) {
    return r->group == group && r->version == version && r->plural == plural;
  });
}

const schema::ResourceInfo* find_kind(std::string_view group, std::string_view version,
                                      std::string_view kind) {
  return find_if([&](const schema::ResourceInfo* r) {
    return r->group == group && r->version == version && r->kind == kind;
  });
}

const schema::ResourceInfo* find_kind(std::string_view api_version, std::string_view kind) {
  const size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return find_kind("", api_version, kind);
  return find_kind(api_version.substr(0, slash), api_version.substr(slash + 1), kind);
}

const schema::Type* find_type(std::string_view full_name) {
  for (const schema::Type* type : gen::kAllTypes)
    if (type->name == full_name) return type;
  return nullptr;
}

}  // namespace kueue::api
