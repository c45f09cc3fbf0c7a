// Heads for which nothing has changed are not looked at again. That must cost nobody an admission:
// when the engine says that there is nothing to do, a look at every head finds nothing either.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/snapshot.h"
#include "engine/testing/case_runner.h"
#include "engine/testing/model_compare.h"

namespace kueue::engine {
namespace {

using testing::CaseLine;

constexpr uint32_t kWorlds = 600, kOddWorlds = 300, kLines = 70;
constexpr int kMostCycles = 200, kLooks = 8;

bool only_waits(const Plan& plan) {
  for (const Command& command : plan.commands)
    if (!std::holds_alternative<SetPending>(command)) return false;
  return true;
}

// What the cycle does to others than those that wait.
std::string deeds(Plan plan) {
  std::erase_if(plan.commands,
                [](const Command& c) { return std::holds_alternative<SetPending>(c); });
  plan.why = {};
  return testing::plan_text(plan, false);
}

// A head that was looked at in vain steps aside without another look, where a whole cycle gives it
// one more: those behind it come a cycle earlier.
bool others_are_in_front(const Plan& lazy, const Plan& whole) {
  for (const Decision& a : lazy.why.decisions)
    for (const Decision& b : whole.why.decisions)
      if (a.cluster_queue == b.cluster_queue && a.key != b.key) return true;
  return false;
}

// One cycle; "" = it did what one that looks at every head would have done.
std::string cycle(State& state, testing::CaseScript& script) {
  auto copy = restore(take_snapshot(state));
  const Plan lazy = plan(state, {.now = script.now()});
  const Plan whole = plan(*copy, {.now = script.now(), .every_head = true});
  script.remember(lazy);
  if (deeds(lazy) == deeds(whole) || others_are_in_front(lazy, whole)) return "";
  return "lazy:\n" + testing::plan_text(lazy, true) + "of all heads:\n" +
         testing::plan_text(whole, true);
}

// "" = every cycle of the world ends, and leaves nothing that could be admitted.
std::string play(const std::vector<CaseLine>& lines) {
  std::vector<std::string> errors;
  testing::CaseScript script;
  State state(testing::settings_of(lines, errors));
  state.apply(TimePassed{script.now()});
  state.apply(NamespaceChanged{"ns", {}});
  std::string played;
  for (const CaseLine& line : lines) {
    played += line.text + "\n";
    if (line.verb != "cycle") {
      for (const Event& event : script.events(line)) state.apply(event);
      continue;
    }
    int cycles = 0;
    for (; state.has_work() && cycles < kMostCycles; ++cycles)
      if (std::string text = cycle(state, script); !text.empty()) return text + played;
    if (cycles == kMostCycles) return "endless work\n" + played;
    for (int i = 0; i < kLooks; ++i) {
      const Plan more = plan(state, {.now = script.now(), .every_head = true});
      script.remember(more);
      if (!only_waits(more)) return testing::plan_text(more, true) + played;
    }
  }
  return "";
}

std::vector<CaseLine> world_of(uint32_t seed) {
  std::vector<std::string> texts = testing::random_settings(seed);
  for (const std::string& line : testing::random_prefix()) texts.push_back(line);
  for (uint32_t i = 0; i < kLines; ++i)
    texts.push_back(testing::random_line(seed * 104729 + i * 31));
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return testing::parse_case(all);
}

std::vector<CaseLine> odd_world_of(uint32_t seed) {
  std::string all;
  for (const std::string& text : testing::random_settings(seed)) all += text + "\n";
  for (const std::string& text : testing::random_odd_prefix()) all += text + "\n";
  for (uint32_t i = 0; i < kLines; ++i) {
    const uint32_t code = seed * 104729 + i * 31;
    all += (i % 2 == 0 ? testing::random_line(code) : testing::random_odd_line(code)) + "\n";
    if (i % 4 == 3) all += "cycle\n";
  }
  return testing::parse_case(all);
}

// The fewest lines that still go wrong.
std::string smallest(std::vector<CaseLine> lines) {
  for (size_t i = lines.size(); i-- > 0;) {
    std::vector<CaseLine> fewer = lines;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (!play(fewer).empty()) {
      lines = std::move(fewer);
      i = std::min(i, lines.size());
    }
  }
  return play(lines);
}

void play_worlds(std::vector<CaseLine> (*world)(uint32_t), size_t usually) {
  const size_t first = testing::number_from_environment("KUEUE_LAZY_SEED", 1);
  const size_t count = testing::number_from_environment("KUEUE_LAZY_WORLDS", usually);
  for (size_t seed = first; seed < first + count; ++seed) {
    std::vector<CaseLine> lines = world(static_cast<uint32_t>(seed));
    if (!play(lines).empty()) ADD_FAILURE() << "seed " << seed << "\n" << smallest(lines);
  }
}

// KUEUE_LAZY_WORLDS=20000 plays that many worlds, KUEUE_LAZY_SEED=N begins at another one.
TEST(LazyCycles, LeaveNothingThatCouldBeAdmitted) { play_worlds(world_of, kWorlds); }

TEST(LazyCycles, NorInWorldsWithPlacesAndOddAmounts) { play_worlds(odd_world_of, kOddWorlds); }

}  // namespace
}  // namespace kueue::engine
