// The CRDs made from the tables against those of Kueue, field by field.
#include "api/crd_manifest.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "api/registry.h"
#include "json/json.h"

namespace kueue::api {
namespace {

std::filesystem::path shared_folder() {
  const char* env = std::getenv("KUEUE_SHARED");
  return env != nullptr ? std::filesystem::path(env)
                        : std::filesystem::path(KUEUE_SOURCE_DIR) / ".." / "shared";
}

// Appends "path: what" for each difference. `expected` may hold an empty subresources block, which
// says nothing.
void compare(const json::Value& ours, const json::Value& expected, const std::string& path,
             std::vector<std::string>& differences) {
  if (ours.is_object() && expected.is_object()) {
    std::set<std::string> keys;
    for (const auto& [key, value] : ours.as_object()) keys.insert(key);
    for (const auto& [key, value] : expected.as_object()) keys.insert(key);
    for (const std::string& key : keys) {
      const json::Value* a = ours.find(key);
      const json::Value* b = expected.find(key);
      const bool empty = b != nullptr && b->is_object() && b->as_object().empty();
      if (a == nullptr && key == "subresources" && empty) continue;
      if (a == nullptr || b == nullptr) {
        differences.push_back(path + "." + key + (a == nullptr ? ": missing" : ": not expected"));
      } else {
        compare(*a, *b, path + "." + key, differences);
      }
    }
    return;
  }
  if (ours.is_array() && expected.is_array() &&
      ours.as_array().size() == expected.as_array().size()) {
    for (size_t i = 0; i < ours.as_array().size(); ++i)
      compare(ours.as_array()[i], expected.as_array()[i], path + "[" + std::to_string(i) + "]",
              differences);
    return;
  }
  if (!(ours == expected))
    differences.push_back(path + ": " + json::write(ours) + " instead of " + json::write(expected));
}

TEST(CrdManifest, EqualsKueuesOwn) {
  const std::filesystem::path folder = shared_folder() / "schemas" / "kueue";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "SKIPPED: no CRDs to compare with at " << folder << " (set KUEUE_SHARED)";
  }
  std::vector<json::Value> manifests = crd_manifests({.descriptions = false});
  ASSERT_EQ(manifests.size(), 11u);
  for (const json::Value& ours : manifests) {
    const std::string plural(ours.get_string({"spec", "names", "plural"}));
    std::ifstream in(folder / ("kueue.x-k8s.io_" + plural + ".json"));
    ASSERT_TRUE(in) << plural;
    std::ostringstream text;
    text << in.rdbuf();
    Result<json::Value> expected = json::parse(text.str());
    ASSERT_TRUE(expected.ok());
    std::vector<std::string> differences;
    compare(ours, *expected, plural, differences);
    for (size_t i = 0; i < differences.size() && i < 20; ++i) ADD_FAILURE() << differences[i];
  }
}

TEST(CrdManifest, ConversionWebhookIsOptional) {
  json::Value config = json::Value::object({{"url", "https://x/convert"}});
  for (const json::Value& crd : crd_manifests({.conversion_client_config = &config})) {
    const std::string kind(crd.get_string({"spec", "names", "kind"}));
    EXPECT_EQ(crd.find_path({"spec", "conversion"}) != nullptr, needs_conversion(kind)) << kind;
  }
}

TEST(CrdManifest, EveryFieldOfOursIsDocumented) {
  std::vector<std::string> missing;
  for (const schema::ResourceInfo* info : kueue_resources()) {
    if (info->version != "v1beta2") continue;
    std::set<const schema::Type*> seen;
    std::vector<const schema::Type*> todo = {&*info->type};
    while (!todo.empty()) {
      const schema::Type* type = todo.back();
      todo.pop_back();
      if (!seen.insert(type).second) continue;
      if (type->element) todo.push_back(&*type->element);
      if (!type->name.starts_with("io.x-k8s.kueue") && type->kind == schema::Kind::kStruct)
        continue;
      for (const schema::Field& field : type->fields) {
        if (field.doc.empty())
          missing.push_back(std::string(type->name) + "." + std::string(field.name));
        todo.push_back(&*field.type);
      }
    }
  }
  for (const std::string& field : missing)
    ADD_FAILURE() << field << " has no doc: tools/apigen/docs.yaml";
}

}  // namespace
}  // namespace kueue::api
