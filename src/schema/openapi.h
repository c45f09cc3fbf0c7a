// OpenAPI v3 documents as kube-apiserver serves them below /openapi/v3: what kubectl needs to
// validate, explain, diff and apply. Made from Types and ResourceInfos, static or dynamic. Pure;
// thread safe; documents are a few hundred KB, so keep them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// How schemas are written: built-in structs are components of their own behind $ref, those of
// custom resources stand in place.
enum class OpenApiStyle : uint8_t { kBuiltin, kCustom };

// kBuiltin for Types of Kubernetes itself (names beginning with "io.k8s."), else kCustom.
OpenApiStyle style_of(const ResourceInfo& resource);

// Finds shared structs by name ("io.k8s.apimachinery.pkg.apis.meta.v1.Status"); nullptr when there
// is none.
using FindType = std::function<const Type*(std::string_view name)>;

// The document of one group and version; `resources` are all of that group and version, in any
// order.
json::Value openapi_document(std::string_view group, std::string_view version,
                             std::span<const ResourceInfo* const> resources,
                             const FindType& find_type);

// The index at /openapi/v3. `path` is "api/v1" or "apis/batch/v1"; `hash` changes when the document
// does.
struct OpenApiIndexEntry {
  std::string path;
  std::string hash;
};
json::Value openapi_index(std::span<const OpenApiIndexEntry> entries);

// The schema of one Type; structs with a name are appended to `referred` instead of written in
// place when the style is kBuiltin (ObjectMeta in any style).
json::Value openapi_schema(const Type& type, OpenApiStyle style,
                           std::vector<const Type*>& referred);

}  // namespace kueue::schema
