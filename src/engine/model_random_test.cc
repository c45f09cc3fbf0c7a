// Random worlds: the engine and the naive engine agree after every event. KUEUE_MODEL_EVENTS plays
// that many (the ordinary run is a share of it), KUEUE_MODEL_SEED others, KUEUE_MODEL_CASE the
// lines of a file. A failing world is made small and left as a golden case.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "engine/testing/case_runner.h"
#include "engine/testing/model_compare.h"

namespace kueue::engine {
namespace {

// A broken invariant ends the process: a child runs the comparison, so that the world can still be
// made smaller.
testing::Comparison compare_in_child(const std::vector<std::string>& lines) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe", 0};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    const testing::Comparison result = testing::compare_with_model(lines);
    const std::string text = std::to_string(result.events) + "\n" + result.difference;
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = write(ends[1], text.data() + sent, text.size() - sent);
      if (n <= 0) break;
      sent += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return {"the engine ended: " + text, 1};
  const size_t line = text.find('\n');
  return {text.substr(line + 1), std::strtoull(text.c_str(), nullptr, 10)};
}

std::vector<std::string> world_of(uint32_t settings, const std::vector<uint32_t>& codes) {
  std::vector<std::string> lines = testing::random_settings(settings);
  for (const std::string& line : testing::random_prefix()) lines.push_back(line);
  for (uint32_t code : codes) lines.push_back(testing::random_line(code));
  return lines;
}

TEST(Model, AgreesOnRandomWorlds) {
  if (const char* name = std::getenv("KUEUE_MODEL_CASE"); name != nullptr) {
    std::ifstream in(name);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line) && line != "----";) lines.push_back(line);
    EXPECT_EQ(testing::compare_with_model(lines).difference, "");
    return;
  }
  const size_t wanted = testing::number_from_environment("KUEUE_MODEL_EVENTS", 20'000);
  const std::string seed = std::to_string(testing::number_from_environment("KUEUE_MODEL_SEED", 20));
  const std::string file = ::testing::TempDir() + "model_disagrees.case";
  ASSERT_EQ(setenv("RC_PARAMS", ("seed=" + seed + " max_success=1000000 max_size=160").c_str(), 1),
            0);
  size_t events = 0;
  bool failed = false;  // from then on it is made smaller
  const auto whole = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<uint32_t>(0, 0xffffffff));
  const auto fixed = rc::gen::noShrink(whole);  // a smaller number is no simpler line
  const bool agreed = rc::check("engine and model agree", [&] {
    if (events >= wanted && !failed) return;
    const uint32_t settings = *fixed;
    const auto codes = *rc::gen::container<std::vector<uint32_t>>(fixed);
    const std::vector<std::string> lines = world_of(settings, codes);
    const testing::Comparison result = compare_in_child(lines);
    events += result.events;
    if (result.difference.empty()) return;
    failed = true;
    std::ofstream out(file);
    out << "# The engine and the model disagree.\n";
    for (const std::string& line : lines) out << line << "\n";
    RC_FAIL(result.difference);
  });
  EXPECT_TRUE(agreed) << "see " << file;
  RecordProperty("events", static_cast<int>(events));
}

// Worlds in which a rule never speaks would compare nothing.
TEST(Model, RandomWorldsReachTheRules) {
  constexpr uint32_t kWorlds = 900, kLines = 160;
  std::string said;
  for (uint32_t seed = 1; seed <= kWorlds; ++seed) {
    std::string texts;
    std::vector<uint32_t> codes;
    for (uint32_t i = 0; i < kLines; ++i) codes.push_back(seed * 7919 + i * 41);
    for (const std::string& line : world_of(seed, codes)) texts += line + "\n";
    const std::vector<testing::CaseLine> lines = testing::parse_case(texts);
    std::vector<std::string> errors;
    testing::CaseScript script;
    State state(testing::settings_of(lines, errors));
    state.apply(TimePassed{script.now()});
    state.apply(NamespaceChanged{"ns", {}});
    for (const testing::CaseLine& line : lines) {
      if (testing::CaseScript::is_event(line))
        for (const Event& event : script.events(line)) state.apply(event);
      if (line.verb != "cycle") continue;
      const Plan plan = engine::plan(state, {.now = script.now(), .every_head = true});
      script.remember(plan);
      said += testing::plan_text(plan, false);
    }
  }
  for (const char* word :
       {"more favorable variant", "migration of 1", "below LastAcceptable", "it's gated",
        "WorkloadAllowedResourceFlavor", "since the original workload",
        "pod set b: ", "overlapping preemption", "no longer fits", "failed admission checks",
        "PodsReady condition", "InCohortFairSharing", "InCohortReclaimWhileBorrowing",
        "doesn't match node affinity"})
    EXPECT_NE(said.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace kueue::engine
