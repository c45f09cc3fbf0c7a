// Golden cases: test/golden/engine/AREA/*.case, one rule each. A case is a little world, what
// happens in it, a line of dashes, and what the engine decided. UPDATE_GOLDEN=1 rewrites the part
// below the dashes; GOLDEN_DIR names another folder. docs/design/engine-cases.md lists the words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/testing/case_runner.h"

namespace kueue::engine {
namespace {

namespace fs = std::filesystem;

fs::path golden_dir() {
  const char* other = std::getenv("GOLDEN_DIR");
  return other != nullptr ? fs::path(other) : fs::path(KUEUE_SOURCE_DIR) / "test/golden/engine";
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(golden_dir()))
    if (entry.path().extension() == ".case")
      names.push_back(fs::relative(entry.path(), golden_dir()).replace_extension().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, Case) {
  const fs::path file = golden_dir() / (GetParam() + ".case");
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  const size_t dashes = all.find("\n----\n");
  const std::string world = all.substr(0, dashes == std::string::npos ? all.size() : dashes + 1);
  const std::string expected = dashes == std::string::npos ? "" : all.substr(dashes + 6);
  const testing::CaseResult result = testing::run_case(world);
  for (const std::string& error : result.errors) ADD_FAILURE() << error;
  EXPECT_TRUE(world.starts_with("# ")) << "a case begins with a sentence that says its rule";
  EXPECT_EQ(result.text, testing::run_case(world).text) << "not deterministic";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(file) << world << "----\n" << result.text;
    return;
  }
  EXPECT_EQ(expected, result.text) << file;
}

INSTANTIATE_TEST_SUITE_P(Engine, Golden, ::testing::ValuesIn(case_names()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || c == '-'; }, '_');
  return name;
});

TEST(GoldenCases, ThereAreMany) { EXPECT_GE(case_names().size(), 400u); }

}  // namespace
}  // namespace kueue::engine
