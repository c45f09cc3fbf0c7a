#include "base/amount.h"

#include <gtest/gtest.h>

namespace kueue {
namespace {

TEST(Amount, Saturates) {
  const Amount unlimited = Amount::unlimited(), five(5);
  EXPECT_EQ(unlimited + five, unlimited);
  EXPECT_EQ(unlimited - five, unlimited);
  EXPECT_EQ(unlimited - unlimited, Amount());
  EXPECT_EQ(five - unlimited, Amount::lowest());
  EXPECT_EQ(Amount(INT64_MAX - 1) + five, unlimited);
  EXPECT_EQ(Amount::lowest() - five, Amount::lowest());
  EXPECT_EQ(Amount(INT64_MAX / 2) * 3, unlimited);
  EXPECT_EQ(unlimited * 0, Amount());
  EXPECT_LT(five, unlimited);
}

}  // namespace
}  // namespace kueue
