#include "json/patch.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "json/json.h"

namespace kueue::json {
namespace {

TEST(JsonPatch, Applies) {
  struct Case {
    const char* document;
    const char* patch;
    const char* want;
  };
  const Case cases[] = {
      {R"({"a":1})", R"([])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":{"c":[]}}])", R"({"a":1,"b":{"c":[]}})"},
      {R"({"a":1})", R"([{"op":"add","path":"/a","value":null}])", R"({"a":null})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})",
       R"([{"op":"add","path":"/a/-","value":2},{"op":"add","path":"/a/2","value":3}])",
       R"({"a":[1,2,3]})"},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
      {R"({"a":{"b":1,"c":2}})", R"([{"op":"remove","path":"/a/b"}])", R"({"a":{"c":2}})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/a","value":"x"}])", R"({"a":"x"})"},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":[1]}])", R"([1])"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])", R"({"a":{},"c":1})"},
      {R"({"a":[1,2,3]})", R"([{"op":"move","from":"/a/0","path":"/a/2"}])", R"({"a":[2,3,1]})"},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])",
       R"({"a":{"b":1},"c":{"b":1}})"},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/a/a"}])",
       R"({"a":{"b":1,"a":{"b":1}}})"},
      {R"({"a/b":1,"c~d":2,"":3})",
       R"([{"op":"test","path":"/a~1b","value":1.0},{"op":"test","path":"/c~0d","value":2},
           {"op":"test","path":"/","value":3},{"op":"test","path":"/gone","value":null}])",
       R"({"a/b":1,"c~d":2,"":3})"},
      {R"({"a":{"x":1,"y":2}})", R"([{"op":"test","path":"/a","value":{"y":2,"x":1}}])",
       R"({"a":{"x":1,"y":2}})"},
  };
  for (const Case& c : cases) {
    auto result = apply_json_patch(parse(c.document).value(), parse(c.patch).value());
    ASSERT_TRUE(result.ok()) << c.patch << ": " << result.error().message;
    EXPECT_EQ(write(*result), c.want) << c.patch;
  }
}

TEST(JsonPatch, Refuses) {
  struct Case {
    const char* patch;
    ErrorCode code;
    const char* want;
  };
  const Case cases[] = {
      {R"({})", ErrorCode::kBadRequest, "must be an array"},
      {R"([1])", ErrorCode::kBadRequest, "operation 0: must be an object"},
      {R"([{"op":"test","path":"/a","value":[1,2]},{"op":"jump","path":"/a"}])",
       ErrorCode::kBadRequest, "operation 1: unknown \"op\": \"jump\""},
      {R"([{"op":"add","value":1}])", ErrorCode::kBadRequest,
       "operation 0: needs a string \"path\""},
      {R"([{"op":"add","path":"a","value":1}])", ErrorCode::kBadRequest, "not a JSON pointer"},
      {R"([{"op":"add","path":"/a~2","value":1}])", ErrorCode::kBadRequest, "not a JSON pointer"},
      {R"([{"op":"add","path":"/a"}])", ErrorCode::kBadRequest, "needs a \"value\""},
      {R"([{"op":"move","path":"/a"}])", ErrorCode::kBadRequest, "needs a string \"from\""},
      {R"([{"op":"add","path":"/x/y","value":1}])", ErrorCode::kInvalid,
       "at \"/x/y\": the parent does not exist"},
      {R"([{"op":"add","path":"/s/y","value":1}])", ErrorCode::kInvalid,
       "neither object nor array"},
      {R"([{"op":"add","path":"/a/3","value":1}])", ErrorCode::kInvalid, "out of bounds"},
      {R"([{"op":"add","path":"/a/01","value":1}])", ErrorCode::kInvalid, "out of bounds"},
      {R"([{"op":"remove","path":"/a/-"}])", ErrorCode::kInvalid, "nothing is there to remove"},
      {R"([{"op":"remove","path":"/x"}])", ErrorCode::kInvalid, "nothing is there to remove"},
      {R"([{"op":"replace","path":"/x","value":1}])", ErrorCode::kInvalid,
       "nothing is there to replace"},
      {R"([{"op":"test","path":"/a","value":[2,1]}])", ErrorCode::kInvalid, "testing value failed"},
      {R"([{"op":"move","from":"/o","path":"/o/x"}])", ErrorCode::kInvalid, "into itself"},
      {R"([{"op":"copy","from":"/x","path":"/y"}])", ErrorCode::kInvalid, "nothing is at \"from\""},
  };
  auto document = parse(R"({"a":[1,2],"s":"x","o":{}})").value();
  for (const Case& c : cases) {
    auto result = apply_json_patch(document, parse(c.patch).value());
    ASSERT_FALSE(result.ok()) << c.patch;
    EXPECT_EQ(result.error().code, c.code) << c.patch;
    EXPECT_NE(result.error().message.find(c.want), std::string::npos) << result.error().message;
  }
}

TEST(JsonPatch, Bounded) {
  Array many(10'001, Value::object({{"op", "test"}, {"path", "/a"}, {"value", nullptr}}));
  EXPECT_FALSE(apply_json_patch(Value(Object()), Value(many)).ok());
  Array doubling(64, Value::object({{"op", "copy"}, {"from", ""}, {"path", "/a"}}));
  auto grown = apply_json_patch(Value::object({{"b", 1}, {"a", 0}}), Value(doubling));
  EXPECT_TRUE(grown.ok());  // copies replace "a": linear growth
  Array list = {Value::object({{"op", "add"}, {"path", ""}, {"value", Value::array({1, 2, 3})}})};
  for (int i = 0; i < 64; ++i)
    list.push_back(Value::object({{"op", "copy"}, {"from", ""}, {"path", "/-"}}));
  auto refused = apply_json_patch(Value(), Value(list));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
}

Value removals(const std::function<std::string(int)>& path, int count) {
  Array patch;
  for (int i = 0; i < count; ++i)
    patch.push_back(Value::object({{"op", "remove"}, {"path", path(i)}}));
  return patch;
}

TEST(JsonPatch, RemovesManyMembersInOnePass) {
  constexpr int kMembers = 50'000, kGone = 10'000;
  Object members;
  for (int i = 0; i < kMembers; ++i) members.append("k" + std::to_string(i), i);
  const Value document = Value::object({{"data", Value(std::move(members))}});
  const auto path = [](int i) { return "/data/k" + std::to_string(i * 3); };
  Value patch = removals(path, kGone);
  auto got = apply_json_patch(document, patch);
  ASSERT_TRUE(got.ok()) << got.error().message;
  const Object& left = got->find("data")->as_object();
  EXPECT_EQ(left.size(), static_cast<size_t>(kMembers - kGone));
  EXPECT_FALSE(left.contains("k0"));
  EXPECT_TRUE(left.contains("k1"));
  EXPECT_FALSE(left.contains("k29997"));
  EXPECT_EQ(left.begin()->first, "k1");

  // What was removed is gone for the operations behind it.
  patch.as_array()[1] = Value::object({{"op", "remove"}, {"path", "/data/k0"}});
  EXPECT_FALSE(apply_json_patch(document, patch).ok());
  patch.as_array()[1] = Value::object({{"op", "replace"}, {"path", "/data/k0"}, {"value", 1}});
  EXPECT_FALSE(apply_json_patch(document, patch).ok());
  patch.as_array()[1] = Value::object({{"op", "add"}, {"path", "/data/k0"}, {"value", 1}});
  patch.as_array()[2] = Value::object({{"op", "remove"}, {"path", "/data/k0"}});
  got = apply_json_patch(document, patch);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->find("data")->as_object().size(), static_cast<size_t>(kMembers - kGone + 2));
}

TEST(JsonPatch, WorkIsBounded) {
  constexpr size_t kMoves = 100'000;
  const Value list = Value::object({{"a", Value(Array(1000, Value(1)))}});
  const auto front = [](int) { return "/a/0"; };
  EXPECT_TRUE(apply_json_patch(list, removals(front, 100), kMoves).ok());
  const auto got = apply_json_patch(list, removals(front, 200), kMoves);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(got.error().message.find("at \"/a/0\""), std::string::npos) << got.error().message;

  // In turn from two objects: no two removals go together.
  Object members;
  for (int i = 0; i < 1000; ++i) members.append("k" + std::to_string(i), i);
  const Value two = Value::object({{"a", Value(members)}, {"b", Value(members)}});
  const auto turns = [](int i) { return (i % 2 == 0 ? "/a/k" : "/b/k") + std::to_string(i / 2); };
  EXPECT_TRUE(apply_json_patch(two, removals(turns, 100), kMoves).ok());
  EXPECT_FALSE(apply_json_patch(two, removals(turns, 200), kMoves).ok());
  EXPECT_TRUE(apply_json_patch(two, removals(turns, 200)).ok());
}

TEST(MergePatch, AppliesAndDiffs) {
  struct Case {
    const char* document;
    const char* patch;
    const char* want;
  };
  // The table of RFC 7386, appendix A, and more.
  const Case cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", R"(null)", R"(null)"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const Case& c : cases) {
    Value from = parse(c.document).value();
    Value got = apply_merge_patch(from, parse(c.patch).value());
    EXPECT_EQ(write(got), c.want) << c.patch;
    Value difference = make_merge_patch(from, got);
    if (got.is_object()) EXPECT_EQ(apply_merge_patch(from, difference), got) << write(difference);
  }
  EXPECT_EQ(write(make_merge_patch(parse(R"({"a":{"b":1,"c":2},"d":3})").value(),
                                   parse(R"({"a":{"b":1,"c":4},"e":5})").value())),
            R"({"a":{"c":4},"e":5,"d":null})");
}

}  // namespace
}  // namespace kueue::json
