// WorkQueue: keys that wait to be reconciled. A key is in the queue at most once and is never
// handed out twice at a time: added again while in work, it comes back when the work is done.
// Thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "base/time.h"
#include "kube/client.h"
#include "kube/executor.h"

namespace kueue::kube {

// Delay after the n-th failure of a key in a row: base * 2^(n-1), at most max.
struct RateLimit {
  Duration base = Duration::millis(5);
  Duration max = Duration::seconds(1000);
};

class WorkQueue {
 public:
  // `wake` is called (outside locks, from any thread) each time a key becomes ready to be taken.
  WorkQueue(Executor& executor, RateLimit limit, std::function<void()> wake);
  ~WorkQueue();

  void add(const ObjectKey& key);
  // At the earlier of this time and one set before. A key that is added meanwhile by add() keeps
  // its later turn too.
  void add_after(const ObjectKey& key, Duration delay);
  // add_after() by the rate limit; counts one failure.
  void add_rate_limited(const ObjectKey& key);
  // Forgets the failures of the key.
  void forget(const ObjectKey& key);
  int failures(const ObjectKey& key) const;

  // The key that waits longest and is in nobody's hands; the caller must call done() with it.
  // nullopt: none is ready.
  std::optional<ObjectKey> take();
  void done(const ObjectKey& key);

  // Ready keys; those in work and those with a delay are not counted.
  size_t size() const;
  // Nothing is ready, in work, or waiting for its delay.
  bool idle() const;
  // Drops everything; later calls do nothing.
  void shut_down();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kueue::kube
