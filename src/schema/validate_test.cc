// Validation of custom resources against what a real kube-apiserver v1.36 answered for the same
// definition and documents (testdata/values.json): code, message parts, causes, and the stored spec
// after pruning and defaulting.
#include "schema/validate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "schema/crd.h"
#include "schema/defaults.h"
#include "schema/errors.h"
#include "schema/prune.h"
#include "schema/test_types.h"

namespace kueue::schema {
namespace {

// The rules of the test definition, by their text.
class FakeRules : public RuleEvaluator {
 public:
  void evaluate(const RuleInput& in, std::vector<ErrorCause>& errors) override {
    for (const Rule& rule : in.type.rules) {
      ++evaluated;
      if (rule.rule == "self.a > 3" && !in.unchanged && in.self.get_int({"a"}) <= 3)
        errors.push_back(invalid_without_value(in.path, "failed rule: self.a > 3"));
      if (rule.rule == "self.startsWith('x')" && !in.unchanged &&
          !in.self.string_or("").starts_with("x"))
        errors.push_back(invalid_value(in.path, in.self, rule.message));
      if (rule.rule == "self.metadata.name != 'bad'" && !in.unchanged &&
          in.self.get_string({"metadata", "name"}) == "bad")
        errors.push_back(
            invalid_without_value(in.path, "failed rule: self.metadata.name != 'bad'"));
      if (rule.rule == "self.a == oldSelf.a" && in.old_self != nullptr &&
          *in.self.find("a") != *in.old_self->find("a"))
        errors.push_back(forbidden(in.path.child("a"), rule.message));
    }
  }
  int evaluated = 0;
};

std::vector<std::string> texts(const std::vector<ErrorCause>& causes) {
  std::vector<std::string> out;
  for (const ErrorCause& c : causes) out.push_back(c.reason + "|" + c.field + "|" + c.message);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> recorded_texts(const json::Value& causes) {
  std::vector<std::string> out;
  for (const json::Value& c : causes.as_array())
    out.push_back(std::string(c.get_string({"reason"})) + "|" +
                  std::string(c.get_string({"field"})) + "|" +
                  std::string(c.get_string({"message"})));
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Validate, AnswersAsKubeApiserverDoes) {
  const json::Value data = test_data("values.json");
  auto crd = Crd::build(*data.find("definition"), &kMetaType);
  ASSERT_TRUE(crd.ok()) << crd.error().message;
  const Type& type = *crd.value()->versions()[0].resource.type;
  EXPECT_EQ(type.name, "com.ex.v1.Thing");
  int compared = 0;
  for (const json::Value& test : data.find("cases")->as_array()) {
    json::Value document = *test.find("document");
    SCOPED_TRACE(json::write(document));
    const int64_t code = test.get_int({"code"});
    // 400: wrong types inside metadata or embedded resources, told by the decoder.
    std::vector<std::string> unknown = prune(type, document);
    std::sort(unknown.begin(), unknown.end());
    if (test.get_string({"fieldValidation"}) == "Strict" && !unknown.empty()) {
      EXPECT_EQ(strict_error("Thing", "v1", strict_messages({}, unknown)).message,
                test.get_string({"message"}));
      ++compared;
      continue;
    }
    if (code == 400) continue;
    if (const json::Value* warnings = test.find("warnings")) {
      std::vector<std::string> expected;
      for (const json::Value& w : warnings->as_array()) expected.push_back(w.as_string());
      EXPECT_EQ(strict_messages({}, unknown), expected);
    }
    drop_nulls(type, document);
    apply_defaults(type, document);
    FakeRules rules;
    std::vector<ErrorCause> causes = validate(type, document, {.rules = &rules});
    if (code == 201) {
      EXPECT_EQ(texts(causes), std::vector<std::string>());
      const json::Value* spec = document.find("spec");
      ASSERT_NE(spec, nullptr);
      EXPECT_EQ(json::write_sorted(*spec), json::write_sorted(*test.find("spec")));
    } else if (test.get_string({"message"}).find("metadata.labels") == std::string_view::npos) {
      EXPECT_EQ(texts(causes), recorded_texts(*test.find("causes")));
      if (causes.size() == 1)
        EXPECT_EQ(make_invalid("ex.com", "Thing", document.get_string({"metadata", "name"}), causes)
                      .message,
                  test.get_string({"message"}));
    }
    ++compared;
  }
  EXPECT_GT(compared, 130);
}

TEST(Validate, ToleratesErrorsThatWereThereBefore) {
  const json::Value schema = parse_or_die(R"({"type":"object","properties":{"spec":{
    "type":"object","properties":{
      "a":{"type":"string","maxLength":2},"b":{"type":"string"},
      "o":{"type":"object","required":["y"],"properties":{"x":{"type":"string"},"y":{"type":"string"}}},
      "al":{"type":"array","items":{"type":"string","maxLength":2}},
      "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
      "l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
        "items":{"type":"object","required":["name"],
          "x-kubernetes-validations":[{"rule":"self.a > 3"}],
          "properties":{"name":{"type":"string"},"a":{"type":"integer"},
                        "v":{"type":"string","maxLength":1}}}}}}}})");
  const auto built = DynamicSchema::build(schema, &kMetaType, "ex.com", "v1", "Rat");
  const json::Value old = parse_or_die(R"({"spec":{"a":"aaaa","b":"q","o":{"x":"1"},
    "l":[{"name":"bad","v":"xx","a":1},{"name":"n","v":"yy","a":5}],
    "al":["ccc","aa"],"set":["1","1"]}})");
  struct Case {
    const char* change;  // JSON of spec members
    std::vector<std::string> fields;
    std::vector<std::string> warnings;
  };
  const std::string warning = "spec.l[0]: Invalid value: failed rule: self.a > 3";
  const Case cases[] = {
      {R"({})", {}, {warning}},
      {R"({"b":"z"})", {}, {warning}},
      {R"({"o":{"x":"2"}})", {"spec.o.y", "<nil>"}, {}},
      {R"({"a":"bbbb"})", {"spec.a", "<nil>"}, {}},
      {R"({"al":["ccc","bb"]})", {"spec.al[0]", "<nil>"}, {}},
      {R"({"set":["1","1","2"]})", {}, {warning}},
      {R"({"l":[{"name":"bad","v":"xx","a":1},{"name":"n","v":"yyy","a":5}]})",
       {"spec.l[1].v", "<nil>"},
       {}},
      {R"({"l":[{"name":"n","v":"yy","a":5},{"name":"bad","v":"xx","a":1}]})",
       {},
       {"spec.l[1]: Invalid value: failed rule: self.a > 3"}},
      {R"({"l":[{"name":"bad","v":"xx","a":2}]})", {"spec.l[0]"}, {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.change);
    json::Value now = old;
    const json::Value change = parse_or_die(c.change);
    for (const auto& [key, value] : change.as_object()) now.at_path({"spec", key}) = value;
    FakeRules rules;
    std::vector<std::string> warnings;
    std::vector<std::string> fields;
    for (const ErrorCause& cause :
         validate(built->root(), now, {.old = &old, .rules = &rules, .warnings = &warnings}))
      fields.push_back(cause.field);
    EXPECT_EQ(fields, c.fields);
    EXPECT_EQ(warnings, c.warnings);
  }
}

TEST(Validate, EarlierCausesComeFirstAndMayStopRules) {
  const json::Value schema = parse_or_die(
      R"({"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name != 'bad'"}]})");
  const auto built = DynamicSchema::build(schema, &kMetaType, "ex.com", "v1", "T");
  const json::Value document = parse_or_die(R"({"metadata":{"name":"bad"}})");
  FakeRules rules;
  const Path root;
  auto causes = validate(built->root(), document,
                         {.rules = &rules, .earlier = {required_value(root.child("metadata"))}});
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(causes[0].field, "metadata");
  EXPECT_EQ(rules.evaluated, 0);
  causes = validate(built->root(), document,
                    {.rules = &rules, .earlier = {invalid_value(root.child("metadata"), 1, "x")}});
  EXPECT_EQ(causes.size(), 2u);
  EXPECT_EQ(rules.evaluated, 1);
}

}  // namespace
}  // namespace kueue::schema
