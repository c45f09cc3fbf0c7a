// Metric labels that are taken from Workloads.
#include "controllers/testing/manager_testing.h"

namespace kueue::controllers {
namespace {

class WorkloadLabelsTest : public ManagerFixture {
 protected:
  void add_labelled(const std::string& name, int pods, const std::string& kind) {
    add_job(name, pods);
    api_.change("jobs", "lab", name, [&](json::Value& job) {
      job.at_path({"metadata", "labels", "example.com/kind"}) = kind;
    });
  }
};

TEST_F(WorkloadLabelsTest, SplitWhatWaitsAndWhatRuns) {
  Options options;
  ASSERT_TRUE(options.gates.set("CustomMetricLabels", true).ok());
  options.labels_to_copy = {"example.com/kind"};
  options.custom_labels = {{.name = "kind",
                            .kind = "Workload",
                            .label = "example.com/kind",
                            .annotation = "",
                            .tracked = {"training", "inference"}}};
  start(options);
  add_labelled("a", 3, "training");
  run();
  add_labelled("b", 3, "inference");
  run();
  add_labelled("c", 3, "else");
  run();
  metrics::Metrics& m = manager_->metrics();
  EXPECT_EQ(m.admitted_active_workloads.value({"shared", "training"}), 1) << log_;
  EXPECT_EQ(m.admitted_active_workloads.value({"shared", "inference"}), 0);
  EXPECT_EQ(m.pending_workloads.value({"shared", "inadmissible", "inference"}), 1)
      << manager_->metrics_text();
  EXPECT_EQ(
      m.pending_workloads.value({"shared", "inadmissible", "kueue.x-k8s.io/_UNTRACKED_VALUE_"}), 1);
  EXPECT_EQ(m.local_queue_pending_workloads.value({"main", "lab", "inadmissible", "inference"}), 1);
  EXPECT_EQ(m.local_queue_admitted_active_workloads.value({"main", "lab", "training"}), 1);
  EXPECT_EQ(m.local_queue_admitted_workloads_total.value({"main", "lab", "", "training"}), 1);
  EXPECT_NE(manager_->metrics_text().find("custom_kind=\"training\""), std::string::npos);
  finish_job("a");
  run();
  EXPECT_EQ(m.admitted_active_workloads.value({"shared", "training"}), 0);
  EXPECT_EQ(m.admitted_active_workloads.value({"shared", "inference"}), 1) << log_;
  api_.remove("clusterqueues", "", "shared");
  run();
  EXPECT_EQ(m.pending_workloads.value({"shared", "inadmissible", "inference"}), 0);
}

}  // namespace
}  // namespace kueue::controllers
