// Controller: a work queue and a function that brings one object to where it should be. The
// function is blocking; up to `concurrency` keys are in work at a time, each key at most once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "kube/client.h"
#include "kube/executor.h"
#include "kube/work_queue.h"

namespace kueue::kube {

struct ReconcileResult {
  std::optional<Duration> requeue_after = {};  // look again then, even if nothing changes
};

// The object behind the key may be gone. An error puts the key back with growing delay; kConflict
// and kAlreadyExists are ordinary (the cache is behind) and are counted like any error.
using Reconcile = std::function<Result<ReconcileResult>(const ObjectKey& key)>;

struct ControllerOptions {
  std::string name;
  int concurrency = 1;
  RateLimit rate_limit = {};
  // Told about each failed reconcile; for logs. May be empty.
  std::function<void(const std::string& controller, const ObjectKey&, const Error&)> on_error = {};
};

class Controller {
 public:
  Controller(Executor& executor, ControllerOptions options, Reconcile reconcile);
  ~Controller();  // stop()

  // Keys may be enqueued before start(); they wait.
  void enqueue(const ObjectKey& key);
  void enqueue_after(const ObjectKey& key, Duration delay);
  void start();
  // No reconcile starts afterwards; waits for those that run, unless called from one.
  void stop();
  // Nothing queued, delayed or in work. For tests.
  bool idle() const;
  const std::string& name() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kueue::kube
