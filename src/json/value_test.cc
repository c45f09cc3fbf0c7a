#include "json/value.h"

#include <gtest/gtest.h>

namespace kueue::json {
namespace {

TEST(Value, NumbersCompareByWhatTheyMean) {
  EXPECT_EQ(Value(1), Value(1.0));
  EXPECT_EQ(Value(1.0), Value(1));
  EXPECT_FALSE(Value(1) == Value(1.5));
  EXPECT_EQ(Value(uint64_t{7}).type(), Type::kInt);
  EXPECT_EQ(Value(uint64_t{1} << 63).type(), Type::kUint);
  EXPECT_EQ(Value(uint64_t{1} << 63), Value(9223372036854775808.0));
  EXPECT_FALSE(Value(int64_t{9007199254740993}) == Value(9007199254740992.0));
  EXPECT_FALSE(Value(0) == Value(false));
  EXPECT_FALSE(Value() == Value(0));
}

TEST(Value, ObjectOrderIsKeptAndIgnoredByComparison) {
  Value a = Value::object({{"x", 1}, {"y", Value::array({1, "two"})}});
  Value b = Value::object({{"y", Value::array({1, "two"})}, {"x", 1}});
  EXPECT_EQ(a, b);
  b["x"] = 2;
  EXPECT_FALSE(a == b);
  EXPECT_EQ(b.as_object().begin()->first, "y");
}

TEST(Value, PathsAndLenientAccess) {
  Value v;
  v.at_path({"spec", "template", "name"}) = "a";
  v.at_path({"spec", "count"}) = 3;
  v.at_path({"spec", "on"}) = true;
  EXPECT_EQ(v.get_string({"spec", "template", "name"}), "a");
  EXPECT_EQ(v.get_int({"spec", "count"}), 3);
  EXPECT_TRUE(v.get_bool({"spec", "on"}));
  EXPECT_EQ(v.get_string({"spec", "count"}, "none"), "none");
  EXPECT_EQ(v.find_path({"spec", "count", "deeper"}), nullptr);
  EXPECT_TRUE(v.erase_path({"spec", "template", "name"}));
  EXPECT_FALSE(v.erase_path({"spec", "template", "name"}));
  EXPECT_TRUE(v.find_path({"spec", "template"})->is_object());
  EXPECT_EQ(Value(2.0).int_or(9), 2);
  EXPECT_EQ(Value(2.5).int_or(9), 9);
}

TEST(Value, AssigningAPartOfItself) {
  Value v = Value::object({{"a", Value::object({{"b", "deep"}})}});
  v = *v.find("a");
  EXPECT_EQ(v.get_string({"b"}), "deep");
}

// The object must behave alike while it scans and while it uses its index.
TEST(Object, ManyMembers) {
  Object o;
  constexpr int kCount = 500;
  auto key = [](int i) { return "key-" + std::to_string(i * 7919 % kCount); };
  for (int i = 0; i < kCount; ++i) {
    o.set(key(i), i);
    ASSERT_EQ(o.size(), static_cast<size_t>(i + 1));
    for (int j = 0; j <= i; j += 37) ASSERT_EQ(o.find(key(j))->as_int(), j);
    ASSERT_EQ(o.find("absent"), nullptr);
  }
  Object copy = o;
  for (int i = 0; i < kCount; i += 2) ASSERT_TRUE(o.erase(key(i)));
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(o.contains(key(i)), i % 2 == 1);
  EXPECT_FALSE(o.erase(key(0)));
  EXPECT_FALSE(o == copy);
  for (int i = 0; i < kCount; i += 2) o.set(key(i), i);
  EXPECT_TRUE(o == copy);
  while (!o.empty()) ASSERT_TRUE(o.erase(o.begin()->first));
}

}  // namespace
}  // namespace kueue::json
