// Bad input and faults over the whole Manager: whatever others write, refuse or delete, each ends
// in the right state, and no reservation is lost or counted twice.
#include "controllers/runtime.h"
#include "controllers/testing/manager_testing.h"

namespace kueue::controllers {
namespace {

class FaultsTest : public ManagerFixture {
 protected:
  const json::Value* workload_of(const std::string& job) {
    for (const json::Value* w : api_.list("workloads"))
      if (w->get_string({"metadata", "name"}).starts_with("job-" + job + "-")) return w;
    return nullptr;
  }
  std::string state(const json::Value* object, std::string_view type) {
    const std::string text = condition(object, type);
    return text.substr(0, text.find(':'));
  }
  void edit(const std::string& job, const std::function<void(json::Value&)>& change) {
    const json::Value* w = workload_of(job);
    ASSERT_NE(w, nullptr);
    api_.change("workloads", "lab", std::string(w->get_string({"metadata", "name"})), change);
  }
  static void set_status(json::Value& object, std::string_view type, const char* status) {
    for (json::Value& c : object.at_path({"status", "conditions"}).as_array())
      if (c.get_string({"type"}) == type) c["status"] = status;
  }
  // What the engine has charged is what the objects say, and the status of the queue too.
  void check_usage() {
    manager_->runtime().admission.ask([](const engine::State& s) {
      s.check_invariants();
      return 0;
    });
    int64_t reserving = 0, admitted = 0;
    for (const json::Value* w : api_.list("workloads")) {
      const bool finished = state(w, "Finished").starts_with("True");
      const bool reserved = state(w, "QuotaReserved").starts_with("True") &&
                            w->get_string({"status", "admission", "clusterQueue"}) == "shared";
      reserving += reserved && !finished;
      admitted += reserved && !finished && state(w, "Admitted").starts_with("True");
    }
    const json::Value* queue = api_.find("clusterqueues", "", "shared");
    EXPECT_EQ(queue->get_int({"status", "reservingWorkloads"}), reserving) << log_;
    EXPECT_EQ(queue->get_int({"status", "admittedWorkloads"}), admitted) << log_;
  }
  void settle(int seconds = 30) { executor_.advance(Duration::seconds(seconds)); }
};

TEST_F(FaultsTest, AReservationThatSomebodyRemovesIsMadeAgain) {
  start();
  add_job("a", 3);
  run();
  ASSERT_EQ(state(workload_of("a"), "Admitted"), "True/Admitted") << log_;
  edit("a", [](json::Value& w) {
    w.erase_path({"status", "admission"});
    set_status(w, "QuotaReserved", "False");
  });
  settle();
  set_pods("a", 0, 0);
  settle();
  EXPECT_EQ(state(workload_of("a"), "Admitted"), "True/Admitted") << log_;
  check_usage();
  // All of the status at once.
  edit("a", [](json::Value& w) { w.erase_path({"status"}); });
  settle();
  set_pods("a", 0, 0);
  settle();
  EXPECT_EQ(state(workload_of("a"), "Admitted"), "True/Admitted") << log_;
  check_usage();
}

TEST_F(FaultsTest, AReservationThatSomebodyInventsCountsOrGoes) {
  start();
  add_job("a", 3);
  run();
  add_job("b", 3);
  run();
  ASSERT_EQ(state(workload_of("b"), "QuotaReserved"), "False/WaitingForQuota") << log_;
  const json::Value admission = *workload_of("a")->find_path({"status", "admission"});
  edit("b", [&](json::Value& w) {
    w.at_path({"status", "admission"}) = admission;
    set_status(w, "QuotaReserved", "True");
  });
  settle();
  check_usage();
  // In a queue that does not exist it charges nobody, and is gone when it is switched off.
  edit("b",
       [&](json::Value& w) { w.at_path({"status", "admission", "clusterQueue"}) = "nowhere"; });
  settle();
  check_usage();
  edit("b", [&](json::Value& w) { w.at_path({"spec", "active"}) = false; });
  settle();
  set_pods("b", 0, 0);
  settle();
  EXPECT_EQ(workload_of("b")->find_path({"status", "admission"}), nullptr)
      << json::write_pretty(*workload_of("b"));
  check_usage();
}

TEST_F(FaultsTest, ChecksThatNobodyServesHoldTheJobAndSaySo) {
  add("admissionchecks", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"AdmissionCheck",
      "metadata":{"name":"orphan"},"spec":{"controllerName":"example.com/none"}})");
  api_.change("clusterqueues", "", "shared", [](json::Value& queue) {
    queue.at_path({"spec", "admissionChecksStrategy", "admissionChecks"}) =
        json::Value::array({json::Value::object({{"name", "orphan"}})});
  });
  start();
  add_job("a", 1);
  run();
  EXPECT_EQ(state(api_.find("clusterqueues", "", "shared"), "Active"),
            "False/AdmissionCheckInactive")
      << log_;
  EXPECT_TRUE(suspended("a"));
  // Active, but silent: quota is reserved and the job waits.
  api_.change("admissionchecks", "", "orphan", [](json::Value& check) {
    check.at_path({"status", "conditions"}) = json::Value::array({json::Value::object(
        {{"type", "Active"}, {"status", "True"}, {"reason", "Active"}, {"message", ""}})});
  });
  settle();
  EXPECT_EQ(state(workload_of("a"), "QuotaReserved"), "True/QuotaReserved") << log_;
  EXPECT_EQ(state(workload_of("a"), "Admitted"), "False/UnsatisfiedAdmissionChecks");
  EXPECT_TRUE(suspended("a"));
  // Somebody writes nonsense into the list: unknown checks go, the needed one comes back.
  edit("a", [](json::Value& w) {
    w.at_path({"status", "admissionChecks"}) =
        json::Value::array({json::Value::object({{"name", "other"},
                                                 {"state", "Ready"},
                                                 {"message", ""},
                                                 {"lastTransitionTime", "2024-01-01T00:00:00Z"}})});
  });
  settle();
  const json::Value* checks = workload_of("a")->find_path({"status", "admissionChecks"});
  ASSERT_NE(checks, nullptr);
  ASSERT_EQ(checks->as_array().size(), 1u);
  EXPECT_EQ(checks->as_array()[0].get_string({"name"}), "orphan");
  EXPECT_TRUE(suspended("a"));
  check_usage();
  // A queue without it admits.
  api_.change("clusterqueues", "", "shared",
              [](json::Value& queue) { queue.erase_path({"spec", "admissionChecksStrategy"}); });
  settle();
  EXPECT_EQ(state(workload_of("a"), "Admitted"), "True/Admitted") << log_;
  EXPECT_FALSE(suspended("a"));
  check_usage();
}

TEST_F(FaultsTest, WhatIsDeletedAndMadeAgainUnderItsNameStartsAnew) {
  start();
  add_job("a", 3);
  run();
  const std::string old(workload_of("a")->get_string({"metadata", "uid"}));
  const std::string name(workload_of("a")->get_string({"metadata", "name"}));
  api_.remove("jobs", "lab", "a");
  add_job("a", 2);
  settle();
  api_.remove("workloads", "lab", name);  // by the garbage collector: its owner is gone
  settle();
  EXPECT_EQ(api_.find("workloads", "lab", name), nullptr) << log_;
  ASSERT_NE(workload_of("a"), nullptr) << log_;
  int alive = 0;
  for (const json::Value* w : api_.list("workloads"))
    if (state(w, "Admitted").starts_with("True") && !state(w, "Finished").starts_with("True")) {
      ++alive;
      EXPECT_NE(w->get_string({"metadata", "uid"}), old);
      EXPECT_EQ(w->find_path({"spec", "podSets"})->as_array()[0].get_int({"count"}), 2);
    }
  EXPECT_EQ(alive, 1) << log_;
  check_usage();
  // The queue itself, with work in it: its finalizer keeps it until the work is gone.
  api_.remove("clusterqueues", "", "shared");
  settle();
  ASSERT_NE(api_.find("clusterqueues", "", "shared"), nullptr);
  finish_job("a");
  settle();
  EXPECT_EQ(api_.find("clusterqueues", "", "shared"), nullptr) << log_;
  add_cluster_queue("shared", "", "4");
  add_job("b", 4);
  settle();
  EXPECT_EQ(state(workload_of("b"), "Admitted"), "True/Admitted") << log_;
  check_usage();
}

TEST_F(FaultsTest, AFinalizerThatNobodyRemovesHoldsNoQuota) {
  start();
  add_job("a", 4);
  run();
  edit("a", [](json::Value& w) {
    json::Value& finalizers = w.at_path({"metadata", "finalizers"});
    if (finalizers.is_null()) finalizers = json::Array();
    finalizers.as_array().emplace_back("example.com/stuck");
  });
  add_job("b", 4);
  run();
  EXPECT_EQ(state(workload_of("b"), "QuotaReserved"), "False/WaitingForQuota");
  const std::string stuck(workload_of("a")->get_string({"metadata", "name"}));
  api_.remove("jobs", "lab", "a");
  settle();
  api_.remove("workloads", "lab", stuck);
  settle();
  ASSERT_NE(api_.find("workloads", "lab", stuck), nullptr);
  EXPECT_EQ(state(workload_of("b"), "Admitted"), "True/Admitted")
      << log_ << json::write_pretty(*api_.find("workloads", "lab", stuck));
  check_usage();
}

TEST_F(FaultsTest, WritersInConflictAHundredTimesASecondDelayAndBreakNothing) {
  int writes = 0;
  int conflicts = 0;
  api_.on_write = [&](const wire::Request& request) -> Result<void> {
    const auto path = wire::parse_resource_path(request.path);
    if (path->resource != "workloads" || path->name.empty() || ++writes % 3 == 0) return {};
    if (const json::Value* found = api_.find("workloads", path->namespace_, path->name)) {
      ++conflicts;
      const std::string name(found->get_string({"metadata", "name"}));
      api_.change("workloads", path->namespace_, name, [&](json::Value& w) {
        w.at_path({"metadata", "annotations", "example.com/n"}) = std::to_string(conflicts);
      });
    }
    return {};
  };
  start();
  for (int i = 0; i < 6; ++i) add_job("j" + std::to_string(i), 1);
  settle();
  EXPECT_GT(conflicts, 10);
  check_usage();
  int admitted = 0;
  for (const json::Value* w : api_.list("workloads"))
    admitted += state(w, "Admitted").starts_with("True");
  EXPECT_EQ(admitted, 4) << log_;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j)
      if (!suspended("j" + std::to_string(j))) finish_job("j" + std::to_string(j));
    settle();
    check_usage();
  }
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(state(workload_of("j" + std::to_string(i)), "Finished"), "True/Succeeded") << log_;
}

TEST_F(FaultsTest, EveryTenthWriteRefusedEndsWhereItShould) {
  const ErrorCode codes[] = {ErrorCode::kConflict,    ErrorCode::kInternal,
                             ErrorCode::kUnavailable, ErrorCode::kTimeout,
                             ErrorCode::kForbidden,   ErrorCode::kTooManyRequests};
  for (const ErrorCode code : codes) {
    int writes = 0;
    int refused = 0;
    api_.on_write = [&](const wire::Request&) -> Result<void> {
      if (++writes % 10 != 0) return {};
      ++refused;
      return make_error(code, "not this time");
    };
    const std::string tag = "t" + std::to_string(static_cast<int>(code)) + "-";
    if (manager_ == nullptr) start();
    for (int i = 0; i < 5; ++i) add_job(tag + std::to_string(i), 2);
    for (int round = 0; round < 8; ++round) {
      settle(60);
      check_usage();
      for (int i = 0; i < 5; ++i)
        if (!suspended(tag + std::to_string(i))) finish_job(tag + std::to_string(i));
    }
    settle(60);
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(state(workload_of(tag + std::to_string(i)), "Finished"), "True/Succeeded")
          << tag << i << "\n"
          << log_;
    EXPECT_GT(refused, 2);
    check_usage();
  }
}

TEST_F(FaultsTest, AClockThatGoesBackOnlyDelays) {
  Options options;
  options.wait_for_pods_ready->timeout = Duration::seconds(60);
  options.wait_for_pods_ready->backoff_base_seconds = 10;
  start(options);
  add_job("a", 1);
  run();
  set_pods("a", 1, 0);
  settle(70);
  EXPECT_EQ(state(workload_of("a"), "Evicted"), "True/PodsReadyTimeout") << log_;
  // As if the clock stood an hour earlier than when these times were written.
  const Instant later = executor_.clock().now() + Duration::seconds(3600);
  edit("a", [&](json::Value& w) {
    w.at_path({"status", "requeueState", "requeueAt"}) = format_time(later);
    for (json::Value& c : w.at_path({"status", "conditions"}).as_array())
      c["lastTransitionTime"] = format_time(later - Duration::seconds(10));
  });
  set_pods("a", 0, 0);
  settle(60);
  EXPECT_EQ(state(workload_of("a"), "QuotaReserved"), "False/PendingEvaluation") << log_;
  check_usage();
  settle(3700);
  // It was queued and admitted again then, and timed out again.
  EXPECT_GE(workload_of("a")->get_int({"status", "requeueState", "count"}), 2)
      << log_ << json::write_pretty(*workload_of("a"));
  const auto past = workload_of("a")->get_int({"status", "accumulatedPastExecutionTimeSeconds"}, 0);
  EXPECT_GE(past, 0);
  check_usage();
}

}  // namespace
}  // namespace kueue::controllers
