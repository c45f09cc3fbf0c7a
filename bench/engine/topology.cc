// Topology-aware scheduling: drains on clusters of several sizes, one big job, one deep queue.
#include <string>

#include "families.h"

namespace kueue::engine::bench {
namespace {

// Three kinds of jobs: small ones prefer a rack, medium ones need one, large ones need a block.
void topology_mix(Lab& lab, const std::string& queue, int count) {
  for (int i = 0; i < count; ++i) {
    int kind = i % 10;
    if (kind == 9)
      lab.pending(queue, {.pods = 50, .cpu = 1, .priority = 200, .required = kBlock});
    else if (kind >= 7)
      lab.pending(queue, {.pods = 20, .cpu = 2, .priority = 100, .required = kRack});
    else
      lab.pending(queue, {.pods = 5, .cpu = 1, .priority = 50, .preferred = kRack});
  }
}

void build(Lab& lab, int queues, int blocks, int racks, int hosts) {
  lab.nodes(blocks, racks, hosts, 16);
  lab.flavor("tree", "tree");
  for (int i = 0; i < queues; ++i)
    lab.queue("queue-" + std::to_string(i),
              {.cohort = "cohort-" + std::to_string(i / 6), .quota = 200, .flavors = {"tree"}});
}

void drain(benchmark::State& state, int blocks, int racks, int hosts, int queues, int jobs) {
  for (auto _ : state) {
    Lab lab;
    build(lab, queues, blocks, racks, hosts);
    for (int i = 0; i < queues; ++i) topology_mix(lab, "queue-" + std::to_string(i), jobs);
    lab.drain();
    report(state, lab.cost, int64_t{queues} * jobs);
  }
}

// 200 pods, one per node, on 1,000 nodes.
void big_job(benchmark::State& state) {
  Lab lab;
  lab.nodes(5, 10, 20, 8);
  lab.flavor("tree", "tree");
  lab.queue("big", {.quota = 8000, .flavors = {"tree"}});
  lab.cycle();
  double total = 0;
  for (auto _ : state) {
    lab.pending("big", {.pods = 200, .cpu = 8, .preferred = kBlock});
    double before = lab.cost.seconds;
    Plan p = lab.cycle();
    double spent = lab.cost.seconds - before;
    state.SetIterationTime(spent);
    total += spent;
    if (p.commands.size() != 1 || !std::holds_alternative<Admit>(p.commands[0]))
      state.SkipWithError("the job was not admitted");
    lab.finish_all(p);
  }
  state.counters["ms/cycle"] = total * 1e3 / static_cast<double>(state.iterations());
}

// Node changes between cycles: what a cycle costs after one of them.
void node_change(benchmark::State& state) {
  Lab lab;
  build(lab, 1, 10, 16, 32);
  lab.cycle();
  for (auto _ : state) {
    double before = lab.cost.seconds;
    lab.touch_node(7);
    lab.pending("queue-0", {.pods = 5, .cpu = 1, .preferred = kRack});
    Plan p = lab.cycle();
    state.SetIterationTime(lab.cost.seconds - before);
    lab.finish_all(p);
  }
  state.counters["us/change"] = benchmark::Counter(
      1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

void register_topology() {
  auto once = [](benchmark::internal::Benchmark* b, int repetitions = 1) {
    b->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(repetitions);
  };
  once(benchmark::RegisterBenchmark("topology/640", drain, 10, 8, 8, 30, 100), 2);
  once(benchmark::RegisterBenchmark("topology/640_deep", drain, 10, 8, 8, 30, 500));
  once(benchmark::RegisterBenchmark("topology/5000", drain, 10, 20, 25, 30, 100));
  once(benchmark::RegisterBenchmark("topology/20000", drain, 20, 40, 25, 30, 100));
  once(benchmark::RegisterBenchmark("topology/one_queue_1000", drain, 10, 8, 8, 1, 1000));
  once(benchmark::RegisterBenchmark("topology/200_pods_1000_nodes", big_job), 50);
  once(benchmark::RegisterBenchmark("topology/node_change_5000", node_change), 50);
}

}  // namespace kueue::engine::bench
