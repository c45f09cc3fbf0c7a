// Quantity against tables of texts and values, and over the fuzzer's corpus.
#include "api/quantity.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "api/quantity_fuzz.cc"

namespace kueue::api {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Quantity q(std::string_view text) {
  Result<Quantity> parsed = Quantity::parse(text);
  EXPECT_TRUE(parsed.ok()) << text << ": " << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? *parsed : Quantity();
}

TEST(Quantity, CanonicalText) {
  const struct {
    const char* in;
    const char* out;
  } cases[] = {
      {"0", "0"},
      {"-0", "0"},
      {"0n", "0"},
      {"0Ki", "0"},
      {"00.00", "0"},
      {"1", "1"},
      {"+1", "1"},
      {"-1", "-1"},
      {"0001", "1"},
      {"1.", "1"},
      {".5", "500m"},
      {"1000m", "1"},
      {"1500m", "1500m"},
      {"1.5", "1500m"},
      {"1000", "1k"},
      {"1024", "1024"},
      {"1024Ki", "1Mi"},
      {"1500Ki", "1500Ki"},
      {"1.5Gi", "1536Mi"},
      {"0.5Ki", "512"},
      {"1Ki", "1Ki"},
      {"1023", "1023"},
      {"1000Mi", "1000Mi"},
      {"0.5", "500m"},
      {"0.1Ki", "102400m"},
      {"1.1Mi", "1153433600m"},
      {"100000k", "100M"},
      {"12e6", "12e6"},
      {"12E6", "12e6"},
      {"1e1", "10"},
      {"1e3", "1e3"},
      {"1e4", "10e3"},
      {"12.5e-3", "12500e-6"},
      {"1e-9", "1e-9"},
      {"1E", "1E"},
      {"10E", "10E"},
      {"1000E", "1000E"},
      {"100000000000000000000", "100E"},
      {"-100000000000000000000", "-100E"},
      {"100Ei", "9223372036854775807"},
      {"-100Ei", "-9223372036854775807"},
      {"8Ei", "9223372036854775807"},
      {"7Ei", "7Ei"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9223372036854775808"},
      {"24190234349953124739n", "24190234349953124739n"},
      {"1n", "1n"},
      {"0.1n", "1n"},
      {"1.1n", "2n"},
      {"-1.1n", "-2n"},
      {"0.00000000001", "1n"},
      {"1e-100", "1e-9"},
      {"0.0001Ki", "102400u"},
      {"3u", "3u"},
      {"1000u", "1m"},
      {"1000n", "1u"},
  };
  for (const auto& c : cases) EXPECT_EQ(q(c.in).to_string(), c.out) << c.in;
}

TEST(Quantity, RefusesMalformedText) {
  const struct {
    const char* in;
    const char* error;
  } cases[] = {
      {"", "must match the regular expression"},
      {"+", "must match the regular expression"},
      {".", "must match the regular expression"},
      {"Ki", "must match the regular expression"},
      {"aoeu", "must match the regular expression"},
      {"1.1.M", "must match the regular expression"},
      {"1+1.0M", "must match the regular expression"},
      {"1 ", "must match the regular expression"},
      {" 1", "must match the regular expression"},
      {"1Ki ", "must match the regular expression"},
      {"--1", "must match the regular expression"},
      {"0x10", "must match the regular expression"},
      {"1B", "must match the regular expression"},
      {"0.1mi", "suffix"},
      {".5i", "suffix"},
      {"1i", "suffix"},
      {"-3.01i", "suffix"},
      {"1e", "suffix"},
      {"-3.01e-", "suffix"},
      {"1KiKi", "suffix"},
      {"1Ki3", "suffix"},
      {"1e99999999999", "suffix"},
      {"1e29", "out of range"},
      {"999999999999999999999999999999999999", "out of range"},
  };
  for (const auto& c : cases) {
    Result<Quantity> parsed = Quantity::parse(c.in);
    ASSERT_FALSE(parsed.ok()) << c.in;
    EXPECT_NE(parsed.error().message.find(c.error), std::string::npos)
        << c.in << ": " << parsed.error().message;
  }
  EXPECT_FALSE(Quantity::parse(std::string(100'000, '9')).ok());
}

TEST(Quantity, IntegerViewsRoundAwayFromZeroAndSaturate) {
  const struct {
    const char* in;
    int64_t value;
    int64_t milli;
  } cases[] = {
      {"0", 0, 0},
      {"1500m", 2, 1500},
      {"-1500m", -2, -1500},
      {"1n", 1, 1},
      {"-1n", -1, -1},
      {"100Mi", 104857600, 104857600000},
      {"10P", 10'000'000'000'000'000, kMax},
      {"-10P", -10'000'000'000'000'000, kMin},
      {"100E", kMax, kMax},
      {"-100E", kMin, kMin},
      {"9223372036854775807", kMax, kMax},
      {"9223372036854775806", kMax - 1, kMax},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(q(c.in).value(), c.value) << c.in;
    EXPECT_EQ(q(c.in).milli_value(), c.milli) << c.in;
  }
  EXPECT_EQ(q("1500M").scaled_value(9), 2);
  EXPECT_EQ(q("1").scaled_value(-9), 1'000'000'000);
  EXPECT_TRUE(q("1Ki").is_int64());
  EXPECT_FALSE(q("1m").is_int64());
  EXPECT_FALSE(q("10E").is_int64());
}

TEST(Quantity, Doubles) {
  EXPECT_EQ(q("5m").as_double(), 0.005);
  EXPECT_EQ(q("1Ei").as_double(), 1152921504606846976.0);
  EXPECT_EQ(q("-2.5").as_double(), -2.5);
  EXPECT_EQ(q("0").as_double(), 0);
}

TEST(Quantity, ComparesByValue) {
  EXPECT_EQ(q("1"), q("1000m"));
  EXPECT_EQ(q("1Ki"), q("1024"));
  EXPECT_LT(q("-1"), q("-999m"));
  EXPECT_LT(q("-1n"), q("0"));
  EXPECT_GT(q("1n"), q("0"));
  EXPECT_GT(q("10E"), q("9E"));
}

TEST(Quantity, Arithmetic) {
  EXPECT_EQ((q("1") + q("500m")).to_string(), "1500m");
  EXPECT_EQ((Quantity() + q("1Gi")).to_string(), "1Gi");
  EXPECT_EQ((q("1Gi") + q("1G")).to_string(), "2073741824");
  EXPECT_EQ((q("1Gi") - q("1Gi")).to_string(), "0");
  EXPECT_EQ((q("1") - q("2")).to_string(), "-1");
  Quantity product = q("200m");
  product.multiply(3);
  EXPECT_EQ(product.to_string(), "600m");
  product.multiply(0);
  EXPECT_TRUE(product.is_zero());
  Quantity huge = q("10000000000E");
  huge.multiply(kMin);
  EXPECT_EQ(huge.sign(), -1);
  huge.add(huge);
  EXPECT_EQ(huge.sign(), -1);
  EXPECT_EQ(Quantity::of(5, Quantity::Format::kBinarySI).to_string(), "5");
  EXPECT_EQ(Quantity::of(2048, Quantity::Format::kBinarySI).to_string(), "2Ki");
  EXPECT_EQ(Quantity::of_milli(2500).to_string(), "2500m");
  EXPECT_EQ(Quantity::of_nano(1).to_string(), "1n");
}

TEST(Quantity, FromJson) {
  EXPECT_EQ(Quantity::from_json(json::Value(3))->to_string(), "3");
  EXPECT_EQ(Quantity::from_json(json::Value(1.5))->to_string(), "1500m");
  EXPECT_EQ(Quantity::from_json(json::Value(" 2Gi "))->to_string(), "2Gi");
  EXPECT_EQ(Quantity::from_json(json::Value())->to_string(), "0");
  EXPECT_FALSE(Quantity::from_json(json::Value(true)).ok());
  EXPECT_FALSE(Quantity::from_json(json::Value(1e300)).ok());
}

TEST(Quantity, CorpusHolds) {
  const std::filesystem::path folder =
      std::filesystem::path(KUEUE_SOURCE_DIR) / "test/corpus/quantity";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const std::string bytes = text.str();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++files;
  }
  EXPECT_GT(files, 20u);
}

}  // namespace
}  // namespace kueue::api
