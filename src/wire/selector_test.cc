#include "wire/selector.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace kueue::wire {
namespace {

TEST(LabelSelector, ParseAndPrint) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"  ", ""},
      {"a=b", "a=b"},
      {"a==b", "a=b"},
      {"b=1,a=2", "a=2,b=1"},
      {"a != b", "a!=b"},
      {"a", "a"},
      {"!a", "!a"},
      {"! a , b", "!a,b"},
      {"x in (c,a,b,a)", "x in (a,b,c)"},
      {"x notin (a)", "x!=a"},
      {"x in (a,)", "x in (,a)"},
      {"x in ()", "x="},
      {"in in (in,notin)", "in in (in,notin)"},
      {"a=", "a="},
      {"a=,b=c", "a=,b=c"},
      {"a>3,b<4", "a>3,b<4"},
      {"example.com/a=b", "example.com/a=b"},
      {"x in (a)\t,\n y", "x=a,y"},
      {"kueue.x-k8s.io/queue-name in (q1, q2),tier!=frontend,!gone",
       "!gone,kueue.x-k8s.io/queue-name in (q1,q2),tier!=frontend"},
  };
  for (const auto& [text, want] : cases) {
    auto s = LabelSelector::parse(text);
    ASSERT_TRUE(s.ok()) << text << ": " << s.error().message;
    EXPECT_EQ(s->to_string(), want) << text;
    auto again = LabelSelector::parse(s->to_string());
    ASSERT_TRUE(again.ok()) << s->to_string();
    EXPECT_EQ(*again, *s) << text;
  }
}

TEST(LabelSelector, Refuses) {
  const std::pair<const char*, const char*> cases[] = {
      {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {"=b", "unable to parse requirement: found '=', expected: identifier"},
      {"a,", "found '', expected: identifier after ','"},
      {",a", "unable to parse requirement: found ',', expected: identifier"},
      {"a in b", "unable to parse requirement: found 'b', expected: '('"},
      {"a in (b", "unable to parse requirement: found '', expected: ',', or ')'"},
      {"a=b=c", "found '=', expected: ',' or 'end of string'"},
      {"a=(b)", "unable to parse requirement: found '(', expected: identifier"},
      {"!a=b", "found '=', expected: ',' or 'end of string'"},
      {"a>-4", "unable to parse requirement: values[0][a]: Invalid value: \"-4\""},
      {"a>x", "unable to parse requirement: values[0]: Invalid value: \"x\""},
      {"-a=b", "unable to parse requirement: key: Invalid value: \"-a\""},
      {"A.com/a=b", "unable to parse requirement: key: Invalid value: \"A.com/a\""},
      {"a=b_", "unable to parse requirement: values[0][a]: Invalid value: \"b_\""},
  };
  for (const auto& [text, want] : cases) {
    auto s = LabelSelector::parse(text);
    ASSERT_FALSE(s.ok()) << text;
    EXPECT_TRUE(s.error().message.starts_with(want)) << text << ": " << s.error().message;
    EXPECT_EQ(s.error().code, ErrorCode::kBadRequest);
  }
}

TEST(LabelSelector, Matches) {
  const LabelMap labels = {{"app", "web"}, {"n", "5"}, {"empty", ""}};
  const std::pair<const char*, bool> cases[] = {
      {"", true},
      {"app=web", true},
      {"app=db", false},
      {"app!=db", true},
      {"gone!=x", true},
      {"gone=x", false},
      {"gone=", false},
      {"empty=", true},
      {"app", true},
      {"!app", false},
      {"!gone", true},
      {"n>4", true},
      {"n>5", false},
      {"n<6", true},
      {"app>1", false},
      {"gone<1", false},
      {"app in (a,web)", true},
      {"app notin (a,web)", false},
      {"app=web,n=6", false},
      {"gone notin (a)", true},
  };
  for (const auto& [text, want] : cases) {
    EXPECT_EQ(LabelSelector::parse(text).value().matches(labels), want) << text;
  }
  EXPECT_FALSE(LabelSelector::nothing().matches(labels));
  EXPECT_FALSE(LabelSelector::nothing().empty());
}

TEST(LabelSelector, FromObject) {
  struct Case {
    const char* text;
    const char* want;
  };
  const Case good[] = {
      {"{}", ""},
      {R"({"matchLabels":{"b":"1","a":"2"}})", "a=2,b=1"},
      {R"({"matchExpressions":[{"key":"a","operator":"In","values":["x","w"]},{"key":"b","operator":"Exists"},
           {"key":"c","operator":"DoesNotExist","values":[]},{"key":"d","operator":"NotIn","values":["z"]}]})",
       "a in (w,x),b,!c,d!=z"},
  };
  for (const Case& c : good) {
    auto object = json::parse(c.text).value();
    auto s = LabelSelector::from_object(&object);
    ASSERT_TRUE(s.ok()) << c.text;
    EXPECT_EQ(s->to_string(), c.want);
  }
  const Case bad[] = {
      {R"({"matchExpressions":[{"key":"a","operator":"In"}]})",
       "spec.selector.matchExpressions[0].values: Invalid value"},
      {R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})",
       "spec.selector.matchExpressions[0].values: Invalid value"},
      {R"({"matchExpressions":[{"key":"a","operator":"Equals"}]})",
       "spec.selector.matchExpressions[0].operator: Invalid value: \"Equals\""},
      {R"({"matchLabels":{"a":1}})", "spec.selector.matchLabels[a]: "},
      {R"([])", "spec.selector: "},
  };
  for (const Case& c : bad) {
    auto object = json::parse(c.text).value();
    auto s = LabelSelector::from_object(&object, "spec.selector");
    ASSERT_FALSE(s.ok()) << c.text;
    EXPECT_TRUE(s.error().message.starts_with(c.want)) << s.error().message;
    EXPECT_EQ(s.error().code, ErrorCode::kInvalid);
  }
  EXPECT_FALSE(LabelSelector::from_object(nullptr)->matches(LabelMap{}));
}

TEST(FieldSelector, ParseAndMatch) {
  auto lookup = [](std::string_view path) -> std::string {
    return path == "metadata.name" ? "a,b" : path == "status.phase" ? "Running" : "";
  };
  const std::pair<const char*, int> cases[] = {
      {"", 1},
      {"metadata.name=a\\,b", 1},
      {"metadata.name==a\\,b,status.phase!=Pending", 1},
      {"status.phase!=Running", 0},
      {"spec.nodeName=", 1},
      {"status.phase=Running,spec.nodeName!=", 0},
      {"metadata.name", -1},
      {"=x", -1},
      {"!=x", -1},
      {"a=b\\", -1},
      {"a=b\\x", -1},
      {"a=b=c", -1},
  };
  for (const auto& [text, want] : cases) {
    auto s = FieldSelector::parse(text);
    ASSERT_EQ(s.ok(), want >= 0) << text;
    if (s.ok()) EXPECT_EQ(s->matches(lookup), want == 1) << text;
  }
}

}  // namespace
}  // namespace kueue::wire
