// The life of a Workload over the whole Manager: readiness, back-off, deactivation, deletion of
// what is in use, live changes of queues and flavors, and what metrics say meanwhile.
#include <sstream>

#include "controllers/testing/manager_testing.h"

namespace kueue::controllers {
namespace {

class LifeTest : public ManagerFixture {
 protected:
  Options with_pods_ready(Duration timeout, std::optional<Duration> recovery,
                          std::optional<int32_t> limit) {
    Options options;
    WaitForPodsReady& wait = options.wait_for_pods_ready.emplace();
    wait.timeout = timeout;
    wait.recovery_timeout = recovery;
    wait.backoff_base_seconds = 60;
    wait.backoff_limit_count = limit;
    return options;
  }
  std::string name_of(const json::Value* object) {
    return std::string(object->get_string({"metadata", "name"}));
  }
  const json::Value* workload_of(const std::string& job) {
    for (const json::Value* w : api_.list("workloads"))
      if (name_of(w).starts_with("job-" + job + "-")) return w;
    return nullptr;
  }
  // Status and reason.
  std::string state(const json::Value* object, std::string_view type) {
    const std::string text = condition(object, type);
    return text.substr(0, text.find(':'));
  }
  int64_t status_of_queue(const std::string& name, std::string_view field) {
    return api_.find("clusterqueues", "", name)->get_int({"status", field});
  }
  std::string metrics() { return manager_->metrics_text(); }
  bool shows(const std::string& text) { return !series(text).empty(); }
  // The series that contain the text.
  std::string series(const std::string& text) {
    std::istringstream lines(metrics());
    std::string found;
    for (std::string line; std::getline(lines, line);)
      if (line.find(text) != std::string::npos) found += line + "\n";
    return found;
  }
};

TEST_F(LifeTest, AfterARestartTheRecoveryTimeoutReleasesTheReservationWhenThePodsAreGone) {
  const Options options = with_pods_ready(Duration::seconds(300), Duration::seconds(600), {});
  start(options);
  add_job("long", 3);
  run();
  set_pods("long", 3, 3);
  run();
  ASSERT_EQ(state(workload(), "PodsReady"), "True/Started") << log_;
  executor_.advance(Duration::seconds(20 * 3600));
  // A new manager finds all Pods made again and none ready.
  set_pods("long", 3, 0);
  restart(options);
  EXPECT_EQ(state(workload(), "PodsReady"), "False/WaitForRecovery") << log_;
  EXPECT_EQ(state(workload(), "Admitted"), "True/Admitted");
  executor_.advance(Duration::seconds(590));
  EXPECT_EQ(condition(workload(), "Evicted"), "absent") << "before the recovery timeout";
  executor_.advance(Duration::seconds(30));
  EXPECT_EQ(state(workload(), "Evicted"), "True/PodsReadyTimeout") << log_;
  EXPECT_TRUE(suspended("long"));
  // The Pods still end: until then the quota is held, and not longer.
  EXPECT_EQ(state(workload(), "QuotaReserved"), "True/QuotaReserved");
  EXPECT_EQ(status_of_queue("shared", "reservingWorkloads"), 1);
  set_pods("long", 0, 0);
  run();
  EXPECT_EQ(state(workload(), "QuotaReserved"), "False/PendingEvaluation") << log_;
  EXPECT_EQ(state(workload(), "Admitted"), "False/NoReservation");
  EXPECT_EQ(status_of_queue("shared", "reservingWorkloads"), 0);
  EXPECT_EQ(state(workload(), "Requeued"), "False/PodsReadyTimeout");
  EXPECT_EQ(workload()->get_int({"status", "requeueState", "count"}), 1);
  executor_.advance(Duration::seconds(60));
  EXPECT_EQ(state(workload(), "Requeued"), "True/BackoffFinished") << log_;
  EXPECT_EQ(state(workload(), "Admitted"), "True/Admitted");
  EXPECT_EQ(state(workload(), "Evicted"), "False/QuotaReserved");
  EXPECT_FALSE(suspended("long"));
}

TEST_F(LifeTest, ReadinessTimeoutsEndInDeactivationInThisOrder) {
  start(with_pods_ready(Duration::seconds(60), Duration::seconds(60), 1));
  add_job("slow", 2);
  std::vector<std::string> seen;
  std::map<std::string, std::string> last;
  for (int second = 0; second < 300; ++second) {
    executor_.advance(Duration::seconds(1));
    const json::Value* w = workload();
    if (w == nullptr) continue;
    if (suspended("slow")) {
      if (api_.find("jobs", "lab", "slow")->get_int({"status", "active"}) != 0)
        set_pods("slow", 0, 0);
    } else if (api_.find("jobs", "lab", "slow")->get_int({"status", "active"}) != 2) {
      set_pods("slow", 2, 0);
    }
    for (const char* type : {"Evicted", "Requeued", "DeactivationTarget"}) {
      const std::string now = state(w, type);
      if (now == "absent" && !last.contains(type)) continue;
      if (std::exchange(last[type], now) != now) seen.push_back(std::string(type) + " " + now);
    }
  }
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "Evicted True/PodsReadyTimeout", "Requeued False/PodsReadyTimeout",
                      "Evicted False/QuotaReserved", "Requeued True/BackoffFinished",
                      "Evicted True/DeactivatedDueToRequeuingLimitExceeded",
                      "Requeued False/DeactivatedDueToRequeuingLimitExceeded"}))
      << log_;
  EXPECT_FALSE(workload()->get_bool({"spec", "active"}, true));
  EXPECT_TRUE(suspended("slow"));
  EXPECT_EQ(workload()->find_path({"status", "requeueState"}), nullptr);
  const json::Value* evictions = workload()->find_path({"status", "schedulingStats", "evictions"});
  ASSERT_NE(evictions, nullptr);
  ASSERT_EQ(evictions->as_array().size(), 2u);
  EXPECT_EQ(evictions->as_array()[0].get_string({"underlyingCause"}), "WaitForStart");
  EXPECT_EQ(evictions->as_array()[1].get_string({"reason"}), "Deactivated");
  EXPECT_EQ(evictions->as_array()[1].get_string({"underlyingCause"}), "RequeuingLimitExceeded");
  // Woken by the user it is queued again.
  api_.change("workloads", "lab", name_of(workload()),
              [](json::Value& w) { w.at_path({"spec", "active"}) = true; });
  run();
  EXPECT_EQ(state(workload(), "Requeued"), "True/Reactivated") << log_;
  EXPECT_EQ(state(workload(), "Admitted"), "True/Admitted");
}

TEST_F(LifeTest, ADeletedClusterQueueStaysWhileWorkRunsAndGoesWithTheLastOfIt) {
  start();
  add_job("one", 2);
  add_job("two", 2);
  run();
  ASSERT_EQ(status_of_queue("shared", "admittedWorkloads"), 2) << log_;
  api_.remove("clusterqueues", "", "shared");
  run();
  const json::Value* queue = api_.find("clusterqueues", "", "shared");
  ASSERT_NE(queue, nullptr);
  EXPECT_EQ(condition(queue, "Active"),
            "False/Terminating: Can't admit new workloads; clusterQueue is terminating");
  EXPECT_EQ(status_of_queue("shared", "admittedWorkloads"), 2);
  EXPECT_EQ(status_of_queue("shared", "reservingWorkloads"), 2);
  finish_job("one");
  run();
  ASSERT_NE(api_.find("clusterqueues", "", "shared"), nullptr);
  EXPECT_EQ(status_of_queue("shared", "reservingWorkloads"), 1);
  // The other one is switched off; its Pods end at once.
  api_.change("workloads", "lab", name_of(workload_of("two")),
              [](json::Value& w) { w.at_path({"spec", "active"}) = false; });
  run();
  EXPECT_EQ(api_.find("clusterqueues", "", "shared"), nullptr) << log_;
  // What is left is told of the LocalQueue, which still exists, and of what it holds back.
  std::istringstream left(series("cluster_queue=\"shared\""));
  for (std::string line; std::getline(left, line);)
    EXPECT_TRUE(line.starts_with("kueue_local_queue_") ||
                line.starts_with("kueue_unadmitted_workloads{"))
        << line;
}

TEST_F(LifeTest, TheQueueOfAWaitingJobIsFollowed) {
  add_cluster_queue("other", "", "4");
  add_local_queue("lab", "second", "other");
  start();
  add_job("wide", 9);
  run();
  ASSERT_EQ(state(workload(), "QuotaReserved"), "False/ExceedsMaxQuota") << log_;
  api_.change("jobs", "lab", "wide", [](json::Value& job) {
    job.at_path({"metadata", "labels", "kueue.x-k8s.io/queue-name"}) = "second";
  });
  run();
  EXPECT_EQ(workload()->get_string({"spec", "queueName"}), "second") << log_;
  EXPECT_EQ(status_of_queue("shared", "pendingWorkloads"), 0);
  EXPECT_EQ(status_of_queue("other", "pendingWorkloads"), 1);
}

// The API refuses it; should it be there all the same, it counts for nothing and waits like others.
TEST_F(LifeTest, AReservationWithoutAnAdmissionHurtsNobody) {
  add("workloads", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload",
      "metadata":{"name":"odd","namespace":"lab"},"spec":{"queueName":"main","podSets":[{"name":"main",
      "count":1,"template":{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}}]},
      "status":{"conditions":[{"type":"QuotaReserved","status":"True","reason":"QuotaReserved",
      "message":"by hand","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
  start();
  add_job("sort", 3);
  run();
  EXPECT_EQ(state(workload_of("sort"), "Admitted"), "True/Admitted") << log_;
  EXPECT_EQ(state(api_.find("workloads", "lab", "odd"), "Admitted"), "True/Admitted");
  EXPECT_EQ(status_of_queue("shared", "reservingWorkloads"), 2);
}

TEST_F(LifeTest, LocalQueuesOfOneNameInTwoNamespacesDoNotMix) {
  add("namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"far"}})");
  add_local_queue("lab", "default", "shared");
  add_local_queue("far", "default", "shared");
  Options options;
  ASSERT_TRUE(options.gates.set("LocalQueueMetrics", true).ok());
  start(options);
  for (const char* name : {"a", "b"}) {
    add_job(name, 4);
    api_.change("jobs", "lab", name, [](json::Value& job) {
      job.at_path({"metadata", "labels", "kueue.x-k8s.io/queue-name"}) = "default";
    });
    run();
  }
  const json::Value* near = api_.find("localqueues", "lab", "default");
  const json::Value* far = api_.find("localqueues", "far", "default");
  EXPECT_EQ(near->get_int({"status", "admittedWorkloads"}), 1) << log_;
  EXPECT_EQ(near->get_int({"status", "pendingWorkloads"}), 1);
  EXPECT_EQ(far->get_int({"status", "admittedWorkloads"}), 0);
  EXPECT_EQ(far->get_int({"status", "pendingWorkloads"}), 0);
  metrics::Metrics& m = manager_->metrics();
  EXPECT_EQ(m.local_queue_admitted_active_workloads.value({"default", "lab"}), 1);
  EXPECT_EQ(m.local_queue_admitted_active_workloads.value({"default", "far"}), 0);
  EXPECT_EQ(m.local_queue_pending_workloads.value({"default", "lab", "inadmissible"}), 1);
  EXPECT_EQ(m.local_queue_pending_workloads.value({"default", "far", "inadmissible"}), 0);
  api_.remove("localqueues", "far", "default");
  run();
  EXPECT_EQ(m.local_queue_admitted_active_workloads.value({"default", "lab"}), 1);
  EXPECT_FALSE(shows("namespace=\"far\""));
}

TEST_F(LifeTest, ALocalQueueReportsEveryFlavorOfItsClusterQueue) {
  std::string flavors;
  for (int i = 0; i < 17; ++i) {
    const std::string name = "f" + std::to_string(i);
    add("resourceflavors", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor",
        "metadata":{"name":")" +
                               name + R"("},"spec":{}})");
    flavors += (i == 0 ? "" : ",") + (R"({"name":")" + name) +
               R"(","resources":[{"name":"cpu","nominalQuota":"1"}]})";
  }
  add("clusterqueues", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
      "metadata":{"name":"many"},"spec":{"namespaceSelector":{},"stopPolicy":"None",
      "queueingStrategy":"BestEffortFIFO","resourceGroups":[{"coveredResources":["cpu"],"flavors":[)" +
                           flavors + "]}]}}");
  add_local_queue("lab", "many", "many");
  start();
  for (const char* field : {"flavorsReservation", "flavorsUsage"}) {
    const json::Value* list = api_.find("localqueues", "lab", "many")->find_path({"status", field});
    ASSERT_NE(list, nullptr) << field << log_;
    EXPECT_EQ(list->as_array().size(), 17u) << field;
  }
}

TEST_F(LifeTest, AnEditedFlavorIsTriedAtOnce) {
  api_.change("resourceflavors", "", "plain", [](json::Value& flavor) {
    flavor.at_path({"spec", "nodeTaints"}) = json::Value::array(
        {json::Value::object({{"key", "spot"}, {"value", "yes"}, {"effect", "NoSchedule"}})});
  });
  start();
  add_job("sort", 2);
  run();
  ASSERT_EQ(state(workload(), "QuotaReserved"), "False/NoMatchingFlavor") << log_;
  api_.change("resourceflavors", "", "plain",
              [](json::Value& flavor) { flavor.erase_path({"spec", "nodeTaints"}); });
  run();
  EXPECT_EQ(state(workload(), "Admitted"), "True/Admitted") << log_;
}

TEST_F(LifeTest, WithoutACohortNothingIsBorrowedAndADeletedChildGivesTheQuotaBack) {
  add("cohorts", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Cohort",
      "metadata":{"name":"top"},"spec":{}})");
  add("cohorts", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Cohort",
      "metadata":{"name":"child"},"spec":{"parentName":"top","resourceGroups":[{
      "coveredResources":["cpu"],"flavors":[{"name":"plain","resources":[
      {"name":"cpu","nominalQuota":"1500m"}]}]}]}})");
  add_cluster_queue("member", "top", "2500m");
  start();
  metrics::Metrics& m = manager_->metrics();
  EXPECT_EQ(m.cohort_subtree_quota.value({"top", "plain", "cpu"}), 4) << "in cores";
  api_.remove("cohorts", "", "child");
  run();
  EXPECT_EQ(m.cohort_subtree_quota.value({"top", "plain", "cpu"}), 2.5) << log_;
  EXPECT_EQ(series("cohort=\"child\""), "");

  add_job("sort", 4);
  run();
  api_.change("clusterqueues", "", "shared", [](json::Value& queue) {
    queue.at_path({"spec", "resourceGroups"})
        .as_array()[0]
        .find("flavors")
        ->as_array()[0]
        .find("resources")
        ->as_array()[0]["nominalQuota"] = "1";
  });
  run();
  const json::Value* usage =
      api_.find("clusterqueues", "", "shared")->find_path({"status", "flavorsUsage"});
  ASSERT_NE(usage, nullptr);
  const json::Value& cpu = usage->as_array()[0].find("resources")->as_array()[0];
  EXPECT_EQ(cpu.get_string({"total"}), "4");
  EXPECT_EQ(cpu.get_string({"borrowed"}, "0"), "0");
}

TEST_F(LifeTest, MetricsOfDeletedObjectsGoAndMissingLimitsAreInfinite) {
  add_cluster_queue("lent", "island", "2");
  Options options;
  options.enable_cluster_queue_resources = true;
  start(options);
  EXPECT_TRUE(
      shows("kueue_cluster_queue_borrowing_limit{cluster_queue=\"lent\",cohort=\"island\","
            "flavor=\"plain\",replica_role=\"standalone\",resource=\"cpu\"} +Inf"))
      << metrics();
  api_.remove("clusterqueues", "", "lent");
  run();
  EXPECT_EQ(series("\"lent\""), "");
  EXPECT_EQ(series("\"island\""), "");
}

TEST_F(LifeTest, OnlySelectedLocalQueuesHaveMetrics) {
  add_local_queue("lab", "quiet", "shared");
  api_.change("localqueues", "lab", "main",
              [](json::Value& queue) { queue.at_path({"metadata", "labels", "team"}) = "red"; });
  Options options;
  options.local_queue_selector = *wire::LabelSelector::parse("team=red");
  start(options);
  EXPECT_TRUE(shows("kueue_local_queue_status{active=\"True\",name=\"main\""));
  EXPECT_EQ(series("name=\"quiet\""), "");
  api_.change("localqueues", "lab", "quiet",
              [](json::Value& queue) { queue.at_path({"metadata", "labels", "team"}) = "red"; });
  run();
  EXPECT_TRUE(shows("name=\"quiet\""));
  options.local_queue_metrics = false;
  restart(options);
  EXPECT_EQ(series("kueue_local_queue_"), "");
}

TEST_F(LifeTest, PodsOfLostNodesAreEndedWhenTheirOwnerAllowsIt) {
  add("nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"lost"},
      "spec":{"taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute"}]}})");
  add("nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"fine"},"spec":{}})");
  const auto add_pod = [this](const std::string& name, const std::string& node,
                              const std::string& allowed) {
    add("pods", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                    R"(","namespace":"lab","finalizers":["example.com/held"],"annotations":{
        "kueue.x-k8s.io/safe-to-forcefully-delete":")" +
                    allowed + R"("}},"spec":{"nodeName":")" + node +
                    R"("},"status":{"phase":"Running"}})");
  };
  add_pod("stuck", "lost", "true");
  add_pod("kept", "lost", "false");
  add_pod("near", "fine", "true");
  Options options;
  ASSERT_TRUE(options.gates.set("FailureRecoveryPolicy", true).ok());
  start(options);
  for (const char* pod : {"stuck", "kept", "near"}) api_.remove("pods", "lab", pod);
  executor_.advance(Duration::seconds(50));
  const auto phase = [this](const char* pod) {
    return api_.find("pods", "lab", pod)->get_string({"status", "phase"});
  };
  EXPECT_EQ(phase("stuck"), "Running") << "it has a minute";
  executor_.advance(Duration::seconds(20));
  EXPECT_EQ(phase("stuck"), "Failed") << log_;
  EXPECT_EQ(condition(api_.find("pods", "lab", "stuck"), "KueueFailureRecovery"),
            "True/KueueForcefullyDeleted: Pod forcefully terminated after 1m0s grace period due to "
            "unreachable node `lost` (triggered by `kueue.x-k8s.io/safe-to-forcefully-delete` "
            "annotation)");
  EXPECT_EQ(phase("kept"), "Running");
  EXPECT_EQ(phase("near"), "Running");
  EXPECT_EQ(writes_with("delete pods"), 1);
}

TEST_F(LifeTest, ConsumedUsageIsSampledAndSurvivesARestart) {
  Options options;
  engine::AdmissionFairSharing& afs = options.engine.admission_fair_sharing.emplace();
  afs.half_life = Duration::seconds(600);
  afs.sampling_interval = Duration::seconds(300);
  start(options);
  const auto consumed = [this] {
    return std::string(api_.find("localqueues", "lab", "main")
                           ->get_string({"status", "fairSharing", "admissionFairSharingStatus",
                                         "consumedResources", "cpu"},
                                        "none"));
  };
  add_job("sort", 4);
  executor_.advance(Duration::seconds(310));
  const std::string first = consumed();
  EXPECT_NE(first, "none") << log_;
  EXPECT_TRUE(first.ends_with("n")) << "exact: " << first;
  restart(options);
  EXPECT_EQ(consumed(), first) << "the time without a manager does not count";
  executor_.advance(Duration::seconds(310));
  EXPECT_NE(consumed(), first);
}

// What the simulation found (test/sim).

TEST_F(LifeTest, AdmittedWithoutAdmissionStartsNothingAndIsTakenBack) {
  start();
  add_job("big", 9);  // never fits
  run();
  api_.change("workloads", "lab", name_of(workload()), [this](json::Value& w) {
    w.at_path({"status", "conditions"})
        .as_array()
        .push_back(
            json::Value::object({{"type", "Admitted"},
                                 {"status", "True"},
                                 {"reason", "Admitted"},
                                 {"message", "somebody wrote this"},
                                 {"lastTransitionTime", format_time(executor_.clock().now())}}));
  });
  run();
  EXPECT_TRUE(suspended("big")) << log_;
  EXPECT_EQ(state(workload(), "Admitted"), "False/NoReservation");
}

TEST_F(LifeTest, AWorkloadOfAJobThatIsMadeAgainLetsItsQuotaGo) {
  start();
  add_job("again", 3);
  run();
  ASSERT_EQ(status_of_queue("shared", "reservingWorkloads"), 1) << log_;
  const std::string first = name_of(workload());
  // Deleted and made again before the manager has seen it; the garbage collector does its part.
  manager_->stop();
  manager_.reset();
  api_.remove("jobs", "lab", "again");
  api_.remove("workloads", "lab", first);
  add_job("again", 3);
  start();
  executor_.advance(Duration::seconds(10));
  EXPECT_EQ(api_.find("workloads", "lab", first), nullptr) << log_;
  ASSERT_EQ(api_.list("workloads").size(), 1u);
  EXPECT_EQ(state(workload(), "Admitted"), "True/Admitted") << log_;
  EXPECT_EQ(status_of_queue("shared", "reservingWorkloads"), 1);
}

TEST_F(LifeTest, OptionsThatAreLoadedAgainHoldForWhatIsThere) {
  start();
  add_job("done", 2);
  add_job("waits", 4);
  api_.change("jobs", "lab", "waits", [](json::Value& job) {
    job.at_path({"metadata", "labels"}) = json::Value::object();
    job.at_path({"spec", "suspend"}) = false;
  });
  run();
  finish_job("done");
  run();
  ASSERT_EQ(api_.list("workloads").size(), 1u) << log_;
  EXPECT_FALSE(suspended("waits")) << "not managed";

  Options next;
  next.retention_after_finished = Duration::seconds(60);
  next.manage_jobs_without_queue_name = true;
  next.scheduler = false;  // asks for a new start
  manager_->reload(next);
  executor_.advance(Duration::seconds(90));
  EXPECT_TRUE(suspended("waits")) << log_;
  ASSERT_EQ(api_.list("workloads").size(), 1u) << "that of the job that is managed now";
  EXPECT_NE(name_of(workload()).find("waits"), std::string::npos) << name_of(workload());
  add_job("next", 1);
  run();
  EXPECT_FALSE(suspended("next")) << "the scheduler goes on";
}

TEST_F(LifeTest, ThoseThatWaitForAQueueThatIsGoneAreCountedWhileALocalQueuePointsToIt) {
  start();
  add_job("big", 5);
  run();
  const std::string series = "kueue_unadmitted_workloads{cluster_queue=\"shared\"";
  ASSERT_TRUE(shows(series)) << metrics();
  api_.remove("clusterqueues", "", "shared");
  run();
  EXPECT_TRUE(shows(series)) << metrics();
  EXPECT_TRUE(shows("underlying_cause=\"Misconfigured\"} 1")) << metrics();
  EXPECT_TRUE(shows("kueue_local_queue_unadmitted_workloads{")) << metrics();
  api_.remove("localqueues", "lab", "main");
  run();
  EXPECT_FALSE(shows(series)) << metrics();
  EXPECT_FALSE(shows("kueue_local_queue_unadmitted_workloads{")) << metrics();
}

TEST_F(LifeTest, ThoseOfALocalQueueThatLostItsClusterQueueAreToldAsInadmissible) {
  add("localqueues", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
      "metadata":{"name":"early","namespace":"lab"},"spec":{"clusterQueue":"never"}})");
  start();
  add_job("big", 5);
  run();
  // Looked at again by a change of quota, and deleted in the same moment.
  api_.change("clusterqueues", "", "shared", [](json::Value& queue) {
    json::Value& group = queue.at_path({"spec", "resourceGroups"}).as_array()[0];
    json::Value& flavor = group.at_path({"flavors"}).as_array()[0];
    flavor.at_path({"resources"}).as_array()[0]["nominalQuota"] = "3";
  });
  api_.remove("clusterqueues", "", "shared");
  run();
  const std::string main = "kueue_local_queue_pending_workloads{name=\"main\"";
  EXPECT_NE(series(main).find("status=\"active\"} 0"), std::string::npos) << series(main);
  EXPECT_NE(series(main).find("status=\"inadmissible\"} 1"), std::string::npos) << series(main);
  EXPECT_FALSE(shows("kueue_local_queue_pending_workloads{name=\"early\"")) << metrics();
}

TEST_F(LifeTest, FinishedWorkloadsOfADeletedLocalQueueHaveNoSeries) {
  start();
  add_job("done", 2);
  run();
  finish_job("done");
  run();
  ASSERT_TRUE(shows("kueue_local_queue_finished_workloads{")) << metrics();
  api_.remove("localqueues", "lab", "main");
  run();
  EXPECT_FALSE(shows("kueue_local_queue_finished_workloads{")) << metrics();
  add_local_queue("lab", "main", "shared");
  run();
  EXPECT_TRUE(shows("kueue_local_queue_finished_workloads{")) << "it counts again";
}

}  // namespace
}  // namespace kueue::controllers
