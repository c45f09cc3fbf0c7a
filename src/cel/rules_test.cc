// Schema rules: against what a real kube-apiserver v1.36 answered (testdata/kube_apiserver.json),
// and every rule of the definitions of Kueue and of the job kinds.
#include "cel/rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "api/registry.h"
#include "json/json.h"
#include "schema/crd.h"
#include "schema/scalars.h"

namespace kueue::cel {
namespace {

json::Value read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = json::parse(text.str());
  KUEUE_CHECK(parsed.ok(), path.c_str());
  return std::move(parsed).value();
}

// Where we differ from kube-apiserver on purpose or in wording only.
bool excepted(const std::string& expression) {
  static const std::set<std::string> kExact = {
      // Wording of errors after a first one, as a recovering grammar finds them.
      "!",
      "-",
      "b\" == ''",
      "self.?",
      "[1,,2]",
      "self.l[",
      "self.1",
      "1 ? 2",
      // The form of a rule is checked before it is compiled.
      "",
      // The parameter of the type of types is not told.
      "string(type(1)) ",
      // A rule of unknown type is judged when it runs.
      "dyn(1)[0]",
      "dyn('a')[0]",
      "dyn(1).foo",
      // Texts of Go's url and semver packages.
      "url('http://[::1').getHost() == ''",
      "url('http://a b/').getHost() == ''",
      "semver('1.a.3').major() == 1",
      "semver('01.2.3').major() == 1",
      "semver('1.2.3-01').major() == 1",
      // Names of time zones need a database.
      "timestamp('2026-01-01T00:00:00Z').getHours('Europe/Berlin') == 1",
      // A function of a library names itself and its arguments only where Go's implementation does.
      "quantity(self.ios) == quantity('5')",
      // Values without an order.
      "[dyn(1), dyn('a')].max() == 1",
      "[dyn(1), dyn('a')].isSorted()",
      // format() with constant arguments is checked when it runs.
      "'%s'.format([]) == 'a'",
      "'%d'.format(['a']) == 'a'",
      "'%z'.format([1]) == 'a'",
      "'%d'.format([1.5]) == '1.5'",
      "('%s'.format([])) == ('%s'.format([]))",
      "('%d'.format(['a'])) == ('%d'.format(['a']))",
      "\"%s %s\".format([dyn('a')])",
      "\"%s\".format([optional.of(1)])",
      "\"%s\".format([quantity('1Gi')])",
      "\"%s\".format([ip('1.2.3.4')])",
  };
  if (kExact.count(expression) > 0) return true;
  // Accepted here: the math extension, cel.bind and quoted fields.
  return expression.find("math.") != std::string::npos ||
         expression.find("cel.bind") != std::string::npos ||
         expression.find('`') != std::string::npos ||
         expression.find("authorizer") != std::string::npos;
}

std::string without_printed_rule(std::string message) {
  size_t end = message.find("}: ", message.find("\"OptionalOldSelf\""));
  return end == std::string::npos ? message : message.substr(end + 3);
}

TEST(CelRules, AnswerAsKubeApiserver) {
  json::Value data = read_json(KUEUE_SOURCE_DIR "/src/cel/testdata/kube_apiserver.json");
  json::Value root =
      json::Value::object({{"type", "object"}, {"properties", json::Value::object()}});
  root["properties"]["self"] = data["schema"];
  auto schema = schema::DynamicSchema::build(root, &schema::kAnyType, "ex.com", "v1", "T");
  const schema::Type& self = *schema->root().field("self")->type;
  const json::Value& document = data["document"];
  int compared = 0;
  for (const json::Value& test : data["cases"].as_array()) {
    std::string rule_text(test.get_string({"rule"})), message(test.get_string({"message"}));
    std::string expression(test.get_string({"messageExpression"}));
    if (excepted(expression.empty() ? rule_text : expression)) continue;
    ++compared;
    SCOPED_TRACE(rule_text + "   " + expression);
    schema::Rule rule{.rule = rule_text, .message = message, .message_expression = expression};
    schema::Type type = self;
    type.rules = {&rule, 1};
    std::vector<std::string> found, expected;
    std::vector<ErrorCause> errors;
    schema::Path at;
    check_rule(type, rule, at, errors);
    for (const ErrorCause& e : errors) found.push_back(without_printed_rule(e.message));
    if (const json::Value* texts = test.find("compile")) {
      for (const json::Value& text : texts->as_array()) expected.push_back(text.as_string());
      EXPECT_EQ(found, expected);
      continue;
    }
    EXPECT_EQ(found, expected);
    auto programs = RulePrograms::compile(type);
    ObjectRules rules(*programs);
    errors.clear();
    json::Value copy = document;
    copy.erase_path({"nul"});  // the schema does not allow null there
    rules.evaluate({.type = type, .self = copy, .path = at}, errors);
    for (const ErrorCause& e : errors) found.push_back(e.message);
    for (const json::Value& text : test.find("run")->as_array())
      expected.push_back(text.as_string());
    EXPECT_EQ(found, expected);
  }
  EXPECT_GT(compared, 700);
}

std::filesystem::path shared_folder() {
  if (const char* path = std::getenv("KUEUE_SHARED")) return path;
  return KUEUE_SOURCE_DIR "/../shared";
}

TEST(CelRules, AllRulesOfTheDefinitionsCompile) {
  const auto folder = shared_folder() / "schemas";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "NO SHARED SCHEMAS AT " << folder;
  size_t rules = 0;
  for (const char* part : {"kueue", "jobs"}) {
    for (const auto& file : std::filesystem::directory_iterator(folder / part)) {
      SCOPED_TRACE(file.path().string());
      const json::Value definition = read_json(file.path());
      const schema::Type* meta = api::find_type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
      ASSERT_NE(meta, nullptr);
      for (const ErrorCause& c :
           schema::validate_crd(definition, {.object_meta = meta, .check_rule = check_rule}))
        if (c.field.find("api-approved") == std::string::npos)
          ADD_FAILURE() << c.field << ": " << c.message;
      auto crd = schema::Crd::build(definition, meta);
      ASSERT_TRUE(crd.ok());
      for (const schema::CrdVersion& v : (*crd)->versions())
        rules += RulePrograms::compile(*v.resource.type)->count();
    }
  }
  EXPECT_GE(rules, 150u);
}

TEST(CelRules, RulesOfTheTablesCompile) {
  size_t rules = 0;
  for (const schema::ResourceInfo* resource : api::kueue_resources()) {
    auto programs = RulePrograms::compile(*resource->type);
    rules += programs->count();
  }
  EXPECT_GE(rules, 60u);
}

}  // namespace
}  // namespace kueue::cel
