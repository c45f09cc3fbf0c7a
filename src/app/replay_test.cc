// From /debug/state to `kueue replay`: the cycle of a dump is the cycle that the manager would run.
#include "app/replay.h"

#include <gtest/gtest.h>

#include "app/manager_endpoints.h"
#include "bridge/snapshot_json.h"
#include "cli/testing.h"
#include "engine/snapshot.h"
#include "engine/testing/one_queue.h"
#include "json/json.h"
#include "wire/testing.h"

namespace kueue::app {
namespace {

std::string debug_state_of(const engine::State& state, Instant now) {
  MetricsHandler handler([] { return std::string(); }, {});
  handler.serve_state(
      [&] { return json::write(bridge::dump(engine::take_snapshot(state), {.now = now})) + "\n"; },
      [](const std::string& token) { return token == "good" ? 0 : 403; });
  auto sink = std::make_shared<wire::Answer>();
  wire::Request request;
  request.path = "/debug/state";
  request.headers.set("Authorization", "Bearer good");
  handler.handle(std::move(request), sink);
  EXPECT_EQ(sink->response.status, 200);
  return sink->response.body;
}

std::string replayed(const std::string& dump, cli::TestTerminal& terminal) {
  static constexpr cli::Flag kFlags[] = {{.name = "output", .letter = 'o'}};
  const cli::Command command{.name = "replay", .flags = kFlags};
  const std::string given[] = {"-", "-o", "json"};
  auto arguments = cli::parse_arguments(command, {}, given);
  EXPECT_TRUE(arguments.ok());
  terminal.input = dump;
  EXPECT_EQ(run_replay(*arguments, terminal), 0) << terminal.err_text;
  return terminal.out_text;
}

// Admissions, a preemption, and one that waits, some of them looked at before.
TEST(Replay, OfADumpedStateMakesTheSamePlan) {
  engine::State state{engine::Settings()};
  engine::ClusterQueue queue = engine::testing::team_queue();
  queue.preemption.within = engine::WithinClusterQueue::kLowerPriority;
  engine::testing::make_team(state, queue);
  Instant now = Instant{} + Duration::seconds(1000);
  const auto arrive = [&](const char* name, int64_t cpu, int64_t priority) {
    auto w = engine::testing::team_workload(name, cpu);
    w->priority = priority;
    state.apply(engine::WorkloadChanged{std::move(w)});
  };
  arrive("first", 3000, 0);
  arrive("never", 9000, 0);
  arrive("second", 500, 0);
  arrive("urgent", 2000, 5);
  for (int cycle = 0; cycle < 6; ++cycle, now = now + Duration::seconds(1)) {
    const std::string dump = debug_state_of(state, now);
    cli::TestTerminal terminal;
    const std::string text = replayed(dump, terminal);
    auto document = json::parse(text);
    ASSERT_TRUE(document.ok()) << text;
    document->erase_path({"explanations"});
    const engine::Plan plan = engine::plan(state, {.now = now});
    EXPECT_EQ(json::write(*document), json::write(bridge::plan_json(plan))) << "cycle " << cycle;
    if (cycle == 3) arrive("late", 100, 9);
  }
}

}  // namespace
}  // namespace kueue::app
