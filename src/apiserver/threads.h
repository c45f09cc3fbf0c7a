// Workers run tasks on a few threads; Timers run small tasks later. Both thread safe; tasks must
// not throw. Both can do without threads: then tasks wait until somebody calls work().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"

namespace kueue::apiserver {

class Workers {
 public:
  // Threads are started as tasks come, up to `most`; 0: none ever is.
  explicit Workers(int most) : most_(most) {}
  ~Workers() { stop(); }
  // Dropped after stop().
  void run(std::function<void()> task);
  // Runs what is queued, then ends the threads.
  void stop();
  // Blocks until nothing is queued or running.
  void wait_idle();
  // Runs the oldest task that waits on the caller's thread; false when there is none.
  bool work();

 private:
  void loop();
  const int most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  int waiting_ = 0;
  int running_ = 0;
  bool stopping_ = false;
};

class Timers {
 public:
  using Id = std::pair<int64_t, uint64_t>;
  // With a clock there is no thread: what is due by that clock runs inside work().
  explicit Timers(const Clock* clock = nullptr) : clock_(clock) {}
  ~Timers() { stop(); }
  // On the timers' thread, after `delay` of real time.
  Id after(Duration delay, std::function<void()> task);
  void cancel(Id id);
  // Runs the first task that is due on the caller's thread; false when none is.
  bool work();
  void stop();

 private:
  void loop();
  int64_t now_ns() const;

  const Clock* const clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<Id, std::function<void()>> tasks_;  // by due time in steady ns
  uint64_t next_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace kueue::apiserver
