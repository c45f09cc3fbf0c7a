// The OpenAPI components that the tables give, against the schemas kube-apiserver serves
// (shared/schemas).
#include "schema/openapi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/registry.h"
#include "json/json.h"

namespace kueue::api {
namespace {

std::filesystem::path shared_folder() {
  if (const char* path = std::getenv("KUEUE_SHARED")) return path;
  return KUEUE_SOURCE_DIR "/../shared";
}

json::Value read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = json::parse(text.str());
  KUEUE_CHECK(parsed.ok(), "a schema file");
  return std::move(parsed).value();
}

bool is_schema_type(const json::Value& value) {
  const std::string_view type = value.get_string({"type"});
  return type == "string" || type == "object" || type == "array" || type == "integer" ||
         type == "boolean" || type == "number";
}

// Without descriptions and unions, which nobody reads; without defaults, of which we tell more;
// allOf of one is how $ref gets neighbours.
void normalize(json::Value& value) {
  if (value.is_array())
    for (json::Value& item : value.as_array()) normalize(item);
  if (!value.is_object()) return;
  if (json::Value* text = value.find("description"); text != nullptr && text->is_string())
    value.as_object().erase("description");
  // A property may be named default: a default's value is no schema.
  if (json::Value* given = value.find("default");
      given != nullptr && !(given->is_object() && given->find("type") != nullptr &&
                            given->find("type")->is_string() && is_schema_type(*given)))
    value.as_object().erase("default");
  value.as_object().erase("x-kubernetes-unions");
  for (auto& [key, member] : value.as_object()) normalize(member);
  if (json::Value* required = value.find("required"); required != nullptr && required->is_array())
    std::sort(required->as_array().begin(), required->as_array().end(),
              [](const json::Value& a, const json::Value& b) {
                return a.string_or("") < b.string_or("");
              });
  if (json::Value* all = value.find("allOf");
      all != nullptr && all->is_array() && all->as_array().size() == 1) {
    json::Value only = all->as_array()[0];
    value.as_object().erase("allOf");
    for (auto& [key, member] : only.as_object()) value.as_object().set(key, std::move(member));
  }
}

// Differences that do no harm: raw JSON is an object in place, not behind a $ref; defaults of
// extensions are not said.
bool differs_on_purpose(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "io.k8s.api.apps.v1.ControllerRevision",
      "io.k8s.api.core.v1.PersistentVolumeClaimStatus",
      "io.k8s.api.core.v1.PersistentVolumeSpec",
      "io.k8s.api.resource.v1.AllocatedDeviceStatus",
      "io.k8s.api.resource.v1.OpaqueDeviceConfiguration",
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus",
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
      "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry",
      "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec",
  };
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

TEST(OpenApi, ComponentsEqualThoseOfKubeApiserver) {
  const auto folder = shared_folder() / "schemas" / "kubernetes-v1.36";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "NO SHARED SCHEMAS AT " << folder;
  int compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (!file.path().filename().string().starts_with("io.k8s.")) continue;
    const json::Value data = read(file.path());
    for (const auto& [name, schema] : data.find("schemas")->as_object()) {
      const schema::Type* type = find_type(name);
      if (type == nullptr || type->kind != schema::Kind::kStruct || differs_on_purpose(name))
        continue;
      SCOPED_TRACE(name);
      std::vector<const schema::Type*> referred;
      json::Value found = schema::openapi_schema(*type, schema::OpenApiStyle::kBuiltin, referred);
      json::Value expected = schema;
      expected.as_object().erase("x-kubernetes-group-version-kind");
      normalize(found);
      normalize(expected);
      EXPECT_EQ(json::write_pretty(found), json::write_pretty(expected));
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace kueue::api
