#include "kube/work_queue.h"

#include <algorithm>

namespace kueue::kube {

struct WorkQueue::State {
  State(Executor& e, RateLimit l, std::function<void()> w)
      : executor(e), limit(l), wake(std::move(w)) {}

  struct Delayed {
    Executor::TimerId timer = 0;
    Instant due;
  };

  Executor& executor;
  const RateLimit limit;
  const std::function<void()> wake;
  mutable std::mutex mutex;
  std::deque<ObjectKey> ready;
  std::set<ObjectKey> queued;  // in `ready`, or to be put there when its work is done
  std::set<ObjectKey> working;
  std::map<ObjectKey, Delayed> delayed;
  std::map<ObjectKey, int> failed;
  bool shut = false;

  // True when the key became ready to be taken.
  bool enqueue(const ObjectKey& key) {
    if (shut || !queued.insert(key).second) return false;
    if (working.contains(key)) return false;
    ready.push_back(key);
    return true;
  }
};

WorkQueue::WorkQueue(Executor& executor, RateLimit limit, std::function<void()> wake)
    : state_(std::make_shared<State>(executor, limit, std::move(wake))) {}

WorkQueue::~WorkQueue() { shut_down(); }

void WorkQueue::add(const ObjectKey& key) {
  bool ready;
  {
    std::lock_guard lock(state_->mutex);
    ready = state_->enqueue(key);
  }
  if (ready) state_->wake();
}

void WorkQueue::add_after(const ObjectKey& key, Duration delay) {
  if (delay.ns <= 0) {
    add(key);
    return;
  }
  std::lock_guard lock(state_->mutex);
  if (state_->shut) return;
  Instant due = state_->executor.steady_now() + delay;
  auto held = state_->delayed.find(key);
  if (held != state_->delayed.end()) {
    if (held->second.due <= due) return;
    state_->executor.cancel(held->second.timer);
  }
  std::weak_ptr<State> weak = state_;
  Executor::TimerId timer = state_->executor.run_after(delay, [weak, key, due] {
    std::shared_ptr<State> state = weak.lock();
    if (!state) return;
    bool ready = false;
    {
      std::lock_guard inner(state->mutex);
      auto found = state->delayed.find(key);
      if (found == state->delayed.end() || found->second.due != due) return;
      state->delayed.erase(found);
      ready = state->enqueue(key);
    }
    if (ready) state->wake();
  });
  state_->delayed[key] = {timer, due};
}

void WorkQueue::add_rate_limited(const ObjectKey& key) {
  Duration delay;
  {
    std::lock_guard lock(state_->mutex);
    int n = ++state_->failed[key];
    delay = state_->limit.base;
    for (int i = 1; i < n && delay < state_->limit.max; ++i) delay = delay * 2;
    delay = std::min(delay, state_->limit.max);
  }
  add_after(key, delay);
}

void WorkQueue::forget(const ObjectKey& key) {
  std::lock_guard lock(state_->mutex);
  state_->failed.erase(key);
}

int WorkQueue::failures(const ObjectKey& key) const {
  std::lock_guard lock(state_->mutex);
  auto found = state_->failed.find(key);
  return found == state_->failed.end() ? 0 : found->second;
}

std::optional<ObjectKey> WorkQueue::take() {
  std::lock_guard lock(state_->mutex);
  if (state_->shut || state_->ready.empty()) return std::nullopt;
  ObjectKey key = std::move(state_->ready.front());
  state_->ready.pop_front();
  state_->queued.erase(key);
  state_->working.insert(key);
  return key;
}

void WorkQueue::done(const ObjectKey& key) {
  bool ready = false;
  {
    std::lock_guard lock(state_->mutex);
    state_->working.erase(key);
    if (!state_->shut && state_->queued.contains(key)) {
      state_->ready.push_back(key);
      ready = true;
    }
  }
  if (ready) state_->wake();
}

size_t WorkQueue::size() const {
  std::lock_guard lock(state_->mutex);
  return state_->ready.size();
}

bool WorkQueue::idle() const {
  std::lock_guard lock(state_->mutex);
  return state_->ready.empty() && state_->working.empty() && state_->delayed.empty();
}

void WorkQueue::shut_down() {
  std::lock_guard lock(state_->mutex);
  state_->shut = true;
  state_->ready.clear();
  state_->queued.clear();
  for (const auto& [key, held] : state_->delayed) state_->executor.cancel(held.timer);
  state_->delayed.clear();
  state_->failed.clear();
}

}  // namespace kueue::kube
