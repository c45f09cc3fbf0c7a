// Fair sharing: the tournament over 1,000 queues in four levels of cohorts.
#include <string>

#include "families.h"

namespace kueue::engine::bench {
namespace {

void levels(benchmark::State& state, int queues, int pending, int lag) {
  for (auto _ : state) {
    Settings settings;
    settings.fair_sharing.emplace();
    Lab lab(settings);
    lab.flavor("default");
    lab.cohort("root", "");
    for (int i = 0; i < queues; ++i) {
      std::string team = "team-" + std::to_string(i / 10), unit = "unit-" + std::to_string(i / 100);
      if (i % 100 == 0) lab.cohort(unit, "root");
      if (i % 10 == 0) lab.cohort(team, unit);
      lab.queue("queue-" + std::to_string(i), {.cohort = team, .preempts = true});
    }
    for (int i = 0; i < queues; ++i) lab.pending_mix("queue-" + std::to_string(i), pending);
    lab.drain(lag);
    report(state, lab.cost, int64_t{queues} * pending);
  }
}

}  // namespace

void register_fair_sharing() {
  auto once = [](benchmark::internal::Benchmark* b) {
    b->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);
  };
  once(benchmark::RegisterBenchmark("fair/1000_queues_4_levels", levels, 1000, 20, 0));
  for (int queues : {100, 300, 1000})
    once(benchmark::RegisterBenchmark(("growth/fair_queues/" + std::to_string(queues)).c_str(),
                                      levels, queues, 20, 0));
}

}  // namespace kueue::engine::bench
