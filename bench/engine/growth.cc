// Whole drains of growing worlds; main.cc fits an exponent to each series "growth/WHAT/N".
#include <string>

#include "families.h"

namespace kueue::engine::bench {
namespace {

void queue_depth(benchmark::State& state, int n) {
  for (auto _ : state) {
    Lab lab;
    lab.flavor("default");
    for (int i = 0; i < 10; ++i) lab.queue("queue-" + std::to_string(i), {.cohort = "all"});
    for (int i = 0; i < 10; ++i) lab.pending_mix("queue-" + std::to_string(i), n / 10);
    lab.drain();
    report(state, lab.cost, n);
  }
}

// All of one size, and more of them than fit: heads fail, and equal ones are set aside with them.
void crowded_queue(benchmark::State& state, int n) {
  for (auto _ : state) {
    Lab lab;
    lab.flavor("default");
    lab.queue("queue", {.quota = 50});
    for (int i = 0; i < n; ++i) lab.pending("queue", {.cpu = 1});
    lab.drain(100);
    report(state, lab.cost, n);
  }
}

void queue_count(benchmark::State& state, int n) {
  for (auto _ : state) {
    Lab lab;
    lab.flavor("default");
    for (int i = 0; i < n; ++i)
      lab.queue("queue-" + std::to_string(i), {.cohort = "all", .preempts = true});
    for (int i = 0; i < n; ++i) lab.pending_mix("queue-" + std::to_string(i), 20);
    lab.drain(2);
    report(state, lab.cost, int64_t{20} * n);
  }
}

void cohort_depth(benchmark::State& state, int n) {
  for (auto _ : state) {
    Lab lab;
    lab.flavor("default");
    for (int i = 0; i < n; ++i)
      lab.cohort("cohort-" + std::to_string(i), i == 0 ? "" : "cohort-" + std::to_string(i - 1));
    for (int i = 0; i < 100; ++i)
      lab.queue("queue-" + std::to_string(i),
                {.cohort = "cohort-" + std::to_string(n - 1), .preempts = true});
    for (int i = 0; i < 100; ++i) lab.pending_mix("queue-" + std::to_string(i), 50);
    lab.drain(2);
    report(state, lab.cost, 5000);
  }
}

void node_count(benchmark::State& state, int n) {
  for (auto _ : state) {
    Lab lab;
    lab.nodes(10, n / 160, 16, 16);
    lab.flavor("tree", "tree");
    for (int i = 0; i < 10; ++i)
      lab.queue("queue-" + std::to_string(i), {.quota = 200, .flavors = {"tree"}});
    for (int i = 0; i < 10; ++i)
      for (int k = 0; k < 50; ++k)
        lab.pending("queue-" + std::to_string(i), {.pods = 10, .cpu = 2, .preferred = kRack});
    lab.drain();
    report(state, lab.cost, 500);
  }
}

// Only the last flavor has room.
void flavor_count(benchmark::State& state, int n) {
  for (auto _ : state) {
    Lab lab;
    QueueOptions options{.flavors = {}};
    for (int i = 0; i < n; ++i) {
      lab.flavor("flavor-" + std::to_string(i));
      options.flavors.push_back("flavor-" + std::to_string(i));
      options.quotas.push_back(i + 1 == n ? 20 : 0);
    }
    for (int i = 0; i < 20; ++i) lab.queue("queue-" + std::to_string(i), options);
    for (int i = 0; i < 20; ++i) lab.pending_mix("queue-" + std::to_string(i), 50);
    lab.drain();
    report(state, lab.cost, 1000);
  }
}

void series(const char* name, void (*run)(benchmark::State&, int), std::initializer_list<int> ns) {
  for (int n : ns)
    benchmark::RegisterBenchmark(("growth/" + std::string(name) + "/" + std::to_string(n)).c_str(),
                                 run, n)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
}

}  // namespace

void register_growth() {
  series("queue_depth", queue_depth, {1000, 10000, 100000, 400000});
  series("crowded_queue", crowded_queue, {1000, 4000, 16000, 64000});
  series("queue_count", queue_count, {30, 100, 300, 1000, 3000});
  series("cohort_depth", cohort_depth, {1, 2, 4, 8, 16, 32});
  series("node_count", node_count, {160, 640, 2560, 10240});
  series("flavor_count", flavor_count, {1, 2, 4, 8, 16, 32, 64});
}

}  // namespace kueue::engine::bench
