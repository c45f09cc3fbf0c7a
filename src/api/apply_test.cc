// Who manages what in built-in objects, against writes recorded from a real kube-apiserver v1.36
// (schema/testdata/apply_builtin.json): list types and keys of the tables show here.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "api/registry.h"
#include "json/json.h"
#include "schema/equal.h"
#include "schema/managed_fields.h"

namespace kueue::api {
namespace {

std::map<std::string, std::string> entries(const json::Value& object) {
  std::map<std::string, std::string> out;
  const json::Value* list = object.find_path({"metadata", "managedFields"});
  if (list == nullptr) return out;
  for (const json::Value& e : list->as_array()) {
    std::string who;
    for (std::string_view key : {"manager", "operation", "subresource", "apiVersion"})
      who += std::string(e.get_string({key})) + " ";
    out[who] = json::write_sorted(*e.find("fieldsV1"));
  }
  return out;
}

const json::Value& first_set(const json::Value& object) {
  return *object.find_path({"metadata", "managedFields"})->as_array().at(0).find("fieldsV1");
}

bool is_set_later(std::string_view path) {
  for (std::string_view part :
       {".spec.selector", "controller-uid", "job-name", ".spec.clusterIP", ".spec.ipFamil",
        "/var/run/secrets", "kube-api-access", ".spec.serviceAccount", ".spec.tolerations",
        ".spec.preemptionPolicy", "volumeMounts", ".spec.priority", ".preemptionPolicy"})
    if (path.find(part) != std::string_view::npos) return true;
  return false;
}

schema::FieldSet reset_fields(std::string_view kind, bool status) {
  schema::FieldSet out;
  if (kind == "ConfigMap" || kind == "Lease" || kind == "PriorityClass" || kind == "Role")
    return out;
  out.insert({status ? "spec" : "status"});
  return out;
}

TEST(Apply, BuiltinObjectsFollowKubeApiserver) {
  std::ifstream in(KUEUE_SOURCE_DIR "/src/schema/testdata/apply_builtin.json");
  std::stringstream text;
  text << in.rdbuf();
  auto data = json::parse(text.str());
  ASSERT_TRUE(data.ok());
  for (const json::Value& sequence : data.value().as_array()) {
    const json::Value* live = nullptr;
    int number = 0;
    for (const json::Value& test : sequence.find("steps")->as_array()) {
      const json::Value& body = *test.find("body");
      SCOPED_TRACE(std::string(sequence.get_string({"title"})) + " step " +
                   std::to_string(++number) + ": " + json::write(body));
      const json::Value* recorded = test.find("result");
      const json::Value& shown = live != nullptr ? *live : body;
      const std::string_view kind = shown.get_string({"kind"});
      const schema::ResourceInfo* info = find_kind(shown.get_string({"apiVersion"}), kind);
      ASSERT_NE(info, nullptr);
      const schema::FieldSet resets =
          reset_fields(kind, test.get_string({"subresource"}) == "status");
      const schema::WriteContext context{.type = *info->type,
                                         .api_version = shown.get_string({"apiVersion"}),
                                         .manager = test.get_string({"manager"}),
                                         .subresource = test.get_string({"subresource"}),
                                         .now = Instant{1'700'000'000'000'000'000},
                                         .reset_fields = &resets};
      if (test.get_string({"op"}) == "apply") {
        auto result = schema::server_side_apply(live, body, test.get_bool({"force"}), context);
        if (recorded == nullptr) {
          ASSERT_FALSE(result.ok());
          EXPECT_EQ(result.error().message, test.get_string({"message"}));
          continue;
        }
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_EQ(entries(result.value()), entries(*recorded));
      } else {
        // The object with what kube-apiserver defaulted; the entries are ours to find.
        json::Value object = *recorded;
        object.erase_path({"metadata", "managedFields"});
        const json::Value tracked = schema::track_update(live, object, context);
        if (live != nullptr) {
          EXPECT_EQ(entries(tracked), entries(*recorded));
        } else {
          // The recorded object also holds what is set after the bookkeeping (the selector of a
          // Job, the address of a Service); that apart, the sets are equal.
          const auto ours = schema::FieldSet::parse(first_set(tracked));
          const auto theirs = schema::FieldSet::parse(first_set(*recorded));
          ASSERT_TRUE(ours.ok() && theirs.ok());
          EXPECT_EQ(theirs->without(*ours).paths(), std::vector<std::string>());
          for (const std::string& path : ours->without(*theirs).paths())
            EXPECT_TRUE(is_set_later(path)) << path;
        }
      }
      live = recorded;
    }
  }
}

}  // namespace
}  // namespace kueue::api
