#include "apiserver/threads.h"

#include <chrono>

namespace kueue::apiserver {

void Workers::run(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  queue_.push_back(std::move(task));
  if (waiting_ < static_cast<int>(queue_.size()) && static_cast<int>(threads_.size()) < most_)
    threads_.emplace_back([this] { loop(); });
  wake_.notify_one();
}

void Workers::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++waiting_;
    wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    --waiting_;
    if (queue_.empty()) return;
    std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    --running_;
    if (running_ == 0 && queue_.empty()) idle_.notify_all();
  }
}

bool Workers::work() {
  std::function<void()> task;
  {
    std::lock_guard lock(mutex_);
    if (queue_.empty()) return false;
    task = std::move(queue_.front());
    queue_.pop_front();
  }
  task();
  return true;
}

void Workers::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return running_ == 0 && queue_.empty(); });
}

void Workers::stop() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& t : threads) t.join();
}

namespace {

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int64_t Timers::now_ns() const { return clock_ != nullptr ? clock_->now().ns : steady_ns(); }

Timers::Id Timers::after(Duration delay, std::function<void()> task) {
  std::lock_guard lock(mutex_);
  const Id id{now_ns() + delay.ns, ++next_};
  if (stopping_) return id;
  tasks_.emplace(id, std::move(task));
  if (clock_ != nullptr) return id;
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  if (tasks_.begin()->first == id) wake_.notify_one();
  return id;
}

bool Timers::work() {
  std::function<void()> task;
  {
    std::lock_guard lock(mutex_);
    if (tasks_.empty() || tasks_.begin()->first.first > now_ns()) return false;
    task = std::move(tasks_.begin()->second);
    tasks_.erase(tasks_.begin());
  }
  task();
  return true;
}

void Timers::cancel(Id id) {
  std::lock_guard lock(mutex_);
  tasks_.erase(id);
}

void Timers::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (tasks_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const int64_t wait_ns = tasks_.begin()->first.first - steady_ns();
    if (wait_ns > 0) {
      wake_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
      continue;
    }
    auto task = std::move(tasks_.begin()->second);
    tasks_.erase(tasks_.begin());
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

void Timers::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace kueue::apiserver
