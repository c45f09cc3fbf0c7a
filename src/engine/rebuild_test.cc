// A State made of a snapshot decides as the one that the snapshot was taken of: after each line of
// random worlds the next cycle of both says the same, and leaves the same state.
#include <gtest/gtest.h>

#include "engine/snapshot.h"
#include "engine/testing/case_runner.h"
#include "engine/testing/model_compare.h"

namespace kueue::engine {
namespace {

using testing::CaseLine;

constexpr size_t kWorlds = 40, kEvery = 3;
constexpr uint32_t kLines = 60;

// "" = both say the same.
std::string next_plans(const State& state, Instant now, bool every_head) {
  auto first = restore(take_snapshot(state)), second = restore(take_snapshot(*first));
  first->check_invariants();
  if (testing::state_text(*first) != testing::state_text(state))
    return "rebuilt:\n" + testing::state_text(*first) + "it was:\n" + testing::state_text(state);
  const std::string a = testing::plan_text(plan(*first, {now, every_head}), true);
  const std::string b = testing::plan_text(plan(*second, {now, every_head}), true);
  return a == b ? "" : "rebuilt once:\n" + a + "rebuilt twice:\n" + b;
}

std::string play(uint32_t seed, bool every_head) {
  std::string texts;
  for (const std::string& line : testing::random_settings(seed)) texts += line + "\n";
  for (const std::string& line : testing::random_prefix()) texts += line + "\n";
  for (uint32_t i = 0; i < kLines; ++i) texts += testing::random_line(seed * 7919 + i * 37) + "\n";
  std::vector<std::string> errors;
  const std::vector<CaseLine> lines = testing::parse_case(texts);
  testing::CaseScript script;
  State state(testing::settings_of(lines, errors));
  state.apply(TimePassed{script.now()});
  state.apply(NamespaceChanged{"ns", {}});
  std::string played;
  size_t count = 0;
  for (const CaseLine& line : lines) {
    played += line.text + "\n";
    if (testing::CaseScript::is_event(line)) {
      for (const Event& event : script.events(line)) state.apply(event);
    } else if (line.verb == "cycle") {
      const CycleInput input{script.now(), every_head};
      auto copy = restore(take_snapshot(state));
      const Plan mine = plan(state, input), its = plan(*copy, input);
      const std::string a = testing::plan_text(mine, true), b = testing::plan_text(its, true);
      if (a != b) return "plan:\n" + a + "of the copy:\n" + b + played;
      if (testing::state_text(state) != testing::state_text(*copy))
        return "state:\n" + testing::state_text(state) + "of the copy:\n" +
               testing::state_text(*copy) + played;
      script.remember(mine);
    }
    if (++count % kEvery != 0) continue;
    if (std::string text = next_plans(state, script.now(), every_head); !text.empty())
      return text + played;
  }
  return "";
}

// KUEUE_REBUILD_WORLDS plays that many.
TEST(Rebuild, DecidesAsTheOriginal) {
  const size_t worlds = testing::number_from_environment("KUEUE_REBUILD_WORLDS", kWorlds);
  for (uint32_t seed = 1; seed <= worlds; ++seed)
    ASSERT_EQ(play(seed, seed % 2 == 0), "") << "seed " << seed;
}

}  // namespace
}  // namespace kueue::engine
