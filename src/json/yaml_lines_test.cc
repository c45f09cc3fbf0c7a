#include "json/yaml_lines.h"

#include <gtest/gtest.h>

namespace kueue::json {
namespace {

TEST(YamlLines, FindsMembers) {
  const YamlLines lines(
      "a: 1\nb:\n  c: 2\n  list:\n  - name: x\n    value: y\n  - name: z\n    deep:\n      er: "
      "1\nd:\n  c: 3\n  flow: {e: [1,\n    2], \"x/y.z\": 1}\n");
  EXPECT_EQ(lines.of("a"), 1u);
  EXPECT_EQ(lines.of("b.c"), 3u);
  EXPECT_EQ(lines.of("d.c"), 11u);
  EXPECT_EQ(lines.of("b.list[0].value"), 6u);
  EXPECT_EQ(lines.of("b.list[1].name"), 7u);
  EXPECT_EQ(lines.of("b.list[1].deep.er"), 9u);
  EXPECT_EQ(lines.of("d.flow.e[0]"), 12u);
  EXPECT_EQ(lines.of("d.flow.e[1]"), 13u);
  EXPECT_EQ(lines.of("d.flow[x/y.z]"), 13u);
  EXPECT_EQ(lines.of("b.x"), 0u);
  EXPECT_EQ(lines.near("b.x"), 2u);
  EXPECT_EQ(lines.near("b.list[7].name"), 4u);
  EXPECT_EQ(lines.near("x"), 0u);
}

TEST(YamlLines, AnyText) {
  EXPECT_EQ(YamlLines("").of("a"), 0u);
  EXPECT_EQ(YamlLines("{\n  \"a\": {\n    \"b\": 1}}").of("a.b"), 3u);
  EXPECT_EQ(YamlLines("a: 1\nb: [").of("a"), 1u);
  EXPECT_EQ(YamlLines("a: &x [1]\nb: *x\n? [c]\n: 2\nd: 4\n---\ne: 5\n").of("d"), 5u);
  EXPECT_EQ(YamlLines("a: 1\n---\ne: 5\n").of("e"), 0u);
  EXPECT_EQ(YamlLines(std::string(10'000, '[')).of("[0]"), 1u);
}

}  // namespace
}  // namespace kueue::json
