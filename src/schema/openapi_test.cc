// Documents against those a real kube-apiserver v1.36 serves for the same definitions
// (testdata/openapi.json, without descriptions).
#include "schema/openapi.h"

#include <gtest/gtest.h>

#include "schema/crd.h"
#include "schema/test_types.h"

namespace kueue::schema {
namespace {

// Without descriptions, what only we say, and the order of lists that are sets.
void normalize(json::Value& value) {
  if (value.is_array())
    for (json::Value& item : value.as_array()) normalize(item);
  if (!value.is_object()) return;
  if (json::Value* text = value.find("description"); text != nullptr && text->is_string())
    value.as_object().erase("description");
  value.as_object().erase("application/vnd.kubernetes.protobuf");
  for (auto& [key, member] : value.as_object()) normalize(member);
  if (json::Value* required = value.find("required"); required != nullptr && required->is_array())
    std::sort(required->as_array().begin(), required->as_array().end(),
              [](const json::Value& a, const json::Value& b) {
                return a.string_or("") < b.string_or("");
              });
  // allOf with one element is what $ref needs to have neighbours; without neighbours it is the
  // $ref.
  if (value.as_object().size() == 1)
    if (const json::Value* all = value.find("allOf");
        all != nullptr && all->is_array() && all->as_array().size() == 1) {
      json::Value only = all->as_array()[0];
      value = std::move(only);
    }
}

TEST(OpenApi, SchemasOfCustomResources) {
  const json::Value recorded = test_data("openapi.json");
  for (const char* file : {"values.json", "apply.json"}) {
    const json::Value data = test_data(file);
    auto crd = Crd::build(*data.find("definition"), &kMetaType);
    ASSERT_TRUE(crd.ok());
    const ResourceInfo& resource = crd.value()->versions()[0].resource;
    const ResourceInfo* const resources[] = {&resource};
    json::Value document = openapi_document("ex.com", "v1", resources, {});
    for (const std::string suffix : {"", "List"}) {
      const std::string name = std::string(resource.type->name) + suffix;
      json::Value* found = document.find_path({"components", "schemas", name});
      ASSERT_NE(found, nullptr) << name;
      json::Value expected = *recorded.find_path({"schemas", name});
      normalize(*found);
      normalize(expected);
      EXPECT_EQ(json::write_pretty(*found), json::write_pretty(expected)) << name;
    }
  }
}

TEST(OpenApi, PathsTellActionsKindsAndParameters) {
  const json::Value recorded = test_data("openapi.json");
  const json::Value data = test_data("values.json");
  auto crd = Crd::build(*data.find("definition"), &kMetaType);
  ASSERT_TRUE(crd.ok());
  const ResourceInfo* const resources[] = {&crd.value()->versions()[0].resource};
  const json::Value document = openapi_document("ex.com", "v1", resources, {});
  for (const auto& [path, item] : recorded.find("paths")->as_object()) {
    SCOPED_TRACE(path);
    const json::Value* found = document.find_path({"paths", path});
    ASSERT_NE(found, nullptr);
    for (const auto& [method, operation] : item.as_object()) {
      SCOPED_TRACE(method);
      const json::Value* ours = found->find(method);
      ASSERT_NE(ours, nullptr);
      if (method == "parameters") continue;
      for (const char* key :
           {"operationId", "x-kubernetes-action", "x-kubernetes-group-version-kind", "tags"})
        EXPECT_EQ(json::write_sorted(*ours->find(key)), json::write_sorted(*operation.find(key)));
      if (method == "patch") {
        std::vector<std::string> names;
        for (const json::Value& p : ours->find("parameters")->as_array())
          names.emplace_back(p.get_string({"name"}));
        EXPECT_EQ(names,
                  (std::vector<std::string>{"dryRun", "fieldManager", "fieldValidation", "force"}));
      }
    }
  }
}

TEST(OpenApi, BuiltinsReferToComponents) {
  static constexpr Field kSpecFields[] = {
      {.name = "when", .type = &kTimeType, .doc = "When."},
      {.name = "quantities", .type = &kQuantityMapType},
      {.name = "port", .type = &kIntOrStringType, .required = true}};
  static constexpr Type kSpec{.kind = Kind::kStruct,
                              .name = "io.k8s.api.x.v1.ThingSpec",
                              .doc = "What is wanted.",
                              .fields = kSpecFields};
  static constexpr Field kFields[] = {
      {.name = "metadata", .type = &kMetaType, .default_json = "{}", .doc = "Metadata."},
      {.name = "spec", .type = &kSpec}};
  static constexpr Type kThing{
      .kind = Kind::kStruct, .name = "io.k8s.api.x.v1.Thing", .fields = kFields};
  const ResourceInfo resource{.group = "x.k8s.io",
                              .version = "v1",
                              .kind = "Thing",
                              .plural = "things",
                              .singular = "thing",
                              .type = &kThing};
  const ResourceInfo* const resources[] = {&resource};
  const json::Value document = openapi_document("x.k8s.io", "v1", resources, {});
  const json::Value& schemas = *document.find_path({"components", "schemas"});
  EXPECT_EQ(
      json::write(*schemas.find("io.k8s.api.x.v1.Thing")),
      R"({"type":"object","properties":{"metadata":{"description":"Metadata.","default":{},"allOf":)"
      R"([{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]},)"
      R"("spec":{"$ref":"#/components/schemas/io.k8s.api.x.v1.ThingSpec"}},)"
      R"("x-kubernetes-group-version-kind":[{"group":"x.k8s.io","version":"v1","kind":"Thing"}]})");
  EXPECT_EQ(
      json::write(*schemas.find("io.k8s.api.x.v1.ThingSpec")),
      R"({"description":"What is wanted.","type":"object","required":["port"],"properties":{"when":)"
      R"({"description":"When.","allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}]},)"
      R"("quantities":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}},)"
      R"("port":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString"}}})");
  const json::Value* owners = schemas.find_path(
      {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "properties", "ownerReferences"});
  ASSERT_NE(owners, nullptr);
  EXPECT_EQ(owners->get_string({"x-kubernetes-patch-merge-key"}), "uid");
  EXPECT_EQ(owners->get_string({"x-kubernetes-list-type"}), "map");
  EXPECT_NE(document.find_path({"paths", "/apis/x.k8s.io/v1/namespaces/{namespace}/things/{name}",
                                "patch", "requestBody", "content",
                                "application/strategic-merge-patch+json"}),
            nullptr);
  EXPECT_EQ(document.find_path({"paths", "/apis/x.k8s.io/v1/namespaces/{namespace}/things", "get"})
                ->get_string({"operationId"}),
            "listXV1NamespacedThing");
}

TEST(OpenApi, Index) {
  const OpenApiIndexEntry entries[] = {{"api/v1", "AB"}};
  EXPECT_EQ(json::write(openapi_index(entries)),
            R"({"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=AB"}}})");
}

}  // namespace
}  // namespace kueue::schema
