#include "schema/decode_check.h"

#include <gtest/gtest.h>

#include "schema/test_types.h"

namespace kueue::schema {
namespace {

constexpr Field kResourceFields[] = {{.name = "requests", .type = &kQuantityMapType}};
constexpr Type kResources{.kind = Kind::kStruct,
                          .name = "io.k8s.api.core.v1.ResourceRequirements",
                          .fields = kResourceFields};
constexpr Field kContainerFields[] = {{.name = "name", .type = &kStringType},
                                      {.name = "resources", .type = &kResources},
                                      {.name = "port", .type = &kIntOrStringType}};
constexpr Type kContainer{
    .kind = Kind::kStruct, .name = "io.k8s.api.core.v1.Container", .fields = kContainerFields};
constexpr Type kContainers{.kind = Kind::kList, .element = &kContainer};
constexpr Field kSpecFields[] = {
    {.name = "parallelism", .type = &kInt32Type},  {.name = "suspend", .type = &kBoolType},
    {.name = "deadline", .type = &kInt64Type},     {.name = "data", .type = &kBytesType},
    {.name = "weight", .type = &kDoubleType},      {.name = "raw", .type = &kAnyType},
    {.name = "containers", .type = &kContainers},  {.name = "startTime", .type = &kTimeType},
    {.name = "renewTime", .type = &kMicroTimeType}};
constexpr Type kSpec{
    .kind = Kind::kStruct, .name = "io.k8s.api.batch.v1.JobSpec", .fields = kSpecFields};
constexpr Field kJobFields[] = {{.name = "metadata", .type = &kMetaType},
                                {.name = "spec", .type = &kSpec}};
constexpr Type kJob{.kind = Kind::kStruct, .name = "io.k8s.api.batch.v1.Job", .fields = kJobFields};

TEST(CheckTypes, WordsOfEncodingJson) {
  constexpr std::string_view kQuantity =
      "quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  struct Case {
    std::string_view document;
    std::string expected;  // "" = fits
  };
  const std::string json = "json: cannot unmarshal ";
  const std::string field = " into Go struct field ";
  const Case cases[] = {
      {R"({"spec":{"parallelism":"x"}})",
       json + "string" + field + "JobSpec.spec.parallelism of type int32"},
      {R"({"spec":{"parallelism":1.5}})",
       json + "number 1.5" + field + "JobSpec.spec.parallelism of type int32"},
      {R"({"spec":{"parallelism":1.0}})",
       json + "number 1.0" + field + "JobSpec.spec.parallelism of type int32"},
      {R"({"spec":{"parallelism":3000000000}})",
       json + "number 3000000000" + field + "JobSpec.spec.parallelism of type int32"},
      {R"({"spec":{"deadline":3000000000}})", ""},
      {R"({"spec":{"suspend":"x"}})",
       json + "string" + field + "JobSpec.spec.suspend of type bool"},
      {R"({"spec":"x"})", json + "string" + field + "Job.spec of type v1.JobSpec"},
      {R"({"spec":[]})", json + "array" + field + "Job.spec of type v1.JobSpec"},
      {R"({"spec":null})", ""},
      {R"({"spec":{"suspend":null,"foo":1,"raw":{"a":[1]}}})", ""},
      {R"({"spec":{"containers":{}}})",
       json + "object" + field + "JobSpec.spec.containers of type []v1.Container"},
      {R"({"spec":{"containers":[{},{"name":5}]}})",
       json + "number" + field + "Container.spec.containers.name of type string"},
      {R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"x"}}}]}})",
       std::string(kQuantity) + " (at spec.containers[0].resources.requests[cpu])"},
      {R"({"spec":{"containers":[{},{"resources":{"requests":{"a":1,"cpu":true}}}]}})",
       std::string(kQuantity) + " (at spec.containers[1].resources.requests[cpu])"},
      {R"({"spec":{"containers":[{"resources":{"requests":{"cpu":2,"m":"1.5Gi","n":"1e3","p":".5"}}}]}})",
       ""},
      {R"({"spec":{"containers":[{"resources":{"requests":["x"]}}]}})",
       json + "array" + field +
           "ResourceRequirements.spec.containers.resources.requests of type v1.ResourceList"},
      {R"({"spec":{"containers":[{"port":true}]}})",
       json + "bool" + field + "Container.spec.containers.port of type int32"},
      {R"({"spec":{"containers":[{"port":"http"},{"port":80}]}})", ""},
      {R"({"spec":{"startTime":"x"}})",
       R"(parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006" (at spec.startTime))"},
      {R"({"spec":{"startTime":5}})",
       json + "number" + field + "JobSpec.spec.startTime of type string"},
      {R"({"spec":{"startTime":"2020-01-01T00:00:00.5+02:00"}})", ""},
      {R"({"spec":{"startTime":"2020-01-01"}})",
       R"(parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T" (at spec.startTime))"},
      {R"({"spec":{"startTime":"2020-13-01T00:00:00Z"}})",
       R"(parsing time "2020-13-01T00:00:00Z": month out of range (at spec.startTime))"},
      {R"({"spec":{"renewTime":"2020-01-01T00:00:00Z"}})",
       R"(parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000" (at spec.renewTime))"},
      {R"({"spec":{"renewTime":"2020-01-01T00:00:00.123456789+02:00"}})",
       R"(parsing time "2020-01-01T00:00:00.123456789+02:00" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "789+02:00" as "Z07:00" (at spec.renewTime))"},
      {R"({"spec":{"renewTime":"2020-01-01T00:00:00.123456Z"}})", ""},
      {R"({"spec":{"data":"***"}})", "illegal base64 data at input byte 0 (at spec.data)"},
      {R"({"spec":{"data":"YWI="}})", ""},
      {R"({"spec":{"data":5}})", json + "number" + field + "JobSpec.spec.data of type []uint8"},
      {R"({"metadata":{"labels":{"a":5}}})",
       json + "number" + field + "ObjectMeta.metadata.labels of type string"},
      {R"({"metadata":{"labels":["a"]}})",
       json + "array" + field + "ObjectMeta.metadata.labels of type map[string]string"},
      {R"({"metadata":{"finalizers":"x"}})",
       json + "string" + field + "ObjectMeta.metadata.finalizers of type []string"},
      {R"({"metadata":{"ownerReferences":[{"controller":"x"}]}})",
       json + "string" + field + "OwnerReference.metadata.ownerReferences.controller of type bool"},
  };
  for (const Case& c : cases) {
    const auto result = check_types(kJob, parse_or_die(c.document), "Job", "v1");
    if (c.expected.empty()) {
      EXPECT_TRUE(result.ok()) << c.document << ": " << result.error().message;
      continue;
    }
    ASSERT_FALSE(result.ok()) << c.document;
    EXPECT_EQ(result.error().message,
              "Job in version \"v1\" cannot be handled as a Job: " + c.expected);
    EXPECT_EQ(result.error().code, ErrorCode::kBadRequest);
  }
}

TEST(CheckTypes, MetadataOfCustomResources) {
  auto result = check_metadata_types(kMetaType, parse_or_die(R"({"labels":{"a":1}})"), "T", "v1");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "T in version \"v1\" cannot be handled as a T: json: cannot unmarshal number into Go "
            "struct field ObjectMeta.labels of type string");
  result = check_metadata_types(kMetaType, json::Value("x"), "T", "v1");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "T in version \"v1\" cannot be handled as a T: json: cannot unmarshal string into Go "
            "value of type v1.ObjectMeta");
}

}  // namespace
}  // namespace kueue::schema
