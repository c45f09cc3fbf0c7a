#include "schema/equal.h"

#include <gtest/gtest.h>

#include "schema/test_types.h"

namespace kueue::schema {
namespace {

constexpr std::string_view kName[] = {"name"};
constexpr Field kItemFields[] = {{.name = "name", .type = &kStringType},
                                 {.name = "v", .type = &kInt32Type}};
constexpr Type kItem{.kind = Kind::kStruct, .fields = kItemFields};
constexpr Type kItems{
    .kind = Kind::kList, .element = &kItem, .list_type = ListType::kMap, .list_map_keys = kName};
constexpr Type kPlain{.kind = Kind::kList, .element = &kItem};
constexpr Field kFields[] = {{.name = "q", .type = &kQuantityMapType},
                             {.name = "t", .type = &kTimeType},
                             {.name = "d", .type = &kDurationType},
                             {.name = "items", .type = &kItems},
                             {.name = "plain", .type = &kPlain}};
constexpr Type kObject{.kind = Kind::kStruct, .fields = kFields};

TEST(Equal, Quantities) {
  const std::pair<const char*, const char*> equal[] = {
      {"1", "1000m"}, {"1Ki", "1024"},   {"1.5Gi", "1536Mi"}, {"1e3", "1k"}, {"0", "0.0"},
      {"-0", "0"},    {"0.1", "100m"},   {"1E", "1e18"},      {"1E3", "1k"}, {"5n", "0.005u"},
      {"+2", "2"},    {"1Ei", "1024Pi"}, {".5", "500m"},      {"100", "1e2"}};
  for (const auto& [a, b] : equal) EXPECT_TRUE(equal_quantities(a, b)) << a << " " << b;
  const std::pair<const char*, const char*> different[] = {
      {"1", "1001m"},
      {"1Ki", "1k"},
      {"x", "1"},
      {"-1", "1"},
      {"9007199254740993", "9007199254740992"}};
  for (const auto& [a, b] : different) EXPECT_FALSE(equal_quantities(a, b)) << a << " " << b;
}

TEST(Equal, ByMeaning) {
  const std::pair<const char*, const char*> equal[] = {
      {R"({"q":{"cpu":"1"}})", R"({"q":{"cpu":"1000m"}})"},
      {R"({"q":{"cpu":1}})", R"({"q":{"cpu":"1"}})"},
      {R"({"t":"2020-01-01T00:00:00Z"})", R"({"t":"2020-01-01T01:00:00+01:00"})"},
      {R"({"d":"60s"})", R"({"d":"1m"})"},
      {R"({"items":[],"q":{},"x":null})", R"({})"},
      {R"({"a":1,"b":2})", R"({"b":2,"a":1})"}};
  for (const auto& [a, b] : equal)
    EXPECT_TRUE(semantic_equal(kObject, parse_or_die(a), parse_or_die(b))) << a << " " << b;
  const std::pair<const char*, const char*> different[] = {
      {R"({"q":{"cpu":"1"}})", R"({"q":{"cpu":"2"}})"},
      {R"({"items":[{"name":"a"},{"name":"b"}]})", R"({"items":[{"name":"b"},{"name":"a"}]})"},
      {R"({"x":"1"})", R"({"x":"1000m"})"},
      {R"({"x":0})", R"({})"}};
  for (const auto& [a, b] : different)
    EXPECT_FALSE(semantic_equal(kObject, parse_or_die(a), parse_or_die(b))) << a << " " << b;
}

TEST(Equal, DiffPaths) {
  const json::Value a = parse_or_die(
      R"({"q":{"cpu":"1","mem":"1Gi"},"items":[{"name":"a","v":1},{"name":"b","v":2}],"plain":[{"v":1}],"gone":1})");
  const json::Value b = parse_or_die(
      R"({"q":{"cpu":"1000m","mem":"2Gi","x":"1"},"items":[{"name":"b","v":3},{"name":"c"}],"plain":[{"v":2},{}],"new":{"y":1}})");
  EXPECT_EQ(diff_paths(kObject, a, b),
            (std::vector<std::string>{"q.mem", "q.x", "items[name=a]", "items[name=b].v",
                                      "items[name=c]", "plain[0].v", "plain[1]", "gone", "new"}));
  EXPECT_EQ(diff_paths(kObject, a, b, 2).size(), 2u);
  EXPECT_TRUE(diff_paths(kObject, a, a).empty());
}

}  // namespace
}  // namespace kueue::schema
