#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "json/json.h"

namespace kueue::json {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Yaml, ScalarsAndStructure) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "null"},
      {"# nothing", "null"},
      {"a: 1", R"({"a":1})"},
      {"[y, Yes, on, TRUE, n, No, off, 'y', oN]",
       R"([true,true,true,true,false,false,false,"y","oN"])"},
      {"[~, null, Null, !!null '', '', nUll]", R"([null,null,null,null,"","nUll"])"},
      {"[10, 010, 0o10, 0x1F, 0b11, 1_000, -0x10, +5, 08, 0x]",
       R"([10,8,8,31,3,1000,-16,5,8,"0x"])"},
      {"[1.5, .5, 1., 1e3, 1.5e-7, -0.0, 1e, 1.2.3, .]",
       R"([1.5,0.5,1,1000,1.5e-7,-0,"1e","1.2.3","."])"},
      {"[9223372036854775807, 9223372036854775808, -9223372036854775808, 18446744073709551616]",
       "[9223372036854775807,9223372036854775808,-9223372036854775808,18446744073709552000]"},
      {"[2001-12-14, 2001-12-14t21:59:43.10-05:00, 1:30, 100Mi, 1-2]",
       R"(["2001-12-14","2001-12-14t21:59:43.10-05:00","1:30","100Mi","1-2"])"},
      {"{1: a, 1.5: b, true: c, on: d2, null_: e, '1': f2}",
       R"x(yaml: line 1: key "true" already set in map)x"},
      {"{1: a, 1.5: b, yes: c, x: d}", R"({"1":"a","1.5":"b","true":"c","x":"d"})"},
      {"!!str 1", R"("1")"},
      {"! 1", R"("1")"},
      {"!!int '7'", "7"},
      {"!!float 2", "2"},
      {"!!bool x", "yaml: line 1: cannot decode `x` as a !!bool"},
      {"!!binary aGk=", R"("hi")"},
      {"!!binary a?", "yaml: line 1: !!binary value contains invalid base64 data"},
      {"!thing {a: b}", R"({"a":"b"})"},
      {"a: |\n  x\n   y\nb: >\n  p\n  q\n", R"({"a":"x\n y\n","b":"p q\n"})"},
      {"a: &x {b: 1}\nc: *x\nd:\n- *x\n", R"({"a":{"b":1},"c":{"b":1},"d":[{"b":1}]})"},
      {"base: &b {x: 1, z: 2}\nuse:\n  x: 3\n  <<: *b\n",
       R"({"base":{"x":1,"z":2},"use":{"x":3,"z":2}})"},
      {"<<: [{a: 1}, {a: 2, b: 2}]\nc: 3", R"({"c":3,"a":1,"b":2})"},
      {"'<<': {a: 1}", R"({"<<":{"a":1}})"},
      {"<<: 1", "yaml: line 1: map merge requires map or sequence of maps as the value"},
      {"a: 1\nb: 2\na: 3", R"x(yaml: line 3: key "a" already set in map)x"},
      {"? [a]\n: b", "yaml: line 1: unsupported map key"},
      {"~: b", "yaml: line 1: unsupported map key"},
      {"a: .nan", "yaml: line 1: unsupported value: NaN"},
      {".nan", "yaml: line 1: unsupported value: NaN"},
      {"- -.inf", "yaml: line 1: unsupported value: Inf"},
      {"a: *gone", "yaml: line 1: unknown anchor 'gone' referenced"},
      {"a: &x [*x]", "yaml: line 1: anchor 'x' value contains itself"},
      {"a: b: c", "yaml: line 1: mapping values are not allowed in this context"},
      {"a:\n\t- b", "yaml: line 2: found character that cannot start any token"},
      {"a: 'x", "yaml: line 1: found unexpected end of stream"},
      {"{\"a\": 1, \"b\": [1.0, \"\\u00e9\"]}", "{\"a\":1,\"b\":[1,\"\xC3\xA9\"]}"},
      {"{\"a\":1,\"a\":2}", R"x(yaml: line 1: key "a" already set in map)x"},
  };
  for (const auto& [text, want] : cases) {
    auto value = parse_yaml(text);
    EXPECT_EQ(value.ok() ? write(*value) : value.error().message, want) << text;
  }
}

TEST(Yaml, Streams) {
  auto all = parse_yaml_all("---\na: 1\n---\n# empty\n---\n- 2\n...\n---\n");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(write((*all)[0]), R"({"a":1})");
  EXPECT_EQ(write((*all)[1]), "[2]");
  EXPECT_TRUE(parse_yaml_all("").value().empty());
  EXPECT_EQ(parse_yaml_all("a: 1\n---\nb: [").error().message.substr(0, 12), "yaml: line 3");
  EXPECT_EQ(write(parse_yaml("a: 1\n---\nb: [").value()), R"({"a":1})");
}

TEST(Yaml, Limits) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    std::string before = "*a" + std::to_string(i - 1), name = "a" + std::to_string(i);
    laughs += name + ": &" + name + " [";
    for (int k = 0; k < 10; ++k) laughs += (k ? ", " : "") + before;
    laughs += "]\n";
  }
  auto bomb = parse_yaml(laughs);
  ASSERT_FALSE(bomb.ok());
  EXPECT_NE(bomb.error().message.find("more than 1000000 values"), std::string::npos);
  EXPECT_FALSE(parse_yaml(std::string(100'000, '[')).ok());
  EXPECT_EQ(parse_yaml("a: 1", {.max_bytes = 2}).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(write(parse_yaml("a: 1\na: 2", {.reject_duplicate_keys = false}).value()),
            R"({"a":2})");
  EXPECT_FALSE(parse_yaml("a: \xff").ok());
}

// The output was printed by kubectl.
TEST(Yaml, WritesAsKubectlDoes) {
  const std::string dir = KUEUE_SOURCE_DIR "/test/golden/yaml/";
  auto value = parse_yaml(read_file(dir + "quoting.in.yaml"));
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_EQ(write_yaml(*value), read_file(dir + "quoting.out.yaml"));
}

TEST(Yaml, WriteAndReadAgain) {
  const char* texts[] = {
      R"({"a":{},"b":[],"c":[[1,[2]],{"d":null}],"e":true,"f":1.5,"g":1e+21,"h":0.00001,"i":18446744073709551615})",
      R"(["y","NO","~","null","1","1.5","0x1","1e3",".inf","2001-01-01","1:20","","-","- a","a: b","# c","<<","=","\t","a\n","\n","a\nb\u0007","\u2028","x "])",
      R"({"<<":"x","on":1,"1":2,"a b":3,"a: b":4,"":5,"long key ................................................................................................................................":6})",
      "\"\"",
      "null",
      "[]",
  };
  for (const char* text : texts) {
    Value value = parse(text).value();
    std::string yaml = write_yaml(value);
    auto again = parse_yaml(yaml);
    ASSERT_TRUE(again.ok()) << yaml << again.error().message;
    EXPECT_EQ(*again, value) << yaml;
  }
  EXPECT_EQ(write_yaml(parse(R"({"b":[{"x":1,"y":[2]}],"a":{}})").value()),
            "a: {}\nb:\n- x: 1\n  \"y\":\n  - 2\n");
}

}  // namespace
}  // namespace kueue::json
