// The fuzzers' corpora, also cut short and with bytes changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "schema/fuzz_checks.h"

namespace kueue::schema {
namespace {

void replay(const std::string& name, void (*check)(std::string_view)) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(KUEUE_SOURCE_DIR "/test/corpus/" + name))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    SCOPED_TRACE(file);
    const std::string text = read_file(file.string());
    check(text);
    for (size_t n = 0; n < text.size(); n += 1 + text.size() / 24) {
      check(std::string_view(text).substr(0, n));
      std::string changed = text;
      changed[n] = static_cast<char>(changed[n] ^ 0x15);
      check(changed);
    }
  }
}

TEST(Corpus, Proto) { replay("proto", check_proto_bytes); }
TEST(Corpus, StrategicMerge) { replay("merge", check_strategic_text); }
TEST(Corpus, Apply) { replay("apply", check_apply_text); }
TEST(Corpus, Schema) { replay("crd", check_schema_text); }

}  // namespace
}  // namespace kueue::schema
