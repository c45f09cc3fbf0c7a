#include "schema/fieldset.h"

#include <gtest/gtest.h>

#include "schema/managed_fields.h"
#include "schema/test_types.h"

namespace kueue::schema {
namespace {

FieldSet set(std::string_view text) {
  auto parsed = FieldSet::parse(parse_or_die(text));
  KUEUE_CHECK(parsed.ok(), "a set of fields");
  return std::move(parsed).value();
}

constexpr std::string_view kA =
    R"({"f:spec":{".":{},"f:a":{},"f:l":{"k:{\"name\":\"x\",\"port\":80}":{".":{},"f:v":{}}},"f:s":{"v:\"q\"":{}}}})";
constexpr std::string_view kB =
    R"({"f:spec":{"f:a":{"f:deep":{}},"f:s":{"v:\"q\"":{},"v:5":{}}},"f:z":{}})";

TEST(FieldSet, EncodesWhatItParsed) {
  for (std::string_view text : {kA, kB, std::string_view("{}")}) {
    EXPECT_EQ(json::write_sorted(set(text).encode()), json::write_sorted(parse_or_die(text)));
  }
  for (std::string_view bad : {"[]", "{\"x\":{}}", "{\"f:a\":1}", "{\"q:a\":{}}"})
    EXPECT_FALSE(FieldSet::parse(parse_or_die(bad)).ok()) << bad;
}

TEST(FieldSet, Algebra) {
  const FieldSet a = set(kA);
  const FieldSet b = set(kB);
  EXPECT_EQ(a.size(), 5u);
  EXPECT_EQ(
      json::write(a.united(b).encode()),
      R"({"f:spec":{".":{},"f:a":{".":{},"f:deep":{}},"f:l":{"k:{\"name\":\"x\",\"port\":80}":{".":{},"f:v":{}}},"f:s":{"v:\"q\"":{},"v:5":{}}},"f:z":{}})");
  EXPECT_EQ(json::write(a.intersected(b).encode()), R"({"f:spec":{"f:s":{"v:\"q\"":{}}}})");
  EXPECT_EQ(json::write(b.without(a).encode()),
            R"({"f:spec":{"f:a":{"f:deep":{}},"f:s":{"v:5":{}}},"f:z":{}})");
  EXPECT_EQ(json::write(b.without_subtrees(a).encode()), R"({"f:z":{}})");
  EXPECT_TRUE(a.without(a).empty());
  EXPECT_TRUE(a == a.united(a));
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(FieldSet::intersects(parse_or_die(kA), b));
  EXPECT_FALSE(FieldSet::intersects(parse_or_die(kA), set(R"({"f:spec":{"f:a":{"f:deep":{}}}})")));
  EXPECT_TRUE(FieldSet::contains_all(parse_or_die(kA), a));
  EXPECT_FALSE(FieldSet::contains_all(parse_or_die(kA), b));
  EXPECT_FALSE(FieldSet::contains_all(parse_or_die(kB), set(R"({"f:spec":{}})")));
}

TEST(FieldSet, EncodedSetsChangeAsDecodedOnesDo) {
  const std::string_view texts[] = {
      kA,
      kB,
      "{}",
      R"({"f:spec":{}})",
      R"({"f:spec":{".":{},"f:a":{}}})",
      R"({"f:spec":{"f:a":{"f:deep":{}},"f:l":{"k:{\"name\":\"x\",\"port\":80}":{}}}})",
      R"({"f:spec":{"f:l":{"k:{\"name\":\"x\",\"port\":80}":{"f:v":{}}},"f:s":{"v:\"q\"":{}}},"f:z":{"f:y":{}}})"};
  for (std::string_view left : texts) {
    for (std::string_view right : texts) {
      SCOPED_TRACE(std::string(left) + " and " + std::string(right));
      json::Value added = parse_or_die(left);
      FieldSet::add_to(added, set(right));
      EXPECT_EQ(json::write_sorted(added),
                json::write_sorted(set(left).united(set(right)).encode()));
      json::Value less = parse_or_die(left);
      FieldSet::subtract_from(less, set(right));
      EXPECT_EQ(json::write_sorted(less),
                json::write_sorted(set(left).without(set(right)).encode()));
    }
  }
}

TEST(FieldSet, PathsForPeople) {
  const std::vector<std::string> expected = {".spec", ".spec.a", ".spec.l[name=\"x\",port=80]",
                                             ".spec.l[name=\"x\",port=80].v", ".spec.s[=\"q\"]"};
  EXPECT_EQ(set(kA).paths(), expected);
  EXPECT_EQ(set(R"({"f:b":{},"f:a":{"f:x":{}},"f:l":{"i:3":{}}})").paths(),
            (std::vector<std::string>{".b", ".a.x", ".l[3]"}));
}

TEST(ManagedFields, TimesMoveOnlyWithChanges) {
  const WriteContext first{.type = kMetaType,
                           .api_version = "v1",
                           .manager = "m",
                           .now = Instant{1'700'000'000'000'000'000}};
  static constexpr Field kFields[] = {{.name = "metadata", .type = &kMetaType},
                                      {.name = "data", .type = &kStringMapType}};
  static constexpr Type kConfigMap{.kind = Kind::kStruct, .fields = kFields};
  const WriteContext one{.type = kConfigMap, .api_version = "v1", .manager = "m", .now = first.now};
  const WriteContext later{.type = kConfigMap,
                           .api_version = "v1",
                           .manager = "m",
                           .now = first.now + Duration::seconds(60)};
  const json::Value created =
      track_update(nullptr, parse_or_die(R"({"metadata":{"name":"a"},"data":{"x":"1"}})"), one);
  EXPECT_EQ(json::write(*created.find_path({"metadata", "managedFields"})),
            R"([{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",)"
            R"("fieldsV1":{"f:data":{".":{},"f:x":{}}},"time":"2023-11-14T22:13:20Z"}])");
  const json::Value same = track_update(&created, created, later);
  EXPECT_EQ(json::write(same), json::write(created));
  json::Value changed = created;
  changed.at_path({"data", "x"}) = "2";
  const json::Value updated = track_update(&created, changed, later);
  EXPECT_EQ(updated.find_path({"metadata", "managedFields"})->as_array()[0].get_string({"time"}),
            "2023-11-14T22:14:20Z");
  EXPECT_FALSE(equal_but_for_times(created, updated));
  json::Value touched = created;
  touched.find_path({"metadata", "managedFields"})->as_array()[0]["time"] = "2024-01-01T00:00:00Z";
  EXPECT_TRUE(equal_but_for_times(created, touched));
}

TEST(ManagedFields, TenThousandLabelsAreQuick) {
  static constexpr Field kFields[] = {{.name = "metadata", .type = &kMetaType}};
  static constexpr Type kObject{.kind = Kind::kStruct, .fields = kFields};
  json::Value object = parse_or_die(R"({"metadata":{"name":"a","labels":{}}})");
  for (int i = 0; i < 10'000; ++i)
    object.find_path({"metadata", "labels"})->as_object().append("k" + std::to_string(i), "v");
  const WriteContext context{.type = kObject, .api_version = "v1", .manager = "m"};
  const json::Value created = track_update(nullptr, object, context);
  json::Value changed = created;
  for (auto& [key, value] : changed.find_path({"metadata", "labels"})->as_object()) value = "w";
  const json::Value updated = track_update(&created, changed, context);
  EXPECT_EQ(json::write_sorted(*updated.find_path({"metadata", "managedFields"})).size(),
            json::write_sorted(*created.find_path({"metadata", "managedFields"})).size());
}

}  // namespace
}  // namespace kueue::schema
