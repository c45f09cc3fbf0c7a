// Kueue's kinds against what a real kube-apiserver v1.36 with Kueue's definitions answered
// (schema/testdata/kueue_values.json): causes of refused objects, the spec of accepted ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "api/registry.h"
#include "cel/rules.h"
#include "json/json.h"
#include "schema/defaults.h"
#include "schema/prune.h"
#include "schema/validate.h"

namespace kueue::apiserver {
namespace {

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::string text(std::string_view reason, std::string_view field, std::string_view message) {
  return std::string(reason) + "|" + std::string(field) + "|" + std::string(message);
}

TEST(KueueValues, AnswersAsKubeApiserverDoes) {
  std::ifstream in(KUEUE_SOURCE_DIR "/src/schema/testdata/kueue_values.json");
  std::stringstream file;
  file << in.rdbuf();
  auto data = json::parse(file.str());
  ASSERT_TRUE(data.ok());
  for (const json::Value& test : data->as_array()) {
    json::Value document = *test.find("document");
    SCOPED_TRACE(json::write(document));
    const std::string_view kind = document.get_string({"kind"});
    const schema::ResourceInfo* info = api::find_kind(document.get_string({"apiVersion"}), kind);
    ASSERT_NE(info, nullptr);
    const schema::Type& type = *info->type;
    const std::vector<std::string> unknown = schema::prune(type, document);
    if (!unknown.empty()) {
      const Error error =
          schema::strict_error(kind, info->version, schema::strict_messages({}, unknown));
      EXPECT_EQ(error.message, test.get_string({"message"}));
      continue;
    }
    schema::drop_nulls(type, document);
    schema::apply_defaults(type, document);
    const auto programs = cel::RulePrograms::compile(type);
    cel::ObjectRules rules(*programs);
    std::vector<std::string> found;
    for (const ErrorCause& c : schema::validate(type, document, {.rules = &rules}))
      found.push_back(text(c.reason, c.field, c.message));
    std::vector<std::string> expected;
    if (const json::Value* causes = test.find("causes"))
      for (const json::Value& c : causes->as_array())
        expected.push_back(
            text(c.get_string({"reason"}), c.get_string({"field"}), c.get_string({"message"})));
    EXPECT_EQ(sorted(found), sorted(expected));
    if (const json::Value* spec = test.find("spec"))
      EXPECT_EQ(json::write_sorted(*document.find("spec")), json::write_sorted(*spec));
  }
}

}  // namespace
}  // namespace kueue::apiserver
