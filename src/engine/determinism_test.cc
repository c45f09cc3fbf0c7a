// The same events give the same plans, byte for byte: run after run, whatever stood in the tables
// before (ids, buckets and addresses differ then), and in whatever order equal objects came.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/testing/case_runner.h"
#include "engine/testing/model_compare.h"

namespace kueue::engine {
namespace {

using testing::CaseLine;
using testing::CaseScript;

// Plays the lines and writes down all that can be seen, but for the first `unseen` ones; `before`
// is played first.
std::string play(const std::vector<std::string>& before, const std::vector<std::string>& lines,
                 size_t unseen = 0) {
  auto parse = [](const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += text + "\n";
    return testing::parse_case(all);
  };
  std::vector<std::string> errors;
  const std::vector<CaseLine> parsed = parse(lines);
  State state(testing::settings_of(parsed, errors));
  CaseScript script;
  state.apply(TimePassed{script.now()});
  state.apply(NamespaceChanged{"ns", {}});
  CaseScript other;
  for (const CaseLine& line : parse(before))
    for (const Event& event : other.events(line)) state.apply(event);
  state.apply(FlushRetries{});
  std::string out;
  for (const CaseLine& line : parsed) {
    for (const Event& event : script.events(line)) state.apply(event);
    if (line.verb == "cycle") {
      const Plan p = plan(state, {.now = script.now(), .every_head = true});
      script.remember(p);
      out += testing::plan_text(p, true);
    }
    if (unseen == 0)
      out += testing::state_text(state);
    else
      --unseen;
  }
  return out;
}

std::vector<std::string> random_world(uint32_t seed, size_t length) {
  std::vector<std::string> lines = testing::random_settings(seed);
  for (const std::string& line : testing::random_prefix()) lines.push_back(line);
  for (uint32_t i = 0; i < length; ++i) lines.push_back(testing::random_line(seed * 7919 + i * 31));
  return lines;
}

TEST(Determinism, AgainTheSame) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const std::vector<std::string> lines = random_world(seed, 80);
    ASSERT_EQ(play({}, lines), play({}, lines)) << "seed " << seed;
  }
}

// Objects that came and went leave ids, hash buckets and free slots in another order. That is what
// another seed of a hash, or another library's hash, would do.
TEST(Determinism, WhateverTheIds) {
  std::vector<std::string> noise;
  for (int i = 40; i > 0; --i) {
    const std::string n = std::to_string(i % 13);
    noise.push_back("flavor x" + n);
    noise.push_back("queue z" + n + " cohort=y" + n + " x" + n + "/gpu=1 x" + n + "/memory=1");
    noise.push_back("pending w" + n + " queue=z" + n + " gpu=1");
  }
  for (int i = 0; i < 13; ++i) {
    const std::string n = std::to_string((i * 5) % 13);
    noise.push_back("delete w" + n);
    noise.push_back("remove local z" + n);
    noise.push_back("remove queue z" + n);
    noise.push_back("remove flavor x" + n);
  }
  // Names that the world uses, met in another order.
  for (const char* queue : {"q4", "q2", "q3", "q1"}) {
    noise.push_back(std::string("queue ") + queue + " cohort=c3 f3/gpu=1 f2/memory=1 f1/cpu=1");
    noise.push_back(std::string("remove local ") + queue);
    noise.push_back(std::string("remove queue ") + queue);
  }
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const std::vector<std::string> lines = random_world(seed, 80);
    ASSERT_EQ(play({}, lines), play(noise, lines)) << "seed " << seed;
  }
}

// Objects that say nothing about each other may come in any order.
TEST(Determinism, InWhateverOrderObjectsCome) {
  std::vector<std::string> objects = {
      "queue b cohort=c reclaim=Any f/cpu=4 g/cpu=2",
      "queue a cohort=c within=LowerPriority reclaim=Any f/cpu=4 g/cpu=2",
      "queue d cohort=e f/cpu=3",
      "cohort e parent=c f/cpu=1",
      "pending v queue=a cpu=3 priority=1",
      "pending w queue=b cpu=3",
      "pending x queue=d cpu=9",
      "admitted y queue=d flavor=f cpu=5 priority=-1",
      "admitted z queue=b flavor=g cpu=4"};
  const std::vector<std::string> cycles = {"cycle every", "written", "cycle every", "evict y",
                                           "release y",   "retry",   "cycle every", "cycle every"};
  for (const char* settings : {"settings", "fair"}) {
    std::string expected;
    std::sort(objects.begin(), objects.end());
    for (int round = 0; round < 400; ++round) {
      for (int step = 0; step < 907; ++step) std::next_permutation(objects.begin(), objects.end());
      std::vector<std::string> lines = {settings};
      lines.insert(lines.end(), objects.begin(), objects.end());
      lines.insert(lines.end(), {"flavor g", "flavor f", "retry"});
      const size_t unseen = lines.size() - 1;  // what is seen while they come differs, of course
      lines.insert(lines.end(), cycles.begin(), cycles.end());
      const std::string all = play({}, lines, unseen);
      if (expected.empty()) expected = all;
      ASSERT_EQ(expected, all) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace kueue::engine
