// The smallest world that can admit something: ClusterQueue "team" with 4 cpu of flavor "default",
// filled from LocalQueue "main" of namespace "ns".
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace kueue::engine::testing {

inline ClusterQueue team_queue() {
  ClusterQueue queue;
  queue.name = "team";
  queue.namespace_selector = LabelSelector();
  queue.groups = {{{"cpu"}, {{"default", {{"cpu", Amount(4000), {}, {}}}}}}};
  return queue;
}

inline void make_team(State& state, const ClusterQueue& queue) {
  state.apply(NamespaceChanged{"ns", {}});
  state.apply(FlavorChanged{{"default", {}, {}, {}, ""}});
  state.apply(ClusterQueueChanged{queue});
  state.apply(LocalQueueChanged{{{"ns", "main"}, "team"}});
}

// One pod that asks for so many millicores.
inline std::shared_ptr<Workload> team_workload(const std::string& name, int64_t cpu) {
  auto pod = std::make_shared<PodTemplate>();
  pod->requests = pod->raw_requests = {{"cpu", cpu}};
  pod->shape = std::to_string(cpu);
  auto w = std::make_shared<Workload>();
  w->key = {"ns", name};
  w->uid = name;
  w->queue_name = "main";
  w->pod_sets.push_back({"main", 1, {}, pod, {}});
  return w;
}

}  // namespace kueue::engine::testing
