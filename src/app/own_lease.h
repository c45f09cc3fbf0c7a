// OwnLease: the playground's manager holds the lease that managers elect their leader by, so that a
// `kueue manager` pointed at a playground waits instead of admitting the same Workloads a second
// time. It does not compete: the server is in this process, and so the lease is its own from before
// the first request from outside. Thread safe.
#pragma once

#include <memory>
#include <mutex>

#include "base/result.h"
#include "kube/client.h"
#include "kube/executor.h"

namespace kueue::app {

class OwnLease {
 public:
  // Both must outlive it.
  OwnLease(std::shared_ptr<kube::Client> client, kube::Executor& executor);
  ~OwnLease();  // gives it back

  // Takes the lease whoever holds it, and keeps it. A renewal that fails (disk full) is tried
  // again.
  Result<void> take();
  // Others may have it at once. Idempotent.
  void give_back();
  // Frees what a playground with a manager left behind when it was killed. Others' leases stay.
  Result<void> clear();

 private:
  Result<void> write(const std::string& holder, int64_t seconds);
  void renew_later();  // with the lock

  std::shared_ptr<kube::Client> client_;
  kube::Executor& executor_;
  // Shared with timers, which may fire after this is gone.
  struct Guard {
    std::mutex mutex;
    bool held = false;
  };
  std::shared_ptr<Guard> guard_ = std::make_shared<Guard>();
  kube::Executor::TimerId timer_ = 0;
};

}  // namespace kueue::app
