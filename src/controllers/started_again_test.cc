// Jobs that their users suspend, change and resume while Kueue runs them, over the whole Manager:
// what a start put into their templates never outlives the Workload that it came from, and what of
// their pods is told as ended is that of the spec.
#include "controllers/testing/manager_testing.h"

namespace kueue::controllers {
namespace {

class StartedAgainTest : public ManagerFixture {
 protected:
  void label_flavor(const std::string& value) {
    api_.change("resourceflavors", "", "plain", [&](json::Value& flavor) {
      flavor.at_path({"spec", "nodeLabels"}) = json::Value::object({{"pool", value}});
    });
    run();
  }
  void change_job(const std::function<void(json::Value&)>& change) {
    api_.change("jobs", "lab", "sort", change);
    run();
  }
  std::string of_job(std::initializer_list<std::string_view> path) {
    return std::string(api_.find("jobs", "lab", "sort")->get_string(path));
  }
  // Its pods run with the old label of the flavor, which has a new one by then.
  void run_while_the_flavor_is_relabelled() {
    label_flavor("old");
    start();
    add_job("sort", 2);
    run();
    set_pods("sort", 2, 2);
    run();
    ASSERT_EQ(pool(), "old") << log_;
    label_flavor("new");
  }
  std::string pool() { return of_job({"spec", "template", "spec", "nodeSelector", "pool"}); }
  std::string state(std::string_view type) {
    const std::string text = condition(workload(), type);
    return text.substr(0, text.find(':'));
  }
  std::string reclaimable() {
    const json::Value* pods = workload()->find_path({"status", "reclaimablePods"});
    return pods == nullptr ? "absent" : json::write(*pods);
  }
};

TEST_F(StartedAgainTest, ASuspendedJobStartsWithTheLabelsOfToday) {
  run_while_the_flavor_is_relabelled();
  EXPECT_FALSE(suspended("sort"));
  // Its pods end some time after: until then it holds its quota, and does not start.
  change_job([](json::Value& job) {
    job.at_path({"spec", "suspend"}) = true;
    job.at_path({"status", "startTime"}) = "2026-01-01T00:00:00Z";
  });
  EXPECT_TRUE(suspended("sort"));
  EXPECT_EQ(pool(), "old");
  EXPECT_EQ(state("QuotaReserved"), "True/QuotaReserved");
  set_pods("sort", 0, 0);
  run();
  EXPECT_FALSE(suspended("sort")) << log_;
  EXPECT_EQ(pool(), "new");
  EXPECT_EQ(of_job({"status", "startTime"}), "");
  EXPECT_EQ(state("Finished"), "absent");
}

// The label is a mark of each start: nothing else tells templates apart.
TEST_F(StartedAgainTest, ASuspendedJobStartsAtOnceWhenNothingChanged) {
  label_flavor("old");
  start();
  add_job("sort", 2);
  run();
  set_pods("sort", 2, 2);
  change_job([](json::Value& job) { job.at_path({"spec", "suspend"}) = true; });
  EXPECT_FALSE(suspended("sort")) << log_;
  EXPECT_EQ(pool(), "old");
}

TEST_F(StartedAgainTest, AWorkloadIsMadeOfTheTemplateThatTheUserWrote) {
  run_while_the_flavor_is_relabelled();
  // Another size while it is suspended takes another Workload.
  change_job([](json::Value& job) {
    job.at_path({"spec", "suspend"}) = true;
    job.at_path({"spec", "parallelism"}) = 3;
    job.at_path({"spec", "completions"}) = 3;
  });
  EXPECT_EQ(state("QuotaReserved"), "True/QuotaReserved") << "while its pods run";
  set_pods("sort", 0, 0);
  run();
  executor_.advance(Duration::seconds(5));
  const json::Value& set = workload()->find_path({"spec", "podSets"})->as_array()[0];
  EXPECT_EQ(set.get_int({"count"}), 3);
  EXPECT_EQ(set.get_string({"template", "spec", "nodeSelector", "pool"}), "");
  EXPECT_EQ(set.get_string({"template", "metadata", "labels", "kueue.x-k8s.io/podset"}), "");
  EXPECT_EQ(state("Admitted"), "True/Admitted") << log_;
  EXPECT_FALSE(suspended("sort"));
  EXPECT_EQ(pool(), "new");
}

TEST_F(StartedAgainTest, AWantedSizeOfAPartlyAdmittedJobIsKept) {
  start();
  add_job("sort", 9);
  api_.change("jobs", "lab", "sort", [](json::Value& job) {
    job.at_path({"metadata", "annotations", "kueue.x-k8s.io/job-min-parallelism"}) = "1";
  });
  run();
  const int64_t part = api_.find("jobs", "lab", "sort")->get_int({"spec", "parallelism"});
  ASSERT_LT(part, 9) << log_;
  ASSERT_GT(part, 2);
  change_job([](json::Value& job) {
    job.at_path({"spec", "suspend"}) = true;
    job.at_path({"spec", "parallelism"}) = 2;
  });
  executor_.advance(Duration::seconds(5));
  EXPECT_EQ(workload()->find_path({"spec", "podSets"})->as_array()[0].get_int({"count"}), 2);
  EXPECT_FALSE(suspended("sort")) << log_;
  EXPECT_EQ(api_.find("jobs", "lab", "sort")->get_int({"spec", "parallelism"}), 2);
}

TEST_F(StartedAgainTest, WhatHasEndedIsOfTheSizeThatTheJobHas) {
  api_.change("clusterqueues", "", "shared",
              [](json::Value& queue) { queue.at_path({"spec", "stopPolicy"}) = "Hold"; });
  start();
  add_job("sort", 4);
  change_job([](json::Value& job) { job.at_path({"status", "succeeded"}) = 3; });
  ASSERT_EQ(reclaimable(), R"([{"count":3,"name":"main"}])") << log_;
  // Only two at a time: of these one is not needed any more.
  change_job([](json::Value& job) { job.at_path({"spec", "parallelism"}) = 2; });
  EXPECT_EQ(reclaimable(), R"([{"count":1,"name":"main"}])") << log_;
  EXPECT_EQ(workload()->find_path({"spec", "podSets"})->as_array()[0].get_int({"count"}), 2);
  // One at a time: it is needed.
  change_job([](json::Value& job) { job.at_path({"spec", "parallelism"}) = 1; });
  EXPECT_EQ(reclaimable(), "absent") << log_;
  api_.change("clusterqueues", "", "shared",
              [](json::Value& queue) { queue.at_path({"spec", "stopPolicy"}) = "None"; });
  run();
  const json::Value* admission = workload()->find_path({"status", "admission"});
  ASSERT_NE(admission, nullptr) << log_;
  EXPECT_EQ(admission->get_string({"clusterQueue"}), "shared");
  EXPECT_EQ(admission->find_path({"podSetAssignments"})->as_array()[0].get_int({"count"}), 1);
  EXPECT_FALSE(suspended("sort"));
}

}  // namespace
}  // namespace kueue::controllers
