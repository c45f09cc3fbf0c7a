// bench: engine base
// Runs the engine's benchmarks and ends with a table: measure, ours, Kueue's figure, aim, met or
// not.
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/huge_pages.h"
#include "families.h"

namespace kueue::engine::bench {
namespace {

// One line of the table. The value is the counter of one benchmark.
struct Aim {
  const char* measure;
  const char* benchmark;
  const char* counter;
  const char* unit;
  const char* kueue;  // measured on the same kind of machine; "-" = not measured
  double aim;         // 0 = none
  bool at_least;      // else at most
};

constexpr Aim kAims[] = {
    {"drain 30 queues x 500", "drain/30x500", "admissions/s", "/s", "5,300", 200000, true},
    {"drain 1,000 queues x 50", "drain/1000x50", "admissions/s", "/s", "8,100", 200000, true},
    {"the same 30 x 500, queues kept full", "drain/30x500_busy", "admissions/s", "/s", "-", 0,
     true},
    {"1,000 pending", "depth/1000", "admissions/s", "/s", "-", 200000, true},
    {"10,000 pending", "depth/10000", "admissions/s", "/s", "-", 200000, true},
    {"100,000 pending", "depth/100000", "admissions/s", "/s", "-", 200000, true},
    {"1,000,000 pending", "depth/1000000", "admissions/s", "/s", "-", 200000, true},
    {"no change, 100,000 pending, 30 queues", "no_change/30", "us/cycle", "us", "5,000", 20, false},
    {"no change, StrictFIFO", "no_change/30_strict", "us/cycle", "us", "-", 20, false},
    {"no change, StrictFIFO, 1,000 queues", "no_change/1000_strict", "us/cycle", "us", "112,000",
     20, false},
    {"topology, 640 nodes, 30 x 100", "topology/640", "admissions/s", "/s", "2,970", 30000, true},
    {"topology, 640 nodes, 30 x 500", "topology/640_deep", "admissions/s", "/s", "2,420", 30000,
     true},
    {"topology, 5,000 nodes, 30 x 100", "topology/5000", "admissions/s", "/s", "460", 10000, true},
    {"topology, 20,000 nodes, 30 x 100", "topology/20000", "admissions/s", "/s", "-", 3000, true},
    {"topology, one queue, 1,000 deep", "topology/one_queue_1000", "admissions/s", "/s", "-", 0,
     true},
    {"one job of 200 pods, 1,000 nodes", "topology/200_pods_1000_nodes", "ms/cycle", "ms", "125", 1,
     false},
    {"700 of 2,000 preempted, one queue", "preempt/one_queue", "ms/cycle", "ms", "42", 2, false},
    {"700 reclaimed from 20 queues", "preempt/reclaim_20_queues", "ms/cycle", "ms", "48", 2, false},
    {"700 by fair sharing from 20 queues", "preempt/fair_20_queues", "ms/cycle", "ms", "71", 2,
     false},
    {"fair sharing, 1,000 queues, 4 levels", "fair/1000_queues_4_levels", "admissions/s", "/s", "-",
     0, true},
    {"heap asked for per admission", "drain/30x500", "bytes/admission", "B", "51,000", 1024, false},
    {"allocations per admission", "drain/30x500", "allocs/admission", "", "500", 0, false},
    {"heap of a pending workload", "memory/pending_workload", "bytes", "B", "-", 600, false},
    {"heap of a node", "memory/node", "bytes", "B", "-", 0, false},
};

// Keeps the fastest run of each: what else the machine does only adds time.
class Collector : public benchmark::ConsoleReporter {
 public:
  using benchmark::ConsoleReporter::ConsoleReporter;
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.error_occurred || run.run_type == Run::RT_Aggregate) continue;
      std::string name = run.run_name.function_name;
      if (!run.run_name.args.empty()) name += "/" + run.run_name.args;
      auto [best, first] = times_.try_emplace(name, run.GetAdjustedRealTime());
      if (!first && best->second <= run.GetAdjustedRealTime()) continue;
      best->second = run.GetAdjustedRealTime();
      for (const auto& [counter, value] : run.counters) values[name][counter] = value.value;
    }
  }
  std::map<std::string, std::map<std::string, double>> values;  // benchmark -> counter -> value

 private:
  std::map<std::string, double> times_;
};

std::string readable(double v, const char* unit) {
  char text[64];
  if (v < 10)
    std::snprintf(text, sizeof text, "%.2f %s", v, unit);
  else if (v < 1000)
    std::snprintf(text, sizeof text, "%.0f %s", v, unit);
  else if (v < 1e6)
    std::snprintf(text, sizeof text, "%d,%03d %s", static_cast<int>(v / 1000),
                  static_cast<int>(v) % 1000, unit);
  else
    std::snprintf(text, sizeof text, "%.2f M%s", v / 1e6, unit);
  return text;
}

void line(const std::string& measure, const std::string& ours, const std::string& kueue,
          const std::string& aim, const std::string& met) {
  std::printf("%-40s %15s %12s %15s  %s\n", measure.c_str(), ours.c_str(), kueue.c_str(),
              aim.c_str(), met.c_str());
}

// Least squares of log(seconds) over log(n).
double exponent(const std::vector<std::pair<double, double>>& points) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0, n = static_cast<double>(points.size());
  for (const auto& [x, y] : points) {
    double a = std::log(x), b = std::log(y);
    sx += a, sy += b, sxx += a * a, sxy += a * b;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

void print_table(const Collector& collector) {
  std::printf("\n");
  line("measure", "ours", "Kueue", "aim", "met");
  int missed = 0;
  for (const Aim& a : kAims) {
    auto run = collector.values.find(a.benchmark);
    if (run == collector.values.end()) continue;
    double value = run->second.at(a.counter);
    bool met = a.at_least ? value >= a.aim : value <= a.aim;
    missed += a.aim > 0 && !met ? 1 : 0;
    line(a.measure, readable(value, a.unit), a.kueue,
         a.aim == 0 ? "-" : (a.at_least ? ">= " : "<= ") + readable(a.aim, a.unit),
         a.aim == 0 ? "" : (met ? "yes" : "NO"));
  }
  std::map<std::string, std::vector<std::pair<double, double>>> series;
  for (const auto& [name, counters] : collector.values)
    if (name.starts_with("growth/")) {
      size_t slash = name.rfind('/');
      series[name.substr(7, slash - 7)].emplace_back(std::stod(name.substr(slash + 1)),
                                                     counters.at("seconds"));
    }
  for (const auto& [name, points] : series) {
    if (points.size() < 2) continue;
    double e = exponent(points);
    missed += e > 1.1 ? 1 : 0;
    line("growth of a drain with " + name, readable(e, ""), "-", "<= 1.10 ",
         e <= 1.1 ? "yes" : "NO");
  }
  std::printf("%d aims missed\n", missed);
}

}  // namespace
}  // namespace kueue::engine::bench

int main(int argc, char** argv) {
  using namespace kueue::engine::bench;
  kueue::use_huge_pages_when_large();  // as the manager does
  // The command line comes later, and wins.
  std::string repetitions = "--benchmark_repetitions=3";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, repetitions.data());
  argc = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  argv = arguments.data();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_drains();
  register_topology();
  register_preemption();
  register_fair_sharing();
  register_memory();
  register_growth();
  Collector collector(benchmark::ConsoleReporter::OO_None);
  benchmark::RunSpecifiedBenchmarks(&collector);
  print_table(collector);
  return 0;
}
