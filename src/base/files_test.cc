#include "base/files.h"

#include <gtest/gtest.h>

namespace kueue {
namespace {

TEST(Files, WhatCannotBeReadIsTold) {
  const struct {
    const char* path;
    ErrorCode code;
    const char* text;
  } cases[] = {
      {"/no/such/file", ErrorCode::kNotFound, "/no/such/file: No such file"},
      {"/tmp", ErrorCode::kUnavailable, "/tmp: is a directory"},
      {"/dev/zero", ErrorCode::kUnavailable, "/dev/zero: is larger than"},
      {"/dev/null/x", ErrorCode::kUnavailable, "/dev/null/x: Not a directory"},
  };
  for (const auto& c : cases) {
    const auto result = read_file(c.path);
    ASSERT_FALSE(result.ok()) << c.path;
    EXPECT_EQ(result.error().code, c.code) << c.path;
    EXPECT_TRUE(result.error().message.starts_with(c.text)) << result.error().message;
  }
  const auto own = read_file("/proc/self/comm");
  ASSERT_TRUE(own.ok());
  EXPECT_FALSE(own->empty());
}

}  // namespace
}  // namespace kueue
