// Server-side apply and the bookkeeping of updates against sequences of writes recorded from a real
// kube-apiserver v1.36 (testdata/apply.json): the object, who manages what, and the words of
// conflicts.
#include "schema/apply.h"

#include <gtest/gtest.h>

#include <map>

#include "json/patch.h"
#include "schema/crd.h"
#include "schema/defaults.h"
#include "schema/managed_fields.h"
#include "schema/prune.h"
#include "schema/test_types.h"

namespace kueue::schema {
namespace {

// Entries by who and how; the order of entries depends on times, which the recording leaves out.
std::map<std::string, std::string> entries(const json::Value& object) {
  std::map<std::string, std::string> out;
  const json::Value* list = object.find_path({"metadata", "managedFields"});
  if (list == nullptr) return out;
  for (const json::Value& e : list->as_array()) {
    const std::string who = std::string(e.get_string({"manager"})) + " " +
                            std::string(e.get_string({"operation"})) + " " +
                            std::string(e.get_string({"subresource"})) + " " +
                            std::string(e.get_string({"apiVersion"}));
    out[who] = json::write_sorted(*e.find("fieldsV1"));
  }
  return out;
}

json::Value without_entries(json::Value object) {
  object.erase_path({"metadata", "managedFields"});
  return object;
}

FieldSet set_of(std::initializer_list<std::string_view> names) {
  FieldSet out;
  for (std::string_view name : names) out.insert({name});
  return out;
}

// What the endpoint around the bookkeeping does to the object: main keeps status, status keeps all
// else.
json::Value reset(const json::Value* live, json::Value object, bool status) {
  if (status) {
    json::Value out = *live;
    out.erase_path({"status"});
    if (const json::Value* s = object.find("status")) out["status"] = *s;
    if (const json::Value* m = object.find_path({"metadata", "managedFields"}))
      out.at_path({"metadata", "managedFields"}) = *m;
    return out;
  }
  object.erase_path({"status"});
  if (live != nullptr)
    if (const json::Value* s = live->find("status")) object["status"] = *s;
  return object;
}

class Replay {
 public:
  explicit Replay(const Type& type) : type_(type) {}

  Result<json::Value> step(const json::Value& test, const json::Value* live) {
    const std::string_view op = test.get_string({"op"});
    const bool status = test.get_string({"subresource"}) == "status";
    const json::Value& body = *test.find("body");
    const FieldSet resets = status ? set_of({"spec", "metadata"}) : set_of({"status"});
    const WriteContext context{.type = type_,
                               .api_version = "ex.com/v1",
                               .manager = test.get_string({"manager"}),
                               .subresource = test.get_string({"subresource"}),
                               .now = Instant{1'700'000'000'000'000'000},
                               .reset_fields = &resets};
    if (op == "apply") {
      KUEUE_ASSIGN(json::Value object,
                   server_side_apply(live, body, test.get_bool({"force"}), context));
      return finish(reset(live, std::move(object), status));
    }
    json::Value object = body;
    if (op == "merge") object = json::apply_merge_patch(*live, body);
    object = finish(std::move(object));
    return reset(live, track_update(op == "create" ? nullptr : live, std::move(object), context),
                 status);
  }

 private:
  json::Value finish(json::Value object) {
    drop_nulls(type_, object);
    apply_defaults(type_, object);
    return object;
  }
  const Type& type_;
};

TEST(Apply, FollowsKubeApiserver) {
  const json::Value data = test_data("apply.json");
  auto crd = Crd::build(*data.find("definition"), &kMetaType);
  ASSERT_TRUE(crd.ok());
  Replay replay(*crd.value()->versions()[0].resource.type);
  for (const json::Value& sequence : data.find("sequences")->as_array()) {
    const json::Value* live = nullptr;
    int number = 0;
    for (const json::Value& test : sequence.find("steps")->as_array()) {
      SCOPED_TRACE(std::string(sequence.get_string({"title"})) + " step " +
                   std::to_string(++number) + ": " + std::string(test.get_string({"op"})) + " " +
                   json::write(*test.find("body")));
      const int64_t code = test.get_int({"code"});
      const json::Value* recorded = test.find("result");
      // 400 and the missing manager are told before anything is merged; 422 there is about nulls,
      // which kube-apiserver leaves behind where the last entry of a map was applied no more; ours
      // removes the map.
      if (code == 400 && test.get_string({"message"}) != "metadata.managedFields must be nil")
        continue;
      if (code == 422) continue;
      auto result = replay.step(test, live);
      if (recorded == nullptr) {
        ASSERT_FALSE(result.ok());
        const Error& error = result.error();
        if (code == 409) {
          EXPECT_EQ(error.code, ErrorCode::kConflict);
          EXPECT_EQ(error.message, test.get_string({"message"}));
          const json::Array& causes = test.find("causes")->as_array();
          ASSERT_EQ(error.causes.size(), causes.size());
          for (size_t i = 0; i < causes.size(); ++i) {
            EXPECT_EQ(error.causes[i].reason, causes[i].get_string({"reason"}));
            EXPECT_EQ(error.causes[i].message, causes[i].get_string({"message"}));
            EXPECT_EQ(error.causes[i].field, causes[i].get_string({"field"}));
          }
        } else {
          // What Go prints of its own wrappers behind "got" is not worth repeating.
          const std::string_view expected = test.get_string({"message"});
          const size_t end = expected.find(", got &");
          EXPECT_EQ(error.message.substr(0, end), expected.substr(0, end));
        }
        continue;
      }
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_EQ(json::write_sorted(without_entries(result.value())),
                json::write_sorted(without_entries(*recorded)));
      EXPECT_EQ(entries(result.value()), entries(*recorded));
      live = recorded;
    }
  }
}

}  // namespace
}  // namespace kueue::schema
