// Amounts beyond counting: whoever asked for them takes all of it along when it leaves.
#include <gtest/gtest.h>

#include "engine/testing/case_runner.h"
#include "engine/testing/case_script.h"

namespace kueue::engine {
namespace {

std::string usage_after(const std::string& text) {
  std::vector<testing::CaseLine> lines = testing::parse_case(text);
  std::vector<std::string> errors;
  testing::CaseScript script;
  State state(testing::settings_of(lines, errors));
  state.apply(TimePassed{script.now()});
  state.apply(NamespaceChanged{"ns", {}});
  for (const testing::CaseLine& line : lines)
    for (const Event& event : script.events(line)) {
      state.apply(event);
      state.check_invariants();
    }
  std::string out;
  for (const auto& [node, entries] : state.tree_usage())
    for (const auto& [fr, amount] : entries)
      out += node + " " + fr + "=" + std::to_string(amount.value()) + "\n";
  return out;
}

constexpr const char* kWorld =
    "flavor f\nqueue q cohort=c f/cpu=10\nqueue r cohort=c f/cpu=10\n"
    "admitted small queue=q flavor=f cpu=3\n";
constexpr const char* kSmall = "clusterQueue/q f/cpu=3\ncohort/c f/cpu=3\n";

TEST(Saturation, OneHugeRequestLeavesTheRest) {
  EXPECT_EQ(usage_after(std::string(kWorld) +
                        "admitted huge queue=q flavor=f cpu=9223372036854775807\ndelete huge\n"),
            kSmall);
}

TEST(Saturation, SumsThatOverflowComeDown) {
  EXPECT_EQ(
      usage_after(std::string(kWorld) + "admitted a queue=q flavor=f cpu=6000000000000000000\n"
                                        "admitted b queue=q flavor=f cpu=6000000000000000000\n"
                                        "finish a\ndelete b\n"),
      kSmall);
}

TEST(Saturation, SumsOfACohortComeDown) {
  EXPECT_EQ(
      usage_after(std::string(kWorld) + "admitted a queue=q flavor=f cpu=6000000000000000000\n"
                                        "admitted b queue=r flavor=f cpu=6000000000000000000\n"
                                        "delete a\ndelete b\n"),
      kSmall);
}

TEST(Saturation, AQueueThatIsMadeAgainCountsAnew) {
  EXPECT_EQ(usage_after(std::string(kWorld) +
                        "admitted huge queue=q flavor=f cpu=9223372036854775807\nremove queue q\n"
                        "delete huge\nqueue q cohort=c f/cpu=10\n"),
            kSmall);
}

}  // namespace
}  // namespace kueue::engine
