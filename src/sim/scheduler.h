// Scheduler: virtual time and the order in which everything in a simulated world runs. Each Process
// is the kube::Executor of one program in it (a manager, the cluster's own controllers).
//
// One thread. A task runs to its end, except where it waits for the API server: there the world may
// let other tasks run first (run_others), as other threads of that program and other programs
// would.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/executor.h"
#include "sim/random.h"

namespace kueue::sim {

class Process;

class Scheduler {
 public:
  explicit Scheduler(Instant start) : clock_(start) {}

  // True time: no Process has to know it.
  const Clock& clock() const { return clock_; }
  Instant now() const { return clock_.now(); }

  // Runs one of the tasks that could run now; false when there is none. Timers that are due count.
  bool run_one();
  // Runs up to `most` tasks from inside a task, if not too deep in it already.
  void run_others(int64_t most);
  // Moves the clock timer by timer to `now() + by`, running everything that becomes ready. Stops
  // early after `limit` tasks (false).
  bool advance(Duration by, int64_t limit = 1'000'000);
  // Only moves the clock; what is due runs later.
  void skip(Duration by) { clock_.now_ = clock_.now_ + by; }
  // Tasks ready now or timers due now.
  bool busy() const;
  int64_t tasks_run() const { return tasks_run_; }
  int depth() const { return depth_; }

  Random random;
  TraceHash trace;
  // Called between tasks, when none is under way.
  std::function<void()> between;

 private:
  friend class Process;
  class TrueClock final : public Clock {
   public:
    explicit TrueClock(Instant now) : now_(now) {}
    Instant now() const override { return now_; }
    Instant now_;
  };
  struct Entry {
    Process* owner;
    kube::Executor::Task task;
  };
  void collect_due();

  TrueClock clock_;
  std::deque<Entry> ready_;
  std::map<std::pair<Instant, uint64_t>, Entry> timers_;
  std::map<uint64_t, Instant> due_;
  uint64_t next_timer_ = 1;
  int64_t tasks_run_ = 0;
  int depth_ = 0;
};

// Tasks and timers of a Process go with it.
class Process final : public kube::Executor {
 public:
  // At most `threads` of its tasks overlap.
  Process(Scheduler& scheduler, std::string name, int threads = 4)
      : scheduler_(scheduler), name_(std::move(name)), threads_(threads), clock_(*this) {}
  ~Process() override { drop_all(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void run(Task task) override;
  TimerId run_after(Duration delay, Task task) override;
  bool cancel(TimerId id) override;
  // Its wall clock: true time and its error. Timers do not follow it.
  const Clock& clock() const override { return clock_; }
  Instant steady_now() const override { return scheduler_.now(); }

  void jump(Duration by) { skew_ = skew_ + by; }
  Duration skew() const { return skew_; }
  // Nothing of it runs before then.
  void freeze_until(Instant until) { frozen_until_ = until; }
  bool frozen() const { return scheduler_.now() < frozen_until_; }
  Instant frozen_until() const { return frozen_until_; }
  const std::string& name() const { return name_; }
  void drop_all();

 private:
  friend class Scheduler;
  class WallClock final : public Clock {
   public:
    explicit WallClock(const Process& process) : process_(process) {}
    Instant now() const override { return process_.scheduler_.now() + process_.skew_; }

   private:
    const Process& process_;
  };

  Scheduler& scheduler_;
  const std::string name_;
  const int threads_;
  WallClock clock_;
  Duration skew_;
  Instant frozen_until_;
  int running_ = 0;
};

}  // namespace kueue::sim
