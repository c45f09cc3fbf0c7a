#include "kube/executor.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace kueue::kube {

namespace {

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ThreadExecutor::ThreadExecutor(int threads) {
  KUEUE_CHECK(threads > 0, "an executor needs at least one thread");
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  threads_.emplace_back([this] { watch_timers(); });
}

ThreadExecutor::~ThreadExecutor() { stop(); }

void ThreadExecutor::run(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
  }
  tasks_changed_.notify_one();
}

Executor::TimerId ThreadExecutor::run_after(Duration delay, Task task) {
  bool first = false;
  TimerId id = 0;
  {
    std::lock_guard lock(mutex_);
    id = next_id_++;
    if (stopping_) return id;
    int64_t due = steady_ns() + std::max<int64_t>(0, delay.ns);
    auto placed = timers_.emplace(std::pair(due, id), std::move(task)).first;
    due_.emplace(id, due);
    first = placed == timers_.begin();
  }
  if (first) timers_changed_.notify_one();
  return id;
}

bool ThreadExecutor::cancel(TimerId id) {
  Task dropped;  // destroyed outside the lock: it may own things that call back
  std::lock_guard lock(mutex_);
  auto due = due_.find(id);
  if (due == due_.end()) return false;
  auto timer = timers_.find({due->second, id});
  dropped = std::move(timer->second);
  timers_.erase(timer);
  due_.erase(due);
  return true;
}

Instant ThreadExecutor::steady_now() const {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return {now.tv_sec * 1'000'000'000 + now.tv_nsec};
}

void ThreadExecutor::stop() {
  std::deque<Task> tasks;
  std::map<std::pair<int64_t, TimerId>, Task> timers;
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    tasks.swap(tasks_);
    timers.swap(timers_);
    due_.clear();
    threads.swap(threads_);
  }
  tasks_changed_.notify_all();
  timers_changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

void ThreadExecutor::work() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      tasks_changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void ThreadExecutor::watch_timers() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (timers_.empty()) {
      timers_changed_.wait(lock);
      continue;
    }
    int64_t wait_ns = timers_.begin()->first.first - steady_ns();
    if (wait_ns > 0) {
      timers_changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
      continue;
    }
    auto due = timers_.begin();
    due_.erase(due->first.second);
    tasks_.push_back(std::move(due->second));
    timers_.erase(due);
    tasks_changed_.notify_one();
  }
}

VirtualExecutor::VirtualExecutor(Instant start) { clock_.set(start); }

Instant VirtualExecutor::VirtualClock::now() const {
  std::lock_guard lock(mutex_);
  return now_;
}

void VirtualExecutor::VirtualClock::set(Instant t) {
  std::lock_guard lock(mutex_);
  now_ = t;
}

void VirtualExecutor::run(Task task) {
  std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
}

Executor::TimerId VirtualExecutor::run_after(Duration delay, Task task) {
  std::lock_guard lock(mutex_);
  TimerId id = next_id_++;
  Instant due = clock_.now() + Duration{std::max<int64_t>(0, delay.ns)};
  timers_.emplace(std::pair(due, id), std::move(task));
  due_.emplace(id, due);
  return id;
}

bool VirtualExecutor::cancel(TimerId id) {
  Task dropped;
  std::lock_guard lock(mutex_);
  auto due = due_.find(id);
  if (due == due_.end()) return false;
  auto timer = timers_.find({due->second, id});
  dropped = std::move(timer->second);
  timers_.erase(timer);
  due_.erase(due);
  return true;
}

size_t VirtualExecutor::run_until_idle(size_t limit) {
  size_t ran = 0;
  while (ran < limit) {
    Task task;
    {
      std::lock_guard lock(mutex_);
      while (!timers_.empty() && timers_.begin()->first.first <= clock_.now()) {
        auto due = timers_.begin();
        due_.erase(due->first.second);
        tasks_.push_back(std::move(due->second));
        timers_.erase(due);
      }
      if (tasks_.empty()) return ran;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    ++ran;
  }
  return ran;
}

size_t VirtualExecutor::advance(Duration by, size_t limit) {
  const Instant end = clock_.now() + by;
  size_t ran = run_until_idle(limit);
  while (ran < limit) {
    std::optional<Instant> due = next_timer();
    if (!due || *due > end) break;
    if (*due > clock_.now()) clock_.set(*due);
    ran += run_until_idle(limit - ran);
  }
  if (ran < limit && clock_.now() < end) clock_.set(end);
  return ran;
}

std::optional<Instant> VirtualExecutor::next_timer() const {
  std::lock_guard lock(mutex_);
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

struct Strand::Queue {
  explicit Queue(Executor& e) : executor(e) {}
  Executor& executor;
  std::mutex mutex;
  std::deque<Executor::Task> tasks;
  bool scheduled = false;
  bool closed = false;

  static void pump(const std::shared_ptr<Queue>& self) {
    Executor::Task task;
    {
      std::lock_guard lock(self->mutex);
      if (self->closed || self->tasks.empty()) {
        self->scheduled = false;
        return;
      }
      task = std::move(self->tasks.front());
      self->tasks.pop_front();
    }
    task();
    task = nullptr;  // what it holds goes before the next one starts
    std::lock_guard lock(self->mutex);
    if (self->closed || self->tasks.empty()) {
      self->scheduled = false;
      return;
    }
    self->executor.run([self] { pump(self); });
  }
};

Strand::Strand(Executor& executor)
    : executor_(executor), queue_(std::make_shared<Queue>(executor)) {}

Strand::~Strand() {
  std::deque<Executor::Task> dropped;
  std::lock_guard lock(queue_->mutex);
  queue_->closed = true;
  dropped.swap(queue_->tasks);
}

void Strand::run(Executor::Task task) {
  {
    std::lock_guard lock(queue_->mutex);
    if (queue_->closed) return;
    queue_->tasks.push_back(std::move(task));
    if (queue_->scheduled) return;
    queue_->scheduled = true;
  }
  executor_.run([queue = queue_] { Queue::pump(queue); });
}

}  // namespace kueue::kube
