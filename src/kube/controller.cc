#include "kube/controller.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace kueue::kube {

struct Controller::State : std::enable_shared_from_this<State> {
  State(Executor& e, ControllerOptions o, Reconcile r)
      : executor(e), options(std::move(o)), reconcile(std::move(r)) {}

  Executor& executor;
  const ControllerOptions options;
  const Reconcile reconcile;
  std::unique_ptr<WorkQueue> queue;
  std::mutex mutex;
  std::condition_variable ended;
  int runners = 0;  // tasks on the executor that take keys
  std::set<std::thread::id> inside;
  bool started = false;
  bool stopped = false;

  // One more runner for each ready key, up to the limit; each takes keys until none is ready.
  void wake() {
    {
      std::lock_guard lock(mutex);
      if (!started || stopped || runners >= options.concurrency) return;
      ++runners;
    }
    executor.run([self = shared_from_this()] { self->work(); });
  }

  void work() {
    {
      std::lock_guard lock(mutex);
      inside.insert(std::this_thread::get_id());
    }
    std::optional<ObjectKey> key;
    if (!is_stopped()) key = queue->take();
    if (key) handle(*key);
    bool more;
    {
      std::lock_guard lock(mutex);
      inside.erase(std::this_thread::get_id());
      more = !stopped && queue->size() > 0;
      if (!more) --runners;
    }
    ended.notify_all();
    // A key that became ready between size() and here has found fewer runners and started its own.
    if (more) executor.run([self = shared_from_this()] { self->work(); });
  }

  bool is_stopped() {
    std::lock_guard lock(mutex);
    return stopped;
  }

  void handle(const ObjectKey& key) {
    Result<ReconcileResult> result = reconcile(key);
    if (result.ok()) {
      queue->forget(key);
      if (result->requeue_after) queue->add_after(key, *result->requeue_after);
    } else {
      if (options.on_error) options.on_error(options.name, key, result.error());
      queue->add_rate_limited(key);
    }
    queue->done(key);
  }
};

Controller::Controller(Executor& executor, ControllerOptions options, Reconcile reconcile)
    : state_(std::make_shared<State>(executor, std::move(options), std::move(reconcile))) {
  std::weak_ptr<State> weak = state_;
  state_->queue = std::make_unique<WorkQueue>(executor, state_->options.rate_limit, [weak] {
    if (std::shared_ptr<State> state = weak.lock()) state->wake();
  });
}

Controller::~Controller() { stop(); }

void Controller::enqueue(const ObjectKey& key) { state_->queue->add(key); }

void Controller::enqueue_after(const ObjectKey& key, Duration delay) {
  state_->queue->add_after(key, delay);
}

void Controller::start() {
  {
    std::lock_guard lock(state_->mutex);
    state_->started = true;
  }
  for (size_t i = state_->queue->size(); i > 0; --i) state_->wake();
}

void Controller::stop() {
  std::unique_lock lock(state_->mutex);
  state_->stopped = true;
  if (state_->inside.contains(std::this_thread::get_id())) return;
  // Runners that wait on a stopped executor never come; only those at work are waited for.
  state_->ended.wait(lock, [this] { return state_->inside.empty(); });
  lock.unlock();
  state_->queue->shut_down();
}

bool Controller::idle() const { return state_->queue->idle(); }

const std::string& Controller::name() const { return state_->options.name; }

}  // namespace kueue::kube
