// Deleting: preconditions, finalizers, propagation, collections, grace.
#include "contract.h"

namespace kueue::contract {
namespace {

bool gone(const kube::Resource& resource, const kube::ObjectKey& key) {
  auto found = client().get(resource, key);
  return !found.ok() && found.error().code == ErrorCode::kNotFound;
}

json::Value owned_by(json::Value object, const json::Value& owner, bool block = false) {
  json::Value reference = json::Value::object({{"apiVersion", owner.get_string({"apiVersion"})},
                                               {"kind", owner.get_string({"kind"})},
                                               {"name", owner.get_string({"metadata", "name"})},
                                               {"uid", owner.get_string({"metadata", "uid"})}});
  if (block) reference["blockOwnerDeletion"] = true;
  object.at_path({"metadata", "ownerReferences"}) = json::Value::array({reference});
  return object;
}

TEST_F(ContractTest, DeleteAnswersAStatus) {
  json::Value made = make(kConfigMaps, config_map("a"));
  auto removed = client().remove(kConfigMaps, {ns_, "a"});
  ASSERT_OK(removed);
  EXPECT_EQ(removed->get_string({"kind"}), "Status");
  EXPECT_EQ(removed->get_string({"status"}), "Success");
  EXPECT_EQ(removed->get_string({"details", "name"}), "a");
  EXPECT_EQ(removed->get_string({"details", "kind"}), "configmaps");
  EXPECT_EQ(removed->get_string({"details", "uid"}), made.get_string({"metadata", "uid"}));
  EXPECT_TRUE(gone(kConfigMaps, {ns_, "a"}));
}

TEST_F(ContractTest, DeletePreconditions) {
  json::Value made = make(kConfigMaps, config_map("a"));
  EXPECT_REFUSED(client().remove(kConfigMaps, {ns_, "a"}, {.uid_precondition = "x"}),
                 ErrorCode::kConflict,
                 "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition "
                 "(x) does not match the UID in record (");
  EXPECT_REFUSED(
      client().remove(kConfigMaps, {ns_, "a"}, {.resource_version_precondition = "1"}),
      ErrorCode::kConflict,
      "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (");
  ASSERT_OK(
      client().remove(kConfigMaps, {ns_, "a"},
                      {.uid_precondition = std::string(made.get_string({"metadata", "uid"}))}));
}

TEST_F(ContractTest, FinalizersHoldAnObject) {
  json::Value object = config_map("a");
  object.at_path({"metadata", "finalizers"}) = doc("['example.com/hold']");
  make(kConfigMaps, object);
  auto removed = client().remove(kConfigMaps, {ns_, "a"});
  ASSERT_OK(removed);
  EXPECT_EQ(removed->get_string({"kind"}), "ConfigMap");
  EXPECT_FALSE(removed->get_string({"metadata", "deletionTimestamp"}).empty());
  json::Value held = get(kConfigMaps, "a");
  EXPECT_EQ(held.get_int({"metadata", "deletionGracePeriodSeconds"}, -1), 0);
  ASSERT_OK(client().remove(kConfigMaps, {ns_, "a"}));
  EXPECT_REFUSED(
      client().patch(
          kConfigMaps, {ns_, "a"}, kube::PatchType::kJson,
          doc("[{'op':'add','path':'/metadata/finalizers/-','value':'example.com/new'}]")),
      ErrorCode::kInvalid, "no new finalizers can be added if the object is being deleted");
  ASSERT_OK(client().patch(kConfigMaps, {ns_, "a"}, kube::PatchType::kMerge,
                           doc("{'metadata':{'finalizers':null}}")));
  EXPECT_TRUE(gone(kConfigMaps, {ns_, "a"}));
}

TEST_F(ContractTest, BackgroundDeletionTakesDependents) {
  json::Value owner = make(kConfigMaps, config_map("owner"));
  make(kConfigMaps, owned_by(config_map("child"), owner));
  ASSERT_OK(client().remove(kConfigMaps, {ns_, "owner"}, {.propagation = "Background"}));
  EXPECT_TRUE(gone(kConfigMaps, {ns_, "owner"}));
  EXPECT_TRUE(eventually([&] { return gone(kConfigMaps, {ns_, "child"}); }));
}

TEST_F(ContractTest, OrphansStay) {
  json::Value owner = make(kConfigMaps, config_map("owner"));
  make(kConfigMaps, owned_by(config_map("child"), owner));
  ASSERT_OK(client().remove(kConfigMaps, {ns_, "owner"}, {.propagation = "Orphan"}));
  EXPECT_TRUE(eventually([&] { return gone(kConfigMaps, {ns_, "owner"}); }));
  EXPECT_EQ(get(kConfigMaps, "child").find_path({"metadata", "ownerReferences"}), nullptr);
}

TEST_F(ContractTest, ForegroundDeletionWaitsForDependents) {
  json::Value owner = make(kConfigMaps, config_map("owner"));
  json::Value child = owned_by(config_map("child"), owner, true);
  child.at_path({"metadata", "finalizers"}) = doc("['example.com/hold']");
  make(kConfigMaps, child);
  ASSERT_OK(client().remove(kConfigMaps, {ns_, "owner"}, {.propagation = "Foreground"}));
  EXPECT_TRUE(eventually([&] {
    return !get(kConfigMaps, "child").get_string({"metadata", "deletionTimestamp"}).empty();
  }));
  json::Value held = get(kConfigMaps, "owner");
  EXPECT_EQ(json::write(*held.find_path({"metadata", "finalizers"})), R"(["foregroundDeletion"])");
  ASSERT_OK(client().patch(kConfigMaps, {ns_, "child"}, kube::PatchType::kMerge,
                           doc("{'metadata':{'finalizers':null}}")));
  EXPECT_TRUE(eventually([&] { return gone(kConfigMaps, {ns_, "owner"}); }));
}

TEST_F(ContractTest, DeleteCollection) {
  for (int i = 0; i < 4; ++i) {
    json::Value object = config_map("m" + std::to_string(i));
    object.at_path({"metadata", "labels", "odd"}) = i % 2 ? "yes" : "no";
    make(kConfigMaps, object);
  }
  ASSERT_OK(client().remove_collection(kConfigMaps, ns_, {.label_selector = "odd=yes"}, {}));
  EXPECT_TRUE(gone(kConfigMaps, {ns_, "m1"}));
  EXPECT_TRUE(gone(kConfigMaps, {ns_, "m3"}));
  get(kConfigMaps, "m0");
  get(kConfigMaps, "m2");
}

TEST_F(ContractTest, UnboundPodsGoAtOnce) {
  make(kPods, pod("a"));
  auto removed = client().remove(kPods, {ns_, "a"});
  ASSERT_OK(removed);
  EXPECT_TRUE(eventually([&] { return gone(kPods, {ns_, "a"}); }));
}

TEST_F(ContractTest, BoundPodsGetTheirGrace) {
  json::Value object = pod("a");
  object.at_path({"spec", "nodeName"}) = "contract-no-such-node";
  object.erase_path({"spec", "schedulingGates"});
  make(kPods, object);
  auto removed = client().remove(kPods, {ns_, "a"});
  ASSERT_OK(removed);
  EXPECT_EQ(removed->get_int({"metadata", "deletionGracePeriodSeconds"}), 30);
  ASSERT_OK(client().remove(kPods, {ns_, "a"}, {.grace_seconds = 0}));
  EXPECT_TRUE(eventually([&] { return gone(kPods, {ns_, "a"}); }));
}

TEST_F(ContractTest, NamespacesGoWithTheirContents) {
  json::Value object = config_map("a");
  object.at_path({"metadata", "finalizers"}) = doc("['example.com/hold']");
  make(kConfigMaps, object);
  make(kConfigMaps, config_map("b"));
  auto removed = client().remove(kNamespaces, {"", ns_});
  ASSERT_OK(removed);
  EXPECT_EQ(removed->get_string({"status", "phase"}), "Terminating");
  EXPECT_TRUE(eventually([&] { return gone(kConfigMaps, {ns_, "b"}); }));
  EXPECT_REFUSED(client().create(kConfigMaps, ns_, config_map("c")), ErrorCode::kForbidden,
                 "configmaps \"c\" is forbidden: unable to create new content in namespace " + ns_ +
                     " because it is being terminated");
  ASSERT_OK(client().patch(kConfigMaps, {ns_, "a"}, kube::PatchType::kMerge,
                           doc("{'metadata':{'finalizers':null}}")));
  EXPECT_TRUE(eventually([&] { return gone(kNamespaces, {"", ns_}); }));
}

}  // namespace
}  // namespace kueue::contract
