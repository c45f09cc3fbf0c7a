#include "install/manifests.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "api/registry.h"
#include "install/chart.h"
#include "json/json.h"

namespace kueue::install {
namespace {

std::string id_of(const json::Value& object) {
  std::string id(object.get_string({"apiVersion"}));
  id += " " + std::string(object.get_string({"kind"}));
  id += " " + std::string(object.get_string({"metadata", "namespace"}));
  id += "/" + std::string(object.get_string({"metadata", "name"}));
  return id;
}

// Every string of the document, with its path's last key.
void each_string(const json::Value& value, const std::function<void(const std::string&)>& visit) {
  if (value.is_string()) visit(value.as_string());
  if (value.is_array())
    for (const json::Value& item : value.as_array()) each_string(item, visit);
  if (value.is_object())
    for (const auto& [key, member] : value.as_object()) each_string(member, visit);
}

TEST(Install, NamespaceAndImageAreEverywhere) {
  const auto all = objects({.namespace_ = "queues", .image = "r.example/k:1"}).value();
  bool image = false;
  for (const json::Value& object : all) {
    each_string(object, [&](const std::string& text) {
      EXPECT_EQ(text.find("${"), std::string::npos) << id_of(object) << ": " << text;
      EXPECT_EQ(text.find("kueue-system"), std::string::npos) << id_of(object) << ": " << text;
      image |= text == "r.example/k:1";
    });
    EXPECT_EQ(object.get_string({"metadata", "labels", "app.kubernetes.io/name"}), "kueue")
        << id_of(object);
  }
  EXPECT_TRUE(image);
}

TEST(Install, PartsMakeTheWholeAndNothingTwice) {
  std::set<std::string> seen;
  size_t count = 0;
  for (const Part& part : parts()) {
    const auto some = objects({}, part.name).value();
    EXPECT_FALSE(some.empty()) << part.name;
    count += some.size();
    for (const json::Value& object : some)
      EXPECT_TRUE(seen.insert(id_of(object)).second) << id_of(object);
  }
  EXPECT_EQ(objects({}).value().size(), count);
  EXPECT_EQ(objects({}, "webhook").error().code, ErrorCode::kBadRequest);
}

TEST(Install, KindsAndScopesAreReal) {
  const auto all = objects({}).value();
  for (const json::Value& object : all) {
    const auto* info =
        api::find_kind(object.get_string({"apiVersion"}), object.get_string({"kind"}));
    ASSERT_NE(info, nullptr) << id_of(object);
    EXPECT_EQ(info->namespaced, !object.get_string({"metadata", "namespace"}).empty())
        << id_of(object);
  }
}

TEST(Install, RightsHaveNoWildcards) {
  const auto all = objects({}, "rbac").value();
  for (const json::Value& object : all) {
    const json::Value* rules = object.find("rules");
    if (rules == nullptr) continue;
    each_string(*rules, [&](const std::string& text) { EXPECT_NE(text, "*") << id_of(object); });
  }
}

// deploy/ is what `kueue install` prints. UPDATE_GOLDEN=1 rewrites it.
TEST(Install, DeployFolderIsFresh) {
  const std::string folder = std::string(KUEUE_SOURCE_DIR) + "/deploy/";
  const auto check = [&](const std::string& file, const std::string& wanted) {
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
      std::ofstream(folder + file) << wanted;
      return;
    }
    std::ifstream in(folder + file);
    std::stringstream held;
    held << in.rdbuf();
    EXPECT_TRUE(held.str() == wanted)
        << "deploy/" << file << " is stale; UPDATE_GOLDEN=1 build/dev/test_install rewrites it";
  };
  for (const Part& part : parts())
    check(std::string(part.name) + ".yaml", to_yaml(objects({}, part.name).value()));
  check("kustomization.yaml", kustomization());
  for (const auto& [file, text] : chart_files()) check("charts/kueue/templates/" + file, text);
}

}  // namespace
}  // namespace kueue::install
