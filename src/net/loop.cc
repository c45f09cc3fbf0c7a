// The epoll loop, its timers, and signals by way of a pipe.
#include "net/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <ctime>

#include "base/check.h"

namespace kueue::net {

int64_t steady_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

void ignore_sigpipe() { signal(SIGPIPE, SIG_IGN); }

Loop::Loop() {
  ignore_sigpipe();
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  KUEUE_CHECK(epoll_ >= 0, "epoll_create1 failed: out of file descriptors");
  wakeup_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  KUEUE_CHECK(wakeup_ >= 0, "eventfd failed: out of file descriptors");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = UINT64_MAX;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event);
}

Loop::~Loop() {
  stop();
  close(wakeup_);
  close(epoll_);
}

void Loop::start(const std::string& name) {
  KUEUE_CHECK(!thread_.joinable(), "Loop::start called twice");
  running_.store(true);  // for call() right after this
  thread_ = std::thread([this, name] {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    run();
  });
}

bool Loop::in_loop() const {
  return thread_id_.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

void Loop::stop() {
  stopping_.store(true);
  wake();
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

void Loop::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(wakeup_, &one, sizeof one);
}

void Loop::post(Task task) {
  bool wake_up = false;
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    wake_up = !woken_;
    woken_ = true;
  }
  if (wake_up) wake();
}

void Loop::call(const Task& task) {
  if (in_loop() || !running()) return task();
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool claimed = false;
    bool done = false;
  };
  auto shared = std::make_shared<Shared>();
  post([shared, &task] {
    {
      std::lock_guard lock(shared->mutex);
      if (shared->claimed) return;
      shared->claimed = true;
    }
    task();
    std::lock_guard lock(shared->mutex);
    shared->done = true;
    shared->changed.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  while (!shared->changed.wait_for(lock, std::chrono::milliseconds(20),
                                   [&] { return shared->done; })) {
    if (running() || shared->claimed) continue;
    // The loop ended before it came to the task.
    shared->claimed = true;
    lock.unlock();
    return task();
  }
}

Loop::TimerId Loop::after(Duration delay, Task task) {
  const int64_t due = steady_ns() + std::max<int64_t>(delay.ns, 0);
  TimerId id = 0;
  bool wake_up = false;
  {
    std::lock_guard lock(mutex_);
    id = next_timer_++;
    const bool first = timers_.empty() || due < timers_.begin()->first.first;
    timers_.emplace(std::pair{due, id}, std::move(task));
    due_.emplace(id, due);
    wake_up = first && !woken_ && !in_loop();
    woken_ = woken_ || wake_up;
  }
  if (wake_up) wake();
  return id;
}

void Loop::cancel(TimerId id) {
  Task dropped;  // destroyed outside the lock: it may own things that call back
  std::lock_guard lock(mutex_);
  const auto it = due_.find(id);
  if (it == due_.end()) return;
  const auto timer = timers_.find({it->second, id});
  dropped = std::move(timer->second);
  timers_.erase(timer);
  due_.erase(it);
}

void Loop::add(int fd, uint32_t events, FdHandler* handler) {
  const auto index = static_cast<size_t>(fd);
  if (slots_.size() <= index) slots_.resize(std::max(index + 1, slots_.size() * 2));
  Slot& slot = slots_[index];
  slot.handler = handler;
  ++slot.generation;
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(slot.generation) << 32 | static_cast<uint32_t>(fd);
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void Loop::modify(int fd, uint32_t events) {
  const Slot& slot = slots_[static_cast<size_t>(fd)];
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(slot.generation) << 32 | static_cast<uint32_t>(fd);
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Loop::remove(int fd) {
  if (static_cast<size_t>(fd) >= slots_.size()) return;  // add() was posted and has not run
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  slots_[static_cast<size_t>(fd)].handler = nullptr;
}

void Loop::run_tasks() {
  std::vector<Task> batch;
  {
    std::lock_guard lock(mutex_);
    batch.swap(tasks_);
    woken_ = false;
  }
  for (Task& task : batch) {
    if (task) task();
    task = nullptr;  // what it owns goes now, not after the whole batch
  }
}

void Loop::run_timers() {
  for (;;) {
    Task task;
    {
      std::lock_guard lock(mutex_);
      if (timers_.empty() || timers_.begin()->first.first > steady_ns()) return;
      task = std::move(timers_.begin()->second);
      due_.erase(timers_.begin()->first.second);
      timers_.erase(timers_.begin());
    }
    task();
  }
}

int Loop::wait_ms() {
  std::lock_guard lock(mutex_);
  if (!tasks_.empty()) return 0;
  if (timers_.empty()) return -1;
  const int64_t left = timers_.begin()->first.first - steady_ns();
  if (left <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((left + 999'999) / 1'000'000, 3'600'000));
}

void Loop::run() {
  thread_id_.store(std::this_thread::get_id());
  running_.store(true);
  std::array<epoll_event, 256> events{};
  while (!stopping_.load(std::memory_order_relaxed)) {
    const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_ms());
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if (event.data.u64 == UINT64_MAX) {
        uint64_t count = 0;
        [[maybe_unused]] ssize_t got = read(wakeup_, &count, sizeof count);
        continue;
      }
      const Slot& slot = slots_[static_cast<uint32_t>(event.data.u64)];
      if (slot.handler == nullptr || slot.generation != event.data.u64 >> 32) continue;
      slot.handler->on_ready(event.events);
    }
    run_tasks();
    run_timers();
  }
  running_.store(false);
  thread_id_.store(std::thread::id{});
}

namespace {

std::atomic<int> signal_pipe{-1};

void on_signal(int signal_number) {
  const int saved = errno;
  const int fd = signal_pipe.load(std::memory_order_relaxed);
  const auto byte = static_cast<unsigned char>(signal_number);
  if (fd >= 0) [[maybe_unused]]
    ssize_t n = write(fd, &byte, 1);
  errno = saved;
}

}  // namespace

struct SignalWatch::Reader final : Loop::FdHandler {
  Reader(Loop& l, std::function<void(int)> c) : loop(l), callback(std::move(c)) {}
  void on_ready(uint32_t) override {
    std::array<unsigned char, 64> bytes{};
    const ssize_t n = read(fds[0], bytes.data(), bytes.size());
    for (ssize_t i = 0; i < n; ++i) callback(bytes[static_cast<size_t>(i)]);
  }
  Loop& loop;
  std::function<void(int)> callback;
  std::array<int, 2> fds{-1, -1};
};

SignalWatch::SignalWatch(Loop& loop, std::vector<int> signals, std::function<void(int)> callback)
    : reader_(std::make_unique<Reader>(loop, std::move(callback))), signals_(std::move(signals)) {
  ignore_sigpipe();
  KUEUE_CHECK(signal_pipe.load() < 0, "two SignalWatch objects at once");
  KUEUE_CHECK(pipe2(reader_->fds.data(), O_CLOEXEC | O_NONBLOCK) == 0, "pipe2 failed");
  signal_pipe.store(reader_->fds[1]);
  loop.post([&loop, reader = reader_.get()] { loop.add(reader->fds[0], EPOLLIN, reader); });
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (int s : signals_) sigaction(s, &action, nullptr);
}

SignalWatch::~SignalWatch() {
  for (int s : signals_) signal(s, SIG_DFL);
  signal_pipe.store(-1);
  reader_->loop.remove(reader_->fds[0]);
  close(reader_->fds[0]);
  close(reader_->fds[1]);
}

}  // namespace kueue::net
