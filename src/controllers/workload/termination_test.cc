// Workloads that are told to go and do not go.
#include <set>

#include "controllers/names.h"
#include "controllers/runtime.h"
#include "controllers/testing/manager_testing.h"
#include "controllers/workload/workload.h"

namespace kueue::controllers {
namespace {

class TerminationTest : public ManagerFixture {
 protected:
  // Two low jobs run; a high one needs the quota of one of them.
  void play(std::optional<BoundedTermination> bounded) {
    api_.change("clusterqueues", "", "shared", [](json::Value& queue) {
      queue.at_path({"spec", "preemption", "withinClusterQueue"}) = "LowerPriority";
    });
    Options options;
    options.bounded_termination = bounded;
    start(options);
    for (const char* job : {"first", "second"}) {
      add_job(job, 2);
      run();
      set_pods(job, 2, 2);
      run();
    }
    add_job("high", 2);
    run();
    api_.change("workloads", "lab", std::string(name_of("high")),
                [](json::Value& w) { w.at_path({"spec", "priority"}) = 100; });
    run();
  }
  std::string name_of(const std::string& job) {
    return std::string(workload_of(job)->get_string({"metadata", "name"}));
  }
  const json::Value* workload_of(const std::string& job) {
    for (const json::Value* w : api_.list("workloads"))
      if (w->get_string({"metadata", "name"}).starts_with("job-" + job + "-")) return w;
    return nullptr;
  }
  std::string state(const std::string& job, std::string_view type) {
    const std::string text = condition(workload_of(job), type);
    return text.substr(0, text.find(':'));
  }
};

TEST_F(TerminationTest, AsKueueAVictimIsWaitedForWithoutEnd) {
  play(std::nullopt);
  ASSERT_EQ(state("second", "Preempted"), "True/InClusterQueue") << log_;
  executor_.advance(Duration::seconds(86400));
  EXPECT_EQ(state("first", "Preempted"), "absent") << log_;
  EXPECT_EQ(condition(workload_of("second"), kTerminationOverdue), "absent");
}

TEST_F(TerminationTest, AfterTheBoundAnotherVictimIsChosenAndBothAreNamed) {
  play(BoundedTermination{Duration::seconds(600), true});
  ASSERT_EQ(state("second", "Preempted"), "True/InClusterQueue") << log_;
  executor_.advance(Duration::seconds(580));
  EXPECT_EQ(state("first", "Preempted"), "absent");
  EXPECT_EQ(condition(workload_of("second"), kTerminationOverdue), "absent");
  executor_.advance(Duration::seconds(30));
  EXPECT_EQ(state("first", "Preempted"), "True/InClusterQueue") << log_;
  EXPECT_TRUE(condition(workload_of("second"), kTerminationOverdue).starts_with("True/StillThere"))
      << log_;
  const std::string named = condition(workload_of("high"), kPreemptionOverdue);
  EXPECT_NE(named.find("lab/" + name_of("second") + " since "), std::string::npos) << named;
  // Its quota stays charged while its Pods are there: nothing is given away twice.
  EXPECT_EQ(api_.find("clusterqueues", "", "shared")->get_int({"status", "reservingWorkloads"}), 2);
  set_pods("first", 0, 0);
  run();
  EXPECT_EQ(state("high", "Admitted"), "True/Admitted") << log_;
  EXPECT_EQ(condition(workload_of("high"), kPreemptionOverdue), "absent");
  // When it ends at last it is queued as any other victim.
  set_pods("second", 0, 0);
  run();
  EXPECT_EQ(condition(workload_of("second"), kTerminationOverdue), "absent") << log_;
  EXPECT_EQ(state("second", "Requeued"), "True/Preempted");
  EXPECT_TRUE(state("second", "QuotaReserved") == "True/QuotaReserved" ||
              state("first", "QuotaReserved") == "True/QuotaReserved")
      << log_;
  manager_->runtime().admission.ask([](const engine::State& s) {
    s.check_invariants();
    return 0;
  });
}

TEST_F(TerminationTest, WithoutTheConditionsNothingOfOursIsInObjects) {
  play(BoundedTermination{Duration::seconds(600), false});
  executor_.advance(Duration::seconds(700));
  EXPECT_EQ(state("first", "Preempted"), "True/InClusterQueue") << log_;
  for (const json::Value* w : api_.list("workloads"))
    EXPECT_EQ(json::write(*w).find("kueue-cpp"), std::string::npos);
}

TEST_F(TerminationTest, BackoffsOfThoseThatFailedTogetherDiffer) {
  EXPECT_EQ(requeue_backoff(60, 3600, 1), Duration::seconds(60));
  std::set<int64_t> seen;
  for (int i = 0; i < 50; ++i) {
    const std::string uid = "uid-" + std::to_string(i);
    const Duration one = jittered_backoff(60, 3600, 3, uid);
    EXPECT_GE(one, Duration::seconds(240));
    EXPECT_LE(one, Duration::seconds(240) + Duration::millis(24));
    EXPECT_EQ(one, jittered_backoff(60, 3600, 3, uid));
    seen.insert(one.ns);
    EXPECT_EQ(jittered_backoff(60, 3600, 20, uid), Duration::seconds(3600));
  }
  EXPECT_GT(seen.size(), 40u);
}

}  // namespace
}  // namespace kueue::controllers
