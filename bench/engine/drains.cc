// Whole drains with completions, their cost by depth of the queues, and cycles in which nothing
// changed.
#include <string>

#include "families.h"

namespace kueue::engine::bench {
namespace {

// Kueue's own performance shape: cohorts of six queues with 20 cpu each.
void build_queues(Lab& lab, int queues, bool strict = false) {
  lab.flavor("default");
  for (int i = 0; i < queues; ++i)
    lab.queue("queue-" + std::to_string(i), {.cohort = "cohort-" + std::to_string(i / 6),
                                             .borrow = 100,
                                             .strict = strict,
                                             .preempts = true});
}

void drain(benchmark::State& state, int queues, int pending, int lag) {
  for (auto _ : state) {
    Lab lab;
    build_queues(lab, queues);
    for (int i = 0; i < queues; ++i) lab.pending_mix("queue-" + std::to_string(i), pending);
    lab.drain(lag);
    report(state, lab.cost, int64_t{queues} * pending);
  }
}

// The same number of admissions whatever waits behind them.
void depth(benchmark::State& state) {
  constexpr int kQueues = 20;
  for (auto _ : state) {
    Lab lab;
    build_queues(lab, kQueues);
    for (int i = 0; i < kQueues; ++i)
      lab.pending_mix("queue-" + std::to_string(i), static_cast<int>(state.range(0)) / kQueues);
    int64_t some = std::min<int64_t>(state.range(0), 20000);
    lab.drain(0, some);
    report(state, lab.cost, some);
  }
}

// Every queue is full and its head was looked at: nothing has changed since.
void no_change(benchmark::State& state, int queues, bool strict) {
  Lab lab;
  build_queues(lab, queues, strict);
  for (int i = 0; i < queues; ++i) {
    std::string queue = "queue-" + std::to_string(i);
    lab.running(queue, {.cpu = 20, .priority = 1000});
    for (int k = 0; k < 100000 / queues; ++k)
      lab.pending(queue, {.cpu = 1 + k % 20, .priority = 50});
  }
  while (lab.state().has_work()) lab.cycle();
  lab.cost = {};
  for (auto _ : state) {
    double before = lab.cost.seconds;
    lab.cycles(1000);
    state.SetIterationTime(lab.cost.seconds - before);
  }
  state.counters["us/cycle"] = lab.cost.seconds * 1e6 / static_cast<double>(lab.cost.cycles);
}

}  // namespace

void report(benchmark::State& state, const Cost& cost, int64_t expected) {
  state.SetIterationTime(cost.seconds);
  if (cost.admissions < expected)
    state.SkipWithError(("only " + std::to_string(cost.admissions) + " of " +
                         std::to_string(expected) + " were admitted")
                            .c_str());
  auto n = static_cast<double>(cost.admissions);
  state.counters["admissions/s"] = n / cost.seconds;
  state.counters["seconds"] = cost.seconds;
  state.counters["us/cycle"] = cost.seconds * 1e6 / static_cast<double>(cost.cycles);
  state.counters["bytes/admission"] = static_cast<double>(cost.bytes) / n;
  state.counters["allocs/admission"] = static_cast<double>(cost.allocations) / n;
}

void register_drains() {
  auto once = [](benchmark::internal::Benchmark* b, int repetitions = 1) {
    b->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(repetitions);
  };
  once(benchmark::RegisterBenchmark("drain/30x500", drain, 30, 500, 0), 3);
  once(benchmark::RegisterBenchmark("drain/1000x50", drain, 1000, 50, 0));
  once(benchmark::RegisterBenchmark("drain/30x500_busy", drain, 30, 500, 4));
  for (int64_t n : {1000, 10000, 100000, 1000000})
    once(benchmark::RegisterBenchmark("depth", depth)->Arg(n), n < 10000 ? 10 : 1);
  auto quick = [](benchmark::internal::Benchmark* b) {
    b->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);
  };
  quick(benchmark::RegisterBenchmark("no_change/30", no_change, 30, false));
  quick(benchmark::RegisterBenchmark("no_change/30_strict", no_change, 30, true));
  quick(benchmark::RegisterBenchmark("no_change/1000_strict", no_change, 1000, true));
}

}  // namespace kueue::engine::bench
