// Pods of elastic jobs over the whole Manager: they run as their slice is admitted, not before.
#include "controllers/testing/manager_testing.h"

namespace kueue::controllers {
namespace {

class ElasticTest : public ManagerFixture {
 protected:
  void add_elastic_job(int pods) {
    add("jobs", R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"stretch",
        "namespace":"lab","generation":1,"labels":{"kueue.x-k8s.io/queue-name":"main"},
        "annotations":{"kueue.x-k8s.io/elastic-job":"true"}},
        "spec":{"suspend":true,"completions":20,"parallelism":)" +
                    std::to_string(pods) + R"(,"template":{"spec":{"restartPolicy":"Never",
        "schedulingGates":[{"name":"kueue.x-k8s.io/elastic-job"}],"containers":[{"name":"c",
        "image":"i","resources":{"requests":{"cpu":"1"}}}]}}}})");
  }
  void scale(int pods, int generation) {
    api_.change("jobs", "lab", "stretch", [&](json::Value& job) {
      job.at_path({"metadata", "generation"}) = generation;
      job.at_path({"spec", "parallelism"}) = pods;
    });
  }
  // As the Job controller makes them.
  void add_pods(int first, int last) {
    const json::Value* job = api_.find("jobs", "lab", "stretch");
    for (int i = first; i <= last; ++i) {
      json::Value pod = *job->find_path({"spec", "template"});
      pod.at_path({"apiVersion"}) = "v1";
      pod.at_path({"kind"}) = "Pod";
      pod.at_path({"metadata", "name"}) = "stretch-" + std::to_string(i);
      pod.at_path({"metadata", "namespace"}) = "lab";
      add("pods", json::write(pod));
    }
  }
  // Numbers of the Pods without a gate.
  std::string let_go() {
    std::string out;
    for (const json::Value* pod : api_.list("pods"))
      if (pod->find_path({"spec", "schedulingGates"}) == nullptr)
        out += pod->get_string({"metadata", "name"}).substr(std::string("stretch-").size());
    return out;
  }
  void end(int number) {
    api_.change("pods", "lab", "stretch-" + std::to_string(number),
                [](json::Value& pod) { pod.at_path({"status", "phase"}) = "Succeeded"; });
  }
};

TEST_F(ElasticTest, AsManyPodsAreLetGoAsTheirSliceIsAdmittedFor) {
  start();
  add_elastic_job(2);
  run();
  ASSERT_FALSE(suspended("stretch")) << log_;
  add_pods(1, 3);
  run();
  EXPECT_EQ(let_go(), "12") << log_;
  // The slice for four takes the place of that for two; the queue has room for four.
  scale(4, 3);
  add_pods(4, 5);
  run();
  EXPECT_EQ(let_go(), "1234") << log_;
  // More than fit: nobody is let go before the new slice is admitted.
  scale(6, 4);
  add_pods(6, 6);
  run();
  EXPECT_EQ(let_go(), "1234") << log_;
  // Whoever ends makes room for the next one.
  end(1);
  run();
  EXPECT_EQ(let_go(), "12345") << log_;
}

TEST_F(ElasticTest, WithoutItsControllerPodsKeepTheirGate) {
  Options options;
  options.controllers = {"clusterqueue_controller", "localqueue_controller", "job",
                         "resourceflavor_controller", "workload_controller"};
  start(options);
  add_elastic_job(2);
  run();
  ASSERT_FALSE(suspended("stretch")) << log_;
  add_pods(1, 2);
  run();
  EXPECT_EQ(let_go(), "") << log_;
}

}  // namespace
}  // namespace kueue::controllers
