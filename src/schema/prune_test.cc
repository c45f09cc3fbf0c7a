#include "schema/prune.h"

#include <gtest/gtest.h>

#include "schema/crd.h"
#include "schema/defaults.h"
#include "schema/test_types.h"

namespace kueue::schema {
namespace {

const Type& thing() {
  static const auto built = DynamicSchema::build(
      parse_or_die(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
    "queueName":{"type":"string"},
    "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,
            "properties":{"known":{"type":"object","properties":{"a":{"type":"string"}}}}},
    "any":{"x-kubernetes-preserve-unknown-fields":true},
    "pod":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
    "map":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"integer","default":7}}}},
    "list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer","default":7},"n":{"type":"string","nullable":true,"default":"d"}}}},
    "empty":{"type":"object"},
    "nested":{"type":"object","default":{"b":1},"properties":{"a":{"type":"string","default":"q\"uote"},"b":{"type":"integer"}}}
  }}}})"),
      &kMetaType, "ex.com", "v1", "Thing");
  return built->root();
}

TEST(Prune, DropsAndTellsUnknownFields) {
  json::Value document = parse_or_die(R"({"kind":"Thing","zip":1,"metadata":{"name":"a","foo":1},
    "spec":{"queueNam":"x","free":{"zz":{"q":1},"known":{"a":"1","b":2}},"any":{"what":{"ever":1}},
    "pod":{"apiVersion":"v1","kind":"Pod","spec":{"x":1},"metadata":{"labels":{"a":"b"},"bad":1}},
    "map":{"k":{"x":1,"y":2}},"list":[{"x":1},{"y":1}],"empty":{"e":1},"nested":"not a struct"}})");
  const std::vector<std::string> expected = {
      "metadata.foo", "spec.empty.e",          "spec.free.known.b", "spec.list[1].y",
      "spec.map.k.y", "spec.pod.metadata.bad", "spec.queueNam",     "zip"};
  EXPECT_EQ(find_unknown(thing(), document), expected);
  EXPECT_EQ(prune(thing(), document), expected);
  EXPECT_EQ(
      json::write(document),
      R"({"kind":"Thing","metadata":{"name":"a"},"spec":{"free":{"zz":{"q":1},"known":{"a":"1"}},)"
      R"("any":{"what":{"ever":1}},"pod":{"apiVersion":"v1","kind":"Pod","spec":{"x":1},)"
      R"("metadata":{"labels":{"a":"b"}}},"map":{"k":{"x":1}},"list":[{"x":1},{}],"empty":{},)"
      R"("nested":"not a struct"}})");
  EXPECT_TRUE(prune(thing(), document).empty());
}

TEST(Prune, StrictTexts) {
  const auto messages = strict_messages({"spec.a"}, {"spec.foo", "spec.b"});
  EXPECT_EQ(strict_error("Job", "v1", messages).message,
            "Job in version \"v1\" cannot be handled as a Job: strict decoding error: duplicate "
            "field \"spec.a\", unknown field \"spec.foo\", unknown field \"spec.b\"");
}

TEST(Prune, DidYouMean) {
  EXPECT_EQ(explain_unknown(thing(), "spec.queueNam"),
            "unknown field \"spec.queueNam\", did you mean \"queueName\"?");
  EXPECT_EQ(explain_unknown(thing(), "spec.QUEUENAME"),
            "unknown field \"spec.QUEUENAME\", did you mean \"queueName\"?");
  EXPECT_EQ(explain_unknown(thing(), "spec.pdo"),
            "unknown field \"spec.pdo\", did you mean \"pod\"?");
  EXPECT_EQ(explain_unknown(thing(), "spec.list[1].y.z"), "unknown field \"spec.list[1].y.z\"");
  EXPECT_EQ(explain_unknown(thing(), "spec.whatever"), "unknown field \"spec.whatever\"");
  EXPECT_EQ(explain_unknown(thing(), "metadata.labls"),
            "unknown field \"metadata.labls\", did you mean \"labels\"?");
}

TEST(Defaults, AtEveryLevel) {
  json::Value document = parse_or_die(
      R"({"spec":{"map":{"k":{}},"list":[{},{"x":1,"n":null},{"x":null}],"empty":null}})");
  drop_nulls(thing(), document);
  apply_defaults(thing(), document);
  EXPECT_EQ(
      json::write(document),
      R"({"spec":{"map":{"k":{"x":7}},"list":[{"x":7,"n":"d"},{"x":1,"n":null},{"x":7,"n":"d"}],)"
      R"("nested":{"b":1,"a":"q\"uote"}}})");
  json::Value without = parse_or_die(R"({"metadata":{}})");
  apply_defaults(thing(), without);
  EXPECT_EQ(json::write(without), R"({"metadata":{}})");
}

TEST(Defaults, FillValues) {
  static constexpr Field kTemplateFields[] = {{.name = "metadata", .type = &kMetaType},
                                              {.name = "spec", .type = &kMetaType}};
  static constexpr Type kTemplate{.kind = Kind::kStruct,
                                  .name = "io.k8s.api.core.v1.PodTemplateSpec",
                                  .fields = kTemplateFields};
  static constexpr Field kSpecFields[] = {{.name = "template", .type = &kTemplate},
                                          {.name = "suspend", .type = &kBoolType}};
  static constexpr Type kSpec{
      .kind = Kind::kStruct, .name = "io.k8s.api.batch.v1.JobSpec", .fields = kSpecFields};
  static constexpr Field kJobFields[] = {{.name = "metadata", .type = &kMetaType},
                                         {.name = "spec", .type = &kSpec},
                                         {.name = "status", .type = &kSpec}};
  static constexpr Type kJob{
      .kind = Kind::kStruct, .name = "io.k8s.api.batch.v1.Job", .fields = kJobFields};
  json::Value job = parse_or_die(R"({"metadata":{"name":"a"},"spec":null})");
  fill_values(kJob, job);
  EXPECT_EQ(json::write(job),
            R"({"metadata":{"name":"a"},"spec":{"template":{"metadata":{},"spec":{}}}})");
  json::Value custom = json::Value::object();
  fill_values(thing(), custom);
  EXPECT_EQ(json::write(custom), "{}");
}

}  // namespace
}  // namespace kueue::schema
