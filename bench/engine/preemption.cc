// 2,000 running workloads, and one that needs the quota of 700 of them.
#include <string>

#include "families.h"

namespace kueue::engine::bench {
namespace {

Settings fair_settings(bool fair) {
  Settings settings;
  if (fair) settings.fair_sharing.emplace();
  return settings;
}

void one_queue(Lab& lab) {
  lab.flavor("default");
  lab.queue("preemptor", {.quota = 2000, .preempts = true});
  for (int i = 0; i < 2000; ++i) lab.running("preemptor", {.priority = i % 7});
}

// Twenty queues borrow all that the preemptor's queue may use.
void twenty_queues(Lab& lab) {
  lab.flavor("default");
  lab.queue("preemptor", {.cohort = "all", .quota = 700, .preempts = true});
  for (int q = 0; q < 20; ++q) {
    std::string queue = "queue-" + std::to_string(q);
    lab.queue(queue, {.cohort = "all", .quota = 65, .preempts = true});
    for (int i = 0; i < 100; ++i) lab.running(queue, {.priority = i % 7});
  }
}

void preempt(benchmark::State& state, void (*build)(Lab&), bool fair) {
  double total = 0;
  for (auto _ : state) {
    Lab lab(fair_settings(fair));
    build(lab);
    lab.pending("preemptor", {.pods = 700, .priority = 100});
    Plan p = lab.cycle();
    state.SetIterationTime(lab.cost.seconds);
    total += lab.cost.seconds;
    int64_t victims = 0;
    for (const Command& c : p.commands) victims += std::holds_alternative<Evict>(c) ? 1 : 0;
    if (victims != 700)
      state.SkipWithError((std::to_string(victims) + " victims instead of 700").c_str());
  }
  state.counters["ms/cycle"] = total * 1e3 / static_cast<double>(state.iterations());
}

}  // namespace

void register_preemption() {
  auto some = [](benchmark::internal::Benchmark* b) {
    b->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(20);
  };
  some(benchmark::RegisterBenchmark("preempt/one_queue", preempt, one_queue, false));
  some(benchmark::RegisterBenchmark("preempt/reclaim_20_queues", preempt, twenty_queues, false));
  some(benchmark::RegisterBenchmark("preempt/fair_20_queues", preempt, twenty_queues, true));
}

}  // namespace kueue::engine::bench
