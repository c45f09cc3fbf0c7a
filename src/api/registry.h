// All kinds we know from the start: built-in ones and our own. Constant data; usable from any
// thread.
#pragma once

#include <span>
#include <string_view>

#include "schema/type.h"

namespace kueue::api {

// Resources of a Kubernetes 1.36 API server, in order of group and name.
std::span<const schema::ResourceInfo* const> builtin_resources();
// kueue.x-k8s.io in v1beta1 and v1beta2; `storage` marks v1beta2.
std::span<const schema::ResourceInfo* const> kueue_resources();
// Served elsewhere: visibility.kueue.x-k8s.io (by the manager) and config.kueue.x-k8s.io (a file,
// no REST path).
std::span<const schema::ResourceInfo* const> other_resources();

// Over all three; nullptr when there is none. Linear in the number of kinds (about 110).
const schema::ResourceInfo* find_resource(std::string_view group, std::string_view version,
                                          std::string_view plural);
const schema::ResourceInfo* find_kind(std::string_view group, std::string_view version,
                                      std::string_view kind);
// `api_version` is "v1" or "batch/v1".
const schema::ResourceInfo* find_kind(std::string_view api_version, std::string_view kind);

// Table of a built-in struct or kind by its published name,
// "io.k8s.apimachinery.pkg.apis.meta.v1.Status"; nullptr when there is none.
const schema::Type* find_type(std::string_view full_name);

}  // namespace kueue::api
