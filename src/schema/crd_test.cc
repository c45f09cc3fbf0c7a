// Definitions against what a real kube-apiserver v1.36 answered (testdata/definitions.json), and
// the definitions of Kueue and of the job kinds, which must all be accepted and build.
#include "schema/crd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "schema/test_types.h"

namespace kueue::schema {
namespace {

std::string line(std::string_view reason, std::string_view field, std::string_view message) {
  // The value printed for wrong version lists is an internal struct of Go; ours names the versions.
  if (field == "spec.versions" && message.find(": must ") != std::string_view::npos)
    message = message.substr(message.rfind(": must "));
  return std::string(reason) + "|" + std::string(field) + "|" + std::string(message);
}

bool is_about_cel(std::string_view message) {
  return message.find("compilation failed") != std::string_view::npos ||
         message.find("must evaluate to a bool") != std::string_view::npos ||
         message.find("estimated rule cost") != std::string_view::npos;
}

TEST(Crd, JudgesDefinitionsAsKubeApiserverDoes) {
  const json::Value data = test_data("definitions.json");
  for (const json::Value& test : data.as_array()) {
    const json::Value& definition = *test.find("definition");
    SCOPED_TRACE(json::write(*definition.find("spec")));
    if (test.get_int({"code"}) == 400) continue;  // JSON types: check_types' business
    std::vector<std::string> expected;
    if (const json::Value* causes = test.find("causes"))
      for (const json::Value& c : causes->as_array()) {
        if (is_about_cel(c.get_string({"message"}))) continue;
        if (c.get_string({"field"}).starts_with("status.")) continue;
        expected.push_back(
            line(c.get_string({"reason"}), c.get_string({"field"}), c.get_string({"message"})));
      }
    std::vector<std::string> found;
    std::vector<std::string> warnings;
    for (const ErrorCause& c :
         validate_crd(definition, {.object_meta = &kMetaType, .warnings = &warnings}))
      found.push_back(line(c.reason, c.field, c.message));
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
  }
}

std::filesystem::path shared_folder() {
  if (const char* path = std::getenv("KUEUE_SHARED")) return path;
  return KUEUE_SOURCE_DIR "/../shared";
}

TEST(Crd, BuildsTheDefinitionsOfKueueAndOfJobKinds) {
  const auto folder = shared_folder() / "schemas";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "NO SHARED SCHEMAS AT " << folder;
  int built = 0;
  for (const char* part : {"kueue", "jobs"}) {
    for (const auto& file : std::filesystem::directory_iterator(folder / part)) {
      SCOPED_TRACE(file.path().string());
      const json::Value definition = parse_or_die(read_file(file.path().string()));
      for (const ErrorCause& c : validate_crd(definition, {.object_meta = &kMetaType}))
        if (c.field.find("api-approved") == std::string::npos)
          ADD_FAILURE() << c.field << ": " << c.message;
      auto crd = Crd::build(definition, &kMetaType);
      ASSERT_TRUE(crd.ok());
      for (const CrdVersion& v : crd.value()->versions()) {
        ++built;
        EXPECT_EQ(v.resource.type->fields[0].name, "apiVersion");
        EXPECT_FALSE(v.resource.columns.empty());
      }
      EXPECT_NE(crd.value()->storage_version(), nullptr);
    }
  }
  EXPECT_GE(built, 29);
}

TEST(Crd, ResourceInfoHoldsNamesColumnsAndSubresources) {
  const json::Value definition = parse_or_die(R"({"metadata":{"name":"crontabs.stable.example.com"},
    "spec":{"group":"stable.example.com","scope":"Cluster",
    "names":{"plural":"crontabs","kind":"CronTab","shortNames":["ct"],"categories":["all"]},
    "versions":[{"name":"v1","served":true,"storage":true,"deprecated":true,
      "subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}},
      "selectableFields":[{"jsonPath":".spec.color"}],
      "additionalPrinterColumns":[{"name":"N","type":"integer","jsonPath":".spec.n","priority":1}],
      "schema":{"openAPIV3Schema":{"type":"object","properties":{
        "metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":5}}},
        "spec":{"type":"object","properties":{"n":{"type":"integer"},"color":{"type":"string"}}}}}}}]}})");
  ASSERT_TRUE(validate_crd(definition, {.object_meta = &kMetaType}).empty());
  auto crd = Crd::build(definition, &kMetaType);
  ASSERT_TRUE(crd.ok());
  const CrdVersion& v = *crd.value()->version("v1");
  EXPECT_EQ(v.resource.singular, "crontab");
  EXPECT_FALSE(v.resource.namespaced);
  EXPECT_TRUE(v.resource.has_status);
  EXPECT_EQ(v.resource.scale->spec_replicas, ".spec.n");
  EXPECT_EQ(v.resource.columns[0].priority, 1);
  EXPECT_EQ(v.resource.selectable_fields[0], ".spec.color");
  EXPECT_EQ(v.deprecation_warning, "stable.example.com/v1 CronTab is deprecated");
  EXPECT_EQ(v.resource.type->name, "com.example.stable.v1.CronTab");
  const Type& metadata = *v.resource.type->field("metadata")->type;
  EXPECT_EQ(metadata.fields.size(), kMetaType.fields.size());
  EXPECT_EQ(metadata.field("name")->type->constraints->max_length, 5);
}

}  // namespace
}  // namespace kueue::schema
