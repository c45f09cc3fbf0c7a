// Lab: a small world for the engine's benchmarks. Builds queues, nodes and workloads in a few
// words, and drives the engine as a manager would: cycles, echoes of admissions, completions. Only
// the time and memory inside the engine are counted; making the objects is not. One thread.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"

namespace kueue::engine::bench {

// Allocations through operator new, this process, since it started (heap.cc).
struct Heap {
  uint64_t total = 0;  // bytes ever allocated
  uint64_t count = 0;
  int64_t live = 0;  // bytes now
};
Heap heap();

// What was spent inside the engine.
struct Cost {
  double seconds = 0;
  uint64_t bytes = 0;
  uint64_t allocations = 0;
  int64_t admissions = 0;
  int64_t cycles = 0;
};

struct QueueOptions {
  std::string cohort = {};
  int64_t quota = 20;   // cpu of each flavor
  int64_t borrow = -1;  // limit, -1 = none
  bool strict = false;
  bool preempts = false;  // LowerPriority within, Any for reclaim
  std::vector<std::string> flavors = {"default"};
  std::vector<int64_t> quotas = {};  // by flavor, instead of `quota`
};

struct JobOptions {
  int32_t pods = 1;
  int64_t cpu = 1;  // whole ones, per pod
  int64_t priority = 0;
  std::string required = {}, preferred = {};  // topology level
  bool unconstrained = false;
};

class Lab {
 public:
  explicit Lab(Settings settings = {});

  void flavor(const std::string& name, const std::string& topology = "");
  void cohort(const std::string& name, const std::string& parent);
  // With a LocalQueue of the same name in the namespace "default".
  void queue(const std::string& name, const QueueOptions& options);
  // Nodes of a three-level topology "tree" (block, rack, host), `cpu` each, for topology flavors.
  void nodes(int blocks, int racks, int hosts, int64_t cpu);
  // Room for so many jobs: the list of them is no part of what an engine holds.
  void expect(size_t jobs) { objects_.reserve(jobs); }
  void pending(const std::string& queue, const JobOptions& options);
  // Already admitted, in the flavor "default".
  void running(const std::string& queue, const JobOptions& options);
  // Workloads as on the command line of Kueue's own performance shape: of ten 1 large, 2 medium, 7
  // small ones.
  void pending_mix(const std::string& queue, int count);

  // Cycles until nothing is left to do; what a cycle admits finishes `lag` cycles later.
  void drain(int lag = 0, int64_t stop_after = -1);
  Plan cycle();
  void cycles(int count);
  void finish_all(const Plan& plan);
  // The node says that it is there, with one label more or less.
  void touch_node(int64_t number);

  State& state() { return *state_; }
  Cost cost;

 private:
  std::shared_ptr<const PodTemplate> pod(int64_t cpu);
  std::shared_ptr<Workload> job(const std::string& queue, const JobOptions& options);
  std::shared_ptr<const Workload> admitted(const Admit& admit);
  void apply(const std::vector<Event>& events);

  std::unique_ptr<State> state_;
  Instant now_ = Instant{} + Duration::seconds(1000);
  int64_t serial_ = 0;
  std::unordered_map<int64_t, std::shared_ptr<const PodTemplate>> pods_;
  std::vector<Node> nodes_;
  std::vector<std::shared_ptr<const Workload>> objects_;  // by serial; dropped when finished
};

// Levels of the topology that nodes() makes.
inline constexpr const char* kBlock = "cloud/block";
inline constexpr const char* kRack = "cloud/rack";
inline constexpr const char* kHost = "kubernetes.io/hostname";

}  // namespace kueue::engine::bench
