// The journal: what it keeps, what it forgets, and that it never outgrows its bound.
#include "controllers/journal/journal.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>

namespace kueue::controllers {
namespace {

using What = Journal::What;

engine::Key key(int64_t i) { return {"team", "job-number-" + std::to_string(i) + "-a1b2c"}; }
Instant at(int64_t s) { return Instant{} + Duration::seconds(s); }

TEST(Journal, CountsEqualEntriesInARow) {
  Journal journal;
  journal.note(key(1), "u", What::kWaits, at(1), "no quota");
  journal.note(key(1), "u", What::kWaits, at(2), "no quota");
  journal.note(key(1), "u", What::kWaits, at(3), "no quota", {}, /*seen_again=*/false);
  journal.note(key(1), "u", What::kPreempts, at(4), "needs its quota", key(2));
  const auto history = journal.of(key(1), "u");
  ASSERT_EQ(history.entries.size(), 2u);
  EXPECT_EQ(history.entries[0].count, 2u);
  EXPECT_EQ(history.entries[0].first, at(1));
  EXPECT_EQ(history.entries[0].last, at(2));
  EXPECT_EQ(history.entries[1].other, key(2));
  EXPECT_EQ(history.dropped, 0u);
}

// To and fro between two reasons is two entries; what is in between stays news.
TEST(Journal, CountsReasonsThatComeBack) {
  Journal journal;
  for (int i = 0; i < 6; ++i)
    journal.note(key(1), "u", What::kWaits, at(i), i % 2 == 0 ? "no quota" : "preempts");
  journal.note(key(1), "u", What::kPods, at(6), "not ready");
  journal.note(key(1), "u", What::kWaits, at(7), "no quota");
  auto history = journal.of(key(1), "u");
  ASSERT_EQ(history.entries.size(), 3u);
  EXPECT_EQ(history.entries[0].text, "preempts");
  EXPECT_EQ(history.entries[0].count, 3u);
  EXPECT_EQ(history.entries[2].text, "no quota");
  EXPECT_EQ(history.entries[2].count, 4u);
  EXPECT_EQ(history.entries[2].first, at(0));
  EXPECT_EQ(history.entries[2].last, at(7));
  journal.note(key(1), "u", What::kAdmitted, at(8), "");
  journal.note(key(1), "u", What::kWaits, at(9), "no quota");
  EXPECT_EQ(journal.of(key(1), "u").entries.size(), 5u);
}

TEST(Journal, AnotherObjectOfTheSameNameStartsAnew) {
  Journal journal;
  journal.note(key(1), "old", What::kWaits, at(1), "no quota");
  journal.note(key(1), "new", What::kAdmitted, at(2), "");
  EXPECT_TRUE(journal.of(key(1), "old").entries.empty());
  ASSERT_EQ(journal.of(key(1), "new").entries.size(), 1u);
  journal.forget(key(1));
  EXPECT_EQ(journal.bytes(), 0u);
  EXPECT_EQ(journal.workloads(), 0u);
}

TEST(Journal, KeepsTheNewestOfEachWorkload) {
  Journal journal({.bytes = 1u << 20, .entries_per_workload = 4, .text = 64});
  for (int i = 0; i < 10; ++i)
    journal.note(key(1), "u", What::kWaits, at(i), "reason " + std::to_string(i));
  const auto history = journal.of(key(1), "u");
  ASSERT_EQ(history.entries.size(), 4u);
  EXPECT_EQ(history.entries.front().text, "reason 6");
  EXPECT_EQ(history.dropped, 6u);
  journal.note(key(1), "u", What::kWaits, at(11), std::string(500, 'x'));
  EXPECT_EQ(journal.of(key(1), "u").entries.back().text, std::string(60, 'x') + " ...");
}

// KUEUE_JOURNAL_NOTES=5000000 for a long run.
TEST(Journal, StaysWithinItsBound) {
  constexpr size_t kLimit = 512u << 10;
  constexpr size_t kNames = 4096;
  Journal journal({.bytes = kLimit, .entries_per_workload = 8, .text = 256});
  std::vector<engine::Key> keys;
  for (size_t i = 0; i < kNames; ++i) keys.push_back(key(static_cast<int64_t>(i)));
  const std::string uid = "uid-of-thirty-six-characters-or-more";
  const std::string reason(120, 'r');
  const size_t before = mallinfo2().uordblks;
  const char* given = std::getenv("KUEUE_JOURNAL_NOTES");
  const size_t notes = given == nullptr ? 150'000 : std::stoul(given);
  for (size_t i = 0; i < notes; ++i) {
    // Some Workloads come up again and again; now and then one is deleted.
    const engine::Key& who = keys[i % 3 == 0 ? i % 100 : i % kNames];
    journal.note(who, uid, What::kWaits, at(1), i % 2 == 0 ? reason : "short");
    if (i % 10 == 0) journal.forget(who);
    if (i % 10'000 == 0) ASSERT_LE(journal.bytes(), kLimit);
  }
  EXPECT_GT(journal.workloads(), 500u);
  EXPECT_LE(journal.bytes(), kLimit);
  // The account is not below what the allocator gave out (which sanitizers do not tell).
  const size_t after = mallinfo2().uordblks;
  if (after > before) EXPECT_LE(after - before, kLimit);
  for (const engine::Key& each : keys) journal.forget(each);
  EXPECT_EQ(journal.bytes(), 0u);
}

}  // namespace
}  // namespace kueue::controllers
