// The four kinds of patches, and field management.
#include "contract.h"

namespace kueue::contract {
namespace {

using kube::PatchType;

TEST_F(ContractTest, JsonPatch) {
  make(kConfigMaps, config_map("a", "{'k':'1'}"));
  auto patch = [&](std::string_view body) {
    return client().patch(kConfigMaps, {ns_, "a"}, PatchType::kJson, doc(body));
  };
  auto patched = patch(
      "[{'op':'test','path':'/data/k','value':'1'},{'op':'add','path':'/metadata/"
      "annotations','value':{}},{'op':'add','path':'/metadata/annotations/x~1y','value':'2'},"
      "{'op':'move','from':'/data/k','path':'/data/m'}]");
  ASSERT_OK(patched);
  EXPECT_EQ(json::write_sorted(*patched->find("data")), R"({"m":"1"})");
  EXPECT_EQ(patched->get_string({"metadata", "annotations", "x/y"}), "2");
  EXPECT_REFUSED(patch("[{'op':'test','path':'/data/m','value':'9'}]"), ErrorCode::kInvalid, "");
  EXPECT_REFUSED(patch("[{'op':'remove','path':'/data/gone'}]"), ErrorCode::kInvalid, "");
  EXPECT_REFUSED(patch("{'op':'remove'}"), ErrorCode::kBadRequest, "");
}

TEST_F(ContractTest, MergePatch) {
  make(kConfigMaps, config_map("a", "{'k':'1','l':'2'}"));
  auto patched = client().patch(kConfigMaps, {ns_, "a"}, PatchType::kMerge,
                                doc("{'data':{'k':null,'n':'3'}}"));
  ASSERT_OK(patched);
  EXPECT_EQ(json::write_sorted(*patched->find("data")), R"({"l":"2","n":"3"})");
  EXPECT_REFUSED(client().patch(kConfigMaps, {ns_, "a"}, PatchType::kMerge,
                                doc("{'metadata':{'resourceVersion':'1'},'data':{'z':'1'}}")),
                 ErrorCode::kConflict, "the object has been modified");
  EXPECT_REFUSED(
      client().patch(kConfigMaps, {ns_, "a"}, PatchType::kMerge, doc("{'metadata':{'name':'b'}}")),
      ErrorCode::kBadRequest, "the name of the object (b) does not match the name on the URL (a)");
}

TEST_F(ContractTest, StrategicMergePatchKnowsListKeys) {
  json::Value object = pod("a");
  object.find_path({"spec", "containers"})
      ->as_array()
      .push_back(doc("{'name':'d','image':'busybox'}"));
  object.at_path({"spec", "tolerations"}) = doc("[{'key':'a','operator':'Exists'}]");
  make(kPods, object);
  auto patched = client().patch(kPods, {ns_, "a"}, PatchType::kStrategic,
                                doc("{'metadata':{'labels':{'l':'1'},'finalizers':['example.com/"
                                    "f']},'spec':{'containers':[{'name':'d','image':'other'}]}}"));
  ASSERT_OK(patched);
  const json::Array& containers = patched->find_path({"spec", "containers"})->as_array();
  ASSERT_EQ(containers.size(), 2u);
  EXPECT_EQ(containers[0].get_string({"image"}), "busybox");
  EXPECT_EQ(containers[1].get_string({"image"}), "other");
  auto deleted =
      client().patch(kPods, {ns_, "a"}, PatchType::kStrategic,
                     doc("{'metadata':{'$deleteFromPrimitiveList/finalizers':['example.com/f']}}"));
  ASSERT_OK(deleted);
  EXPECT_EQ(deleted->find_path({"metadata", "finalizers"}), nullptr);
}

TEST_F(ContractTest, ApplyOwnsItsFields) {
  auto apply = [&](std::string_view data, const std::string& manager, bool force = false) {
    json::Value object = config_map("a", data);
    return client().patch(kConfigMaps, {ns_, "a"}, PatchType::kApply, object,
                          {.field_manager = manager, .force = force});
  };
  auto made = apply("{'k':'1','l':'1'}", "one");
  ASSERT_OK(made);
  EXPECT_EQ(
      made->find_path({"metadata", "managedFields"})->as_array().at(0).get_string({"operation"}),
      "Apply");
  // Applying less removes what only this manager owned.
  auto less = apply("{'k':'1'}", "one");
  ASSERT_OK(less);
  EXPECT_EQ(json::write_sorted(*less->find("data")), R"({"k":"1"})");
  ASSERT_OK(apply("{'m':'2'}", "two"));
  EXPECT_REFUSED(apply("{'k':'9'}", "two"), ErrorCode::kConflict,
                 "Apply failed with 1 conflict: conflict with \"one\": .data.k "
                 "{FieldManagerConflict .data.k: conflict "
                 "with \"one\"}");
  auto forced = apply("{'k':'9'}", "two", true);
  ASSERT_OK(forced);
  EXPECT_EQ(json::write_sorted(*forced->find("data")), R"({"k":"9"})");
  // Shared ownership: the field stays until the last owner lets go.
  ASSERT_OK(apply("{'k':'9'}", "one"));
  auto shared = apply("{}", "two");
  ASSERT_OK(shared);
  EXPECT_EQ(json::write_sorted(*shared->find("data")), R"({"k":"9"})");
  json::Value object = config_map("a");
  EXPECT_REFUSED(client().patch(kConfigMaps, {ns_, "b"}, PatchType::kApply, object),
                 ErrorCode::kBadRequest, "");
}

TEST_F(ContractTest, ApplyMergesListsByKey) {
  auto apply = [&](std::string_view containers, const std::string& manager) {
    json::Value object = doc(
        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d'},'spec':{'replicas':0,"
        "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{}"
        "}}}");
    object.at_path({"spec", "template", "spec", "containers"}) = doc(containers);
    return client().patch(kDeployments, {ns_, "d"}, PatchType::kApply, object,
                          {.field_manager = manager});
  };
  ASSERT_OK(apply("[{'name':'x','image':'i'}]", "one"));
  auto both = apply("[{'name':'y','image':'i'}]", "two");
  ASSERT_OK(both);
  EXPECT_EQ(both->find_path({"spec", "template", "spec", "containers"})->as_array().size(), 2u);
  auto gone = apply("[{'name':'z','image':'i'}]", "two");
  ASSERT_OK(gone);
  const json::Array& containers =
      gone->find_path({"spec", "template", "spec", "containers"})->as_array();
  ASSERT_EQ(containers.size(), 2u);
  EXPECT_EQ(containers[0].get_string({"name"}), "x");
  EXPECT_EQ(containers[1].get_string({"name"}), "z");
}

TEST_F(ContractTest, ApplyOfStatus) {
  make(kJobs, job("a"));
  auto applied = client().patch(
      kJobs, {ns_, "a"}, PatchType::kApply,
      doc("{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a'},'status':{'active':2}}"),
      {.field_manager = "s", .subresource = "status"});
  ASSERT_OK(applied);
  EXPECT_EQ(applied->get_int({"status", "active"}), 2);
  bool found = false;
  for (const json::Value& manager : applied->find_path({"metadata", "managedFields"})->as_array()) {
    found = found || (manager.get_string({"manager"}) == "s" &&
                      manager.get_string({"subresource"}) == "status");
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace kueue::contract
