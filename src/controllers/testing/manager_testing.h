// ManagerFixture: a whole Manager over the API of fake_api.h under virtual time, with one flavor
// `plain`, one ClusterQueue `shared` of 4 cpu and its LocalQueue `main` in namespace `lab`.
#pragma once

#include <gtest/gtest.h>

#include "controllers/manager.h"
#include "controllers/testing/fake_api.h"

namespace kueue::controllers {

class ManagerFixture : public testing::Test {
 protected:
  void SetUp() override {
    add("namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})");
    add("resourceflavors", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor",
        "metadata":{"name":"plain"},"spec":{"nodeLabels":{"pool":"p"}}})");
    add("clusterqueues", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
        "metadata":{"name":"shared"},"spec":{"namespaceSelector":{},"stopPolicy":"None",
        "queueingStrategy":"BestEffortFIFO","resourceGroups":[{"coveredResources":["cpu"],
        "flavors":[{"name":"plain","resources":[{"name":"cpu","nominalQuota":"4"}]}]}]}})");
    add("localqueues", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
        "metadata":{"name":"main","namespace":"lab"},
        "spec":{"clusterQueue":"shared","stopPolicy":"None"}})");
  }
  void TearDown() override {
    if (manager_) manager_->stop();
  }

  void add(const std::string& plural, const std::string& text) {
    Result<json::Value> object = json::parse(text);
    ASSERT_TRUE(object.ok()) << object.error().message;
    api_.put(plural, std::move(*object));
  }
  void add_job(const std::string& name, int pods) {
    add("jobs", R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name +
                    R"(","namespace":"lab","labels":{"kueue.x-k8s.io/queue-name":"main"}},
        "spec":{"suspend":true,"parallelism":)" +
                    std::to_string(pods) + R"(,"completions":)" + std::to_string(pods) +
                    R"(,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c",
        "image":"i","resources":{"requests":{"cpu":"1"}}}]}}}})");
  }
  void start(Options options = {}) {
    ManagerDeps deps;
    deps.client = std::make_shared<kube::Client>(
        std::shared_ptr<wire::Transport>(&api_, [](wire::Transport*) {}), "kueue");
    deps.executor = &executor_;
    deps.options = std::move(options);
    deps.log = [this](std::string line) { log_ += line + "\n"; };
    deps.instance = "test";
    manager_ = std::make_unique<Manager>(std::move(deps));
    manager_->start();
    run();
  }
  // Everything that happens within three seconds.
  void run() { executor_.advance(Duration::seconds(3)); }
  // The same after the manager was stopped and another one started.
  void restart(Options options = {}) {
    manager_->stop();
    manager_.reset();
    start(std::move(options));
  }
  void add_cluster_queue(const std::string& name, const std::string& cohort,
                         const std::string& quota, const std::string& flavor = "plain") {
    add("clusterqueues", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
        "metadata":{"name":")" +
                             name + R"("},"spec":{"cohortName":")" + cohort +
                             R"(","namespaceSelector":{},"stopPolicy":"None",
        "queueingStrategy":"BestEffortFIFO","resourceGroups":[{"coveredResources":["cpu"],
        "flavors":[{"name":")" +
                             flavor + R"(","resources":[{"name":"cpu","nominalQuota":")" + quota +
                             R"("}]}]}]}})");
  }
  void add_local_queue(const std::string& namespace_, const std::string& name,
                       const std::string& target) {
    add("localqueues", R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
        "metadata":{"name":")" +
                           name + R"(","namespace":")" + namespace_ +
                           R"("},"spec":{"clusterQueue":")" + target +
                           R"(","stopPolicy":"None"}})");
  }
  // As the Job controller: how many Pods exist and are ready.
  void set_pods(const std::string& job, int active, int ready) {
    api_.change("jobs", "lab", job, [&](json::Value& object) {
      object.at_path({"status", "active"}) = active;
      object.at_path({"status", "ready"}) = ready;
    });
  }
  void finish_job(const std::string& job) {
    api_.change("jobs", "lab", job, [](json::Value& object) {
      object.at_path({"status", "active"}) = 0;
      object.at_path({"status", "conditions"}) = json::Value::array(
          {json::Value::object({{"type", "Complete"}, {"status", "True"}, {"message", "done"}})});
    });
  }
  bool suspended(const std::string& job) {
    return api_.find("jobs", "lab", job)->get_bool({"spec", "suspend"}, false);
  }

  const json::Value* workload(int index = 0) {
    const auto all = api_.list("workloads");
    return index < static_cast<int>(all.size()) ? all[static_cast<size_t>(index)] : nullptr;
  }
  std::string condition(const json::Value* object, std::string_view type) {
    if (object == nullptr) return "no object";
    if (const json::Value* all = object->find_path({"status", "conditions"}))
      for (const json::Value& c : all->as_array())
        if (c.get_string({"type"}) == type)
          return std::string(c.get_string({"status"})) + "/" +
                 std::string(c.get_string({"reason"})) + ": " +
                 std::string(c.get_string({"message"}));
    return "absent";
  }
  int64_t writes_with(std::string_view text) {
    return std::count_if(api_.writes.begin(), api_.writes.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }

  kube::VirtualExecutor executor_;
  FakeApi api_{executor_.clock()};
  std::unique_ptr<Manager> manager_;
  std::string log_;
};

}  // namespace kueue::controllers
