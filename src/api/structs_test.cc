// The generated structs through the codec: values survive, errors name the place, tables and
// structs agree.
#include <gtest/gtest.h>

#include <set>

#include "api/batch.h"
#include "api/config.h"
#include "api/core.h"
#include "api/kueue.h"
#include "api/meta.h"
#include "api/registry.h"
#include "json/json.h"
#include "schema/codec.h"

namespace kueue::api {
namespace {

json::Value parse(std::string_view text) {
  Result<json::Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *value : json::Value();
}

template <typename T>
T decode(std::string_view text) {
  Result<T> object = schema::decode<T>(parse(text));
  EXPECT_TRUE(object.ok()) << text << ": " << (object.ok() ? "" : object.error().message);
  return object.ok() ? *object : T{};
}

constexpr const char* kWorkload = R"({
  "apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload",
  "metadata":{"name":"w","namespace":"ns","labels":{"a":"b"},"creationTimestamp":"2026-01-01T00:00:00Z","generation":2},
  "spec":{"active":true,"podSets":[{"count":3,"name":"main","template":{
      "metadata":{"labels":{"app":"x"}},
      "spec":{"containers":[{"image":"i","name":"c","resources":{"requests":{"cpu":"1","memory":"200Mi"}}}],
              "nodeSelector":{"k":"v"},"restartPolicy":"Never","terminationGracePeriodSeconds":0,
              "tolerations":[{"key":"t","operator":"Exists"}],
              "volumes":[{"emptyDir":{},"name":"tmp"}]}}}],
    "priority":0,"queueName":"q"},
  "status":{"admission":{"clusterQueue":"cq","podSetAssignments":[{"count":3,"flavors":{"cpu":"f"},"name":"main",
       "resourceUsage":{"cpu":"3"}}]},
    "conditions":[{"lastTransitionTime":"2026-01-01T00:00:01Z","message":"","reason":"R","status":"True","type":"T"}]}})";

TEST(Structs, WorkloadSurvivesTheRoundTrip) {
  auto w = decode<v1beta2::Workload>(kWorkload);
  EXPECT_EQ(w.metadata.name, "w");
  EXPECT_EQ(w.metadata.labels.at("a"), "b");
  ASSERT_EQ(w.spec.pod_sets.size(), 1u);
  EXPECT_EQ(w.spec.pod_sets[0].count, 3);
  const auto pod = w.spec.pod_sets[0].template_.open();
  const core::Container& c = pod->spec.containers.at(0);
  EXPECT_EQ(c.resources->requests.at("memory").to_string(), "200Mi");
  EXPECT_EQ(w.spec.priority, 0);
  EXPECT_EQ(w.status.admission->pod_set_assignments[0].flavors.at("cpu"), "f");
  EXPECT_EQ(schema::encode(w), parse(kWorkload));
  auto again = schema::decode<v1beta2::Workload>(schema::encode(w));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, w);
  again->spec.pod_sets[0].template_.edit().spec.containers[0].image = "other";
  EXPECT_NE(*again, w);
}

TEST(Structs, AbsentAndEmptyDiffer) {
  using v1beta2::ClusterQueue;
  EXPECT_FALSE(decode<ClusterQueue>(R"({"spec":{}})").spec.namespace_selector.has_value());
  EXPECT_FALSE(decode<ClusterQueue>(R"({"spec":{"namespaceSelector":null}})")
                   .spec.namespace_selector.has_value());
  EXPECT_TRUE(decode<ClusterQueue>(R"({"spec":{"namespaceSelector":{}}})")
                  .spec.namespace_selector.has_value());
  ClusterQueue cq;
  EXPECT_EQ(
      schema::encode(cq),
      parse(
          R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{},"spec":{}})"));
  cq.spec.namespace_selector.emplace();
  cq.status.pending_workloads = 0;
  EXPECT_EQ(schema::encode(cq),
            parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{},
            "spec":{"namespaceSelector":{}},"status":{"pendingWorkloads":0}})"));
}

TEST(Structs, RequiredFieldsAreWrittenEvenWhenZero) {
  meta::Condition c;
  EXPECT_EQ(schema::encode(c), parse(R"({"message":"","reason":"","status":"","type":""})"));
  EXPECT_EQ(schema::encode(v1beta2::ReclaimablePod{}), parse(R"({"count":0,"name":""})"));
}

TEST(Structs, ErrorsNameTheField) {
  const struct {
    const char* in;
    const char* message;
    const char* field;
  } cases[] = {
      {R"({"spec":{"priority":"high"}})",
       "json: cannot unmarshal string into Go struct field WorkloadSpec.spec.priority of type "
       "int32",
       "spec.priority"},
      {R"({"spec":{"priority":3000000000}})",
       "json: cannot unmarshal number 3000000000 into Go struct field WorkloadSpec.spec.priority "
       "of type int32",
       "spec.priority"},
      {R"({"spec":{"podSets":{}}})",
       "json: cannot unmarshal object into Go struct field WorkloadSpec.spec.podSets of type "
       "[]v1beta2.PodSet",
       "spec.podSets"},
      {R"({"spec":{"podSets":[{},{"template":{"spec":{"containers":[{"image":5}]}}}]}})",
       "json: cannot unmarshal number into Go struct field "
       "Container.spec.podSets.template.spec.containers.image of "
       "type string",
       "spec.podSets[1].template.spec.containers[0].image"},
      {R"({"metadata":{"labels":{"a":1}}})",
       "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels.a of type "
       "string",
       "metadata.labels.a"},
      {R"([])", "json: cannot unmarshal array into Go value of type v1beta2.Workload", ""},
      {R"({"status":{"resourceRequests":[{"resources":{"cpu":"1x"}}]}})",
       "status.resourceRequests[0].resources.cpu: Invalid value: \"1x\": quantities must match the "
       "regular expression "
       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
       "status.resourceRequests[0].resources.cpu"},
      {R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Workload"})",
       "expected kueue.x-k8s.io/v1beta2 Workload, got kueue.x-k8s.io/v1beta1 Workload", ""},
  };
  for (const auto& c : cases) {
    Result<v1beta2::Workload> w = schema::decode<v1beta2::Workload>(parse(c.in));
    ASSERT_FALSE(w.ok()) << c.in;
    EXPECT_EQ(w.error().code, ErrorCode::kBadRequest);
    EXPECT_EQ(w.error().message, c.message);
    ASSERT_EQ(w.error().causes.size(), 1u);
    EXPECT_EQ(w.error().causes[0].field, c.field);
  }
}

TEST(Structs, StrictDecodingListsUnknownFields) {
  json::Value file = parse(R"({"apiVersion":"config.kueue.x-k8s.io/v1beta2","kind":"Configuration",
      "metrics":{"bindAdress":":1"},"wait":1,"waitForPodsReady":{"timeout":"1m30s"}})");
  Result<config::Configuration> lenient = schema::decode<config::Configuration>(file);
  ASSERT_TRUE(lenient.ok());
  EXPECT_EQ(lenient->wait_for_pods_ready->timeout, Duration::seconds(90));
  Result<config::Configuration> strict =
      schema::decode<config::Configuration>(file, {.strict = true});
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().message,
            "strict decoding error: unknown field \"metrics.bindAdress\", unknown field \"wait\"");
}

TEST(Structs, TimesAndDurations) {
  auto lease = decode<coordination::Lease>(
      R"({"spec":{"renewTime":"2026-01-01T00:00:00.123456Z","leaseDurationSeconds":15}})");
  EXPECT_EQ(schema::encode(lease).get_string({"spec", "renewTime"}), "2026-01-01T00:00:00.123456Z");
  auto job = decode<batch::Job>(R"({"status":{"startTime":"2026-01-01T02:00:00+02:00"}})");
  EXPECT_EQ(schema::encode(job).get_string({"status", "startTime"}), "2026-01-01T00:00:00Z");
  EXPECT_FALSE(schema::decode<batch::Job>(parse(R"({"status":{"startTime":"yesterday"}})")).ok());
}

TEST(Structs, IntOrStringKeepsItsKind) {
  auto probe = decode<core::HTTPGetAction>(R"({"port":"http"})");
  EXPECT_TRUE(probe.port.is_string());
  EXPECT_EQ(schema::encode(probe), parse(R"({"port":"http"})"));
  EXPECT_EQ(schema::encode(decode<core::HTTPGetAction>(R"({"port":80})")), parse(R"({"port":80})"));
  EXPECT_FALSE(schema::decode<core::HTTPGetAction>(parse(R"({"port":true})")).ok());
}

TEST(Structs, APendingWorkloadIsSmall) {
  EXPECT_LE(sizeof(v1beta2::Workload), 1024u);
  EXPECT_LE(sizeof(v1beta2::PodSet), 1536u);
  EXPECT_LE(sizeof(core::Container), 640u);
}

TEST(Registry, FindsKinds) {
  const schema::ResourceInfo* job = find_kind("batch/v1", "Job");
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->plural, "jobs");
  EXPECT_TRUE(job->has_status);
  EXPECT_EQ(job, &batch::Job::resource());
  EXPECT_EQ(find_resource("", "v1", "pods"), &core::Pod::resource());
  EXPECT_EQ(find_kind("", "v1", "Nothing"), nullptr);
  EXPECT_EQ(kueue_resources().size(), 22u);
  EXPECT_GT(builtin_resources().size(), 60u);
  EXPECT_EQ(find_kind("kueue.x-k8s.io/v1beta1", "Workload")->deprecation_warning,
            "This version is deprecated. Use v1beta2 instead.");
  const schema::Type* status = find_type("io.k8s.apimachinery.pkg.apis.meta.v1.Status");
  ASSERT_NE(status, nullptr);
  EXPECT_NE(status->field("reason"), nullptr);
}

// Every field of a binding is in the table of its struct, so that typed writes pass validation and
// pruning.
void check_binding(const schema::StructBinding& binding,
                   std::set<const schema::StructBinding*>& seen) {
  if (!seen.insert(&binding).second) return;
  for (size_t i = 0; i < binding.fields.size(); ++i) {
    const schema::FieldBinding& field = binding.fields[i];
    if (i > 0) EXPECT_LT(binding.fields[i - 1].name, field.name) << binding.name;
    EXPECT_NE(binding.type().field(field.name), nullptr) << binding.name << "." << field.name;
    const schema::ValueBinding* value = field.value;
    while (value->element != nullptr) value = value->element;
    if (value->structure != nullptr) check_binding(value->structure(), seen);
  }
}

TEST(Structs, BindingsAgreeWithTables) {
  std::set<const schema::StructBinding*> seen;
  check_binding(schema::binding_of<v1beta2::Workload>(), seen);
  check_binding(schema::binding_of<v1beta2::ClusterQueue>(), seen);
  check_binding(schema::binding_of<core::Pod>(), seen);
  check_binding(schema::binding_of<core::Node>(), seen);
  check_binding(schema::binding_of<batch::Job>(), seen);
  check_binding(schema::binding_of<config::Configuration>(), seen);
  EXPECT_GT(seen.size(), 150u);
}

}  // namespace
}  // namespace kueue::api
