// SortedIds against a std::set, through growth, splits and emptiness.
#include "engine/queue/sorted_ids.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/ids.h"

namespace kueue::engine {
namespace {

using Number = Id<struct NumberTag>;

bool before(Number a, Number b) { return a.value < b.value; }

struct Plan {
  size_t range;    // of the numbers that come
  size_t most;     // how many may be there before more go than come
  bool ascending;  // each that comes goes behind all
};

class SortedIdsTest : public ::testing::TestWithParam<Plan> {};

TEST_P(SortedIdsTest, AgreesWithASet) {
  const Plan& plan = GetParam();
  uint64_t state = 7;
  auto below = [&](size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % n;
  };
  SortedIds<Number> ids;
  std::set<Number> expected;
  size_t next = 0;
  for (int step = 0; step < 60000; ++step) {
    const bool shrinks = step % 20000 > 14000 || expected.size() > plan.most;
    Number id(plan.ascending ? next++ : below(plan.range));
    if (expected.empty() || below(10) < (shrinks ? 3u : 7u)) {
      if (expected.contains(id)) continue;
      ASSERT_FALSE(ids.contains(id, before));
      ids.insert(id, before);
      expected.insert(id);
    } else if (below(2) == 0) {
      expected.erase(ids.front());
      ids.pop_front();
    } else {
      auto at = expected.lower_bound(Number(below(plan.ascending ? next : plan.range)));
      if (at == expected.end()) at = expected.begin();
      ids.erase(*at, before);
      expected.erase(at);
    }
    ASSERT_EQ(ids.size(), expected.size());
    ASSERT_EQ(ids.empty(), expected.empty());
    if (expected.empty()) continue;
    ASSERT_EQ(ids.front(), *expected.begin());
    ASSERT_TRUE(ids.contains(*expected.rbegin(), before));
    if (step % 500 != 0) continue;
    std::vector<Number> all;
    ids.for_each([&](Number member) { all.push_back(member); });
    ASSERT_EQ(all, std::vector<Number>(expected.begin(), expected.end())) << "step " << step;
  }
  SortedIds<Number> other(std::move(ids));
  EXPECT_EQ(other.size(), expected.size());
  other.clear();
  EXPECT_TRUE(other.empty());
  other.insert(Number(3), before);
  EXPECT_EQ(other.front(), Number(3));
}

INSTANTIATE_TEST_SUITE_P(Sizes, SortedIdsTest,
                         ::testing::Values(Plan{20, 4, false}, Plan{300, 100, false},
                                           Plan{100000, 5000, false}, Plan{0, 5000, true}));

}  // namespace
}  // namespace kueue::engine
