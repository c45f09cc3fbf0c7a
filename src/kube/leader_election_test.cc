#include "kube/leader_election.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "kube/fake_transport.h"
#include "wire/status.h"

namespace kueue::kube {
namespace {

// One Lease with optimistic locking.
class LeaseServer {
 public:
  std::shared_ptr<FakeTransport> transport = std::make_shared<FakeTransport>();
  json::Value lease;
  int version = 0;
  bool down = false;

  LeaseServer() {
    transport->set_answer(
        [this](const wire::Request& request) -> Result<wire::Response> { return answer(request); });
  }

  Result<wire::Response> answer(const wire::Request& request) {
    if (down) return make_error(ErrorCode::kTimeout, "down");
    if (request.method == "GET") {
      if (lease.is_null())
        return wire::error_response(wire::not_found("coordination.k8s.io", "leases", "l"));
      return wire::json_response(lease);
    }
    json::Value sent = json::parse(request.body).value();
    if (request.method == "PUT" &&
        sent.get_string({"metadata", "resourceVersion"}) != std::to_string(version)) {
      return wire::error_response(wire::modified("coordination.k8s.io", "leases", "l"));
    }
    sent.at_path({"metadata", "resourceVersion"}) = std::to_string(++version);
    lease = sent;
    return wire::json_response(lease);
  }
};

struct Candidate {
  std::string log;
  LeaderElector elector;

  Candidate(LeaseServer& server, Executor& executor, const std::string& name, bool release = false)
      : elector(
            std::make_shared<Client>(server.transport, name), executor,
            {.namespace_ = "n", .lease_name = "l", .identity = name, .release_on_stop = release},
            [this] { log += "+"; }, [this] { log += "-"; }) {}
};

// One candidate that leads.
struct Leading {
  LeaseServer server;
  VirtualExecutor executor;
  Candidate a{server, executor, "a"};

  Leading() {
    a.elector.start();
    executor.advance(Duration::seconds(5));
  }
};

TEST(LeaderElection, OneLeadsAndAnotherTakesOver) {
  LeaseServer server;
  VirtualExecutor executor;
  Candidate a(server, executor, "a"), b(server, executor, "b");
  a.elector.start();
  b.elector.start();
  executor.advance(Duration::seconds(60));
  EXPECT_EQ(a.log, "+");
  EXPECT_EQ(b.log, "");
  EXPECT_EQ(b.elector.leader(), "a");
  EXPECT_EQ(server.lease.get_int({"spec", "leaseTransitions"}, -1), 0);
  EXPECT_EQ(server.lease.get_int({"spec", "leaseDurationSeconds"}), 15);
  a.elector.stop();
  executor.advance(Duration::seconds(10));
  EXPECT_EQ(a.log, "+-");
  EXPECT_EQ(b.log, "");
  executor.advance(Duration::seconds(10));
  EXPECT_EQ(b.log, "+");
  EXPECT_EQ(server.lease.get_int({"spec", "leaseTransitions"}), 1);
}

TEST(LeaderElection, StepsDownBeforeTheLeaseRunsOut) {
  Leading leading;
  auto& [server, executor, a] = leading;
  server.down = true;
  executor.advance(Duration::seconds(7));
  EXPECT_EQ(a.log, "+");
  executor.advance(Duration::seconds(4));
  EXPECT_EQ(a.log, "+-");
  EXPECT_FALSE(a.elector.is_leader());
  server.down = false;
  executor.advance(Duration::seconds(5));
  EXPECT_EQ(a.log, "+-+");
}

// An executor whose wall clock can jump, as on a machine whose time is set.
class JumpingExecutor final : public Executor {
 public:
  void run(Task task) override { base.run(std::move(task)); }
  TimerId run_after(Duration delay, Task task) override {
    return base.run_after(delay, std::move(task));
  }
  bool cancel(TimerId id) override { return base.cancel(id); }
  const Clock& clock() const override { return clock_; }
  Instant steady_now() const override { return base.steady_now(); }

  VirtualExecutor base;
  Duration jump{};

 private:
  struct Jumping final : Clock {
    explicit Jumping(const JumpingExecutor& e) : executor(e) {}
    Instant now() const override { return executor.base.clock().now() + executor.jump; }
    const JumpingExecutor& executor;
  };
  Jumping clock_{*this};
};

TEST(LeaderElection, ClocksMayJump) {
  LeaseServer server;
  JumpingExecutor first, second;
  Candidate a(server, first, "a"), b(server, second, "b");
  const auto pass = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      first.base.advance(Duration::seconds(1));
      second.base.advance(Duration::seconds(1));
    }
  };
  a.elector.start();
  b.elector.start();
  pass(20);
  ASSERT_EQ(a.log, "+");
  for (const int hours : {5, -7, 0}) {
    second.jump = Duration::seconds(hours * 3600);
    pass(30);
    first.jump = Duration::seconds(-hours * 3600);
    pass(30);
    EXPECT_EQ(a.log, "+") << hours;
    EXPECT_EQ(b.log, "") << hours;
  }
  // A leader that is cut off is followed in time, whatever its clock says.
  first.jump = Duration::seconds(1'000'000);
  a.elector.stop();
  pass(20);
  EXPECT_EQ(b.log, "+");
}

TEST(LeaderElection, RenewsWithOneRequest) {
  Leading leading;
  auto& [server, executor, a] = leading;
  server.transport->clear_requests();
  executor.advance(Duration::seconds(20));
  EXPECT_GE(server.transport->requests().size(), 5u);
  for (const wire::Request& request : server.transport->requests())
    EXPECT_EQ(request.method, "PUT");
  // Somebody else wrote it meanwhile, without taking it: it is read again and kept.
  server.lease.at_path({"metadata", "resourceVersion"}) = std::to_string(++server.version);
  executor.advance(Duration::seconds(30));
  EXPECT_EQ(a.log, "+");
}

TEST(LeaderElection, ReleasesAtOnce) {
  LeaseServer server;
  VirtualExecutor executor;
  Candidate a(server, executor, "a", true), b(server, executor, "b");
  a.elector.start();
  executor.run_until_idle();
  b.elector.start();
  executor.advance(Duration::seconds(5));
  a.elector.stop();
  EXPECT_EQ(server.lease.get_string({"spec", "holderIdentity"}), "");
  executor.advance(Duration::seconds(4));
  EXPECT_EQ(b.log, "+");
}

}  // namespace
}  // namespace kueue::kube
