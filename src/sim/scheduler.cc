#include "sim/scheduler.h"

#include <algorithm>

namespace kueue::sim {
namespace {

// How far from the head of the line the next task may be taken: tasks start in order, but those
// that start together may come to their first effect in any order.
constexpr size_t kWindow = 4;
constexpr int kMostDepth = 3;

}  // namespace

void Scheduler::collect_due() {
  while (!timers_.empty() && timers_.begin()->first.first <= now()) {
    auto first = timers_.begin();
    due_.erase(first->first.second);
    ready_.push_back(std::move(first->second));
    timers_.erase(first);
  }
}

bool Scheduler::busy() const {
  return !ready_.empty() || (!timers_.empty() && timers_.begin()->first.first <= now());
}

bool Scheduler::run_one() {
  collect_due();
  std::vector<size_t> able;
  for (size_t i = 0; i < ready_.size() && able.size() < kWindow; ++i) {
    const Process& owner = *ready_[i].owner;
    if (!owner.frozen() && owner.running_ < owner.threads_) able.push_back(i);
  }
  if (able.empty()) return false;
  const size_t chosen = able[static_cast<size_t>(random.below(static_cast<int64_t>(able.size())))];
  Entry entry = std::move(ready_[chosen]);
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(chosen));
  trace.add(entry.owner->name_);
  ++tasks_run_;
  ++depth_;
  Process* owner = entry.owner;
  ++owner->running_;
  entry.task();
  entry.task = nullptr;
  --owner->running_;
  if (--depth_ == 0 && between) between();
  return true;
}

void Scheduler::run_others(int64_t most) {
  if (depth_ >= kMostDepth) return;
  for (int64_t i = 0; i < most; ++i)
    if (!run_one()) return;
}

bool Scheduler::advance(Duration by, int64_t limit) {
  const Instant end = now() + by;
  int64_t ran = 0;
  while (true) {
    while (run_one())
      if (++ran >= limit) return false;
    // What is frozen now thaws without a timer of its own.
    Instant next = end;
    if (!timers_.empty()) next = std::min(next, timers_.begin()->first.first);
    for (const Entry& entry : ready_)
      if (entry.owner->frozen()) next = std::min(next, entry.owner->frozen_until());
    if (next <= now() || next > end) next = end;
    if (now() >= end) return true;
    clock_.now_ = next;
  }
}

void Process::run(Task task) { scheduler_.ready_.push_back({this, std::move(task)}); }

kube::Executor::TimerId Process::run_after(Duration delay, Task task) {
  const uint64_t id = scheduler_.next_timer_++;
  const Instant due = scheduler_.now() + Duration{std::max<int64_t>(0, delay.ns)};
  scheduler_.timers_.emplace(std::pair(due, id), Scheduler::Entry{this, std::move(task)});
  scheduler_.due_.emplace(id, due);
  return id;
}

bool Process::cancel(TimerId id) {
  auto due = scheduler_.due_.find(id);
  if (due == scheduler_.due_.end()) return false;
  auto timer = scheduler_.timers_.find({due->second, id});
  Task dropped = std::move(timer->second.task);
  scheduler_.timers_.erase(timer);
  scheduler_.due_.erase(due);
  return true;
}

void Process::drop_all() {
  std::vector<Task>
      dropped;  // destroyed when the lists are whole again: they may own what calls us
  auto& ready = scheduler_.ready_;
  for (auto entry = ready.begin(); entry != ready.end();) {
    if (entry->owner == this) {
      dropped.push_back(std::move(entry->task));
      entry = ready.erase(entry);
    } else {
      ++entry;
    }
  }
  for (auto timer = scheduler_.timers_.begin(); timer != scheduler_.timers_.end();) {
    if (timer->second.owner == this) {
      dropped.push_back(std::move(timer->second.task));
      scheduler_.due_.erase(timer->first.second);
      timer = scheduler_.timers_.erase(timer);
    } else {
      ++timer;
    }
  }
}

}  // namespace kueue::sim
