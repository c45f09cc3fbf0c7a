// Loop: one thread that waits for sockets, timers and tasks (epoll). Everything of net/ that
// belongs to a connection runs on the thread of its Loop, so connections need no locks.
//
// Threads: post(), after(), cancel(), stop() and in_loop() may be called from any thread; the
// functions about file descriptors only from the loop's own thread or before it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"

namespace kueue::net {

class Loop {
 public:
  using Task = std::function<void()>;
  using TimerId = uint64_t;

  // Told when a file descriptor is ready; `events` is epoll's bit set.
  class FdHandler {
   public:
    virtual ~FdHandler() = default;
    virtual void on_ready(uint32_t events) = 0;
  };

  Loop();
  // stop()s and joins. Tasks that have not run are destroyed unrun.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs on a thread of its own, named `name` (at most 15 bytes show up in tools).
  void start(const std::string& name = "net");
  // Runs on the calling thread until stop().
  void run();
  // Makes run() return soon. With start(): joins the thread, unless called on it. Idempotent.
  void stop();
  // Whether the caller is on the loop's thread.
  bool in_loop() const;

  // Whether run() is running.
  bool running() const { return running_.load(); }

  // Runs the task on the loop's thread and waits for it; on the calling thread when that is the
  // loop's, or when the loop does not run.
  void call(const Task& task);
  // Runs the task once on the loop's thread, in the order of the calls, never inside this call.
  void post(Task task);
  // Runs the task when `delay` has passed. The id is never 0.
  TimerId after(Duration delay, Task task);
  // A task that has started is not stopped. Unknown ids are fine.
  void cancel(TimerId id);

  // The handler must live until remove(). Level triggered.
  void add(int fd, uint32_t events, FdHandler* handler);
  void modify(int fd, uint32_t events);
  // After this the handler gets no call, not even for events that are already read.
  void remove(int fd);

 private:
  struct Slot {
    FdHandler* handler = nullptr;
    uint32_t generation = 0;
  };

  void wake();
  void run_tasks();
  void run_timers();
  int wait_ms();

  int epoll_ = -1;
  int wakeup_ = -1;
  std::vector<Slot> slots_;  // by file descriptor
  std::atomic<bool> stopping_{false};
  std::atomic<bool> running_{false};
  std::atomic<std::thread::id> thread_id_{};
  std::thread thread_;

  std::mutex mutex_;
  std::vector<Task> tasks_;
  bool woken_ = false;
  TimerId next_timer_ = 1;
  std::map<std::pair<int64_t, TimerId>, Task> timers_;  // by steady due time in ns
  std::map<TimerId, int64_t> due_;
};

// Steady clock in nanoseconds.
int64_t steady_ns();

// Calls `callback(signal)` on the loop's thread for each of the signals while this object lives, in
// place of their default action; and lets the process ignore SIGPIPE from then on. One at a time
// per process. A second signal of a kind is reported as well: who wants "twice = at once" counts.
class SignalWatch {
 public:
  SignalWatch(Loop& loop, std::vector<int> signals, std::function<void(int)> callback);
  // Restores the default actions. On the loop's thread, or after the loop has stopped.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  struct Reader;
  std::unique_ptr<Reader> reader_;
  std::vector<int> signals_;
};

// A write to a connection that the peer has closed becomes an error instead of ending the process.
void ignore_sigpipe();

}  // namespace kueue::net
