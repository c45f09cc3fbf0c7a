// A dump holds the whole state: through its text and back, random worlds stand as they stood, say
// the same text again, and decide the same.
#include <gtest/gtest.h>

#include "bridge/snapshot_json.h"
#include "engine/testing/case_runner.h"
#include "engine/testing/model_compare.h"
#include "json/json.h"

namespace kueue::bridge {
namespace {

using engine::State;
using engine::testing::CaseLine;

constexpr size_t kWorlds = 40, kEvery = 4;
constexpr uint32_t kLines = 60;

std::string text_of(const State& state, Instant now) {
  return json::write(dump(engine::take_snapshot(state), {.now = now}));
}

// "" = the state that the text makes is the one that it was written of.
std::string through_text(const State& state, Instant now) {
  const std::string text = text_of(state, now);
  Result<json::Value> document = json::parse(text);
  if (!document.ok()) return document.error().message;
  Result<Dump> read = read_dump(*document);
  if (!read.ok()) return read.error().message + "\n" + text;
  if (read->input.now != now) return "another time\n";
  auto copy = engine::restore(read->snapshot);
  auto direct = engine::restore(engine::take_snapshot(state));
  copy->check_invariants();
  if (const std::string again = text_of(*copy, now); again != text_of(*direct, now))
    return "dumped again:\n" + again + "\n";
  if (engine::testing::state_text(*copy) != engine::testing::state_text(state))
    return "state:\n" + engine::testing::state_text(*copy);
  const std::string its = engine::testing::plan_text(engine::plan(*copy, {.now = now}), true);
  const std::string mine = engine::testing::plan_text(engine::plan(*direct, {.now = now}), true);
  return its == mine ? "" : "plan of the copy:\n" + its + "without text:\n" + mine;
}

std::string play(uint32_t seed) {
  std::string texts;
  for (const std::string& line : engine::testing::random_settings(seed)) texts += line + "\n";
  for (const std::string& line : engine::testing::random_prefix()) texts += line + "\n";
  for (uint32_t i = 0; i < kLines; ++i)
    texts += engine::testing::random_line(seed * 7927 + i * 43) + "\n";
  std::vector<std::string> errors;
  const std::vector<CaseLine> lines = engine::testing::parse_case(texts);
  engine::testing::CaseScript script;
  State state(engine::testing::settings_of(lines, errors));
  state.apply(engine::TimePassed{script.now()});
  state.apply(engine::NamespaceChanged{"ns", {}});
  std::string played;
  size_t count = 0;
  for (const CaseLine& line : lines) {
    played += line.text + "\n";
    if (engine::testing::CaseScript::is_event(line))
      for (const engine::Event& event : script.events(line)) state.apply(event);
    if (line.verb == "cycle")
      script.remember(engine::plan(state, {.now = script.now(), .every_head = seed % 2 == 0}));
    if (++count % kEvery != 0) continue;
    if (std::string text = through_text(state, script.now()); !text.empty()) return text + played;
  }
  return "";
}

// KUEUE_REBUILD_WORLDS plays that many.
TEST(DumpTest, RandomWorldsComeBackFromText) {
  const size_t worlds = engine::testing::number_from_environment("KUEUE_REBUILD_WORLDS", kWorlds);
  for (uint32_t seed = 1; seed <= worlds; ++seed) ASSERT_EQ(play(seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace kueue::bridge
