// LeaderElector: one of several managers leads, by a coordination.k8s.io/v1 Lease that the leader
// renews. Optimistic locking on the Lease's resourceVersion keeps two from leading; a leader that
// cannot renew in time steps down before anybody else may take over.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "kube/client.h"
#include "kube/executor.h"

namespace kueue::kube {

struct LeaderElectionOptions {
  std::string namespace_ = "kueue-system";
  std::string lease_name = "c1f6bfd2.kueue.x-k8s.io";
  std::string identity;  // "<host>_<uuid>"
  Duration lease_duration = Duration::seconds(15);
  Duration renew_deadline = Duration::seconds(10);
  Duration retry_period = Duration::seconds(2);
  bool release_on_stop = false;  // empties holderIdentity, so that the next one need not wait
};

class LeaderElector {
 public:
  // A client and an executor of its own keep the renewal from waiting behind other work; a request
  // should time out well before the renew deadline. Clocks may jump: what counts is steady_now().
  // Callbacks come on the executor, one at a time, alternating: started, stopped, started, ...
  LeaderElector(std::shared_ptr<Client> client, Executor& executor, LeaderElectionOptions options,
                std::function<void()> on_started_leading, std::function<void()> on_stopped_leading);
  ~LeaderElector();  // stop()

  // Tries at once, then each retry_period (with jitter up to 20 %). Another's lease counts as
  // expired when its record was not seen to change for its leaseDurationSeconds on our clock (never
  // by comparing clocks).
  void start();
  void stop();
  bool is_leader() const;
  // Identity in the Lease as last seen, "" before.
  std::string leader() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kueue::kube
