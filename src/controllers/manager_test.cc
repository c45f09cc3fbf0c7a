// The manager against a small API in memory, under virtual time: from Job to admission, end and
// release.
#include "controllers/manager.h"

#include <set>

#include "config/config.h"
#include "controllers/runtime.h"
#include "controllers/testing/manager_testing.h"

namespace kueue::controllers {
namespace {

using ManagerTest = ManagerFixture;

TEST_F(ManagerTest, AdmitsAJobThatFitsAndStartsIt) {
  start();
  ASSERT_TRUE(manager_->ready()) << log_;
  add_job("sort", 3);
  run();
  const json::Value* w = workload();
  EXPECT_EQ(condition(w, "QuotaReserved"),
            "True/QuotaReserved: Quota reserved in ClusterQueue shared")
      << log_;
  EXPECT_EQ(condition(w, "Admitted"), "True/Admitted: The workload is admitted");
  const json::Value* job = api_.find("jobs", "lab", "sort");
  EXPECT_FALSE(job->get_bool({"spec", "suspend"}, true));
  EXPECT_EQ(job->get_string({"spec", "template", "spec", "nodeSelector", "pool"}), "p");
  EXPECT_EQ(job->get_string({"spec", "template", "metadata", "labels", "kueue.x-k8s.io/podset"}),
            "main");
  const json::Value* queue = api_.find("clusterqueues", "", "shared");
  EXPECT_EQ(queue->get_int({"status", "admittedWorkloads"}), 1);
  EXPECT_EQ(condition(queue, "Active"), "True/Ready: Can admit new workloads");
}

// What the Configuration calls built is what runs: the rest is told to its user.
TEST_F(ManagerTest, RunsWhatTheConfigurationCallsBuilt) {
  Options options;
  for (const std::string_view each : config::known_frameworks()) options.frameworks.emplace(each);
  start(std::move(options));
  std::set<std::string_view> runs;
  for (const auto& kind : manager_->runtime().kinds) runs.insert(kind->framework());
  const auto built = config::built_frameworks();
  EXPECT_EQ(runs, std::set<std::string_view>(built.begin(), built.end()));
}

TEST_F(ManagerTest, ASecondJobWaitsAndFollowsWhenTheFirstEnds) {
  start();
  add_job("early", 3);
  run();
  add_job("late", 3);
  run();
  ASSERT_EQ(api_.list("workloads").size(), 2u) << log_;
  EXPECT_EQ(condition(workload(1), "QuotaReserved"),
            "False/WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused "
            "quota for cpu in flavor plain, 2 more needed");
  api_.change("jobs", "lab", "early", [](json::Value& job) {
    job.at_path({"status", "conditions"}) = json::Value::array({json::Value::object(
        {{"type", "Complete"}, {"status", "True"}, {"message", "Reached expected number"}})});
  });
  run();
  EXPECT_EQ(condition(workload(0), "Finished"), "True/Succeeded: Reached expected number") << log_;
  EXPECT_EQ(condition(workload(1), "Admitted"), "True/Admitted: The workload is admitted");
  EXPECT_FALSE(api_.find("jobs", "lab", "late")->get_bool({"spec", "suspend"}, true));
}

TEST_F(ManagerTest, AConflictIsRedoneFromTheCurrentObject) {
  start();
  bool once = true;
  api_.on_write = [&](const wire::Request& request) -> Result<void> {
    if (once && request.query_value("fieldManager") == "kueue-admission") {
      once = false;
      const json::Value* w = workload();
      api_.change(
          "workloads", "lab", std::string(w->get_string({"metadata", "name"})),
          [](json::Value& object) { object.at_path({"metadata", "labels", "touched"}) = "yes"; });
    }
    return {};
  };
  add_job("sort", 3);
  run();
  EXPECT_FALSE(once);
  EXPECT_EQ(condition(workload(), "Admitted"), "True/Admitted: The workload is admitted") << log_;
  EXPECT_EQ(workload()->get_string({"metadata", "labels", "touched"}), "yes");
}

TEST_F(ManagerTest, ALostAnswerNeitherLosesNorDoublesTheReservation) {
  start();
  int lost = 2;
  api_.on_write = [&](const wire::Request& request) -> Result<void> {
    if (lost > 0 && request.query_value("fieldManager") == "kueue-admission") {
      --lost;
      return make_error(ErrorCode::kTimeout, "no answer");
    }
    return {};
  };
  add_job("one", 3);
  add_job("two", 3);
  executor_.advance(Duration::seconds(30));
  EXPECT_EQ(api_.find("clusterqueues", "", "shared")->get_int({"status", "admittedWorkloads"}), 1)
      << log_;
  int running = 0;
  for (const json::Value* job : api_.list("jobs"))
    if (!job->get_bool({"spec", "suspend"}, true)) ++running;
  EXPECT_EQ(running, 1);
}

TEST_F(ManagerTest, QuotaIsFreeWhenAJobIsDeleted) {
  start();
  add_job("runs", 4);
  run();
  add_job("waits", 4);
  run();
  api_.remove("jobs", "lab", "runs");
  run();
  EXPECT_FALSE(api_.find("jobs", "lab", "waits")->get_bool({"spec", "suspend"}, true)) << log_;
}

TEST_F(ManagerTest, AnInactiveWorkloadIsEvictedAndComesBack) {
  start();
  add_job("runs", 2);
  run();
  const std::string name(workload()->get_string({"metadata", "name"}));
  api_.change("workloads", "lab", name,
              [](json::Value& w) { w.at_path({"spec", "active"}) = false; });
  run();
  EXPECT_EQ(condition(workload(), "Evicted"), "True/Deactivated: The workload is deactivated")
      << log_;
  EXPECT_EQ(condition(workload(), "QuotaReserved"),
            "False/Deactivated: The workload is deactivated");
  EXPECT_TRUE(api_.find("jobs", "lab", "runs")->get_bool({"spec", "suspend"}));
  const json::Value* metadata =
      api_.find("jobs", "lab", "runs")->find_path({"spec", "template", "metadata"});
  EXPECT_TRUE(metadata == nullptr || metadata->find("labels") == nullptr ||
              metadata->find("labels")->as_object().empty());
  api_.change("workloads", "lab", name,
              [](json::Value& w) { w.at_path({"spec", "active"}) = true; });
  run();
  EXPECT_EQ(condition(workload(), "Admitted"), "True/Admitted: The workload is admitted") << log_;
  EXPECT_EQ(condition(workload(), "Requeued"), "True/Reactivated: The workload was reactivated");
}

TEST_F(ManagerTest, IsQuietWhenNothingChanges) {
  start();
  add_job("sort", 3);
  run();
  api_.writes.clear();
  executor_.advance(Duration::seconds(60));
  EXPECT_TRUE(api_.writes.empty()) << api_.writes.front();
}

}  // namespace
}  // namespace kueue::controllers
