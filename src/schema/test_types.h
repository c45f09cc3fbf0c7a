// Small Types and helpers for the tests of schema/.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "json/json.h"
#include "schema/scalars.h"
#include "schema/type.h"

namespace kueue::schema {

inline json::Value parse_or_die(std::string_view text) {
  auto parsed = json::parse(text);
  KUEUE_CHECK(parsed.ok(), parsed.ok() ? "" : parsed.error().message.c_str());
  return std::move(parsed).value();
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

#ifdef KUEUE_SOURCE_DIR  // not in fuzzers
// A file of src/schema/testdata.
inline json::Value test_data(const std::string& name) {
  return parse_or_die(read_file(std::string(KUEUE_SOURCE_DIR "/src/schema/testdata/") + name));
}
#endif

inline constexpr std::string_view kUidKey[] = {"uid"};
inline constexpr Field kOwnerFields[] = {
    {.name = "apiVersion", .type = &kStringType, .required = true},
    {.name = "kind", .type = &kStringType, .required = true},
    {.name = "name", .type = &kStringType, .required = true},
    {.name = "uid", .type = &kStringType, .required = true},
    {.name = "controller", .type = &kBoolType},
    {.name = "blockOwnerDeletion", .type = &kBoolType},
};
inline constexpr Type kOwnerReferenceType{
    .kind = Kind::kStruct,
    .name = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
    .fields = kOwnerFields,
    .atomic_map = true,
};
inline constexpr Type kOwnerListType{.kind = Kind::kList,
                                     .element = &kOwnerReferenceType,
                                     .list_type = ListType::kMap,
                                     .list_map_keys = kUidKey};
inline constexpr Type kStringSetType{
    .kind = Kind::kList, .element = &kStringType, .list_type = ListType::kSet};
inline constexpr Type kAnyListType{.kind = Kind::kList, .element = &kAnyType};
inline constexpr Field kMetaFields[] = {
    {.name = "name", .type = &kStringType, .proto_number = 1},
    {.name = "generateName", .type = &kStringType, .proto_number = 2},
    {.name = "namespace", .type = &kStringType, .proto_number = 3},
    {.name = "uid", .type = &kStringType, .proto_number = 5},
    {.name = "resourceVersion", .type = &kStringType, .proto_number = 6},
    {.name = "generation", .type = &kInt64Type, .proto_number = 7},
    {.name = "creationTimestamp", .type = &kTimeType, .proto_number = 8},
    {.name = "deletionTimestamp", .type = &kTimeType, .proto_number = 9},
    {.name = "labels", .type = &kStringMapType, .proto_number = 11},
    {.name = "annotations", .type = &kStringMapType, .proto_number = 12},
    {.name = "ownerReferences",
     .type = &kOwnerListType,
     .proto_number = 13,
     .patch_strategy = PatchStrategy::kMerge,
     .patch_merge_key = "uid"},
    {.name = "finalizers",
     .type = &kStringSetType,
     .proto_number = 14,
     .patch_strategy = PatchStrategy::kMerge},
    {.name = "managedFields", .type = &kAnyListType, .proto_number = 17},
};
inline constexpr Type kMetaType{.kind = Kind::kStruct,
                                .name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
                                .fields = kMetaFields};

}  // namespace kueue::schema
