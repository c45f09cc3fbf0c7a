// Executor: where the manager's work runs and what time it is there. Production runs on threads and
// the wall clock; tests and the simulation run the same code on one thread under virtual time, in
// one fixed order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"

namespace kueue::kube {

// Thread safe. Tasks may block (they make API calls) and may call the executor.
class Executor {
 public:
  using Task = std::function<void()>;
  using TimerId = uint64_t;

  virtual ~Executor() = default;
  // Runs the task once, soon, never inside this call. Tasks start in the order they were given;
  // they overlap where the executor has several threads. After stop() tasks are dropped.
  virtual void run(Task task) = 0;
  // Runs the task once when `delay` has passed (at once for <= 0). The id is never 0.
  virtual TimerId run_after(Duration delay, Task task) = 0;
  // True when the timer had not fired: its task will not run.
  virtual bool cancel(TimerId id) = 0;
  virtual const Clock& clock() const = 0;
  // Only differences mean something: unlike clock() it never jumps, and it counts while the machine
  // sleeps.
  virtual Instant steady_now() const { return clock().now(); }
};

// N worker threads and one timer thread, on the wall clock.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(int threads);
  ~ThreadExecutor() override;  // stop()
  void run(Task task) override;
  TimerId run_after(Duration delay, Task task) override;
  bool cancel(TimerId id) override;
  const Clock& clock() const override { return system_clock(); }
  Instant steady_now() const override;
  // Drops what waits, lets what runs end, joins the threads. Idempotent; not from a task.
  void stop();

 private:
  void work();
  void watch_timers();

  std::mutex mutex_;
  std::condition_variable tasks_changed_;
  std::condition_variable timers_changed_;
  std::deque<Task> tasks_;
  std::map<std::pair<int64_t, TimerId>, Task> timers_;  // by steady due time in ns, then id
  std::map<TimerId, int64_t> due_;
  TimerId next_id_ = 1;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Everything on the caller's thread, when the caller says so. run() and run_after() may be called
// from other threads (in-process streams); tasks run only inside run_until_idle() and advance().
class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(Instant start = {1'700'000'000'000'000'000});
  void run(Task task) override;
  TimerId run_after(Duration delay, Task task) override;
  bool cancel(TimerId id) override;
  const Clock& clock() const override { return clock_; }

  // Runs tasks until none waits, without moving the clock. Returns how many ran; at most `limit`
  // (then work is left).
  size_t run_until_idle(size_t limit = 1'000'000);
  // Runs what waits, then moves the clock timer by timer up to now + by, running everything on the
  // way.
  size_t advance(Duration by, size_t limit = 1'000'000);
  // When the next timer is due; nullopt when there is none.
  std::optional<Instant> next_timer() const;

 private:
  class VirtualClock final : public Clock {
   public:
    Instant now() const override;
    void set(Instant t);

   private:
    mutable std::mutex mutex_;
    Instant now_;
  };

  mutable std::mutex mutex_;
  VirtualClock clock_;
  std::deque<Task> tasks_;
  std::map<std::pair<Instant, TimerId>, Task> timers_;
  std::map<TimerId, Instant> due_;
  TimerId next_id_ = 1;
};

// Runs tasks one after the other, in order, on an executor: no two of one strand at a time. For
// state that belongs to one owner without a thread of its own. Thread safe. Tasks given after the
// strand is gone are dropped; one that runs keeps running.
class Strand {
 public:
  explicit Strand(Executor& executor);
  ~Strand();
  void run(Executor::Task task);
  Executor& executor() { return executor_; }

 private:
  struct Queue;
  Executor& executor_;
  std::shared_ptr<Queue> queue_;
};

}  // namespace kueue::kube
