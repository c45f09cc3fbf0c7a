#include "json/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kueue::json {
namespace {

TEST(Json, ParseAndWrite) {
  struct Case {
    std::string text;
    std::string want;  // compact; "" = the text itself
  };
  const Case cases[] = {
      {"null", ""},
      {" true ", "true"},
      {"[]", ""},
      {"{}", ""},
      {"[1,-2,0.5,\"x\",[{}],{\"a\":null}]", ""},
      {"{\"b\":1,\"a\":2}", ""},
      {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"},
      {"9223372036854775807", ""},
      {"-9223372036854775808", ""},
      {"18446744073709551615", ""},
      {"18446744073709551616", "18446744073709552000"},
      {"1.0", "1"},
      {"-0", "0"},
      {"-0.0", "-0"},
      {"1.5E0", "1.5"},
      {"1E-1", "0.1"},
      {"1e20", "100000000000000000000"},
      {"1e21", "1e+21"},
      {"0.000001", "0.000001"},
      {"1e-7", "1e-7"},
      {"1.25e-10", "1.25e-10"},
      {"1e300", "1e+300"},
      {"1e-400", "0"},
      {"0.1", "0.1"},
      {"2.2250738585072011e-308", "2.225073858507201e-308"},
      {R"("\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00")",
       "\"\\\"\\\\/\\b\\f\\n\\r\\tA\xC3\xA9\xF0\x9F\x98\x80\""},
      {R"("\ud83d \ude00")", "\"\xEF\xBF\xBD \xEF\xBF\xBD\""},
      {R"("\u0000\u001f\u007f")", "\"\\u0000\\u001f\x7f\""},
      {"\"<&>\"", ""},
      {"\"\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\"", "\"\\u2028\\u2029\xE2\x80\xAA\""},
  };
  for (const Case& c : cases) {
    auto parsed = parse(c.text);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.error().message;
    EXPECT_EQ(write(*parsed), c.want.empty() ? c.text : c.want) << c.text;
  }
}

TEST(Json, RefusesWithLineAndColumn) {
  struct Case {
    std::string text;
    std::string want;
  };
  const Case cases[] = {
      {"", "line 1, column 1: unexpected end of JSON input"},
      {"{", "line 1, column 2: invalid"},
      {"{\n  \"a\": 1,\n}",
       "line 3, column 1: invalid character '}' looking for beginning of object key string"},
      {"[1,]", "line 1, column 4: invalid character ']' looking for beginning of value"},
      {"[1 2]", "line 1, column 4: invalid character '2' after array element"},
      {"{\"a\" 1}", "line 1, column 6: invalid character '1' after object key"},
      {"{\"a\":1 \"b\":2}", "line 1, column 8: invalid character '\"' after object key:value pair"},
      {"nul", "line 1, column 4: unexpected end of JSON input"},
      {"nulL", "line 1, column 4: invalid character 'L' in literal null"},
      {"01", "line 1, column 2: invalid character '1' after top-level value"},
      {"-", "line 1, column 2: unexpected end of JSON input"},
      {"1.", "line 1, column 3: unexpected end of JSON input"},
      {"1e+", "line 1, column 4: unexpected end of JSON input"},
      {"+1", "line 1, column 1: invalid character '+' looking for beginning of value"},
      {"1e400", "line 1, column 1: number out of range"},
      {"NaN", "line 1, column 1: invalid character 'N' looking for beginning of value"},
      {"\"a\nb\"", "line 1, column 3: invalid character '\\x0a' in string literal"},
      {"\"\\x\"", "line 1, column 3: invalid character 'x' in string escape code"},
      {"\"\\u12g4\"", "line 1, column 3: invalid \\u escape in string literal"},
      {"\"\xff\"", "line 1, column 2: invalid UTF-8 in string literal"},
      {"\"\xc0\x80\"", "line 1, column 2: invalid UTF-8 in string literal"},
      {"\"\xed\xa0\x80\"", "line 1, column 2: invalid UTF-8 in string literal"},
      {"\"\xf5\x80\x80\x80\"", "line 1, column 2: invalid UTF-8 in string literal"},
      {"\"abc", "line 1, column 5: unexpected end of JSON input"},
      {"\xEF\xBB\xBF{}",
       "line 1, column 1: invalid character '\\xef' looking for beginning of value"},
      {"1 // c", "line 1, column 3: invalid character '/' after top-level value"},
  };
  for (const Case& c : cases) {
    auto parsed = parse(c.text);
    ASSERT_FALSE(parsed.ok()) << c.text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kBadRequest);
    EXPECT_TRUE(
        parsed.error().message.starts_with(c.want) ||
        (c.text == "{" && parsed.error().message.find("unexpected end") != std::string::npos))
        << c.text << ": " << parsed.error().message;
  }
}

TEST(Json, DepthLimit) {
  auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse(nested(512)).ok());
  EXPECT_FALSE(parse(nested(513)).ok());
  EXPECT_FALSE(parse(nested(1'000'000)).ok());
  EXPECT_FALSE(parse("{\"a\":[1]}", {.max_depth = 1}).ok());
  auto large = parse("[1,2,3]", {.max_bytes = 4});
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
}

TEST(Json, DuplicateKeys) {
  const std::string text =
      "{\"spec\":{\"a\":1,\"list\":[0,{\"x\":1,\n\"x\":2}],\"a\":2},\"metadata\":{},\"metadata\":{"
      "\"n\":1}}";
  std::vector<std::string> duplicates;
  auto parsed = parse(text, {.duplicates = &duplicates});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(duplicates, (std::vector<std::string>{"spec.list[1].x", "spec.a", "metadata"}));
  EXPECT_EQ(write(*parsed), "{\"spec\":{\"a\":2,\"list\":[0,{\"x\":2}]},\"metadata\":{\"n\":1}}");
  auto refused = parse(text, {.reject_duplicate_keys = true});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "line 2, column 1: duplicate field \"spec.list[1].x\"");
}

TEST(Json, DuplicatePathsInsideSiblings) {
  std::vector<std::string> duplicates;
  auto parsed = parse("[[1,{\"a\":[2]}],{\"k\":[{\"b\":0},{\"c\":{\"z\":1,\"z\":1,\"z\":3}}]}]",
                      {.duplicates = &duplicates});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(duplicates, (std::vector<std::string>{"[1].k[1].c.z"}));
}

TEST(Json, SortedAndPretty) {
  auto value = parse("{\"b\":[1,{}],\"a\":{\"d\":[],\"c\":\"x\"}}").value();
  EXPECT_EQ(write_sorted(value), "{\"a\":{\"c\":\"x\",\"d\":[]},\"b\":[1,{}]}");
  EXPECT_EQ(
      write_pretty(value, 2),
      "{\n  \"a\": {\n    \"c\": \"x\",\n    \"d\": []\n  },\n  \"b\": [\n    1,\n    {}\n  ]\n}");
}

TEST(Json, WritesWhatCannotBeJson) {
  EXPECT_EQ(write(Value(std::nan(""))), "null");
  EXPECT_EQ(write(Value("a\xff"
                        "b")),
            "\"a\\ufffdb\"");
}

TEST(Json, ManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 20'000; ++i) {
    text += (i ? ",\"" : "\"") + std::to_string(i * 7919 % 20'000) + "\":" + std::to_string(i);
  }
  text += "}";
  auto parsed = parse(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->as_object().size(), 20'000u);
  EXPECT_EQ(parsed->find("7919")->as_int(), 1);
  EXPECT_EQ(write(*parsed), text);
}

TEST(Json, PassesOverAMember) {
  ParseOptions options;
  options.skipped_in = "metadata";
  options.skipped = "managedFields";
  const struct {
    std::string_view text, expected;
  } cases[] = {
      {R"({"metadata":{"name":"a","managedFields":[{"f":{"k:{\"x\\\\\"}":"]"}}],"uid":"u"},"b":1})",
       R"({"metadata":{"name":"a","uid":"u"},"b":1})"},
      {R"({"items":[{"metadata":{"managedFields":[]}},{"metadata":{"managedFields":{}, "z":[{}]}}]})",
       R"({"items":[{"metadata":{}},{"metadata":{"z":[{}]}}]})"},
      {R"({"managedFields":[1],"spec":{"managedFields":[2]},"metadata":{"managedFields":3}})",
       R"({"managedFields":[1],"spec":{"managedFields":[2]},"metadata":{"managedFields":3}})"},
      {R"({"metadata":{"managedFields":[1],"managedFields":[2],"a":{"b":[[]]}}})",
       R"({"metadata":{"a":{"b":[[]]}}})"},
  };
  for (const auto& each : cases) {
    Result<Value> value = parse(each.text, options);
    ASSERT_TRUE(value.ok()) << value.error().message;
    EXPECT_EQ(write(*value), each.expected);
  }
  for (std::string_view text :
       {R"({"metadata":{"managedFields":[{)", R"({"metadata":{"managedFields":["a\)",
        R"({"metadata":{"managedFields":["a]})", R"({"metadata":{"managedFields":[]]}})"})
    EXPECT_FALSE(parse(text, options).ok()) << text;
}

}  // namespace
}  // namespace kueue::json
