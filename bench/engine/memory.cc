// Heap of a pending workload and of a node, everything that hangs on it included.
#include <string>

#include "families.h"

namespace kueue::engine::bench {
namespace {

void per_pending(benchmark::State& state) {
  for (auto _ : state) {
    Lab lab;
    lab.flavor("default");
    for (int i = 0; i < 30; ++i) lab.queue("queue-" + std::to_string(i), {});
    constexpr int kEach = 5000;
    lab.expect(30 * kEach);
    int64_t before = heap().live;
    for (int i = 0; i < 30; ++i) lab.pending_mix("queue-" + std::to_string(i), kEach);
    state.counters["bytes"] = static_cast<double>(heap().live - before) / (30.0 * kEach);
    state.SetIterationTime(1e-3);
  }
}

void per_node(benchmark::State& state) {
  for (auto _ : state) {
    Lab lab;
    lab.flavor("tree", "tree");
    lab.queue("queue", {.flavors = {"tree"}});
    int64_t before = heap().live;
    lab.nodes(10, 20, 25, 16);
    lab.cycle();
    state.counters["bytes"] = static_cast<double>(heap().live - before) / 5000;
    state.SetIterationTime(1e-3);
  }
}

}  // namespace

void register_memory() {
  auto once = [](benchmark::internal::Benchmark* b) { b->UseManualTime()->Iterations(1); };
  once(benchmark::RegisterBenchmark("memory/pending_workload", per_pending));
  once(benchmark::RegisterBenchmark("memory/node", per_node));
}

}  // namespace kueue::engine::bench
