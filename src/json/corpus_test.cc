#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "json/fuzz_checks.h"

namespace kueue::json {
namespace {

void replay(const std::string& name, void (*check)(std::string_view)) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(KUEUE_SOURCE_DIR "/test/corpus/" + name)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    SCOPED_TRACE(file);
    std::ifstream in(file, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    check(text);
    // Cut short and with a byte changed: errors must be found as calmly.
    for (size_t n = 0; n < text.size(); n += 1 + text.size() / 64) {
      check(std::string_view(text).substr(0, n));
      std::string changed = text;
      changed[n] = static_cast<char>(changed[n] ^ 0x15);
      check(changed);
    }
  }
}

TEST(Corpus, Json) { replay("json", check_json_text); }
TEST(Corpus, Yaml) { replay("yaml", check_yaml_text); }
TEST(Corpus, Patch) { replay("patch", check_patch_text); }

}  // namespace
}  // namespace kueue::json
