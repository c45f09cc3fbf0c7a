// When a waiting workload would start, by what is known to end.
#include "engine/explain/estimate.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/testing/one_queue.h"

namespace kueue::engine {
namespace {

constexpr Instant kNow{1'000'000'000'000};
constexpr Duration kSecond = Duration::seconds(1);

class EstimateTest : public ::testing::Test {
 protected:
  void queue(QueueingStrategy strategy) {
    ClusterQueue queue = testing::team_queue();
    queue.strategy = strategy;
    testing::make_team(state_, queue);
  }
  // `seconds` it runs at most, 0 = no limit.
  void add(const std::string& name, int64_t cpu, int64_t seconds) {
    auto w = testing::team_workload(name, cpu);
    w->created = Instant{++created_};
    state_.apply(WorkloadChanged{w});
    if (seconds > 0) left_[w->key] = Duration::seconds(seconds);
  }
  void run() {
    while (state_.has_work())
      if (plan(state_, {.now = kNow}).commands.empty()) break;
  }
  StartEstimate ask(const std::string& name) {
    StartEstimate out =
        estimate_start(state_, {"ns", name}, kNow, [&](const Key& key) -> std::optional<Duration> {
          const auto found = left_.find(key);
          return found == left_.end() ? std::nullopt : std::optional(found->second);
        });
    state_.check_invariants();
    return out;
  }
  State state_{Settings()};
  std::map<Key, Duration> left_;
  int64_t created_ = 0;
};

TEST_F(EstimateTest, WaitsForTheEndsItNeeds) {
  queue(QueueingStrategy::kBestEffortFifo);
  add("a", 2000, 60);
  add("b", 2000, 30);
  run();
  add("half", 2000, 0);
  add("whole", 4000, 0);
  const StartEstimate half = ask("half");
  ASSERT_TRUE(half.at) << half.why_not;
  EXPECT_EQ(*half.at, kNow + kSecond * 30);
  EXPECT_EQ(half.after, (std::vector<Key>{{"ns", "b"}}));
  // "half" is let in before it and nobody knows when that ends.
  const StartEstimate whole = ask("whole");
  EXPECT_FALSE(whole.at);
  EXPECT_EQ(whole.before, 1);
  EXPECT_EQ(whole.why_not, "no end is known of ns/half (no maximum execution time)");
}

TEST_F(EstimateTest, ThoseBeforeItGoFirst) {
  queue(QueueingStrategy::kBestEffortFifo);
  add("a", 4000, 60);
  run();
  add("first", 3000, 100);
  add("second", 2000, 10);
  add("third", 1000, 10);
  const StartEstimate second = ask("second");
  ASSERT_TRUE(second.at) << second.why_not;
  EXPECT_EQ(*second.at, kNow + kSecond * 160);
  const StartEstimate third = ask("third");  // beside the first one
  ASSERT_TRUE(third.at);
  EXPECT_EQ(*third.at, kNow + kSecond * 60);
}

TEST_F(EstimateTest, AStrictHeadHoldsBackTheOthers) {
  queue(QueueingStrategy::kStrictFifo);
  add("a", 3000, 60);
  run();
  add("big", 4000, 5);
  add("small", 1000, 5);
  const StartEstimate small = ask("small");
  ASSERT_TRUE(small.at);
  EXPECT_EQ(*small.at, kNow + kSecond * 65);
}

TEST_F(EstimateTest, SaysWhyItDoesNotKnow) {
  queue(QueueingStrategy::kBestEffortFifo);
  add("a", 4000, 0);
  add("z", 100, 0);
  run();
  add("b", 1000, 0);
  add("huge", 5000, 0);
  EXPECT_EQ(ask("b").why_not, "no end is known of ns/a (no maximum execution time)");
  left_[{"ns", "a"}] = left_[{"ns", "b"}] = kSecond;
  left_[{"ns", "z"}] = kSecond;
  EXPECT_FALSE(ask("b").never);
  // With and without known ends: never, and by how much.
  for (const bool known : {true, false}) {
    if (!known) left_.clear();
    const StartEstimate huge = ask("huge");
    EXPECT_TRUE(huge.never);
    EXPECT_NE(huge.why_not.find("maximum capacity (4)"), std::string::npos) << huge.why_not;
  }
  EXPECT_EQ(ask("a").why_not, "it holds quota already");
  EXPECT_EQ(ask("absent").why_not, "it is not known to the scheduler");
}

TEST_F(EstimateTest, NeverWhenNoFlavorMatches) {
  ClusterQueue queue = testing::team_queue();
  testing::make_team(state_, queue);
  state_.apply(FlavorChanged{{"default", {}, {{"gpu", "", "NoSchedule"}}, {}, ""}});
  add("w", 100, 0);
  const StartEstimate found = ask("w");
  EXPECT_TRUE(found.never);
  EXPECT_NE(found.why_not.find("taint"), std::string::npos) << found.why_not;
}

}  // namespace
}  // namespace kueue::engine
