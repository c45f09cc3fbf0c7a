#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "wire/selector_checks.h"

namespace kueue::wire {
namespace {

TEST(Corpus, Selector) {
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(KUEUE_SOURCE_DIR "/test/corpus/selector")) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    for (size_t n = 0; n <= text.size(); ++n)
      check_selector_text(std::string_view(text).substr(0, n));
    ++count;
  }
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace kueue::wire
