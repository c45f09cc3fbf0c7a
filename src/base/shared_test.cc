#include "base/shared.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kueue {
namespace {

using Texts = Shared<std::vector<std::string>>;

TEST(Shared, IsADefaultValueAtFirst) {
  const Texts fresh;
  EXPECT_TRUE(fresh->empty());
  EXPECT_EQ(fresh, Texts());
  EXPECT_TRUE(fresh.sole());
}

TEST(Shared, CopiesShareUntilOneIsEdited) {
  Texts one(std::vector<std::string>{"a", "b"});
  EXPECT_TRUE(one.sole());
  Texts two = one;
  EXPECT_EQ(one.get(), two.get());
  EXPECT_FALSE(one.sole());
  two.edit().push_back("c");
  EXPECT_NE(one.get(), two.get());
  EXPECT_EQ(one->size(), 2u);
  EXPECT_EQ(two->size(), 3u);
  EXPECT_TRUE(one.sole());
  EXPECT_NE(one, two);
  one.edit().push_back("c");
  EXPECT_EQ(one, two);
}

TEST(Shared, EditingWhatNobodySharesKeepsItsPlace) {
  Texts one(std::vector<std::string>{"a"});
  const auto* place = one.get();
  one.edit().push_back("b");
  EXPECT_EQ(one.get(), place);
}

}  // namespace
}  // namespace kueue
