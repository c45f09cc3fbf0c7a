// The committed tables are what tools/apigen makes of the schemas.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace kueue::api {
namespace {

TEST(Generated, IsUpToDate) {
  const std::filesystem::path source(KUEUE_SOURCE_DIR);
  const char* env = std::getenv("KUEUE_SHARED");
  const std::filesystem::path schemas =
      (env != nullptr ? std::filesystem::path(env) : source / ".." / "shared") / "schemas";
  if (!std::filesystem::exists(schemas)) {
    GTEST_SKIP() << "SKIPPED: no schemas at " << schemas << " (set KUEUE_SHARED)";
  }
  const std::string command = "python3 -B '" + (source / "tools/apigen/apigen.py").string() +
                              "' --check --schemas '" + schemas.string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << "run " << command << " without --check";
}

}  // namespace
}  // namespace kueue::api
