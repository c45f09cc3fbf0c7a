#include "base/base64.h"

#include <gtest/gtest.h>

namespace kueue {
namespace {

TEST(Base64, RoundTripAndErrors) {
  for (const char* text : {"", "a", "ab", "abc", "abcd", "\xff\x80\x01z"}) {
    EXPECT_EQ(base64_decode(base64_encode(text)).value(), text);
  }
  EXPECT_EQ(base64_decode("YW\nJj\r\n").value(), "abc");
  for (const char* bad : {"a", "abc", "ab=c", "a===", "ab!d"})
    EXPECT_FALSE(base64_decode(bad).ok()) << bad;
}

}  // namespace
}  // namespace kueue
