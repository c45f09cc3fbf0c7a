// Manager: all controllers, the admission loop and their caches over one API connection. Start it,
// ask whether it is ready, stop it. It neither listens nor reads files: the application wires
// sockets, webhooks and configuration.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "controllers/metrics/metrics.h"
#include "controllers/options.h"
#include "kube/client.h"
#include "kube/executor.h"
#include "kube/leader_election.h"

namespace kueue::controllers {

struct ManagerDeps {
  // Talks to the API server as the manager; its agent is "kueue", which becomes the field manager
  // of plain writes.
  std::shared_ptr<kube::Client> client;
  // Runs everything: a ThreadExecutor in production, a VirtualExecutor in tests and simulation.
  // Must outlive the Manager.
  kube::Executor* executor = nullptr;
  Options options;
  // Absent: no lease, this is the only manager (metrics say replica_role="standalone").
  std::optional<kube::LeaderElectionOptions> leader_election = {};
  // For the lease alone, so that renewing it never waits behind other requests; absent: those
  // above.
  std::shared_ptr<kube::Client> lease_client = {};
  kube::Executor* lease_executor = nullptr;
  // Called once when the lease is lost after it was held: the process should end, as another one
  // leads now.
  std::function<void()> on_lost_lease = {};
  // One line of text per event worth a log line. May be empty. Called from any thread.
  std::function<void(std::string line)> log = {};
  // reportingInstance of Events; "" = taken from the host name.
  std::string instance = {};
};

struct Runtime;  // stores, admission, controllers (controllers/runtime.h)

class Manager {
 public:
  explicit Manager(ManagerDeps deps);
  ~Manager();  // stop()
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // Starts lists and watches; controllers follow when all first lists are in (and the lease is
  // held, if there is one). Returns at once.
  void start();
  // Ends all work; waits for writes that are under way. Nothing of the API is cleaned up.
  // Idempotent.
  void stop();
  // Every first list is in.
  bool ready() const;
  bool leading() const;
  // Nothing to do until something changes: no queue, inbox or write is under way. For tests under
  // virtual time.
  bool idle() const;

  // From now on with what of `given` may change while it runs (controllers/options.h); all it
  // concerns is looked at again.
  void reload(const Options& given);

  metrics::Metrics& metrics();
  // Prometheus text.
  std::string metrics_text();
  // The engine's state and its next cycle, for `kueue replay`.
  std::string state_dump();
  // The engine's view, for the visibility API, explain and the dashboard.
  Runtime& runtime() { return *runtime_; }

 private:
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace kueue::controllers
