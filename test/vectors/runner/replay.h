// Replays scheduling vectors: API objects and steps through the bridge and the engine, and compares
// what comes out with what is expected. Test code; one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bridge/to_engine.h"
#include "bridge/workload_status.h"
#include "engine/engine.h"
#include "json/value.h"
#include "judge.h"

namespace kueue::vectors {

using namespace bridge;

// A vector of kind `cycle`.
class CycleReplay {
 public:
  explicit CycleReplay(const json::Value& vector);
  // Runs everything; stops at the first step that differs.
  Differences run();

 private:
  struct StepLog {
    std::vector<json::Value> events;
    std::vector<std::string> preempted;
    std::vector<engine::Decision> decisions;
    std::vector<std::pair<std::string, int32_t>> skips;
    std::vector<std::pair<std::string, engine::RecomputeResult>> recomputations;
    std::optional<bool> keep_going;
    std::string replay;  // what a dumped and restored state does otherwise
  };

  void load();
  void execute(const json::Value& step);
  void load_object(const json::Value& object);
  void tell(const json::Value& object);
  void cycle();
  engine::Plan plan_twice();
  void deliver();
  void patch(const json::Value& step);
  void remove(const std::string& ref);
  void evict_done(const json::Value& step);
  void set_checks(const json::Value& step);
  void write(const engine::Command& command);
  void send(const std::vector<WorkloadEvent>& events);
  void tell_workload(const engine::Key& key);
  api::v1beta2::Workload& workload(const std::string& ref);
  StatusContext context() const { return {now_, &gates_}; }

  void compare(const json::Value& expected, Differences& out);
  void compare_statuses(const json::Value& expected, Differences& out);
  void compare_queues(const json::Value& expected, Differences& out);
  void compare_usage(const json::Value& expected, Differences& out);
  void compare_cycle(const json::Value& expected, Differences& out);
  void compare_afs(const json::Value& expected, Differences& out);
  json::Value events_json() const;
  void drop_inactive(json::Value& by_queue, const std::string& prefix) const;

  const json::Value& vector_;
  FeatureGates gates_;
  RequestRules rules_;
  TemplatePool pool_;
  std::unique_ptr<engine::State> state_;
  Instant now_;
  std::map<std::string, json::Value> others_;  // "Kind/ns/name" of everything but Workloads
  std::map<engine::Key, api::v1beta2::Workload> workloads_;  // as in the API
  std::map<engine::Key, api::v1beta2::Workload> delivered_;
  std::map<engine::Key, api::v1beta2::WorkloadStatus> before_;  // statuses at the start of the step
  json::Value last_reserved_, last_usage_, last_queues_, last_afs_;
  StepLog log_;
  int64_t step_ = -1;
  bool fail_status_patches_ = false;
  bool fail_not_found_ = false;
};

// A vector of kind `preemptionTargets`.
Differences replay_preemption_targets(const json::Value& vector);

// A vector of kind `tasPlacement`.
Differences replay_placement(const json::Value& vector);

// Of "Workload/ns/name" or "ns/name".
engine::Key key_of(std::string_view ref);
// Settings of a vector.
engine::Settings settings_of(const json::Value& vector, const FeatureGates& gates,
                             RequestRules& rules);
// The event that tells the engine about an object that is no Workload; nothing for kinds it does
// not know.
std::optional<engine::Event> event_of(const json::Value& object);

}  // namespace kueue::vectors
