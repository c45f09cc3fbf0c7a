// Admission: the one owner of the engine. It feeds the engine with every change of the API objects,
// runs cycles, and writes what they decide.
//
// Hand-over between caches, assumptions and writes, so that nothing is admitted twice and no
// reservation is lost:
// - One mutex guards the engine. Changes are applied in the order the caches saw them.
// - The engine assumes a reservation when it decides. From then until the outcome of the write is
// known, changes of that
//   workload are only noted, not applied: the assumption stands. Then the newest object is applied,
//   whatever it says.
// - All writes about one workload leave one after the other, each made from the current object and
// guarded by its
//   resourceVersion; a conflict reads the object again and decides anew whether the write still
//   makes sense.
// - A write whose outcome is unknown (timeout, connection lost) is settled by reading the object,
// again and again.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bridge/to_engine.h"
#include "bridge/workload_status.h"
#include "controllers/context.h"
#include "controllers/stores.h"
#include "engine/engine.h"
#include "engine/explain/estimate.h"
#include "engine/explain/why.h"
#include "kube/executor.h"

namespace kueue::controllers {

class Admission {
 public:
  explicit Admission(Context& context);
  ~Admission();

  // Follows the stores. Before they start.
  void attach();
  // Lets cycles run (this manager leads and its caches are complete). Idempotent.
  void start();
  void stop();
  // No cycle, write or wake-up of a cycle is under way.
  bool idle() const;

  // Called when the status of queues may have changed; outside the lock. Before attach().
  std::function<void(const std::string& cluster_queue)> on_cluster_queue;
  std::function<void(const engine::Key& local_queue)> on_local_queue;

  // Checks the workload needs where it stands (engine::State::required_checks); sorted.
  std::vector<std::string> required_checks(const v1beta2::Workload& workload) const;
  // Why the workload can never be admitted as it is, "" when it can.
  std::string misconfigured(const v1beta2::Workload& workload) const;

  // What a LocalQueue has consumed, for its status; sampled anew when the interval has passed since
  // the last time. Only with admission fair sharing.
  struct Sample {
    engine::AfsUsage usage;
    bool taken = false;  // now: the status has to say so
    Duration next;       // when to ask again
  };
  Sample sample_usage(const engine::Key& local_queue);
  // Sets it. `sampled` = the status knows, the next sample is due an interval after its last
  // update.
  void set_consumed(const engine::ConsumedUsage& usage, bool sampled);

  // Why the workload waits and when it would start, and where it stands in its queue.
  struct Look {
    engine::Why why;
    engine::StartEstimate start;  // of one that waits
    std::optional<engine::PendingWorkload> position;
    int32_t waiting = 0;              // in its ClusterQueue
    std::vector<engine::Key> before;  // those right before it, at most ten
  };
  Look look(const engine::Key& key, const engine::TimeLeft& left);

  // Asks the engine under the lock. `question` must be quick and must not call back.
  template <typename Question>
  auto ask(Question question) const {
    std::lock_guard lock(mutex_);
    return question(static_cast<const engine::State&>(state_));
  }

 private:
  struct Slot {  // writes about one workload
    std::deque<engine::Command> waiting;
    bool running = false;
    bool writing = false;  // the first of `waiting` is being written
    bool unsure = false;   // whether the last write was done is not known
  };
  struct Outcome {
    bool settled = true;     // false: not known yet, try again later
    bool failed = false;     // the decision did not come to be
    bool not_found = false;  // because the workload is gone
  };

  void feed(const engine::Event& event);
  void seed_consumed();
  void sync_workload(const engine::Key& key);
  void apply_newest(const engine::Key& key);
  void watch_termination(const engine::Key& key, const v1beta2::Workload& workload);
  void refeed_namespace(const std::string& name);
  std::shared_ptr<const engine::Workload> convert(const v1beta2::Workload& workload) const;
  // With the lock held: what changed since the last time; told outside of it.
  struct Changes {
    std::vector<std::string> cluster_queues;
    std::vector<engine::Key> local_queues;
    bool work = false;
  };
  Changes take_changes();
  void tell(const Changes& changes);

  void request_cycle();
  void cycle();
  void arm_wakeup();

  void enqueue(engine::Command command);
  void write_next(const engine::Key& key);
  bool look_again(const engine::Key& key);
  void finish_write(const engine::Key& key, const engine::Command& command, const Outcome& outcome);
  Outcome write(const engine::Command& command);
  Outcome write_admit(const engine::Admit& command);
  Outcome write_evict(const engine::Evict& command);
  Outcome write_pending(const engine::SetPending& command);
  Outcome outcome_of(const Error& error) const;
  void report_admitted(const v1beta2::Workload& before, const v1beta2::Workload& after,
                       const engine::Admit& command);
  void send(const v1beta2::Workload& workload, const std::vector<bridge::WorkloadEvent>& events);
  void record_cycle(const engine::Plan& plan, Instant began);

  Context& context_;
  kube::EventRecorder recorder_;
  kube::Strand strand_;

  mutable std::mutex mutex_;
  engine::State state_;
  bool running_ = false;
  bool cycle_requested_ = false;
  int idle_cycles_ = 0;  // cycles in a row that moved nothing
  std::optional<Instant> armed_for_;
  kube::Executor::TimerId timer_ = 0;
  std::map<engine::Key, Slot> slots_;
  std::set<engine::Key> assumed_;  // Admit decided, outcome not known
  struct Known {
    std::string uid;
    int64_t generation = 0;
  };
  std::map<engine::Key, Known> known_;  // which object the engine knows
  std::set<engine::Key> sampled_;       // LocalQueues whose status is in the ledger
  mutable bridge::TemplatePool templates_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace kueue::controllers
