// Objects: creating, reading, updating, names, versions, dry runs, the words of refusals.
#include "contract.h"

namespace kueue::contract {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(ContractTest, CreateFillsInMetadata) {
  json::Value made = make(kConfigMaps, config_map("a", "{'k':'v'}"));
  EXPECT_EQ(made.get_string({"kind"}), "ConfigMap");
  EXPECT_EQ(made.get_string({"apiVersion"}), "v1");
  EXPECT_EQ(made.get_string({"metadata", "namespace"}), ns_);
  EXPECT_EQ(made.get_string({"metadata", "uid"}).size(), 36u);
  EXPECT_FALSE(made.get_string({"metadata", "resourceVersion"}).empty());
  EXPECT_TRUE(parse_time(made.get_string({"metadata", "creationTimestamp"})).ok());
  EXPECT_EQ(made.find_path({"metadata", "generation"}), nullptr);
  const json::Value* managers = made.find_path({"metadata", "managedFields"});
  ASSERT_NE(managers, nullptr);
  const json::Value& manager = managers->as_array().at(0);
  EXPECT_EQ(manager.get_string({"manager"}), "contract");
  EXPECT_EQ(manager.get_string({"operation"}), "Update");
  EXPECT_EQ(manager.get_string({"fieldsType"}), "FieldsV1");
  EXPECT_NE(manager.find_path({"fieldsV1", "f:data", "f:k"}), nullptr);
  EXPECT_EQ(get(kConfigMaps, "a"), made);
}

TEST_F(ContractTest, NotFoundAndAlreadyExists) {
  EXPECT_REFUSED(client().get(kConfigMaps, {ns_, "x"}), ErrorCode::kNotFound,
                 "configmaps \"x\" not found");
  EXPECT_REFUSED(client().get(kJobs, {ns_, "x"}), ErrorCode::kNotFound,
                 "jobs.batch \"x\" not found");
  make(kConfigMaps, config_map("a"));
  EXPECT_REFUSED(client().create(kConfigMaps, ns_, config_map("a")), ErrorCode::kAlreadyExists,
                 "configmaps \"a\" already exists");
  EXPECT_REFUSED(client().remove(kConfigMaps, {ns_, "x"}), ErrorCode::kNotFound,
                 "configmaps \"x\" not found");
  EXPECT_REFUSED(client().update(kConfigMaps, config_map("x")), ErrorCode::kNotFound,
                 "configmaps \"x\" not found");
  EXPECT_REFUSED(client().patch(kConfigMaps, {ns_, "x"}, kube::PatchType::kMerge, doc("{}")),
                 ErrorCode::kNotFound, "configmaps \"x\" not found");
  kube::Resource none{"example.invalid", "v1", "things", "Thing", true};
  EXPECT_REFUSED(client().list(none, ns_), ErrorCode::kNotFound,
                 "the server could not find the requested resource");
}

TEST_F(ContractTest, GenerateName) {
  json::Value object = config_map("");
  object.at_path({"metadata", "generateName"}) = "pre-";
  json::Value one = make(kConfigMaps, object), two = make(kConfigMaps, object);
  EXPECT_THAT(std::string(one.get_string({"metadata", "name"})), StartsWith("pre-"));
  EXPECT_EQ(one.get_string({"metadata", "name"}).size(), 9u);
  EXPECT_NE(one.get_string({"metadata", "name"}), two.get_string({"metadata", "name"}));
}

TEST_F(ContractTest, BadNamesAndNamespaces) {
  EXPECT_REFUSED(client().create(kConfigMaps, ns_, config_map("Bad_Name")), ErrorCode::kInvalid,
                 "ConfigMap \"Bad_Name\" is invalid: metadata.name: Invalid value: \"Bad_Name\": a "
                 "lowercase RFC 1123 "
                 "subdomain must consist of");
  EXPECT_REFUSED(
      client().create(kConfigMaps, ns_, config_map("")), ErrorCode::kInvalid,
      "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
  json::Value elsewhere = config_map("a");
  elsewhere.at_path({"metadata", "namespace"}) = "default";
  EXPECT_REFUSED(
      client().create(kConfigMaps, ns_, elsewhere), ErrorCode::kBadRequest,
      "the namespace of the provided object does not match the namespace sent on the request");
  json::Value lost = config_map("a");
  lost.at_path({"metadata", "namespace"}) = "no-such-namespace";
  EXPECT_REFUSED(client().create(kConfigMaps, "no-such-namespace", lost), ErrorCode::kNotFound,
                 "namespaces \"no-such-namespace\" not found");
  json::Value wrong_kind = job("a");
  EXPECT_REFUSED(client().create(kConfigMaps, ns_, wrong_kind), ErrorCode::kBadRequest, "Job");
}

TEST_F(ContractTest, UpdateNeedsTheVersionItSaw) {
  json::Value made = make(kConfigMaps, config_map("a", "{'k':'1'}"));
  json::Value changed = made;
  changed.at_path({"data", "k"}) = "2";
  auto updated = client().update(kConfigMaps, changed);
  ASSERT_OK(updated);
  EXPECT_NE(updated->get_string({"metadata", "resourceVersion"}),
            made.get_string({"metadata", "resourceVersion"}));
  EXPECT_EQ(updated->get_string({"metadata", "uid"}), made.get_string({"metadata", "uid"}));
  changed.at_path({"data", "k"}) = "3";
  EXPECT_REFUSED(client().update(kConfigMaps, changed), ErrorCode::kConflict,
                 "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
                 "please apply your "
                 "changes to the latest version and try again");
  changed.erase_path({"metadata", "resourceVersion"});
  ASSERT_OK(client().update(kConfigMaps, changed));
  changed.at_path({"metadata", "uid"}) = "11111111-2222-3333-4444-555555555555";
  EXPECT_REFUSED(client().update(kConfigMaps, changed), ErrorCode::kConflict,
                 "Precondition failed: UID in precondition: 11111111-2222-3333-4444-555555555555, "
                 "UID in object meta: ");
}

TEST_F(ContractTest, AWriteThatChangesNothingKeepsTheVersion) {
  json::Value made = make(kConfigMaps, config_map("a", "{'k':'1'}"));
  auto again = client().update(kConfigMaps, made);
  ASSERT_OK(again);
  EXPECT_EQ(*again, made);
  auto patched =
      client().patch(kConfigMaps, {ns_, "a"}, kube::PatchType::kMerge, doc("{'data':{'k':'1'}}"));
  ASSERT_OK(patched);
  EXPECT_EQ(*patched, made);
}

TEST_F(ContractTest, DryRunStoresNothing) {
  auto made = client().create(kConfigMaps, ns_, config_map("a"), {.dry_run = true});
  ASSERT_OK(made);
  EXPECT_FALSE(made->get_string({"metadata", "uid"}).empty());
  EXPECT_REFUSED(client().get(kConfigMaps, {ns_, "a"}), ErrorCode::kNotFound, "not found");
  make(kConfigMaps, config_map("a", "{'k':'1'}"));
  auto patched = client().patch(kConfigMaps, {ns_, "a"}, kube::PatchType::kMerge,
                                doc("{'data':{'k':'2'}}"), {.dry_run = true});
  ASSERT_OK(patched);
  EXPECT_EQ(patched->get_string({"data", "k"}), "2");
  EXPECT_EQ(get(kConfigMaps, "a").get_string({"data", "k"}), "1");
  ASSERT_OK(client().remove(kConfigMaps, {ns_, "a"}, {.dry_run = true}));
  get(kConfigMaps, "a");
}

TEST_F(ContractTest, FieldValidation) {
  json::Value object = job("a");
  object.at_path({"spec", "nonsense"}) = 1;
  EXPECT_REFUSED(client().create(kJobs, ns_, object, {.field_validation = "Strict"}),
                 ErrorCode::kBadRequest, "strict decoding error: unknown field \"spec.nonsense\"");
  auto made = client().create(kJobs, ns_, object);
  ASSERT_OK(made);
  EXPECT_EQ(made->find_path({"spec", "nonsense"}), nullptr);
  json::Value wrong = job("b");
  wrong.at_path({"spec", "parallelism"}) = "many";
  EXPECT_REFUSED(
      client().create(kJobs, ns_, wrong), ErrorCode::kBadRequest,
      "json: cannot unmarshal string into Go struct field JobSpec.spec.parallelism of type int32");
}

TEST_F(ContractTest, DefaultsAndCanonicalForms) {
  json::Value made = make(kPods, pod("a"));
  EXPECT_EQ(made.get_string({"spec", "restartPolicy"}), "Always");
  EXPECT_EQ(made.get_string({"spec", "dnsPolicy"}), "ClusterFirst");
  EXPECT_EQ(made.get_string({"spec", "schedulerName"}), "default-scheduler");
  EXPECT_EQ(made.get_int({"spec", "terminationGracePeriodSeconds"}), 30);
  EXPECT_EQ(made.get_string({"status", "phase"}), "Pending");
  EXPECT_EQ(made.get_string({"status", "qosClass"}), "Burstable");
  ASSERT_NE(made.find_path({"spec", "containers"}), nullptr);
  const json::Value& container = made.find_path({"spec", "containers"})->as_array().at(0);
  EXPECT_EQ(container.get_string({"imagePullPolicy"}), "Always");
  EXPECT_EQ(container.get_string({"terminationMessagePath"}), "/dev/termination-log");
  EXPECT_EQ(container.get_string({"resources", "requests", "cpu"}), "1");
  EXPECT_EQ(container.get_string({"resources", "requests", "memory"}), "1Gi");
  const json::Value* tolerations = made.find_path({"spec", "tolerations"});
  ASSERT_NE(tolerations, nullptr);
  EXPECT_EQ(tolerations->as_array().size(), 2u);
}

TEST_F(ContractTest, JobsGetSelectorAndLabels) {
  json::Value made = make(kJobs, job("a"));
  std::string uid(made.get_string({"metadata", "uid"}));
  EXPECT_EQ(made.get_int({"metadata", "generation"}), 1);
  EXPECT_EQ(
      made.get_string({"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"}),
      uid);
  EXPECT_EQ(made.get_string({"spec", "template", "metadata", "labels", "job-name"}), "a");
  EXPECT_EQ(made.get_string({"spec", "template", "metadata", "labels", "controller-uid"}), uid);
  EXPECT_EQ(made.get_int({"spec", "parallelism"}), 1);
  EXPECT_EQ(made.get_int({"spec", "completions"}), 1);
  EXPECT_EQ(made.get_int({"spec", "backoffLimit"}), 6);
  EXPECT_EQ(made.get_string({"spec", "completionMode"}), "NonIndexed");
  EXPECT_EQ(made.get_string({"spec", "podReplacementPolicy"}), "TerminatingOrFailed");
}

TEST_F(ContractTest, InvalidObjectsNameTheirFields) {
  json::Value object = job("a");
  object.at_path({"spec", "parallelism"}) = -1;
  object.at_path({"spec", "template", "spec", "restartPolicy"}) = "Always";
  auto refused = client().create(kJobs, ns_, object);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().kind, "Job");
  EXPECT_EQ(refused.error().group, "batch");
  EXPECT_EQ(refused.error().name, "a");
  EXPECT_THAT(text_of(refused.error()), HasSubstr("Job.batch \"a\" is invalid: ["));
  EXPECT_THAT(text_of(refused.error()),
              HasSubstr("spec.parallelism: Invalid value: -1: must be greater than or equal to 0"));
  EXPECT_THAT(text_of(refused.error()), HasSubstr("spec.template.spec.restartPolicy: Required "
                                                  "value: valid values: \"OnFailure\", \"Never\""));
}

TEST_F(ContractTest, JobTemplatesAreImmutableUnlessSuspendedAndNeverStarted) {
  json::Value made = make(kJobs, job("a"));
  auto patch = [&](std::string_view body) {
    return client().patch(kJobs, {ns_, "a"}, kube::PatchType::kStrategic, doc(body));
  };
  auto scheduled = patch("{'spec':{'template':{'spec':{'nodeSelector':{'a':'b'}}}}}");
  ASSERT_OK(scheduled);
  EXPECT_EQ(scheduled->get_int({"metadata", "generation"}), 2);
  EXPECT_REFUSED(
      patch("{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'other'}]}}}}"),
      ErrorCode::kInvalid, "spec.template.spec: Invalid value: {");
  EXPECT_REFUSED(patch("{'spec':{'completions':5}}"), ErrorCode::kInvalid, "field is immutable");
}

TEST_F(ContractTest, StatusIsApart) {
  json::Value made = make(kJobs, job("a"));
  made.at_path({"status", "active"}) = 7;
  auto updated = client().update(kJobs, made);
  ASSERT_OK(updated);
  EXPECT_EQ(updated->get_int({"status", "active"}, -1), -1);
  auto status = client().patch(kJobs, {ns_, "a"}, kube::PatchType::kMerge,
                               doc("{'spec':{'parallelism':9},'status':{'active':1,'ready':0}}"),
                               {.subresource = "status"});
  ASSERT_OK(status);
  EXPECT_EQ(status->get_int({"spec", "parallelism"}), 1);
  EXPECT_EQ(status->get_int({"status", "active"}), 1);
  EXPECT_EQ(status->get_int({"metadata", "generation"}), 1);
  EXPECT_EQ(client().get(kJobs, {ns_, "a"}, "status")->get_int({"status", "active"}), 1);
}

}  // namespace
}  // namespace kueue::contract
