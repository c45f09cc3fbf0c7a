#include "base/time.h"

#include <gtest/gtest.h>

#include <limits>

namespace kueue {
namespace {

TEST(Time, ParseAndFormat) {
  struct Case {
    const char* text;
    const char* seconds;
    const char* micros;
    const char* nanos;
  };
  const Case cases[] = {
      {"1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z", "1970-01-01T00:00:01.000000Z",
       "1970-01-01T00:00:01Z"},
      {"2026-03-01T12:00:00.123456789Z", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.123456Z",
       "2026-03-01T12:00:00.123456789Z"},
      {"2024-02-29T23:59:59.5+01:30", "2024-02-29T22:29:59Z", "2024-02-29T22:29:59.500000Z",
       "2024-02-29T22:29:59.5Z"},
      {"1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.250000Z",
       "1969-12-31T23:59:59.25Z"},
      {"2026-03-01T00:00:00-23:59", "2026-03-01T23:59:00Z", "2026-03-01T23:59:00.000000Z",
       "2026-03-01T23:59:00Z"},
      {"0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z",
       "1970-01-01T00:00:00Z"},
  };
  for (const Case& c : cases) {
    auto t = parse_time(c.text);
    ASSERT_TRUE(t.ok()) << c.text;
    EXPECT_EQ(format_time(*t), c.seconds);
    EXPECT_EQ(format_micro_time(*t), c.micros);
    EXPECT_EQ(format_nano_time(*t), c.nanos);
  }
  EXPECT_EQ(format_time(*parse_time("9999-12-31T23:59:59Z")).substr(0, 4), "2262");
}

TEST(Time, Refuses) {
  for (const char* text : {"", "2026-03-01", "2026-03-01 12:00:00Z", "2026-03-01T12:00:00",
                           "2026-02-30T12:00:00Z", "2026-13-01T12:00:00Z", "2026-03-01T24:00:00Z",
                           "2026-03-01T12:00:60Z", "2026-03-01T12:00:00.Z", "2026-03-01T12:00:00Zx",
                           "2026-03-01t12:00:00z", "2026-03-01T12:00:00+1:00", "x"}) {
    EXPECT_FALSE(parse_time(text).ok()) << text;
  }
}

TEST(Duration, ParseAndFormat) {
  struct Case {
    const char* text;
    int64_t ns;
    const char* want;
  };
  const Case cases[] = {
      {"0", 0, "0s"},
      {"+0", 0, "0s"},
      {"1ns", 1, "1ns"},
      {"1100us", 1'100'000, "1.1ms"},
      {"2.5\xC2\xB5s", 2500, "2.5\xC2\xB5s"},
      {"2\xCE\xBCs", 2000, "2\xC2\xB5s"},
      {"100ms", 100'000'000, "100ms"},
      {"1.5s", 1'500'000'000, "1.5s"},
      {".5s", 500'000'000, "500ms"},
      {"1.s", 1'000'000'000, "1s"},
      {"90s", 90'000'000'000, "1m30s"},
      {"1h30m", 5'400'000'000'000, "1h30m0s"},
      {"-2m", -120'000'000'000, "-2m0s"},
      {"24h", 86'400'000'000'000, "24h0m0s"},
      {"1h0.25s", 3'600'250'000'000, "1h0m0.25s"},
      {"-9223372036854775808ns", std::numeric_limits<int64_t>::min(), "-2562047h47m16.854775808s"},
      {"9223372036854775807ns", std::numeric_limits<int64_t>::max(), "2562047h47m16.854775807s"},
      {"0.3333333333333333333333333h", 1'200'000'000'000, "20m0s"},
  };
  for (const Case& c : cases) {
    auto d = parse_duration(c.text);
    ASSERT_TRUE(d.ok()) << c.text << d.error().message;
    EXPECT_NEAR(static_cast<double>(d->ns), static_cast<double>(c.ns), 1) << c.text;
    if (d->ns == c.ns) EXPECT_EQ(format_duration(*d), c.want);
  }
}

TEST(Duration, Refuses) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "time: invalid duration \"\""},
      {"10", "time: missing unit in duration \"10\""},
      {"-", "time: invalid duration \"-\""},
      {".s", "time: invalid duration \".s\""},
      {"1x", "time: unknown unit \"x\" in duration \"1x\""},
      {"1s2", "time: missing unit in duration \"1s2\""},
      {"3 s", "time: unknown unit \" s\" in duration \"3 s\""},
      {"9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""},
      {"3000000h", "time: invalid duration \"3000000h\""},
      {"99999999999999999999999999999999999999999999h",
       "time: invalid duration \"99999999999999999999999999999999999999999999h\""},
  };
  for (const auto& [text, want] : cases) {
    auto d = parse_duration(text);
    ASSERT_FALSE(d.ok()) << text;
    EXPECT_EQ(d.error().message, want);
  }
}

}  // namespace
}  // namespace kueue
