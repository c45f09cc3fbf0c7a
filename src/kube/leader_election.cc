#include "kube/leader_election.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>

#include "base/log.h"

namespace kueue::kube {
namespace {

const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};

}  // namespace

// Tries run on a strand, since they block on the API. Giving up leadership does not wait for them:
// a timer on the executor checks the renew deadline while a request hangs. Callbacks go through a
// strand of their own, in order.
struct LeaderElector::State : std::enable_shared_from_this<LeaderElector::State> {
  State(std::shared_ptr<Client> c, Executor& e, LeaderElectionOptions o,
        std::function<void()> started_cb, std::function<void()> stopped_cb)
      : client(std::move(c)),
        executor(e),
        options(std::move(o)),
        on_started(std::move(started_cb)),
        on_stopped(std::move(stopped_cb)),
        tries(e),
        notices(e),
        random(std::hash<std::string>()(options.identity) | 1) {}

  ObjectKey key() const { return {options.namespace_, options.lease_name}; }

  void try_later() {
    Duration wait = options.retry_period;
    // Up to a fifth more, so that candidates do not move in step.
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    wait.ns += static_cast<int64_t>(random % 1000) * (wait.ns / 5000);
    executor.run_after(wait, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->try_soon();
    });
  }

  void try_soon() {
    tries.run([weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self) return;
      {
        std::lock_guard lock(self->mutex);
        if (self->stopped) return;
      }
      self->try_once();
      self->try_later();
    });
  }

  // Whoever leads knows the Lease as it wrote it: one request renews it, so that a slow network
  // costs the lease later. False: look at it first.
  bool renew_as_known(Instant before) {
    if (!held) return false;
    fill(*held, executor.clock().now());
    Result<json::Value> answer = client->update(kLeases, *held);
    if (answer.ok()) {
      held = std::move(*answer);
      renewed(before);
      return true;
    }
    held.reset();
    return answer.error().code == ErrorCode::kUnavailable;  // the next try looks
  }

  void try_once() {
    const Instant before = executor.steady_now();
    if (renew_as_known(before)) return;
    Result<json::Value> lease = client->get(kLeases, key());
    if (!lease.ok() && lease.error().code != ErrorCode::kNotFound) return;
    json::Value wanted;
    if (!lease.ok()) {
      wanted =
          json::Value::object({{"apiVersion", "coordination.k8s.io/v1"},
                               {"kind", "Lease"},
                               {"metadata", json::Value::object({{"namespace", options.namespace_},
                                                                 {"name", options.lease_name}})}});
    } else {
      wanted = std::move(*lease);
      if (!observe(wanted)) return lost_if_leading();
    }
    bool exists = wanted.find_path({"metadata", "resourceVersion"}) != nullptr;
    fill(wanted, executor.clock().now());
    Result<json::Value> answer = exists ? client->update(kLeases, wanted)
                                        : client->create(kLeases, options.namespace_, wanted);
    if (!answer.ok()) {
      if (answer.error().code != ErrorCode::kConflict &&
          answer.error().code != ErrorCode::kAlreadyExists) {
        const bool no_namespace = !exists && answer.error().code == ErrorCode::kNotFound;
        log.error(no_namespace ? "Cannot create the lease: create its namespace, or name another "
                                 "one in leaderElection.resourceNamespace"
                               : "Failed to update the lease",
                  answer.error(), {{"lease", lease_ref()}});
      }
      return;  // the renew deadline decides
    }
    held = std::move(*answer);
    renewed(before);
  }

  LogValue lease_ref() const { return LogValue::ref(options.namespace_, options.lease_name); }

  // Notes who holds the lease; true when we may write it.
  bool observe(const json::Value& lease) {
    std::lock_guard lock(mutex);
    std::string record = std::string(lease.get_string({"spec", "holderIdentity"})) + "\n" +
                         std::string(lease.get_string({"spec", "renewTime"})) + "\n" +
                         std::string(lease.get_string({"metadata", "resourceVersion"}));
    const Instant now = executor.steady_now();
    if (record != seen_record) {
      seen_record = std::move(record);
      seen_at = now;
    }
    const std::string before =
        std::exchange(holder, std::string(lease.get_string({"spec", "holderIdentity"})));
    if (holder != before && !holder.empty() && holder != options.identity)
      log.info("Waiting for the lease, which another manager holds",
               {{"lease", lease_ref()}, {"holder", holder}});
    if (holder.empty() || holder == options.identity) return true;
    // Clocks of two machines differ: what counts is how long the record did not change before our
    // eyes.
    Duration duration = Duration::seconds(lease.get_int({"spec", "leaseDurationSeconds"}, 15));
    return now - seen_at >= duration;
  }

  void fill(json::Value& lease, Instant now) const {
    std::string previous(lease.get_string({"spec", "holderIdentity"}));
    json::Value& spec = lease["spec"];
    spec["holderIdentity"] = options.identity;
    spec["leaseDurationSeconds"] = options.lease_duration.ns / 1'000'000'000;
    spec["renewTime"] = format_micro_time(now);
    if (previous == options.identity) return;
    spec["acquireTime"] = format_micro_time(now);
    const json::Value* transitions = spec.find("leaseTransitions");
    spec["leaseTransitions"] = transitions ? transitions->int_or(0) + 1 : 0;
  }

  void renewed(Instant at) {
    std::lock_guard lock(mutex);
    holder = options.identity;
    seen_record.clear();
    if (stopped) return;
    last_renewed = at;
    if (!std::exchange(leading, true)) {
      log.info("Successfully acquired lease", {{"lease", lease_ref()}});
      tell(on_started);
    }
    executor.cancel(deadline);
    Duration left = at + options.renew_deadline - executor.steady_now();
    deadline = executor.run_after(left, [weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self) return;
      std::lock_guard inner(self->mutex);
      if (self->executor.steady_now() - self->last_renewed >= self->options.renew_deadline)
        self->step_down();
    });
  }

  void lost_if_leading() {
    std::lock_guard lock(mutex);
    step_down();
  }

  // With the mutex held.
  void step_down() {
    if (std::exchange(leading, false)) tell(on_stopped);
  }

  void tell(const std::function<void()>& callback) {
    if (callback) notices.run(callback);
  }

  void stop() {
    bool release = false;
    {
      std::lock_guard lock(mutex);
      if (std::exchange(stopped, true)) return;
      release = leading && options.release_on_stop;
      executor.cancel(deadline);
      step_down();
    }
    if (!release) return;
    Result<json::Value> lease = client->get(kLeases, key());
    if (!lease.ok() || lease->get_string({"spec", "holderIdentity"}) != options.identity) return;
    lease->at_path({"spec", "holderIdentity"}) = "";
    lease->at_path({"spec", "leaseDurationSeconds"}) = 1;
    // Should this fail, the others wait for the lease to run out.
    (void)client->update(kLeases, *lease).ok();
  }

  const std::shared_ptr<Client> client;
  Executor& executor;
  const LeaderElectionOptions options;
  const std::function<void()> on_started;
  const std::function<void()> on_stopped;
  const Logger log{"leader-election"};
  Strand tries;
  Strand notices;
  uint64_t random;                  // used on `tries`
  std::optional<json::Value> held;  // used on `tries`: the Lease as we wrote it last

  mutable std::mutex mutex;
  std::string holder;
  std::string seen_record;
  Instant seen_at;
  Instant last_renewed;
  Executor::TimerId deadline = 0;
  bool leading = false;
  bool stopped = false;
};

LeaderElector::LeaderElector(std::shared_ptr<Client> client, Executor& executor,
                             LeaderElectionOptions options,
                             std::function<void()> on_started_leading,
                             std::function<void()> on_stopped_leading)
    : state_(std::make_shared<State>(std::move(client), executor, std::move(options),
                                     std::move(on_started_leading),
                                     std::move(on_stopped_leading))) {}

LeaderElector::~LeaderElector() { stop(); }

void LeaderElector::start() { state_->try_soon(); }

void LeaderElector::stop() { state_->stop(); }

bool LeaderElector::is_leader() const {
  std::lock_guard lock(state_->mutex);
  return state_->leading;
}

std::string LeaderElector::leader() const {
  std::lock_guard lock(state_->mutex);
  return state_->holder;
}

}  // namespace kueue::kube
