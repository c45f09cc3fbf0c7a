#include "base/shared.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kueue {
namespace {

using Texts = Shared<std::vector<std::string>>;

TEST(Shared, IsADefaultValueAtFirst) {
  const Texts fresh;
  EXPECT_TRUE(fresh.open()->empty());
  EXPECT_EQ(fresh, Texts());
  EXPECT_TRUE(fresh.sole());
}

TEST(Shared, CopiesShareUntilOneIsEdited) {
  Texts one(std::vector<std::string>{"a", "b"});
  EXPECT_TRUE(one.sole());
  Texts two = one;
  EXPECT_TRUE(one.same(two));
  EXPECT_FALSE(one.sole());
  two.edit().push_back("c");
  EXPECT_FALSE(one.same(two));
  EXPECT_EQ(one.open()->size(), 2u);
  EXPECT_EQ(two.open()->size(), 3u);
  EXPECT_TRUE(one.sole());
  EXPECT_NE(one, two);
  one.edit().push_back("c");
  EXPECT_EQ(one, two);
}

TEST(Shared, EditingWhatNobodySharesKeepsItsPlace) {
  Texts one(std::vector<std::string>{"a"});
  const auto* place = one.open().get();
  one.edit().push_back("b");
  EXPECT_EQ(one.open().get(), place);
}

struct Counting final : Texts::Source {
  std::shared_ptr<const std::vector<std::string>> open() const override {
    ++opened;
    return std::make_shared<const std::vector<std::string>>(2, "x");
  }
  mutable int opened = 0;
};

TEST(Shared, ASourceMakesTheValueForEachWhoLooks) {
  auto source = std::make_shared<Counting>();
  Texts one(source);
  Texts two = one;
  EXPECT_EQ(one, two);
  EXPECT_EQ(source->opened, 0) << "one value";
  EXPECT_EQ(one, Texts(std::vector<std::string>{"x", "x"}));
  two.edit().push_back("y");
  EXPECT_EQ(two.open()->size(), 3u);
  EXPECT_EQ(one.open()->size(), 2u);
  EXPECT_EQ(source->opened, 3);
}

}  // namespace
}  // namespace kueue
