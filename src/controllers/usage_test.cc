// The numbers in the status of queues, to the unit, while everything changes: random operations
// of users and administrators, and after each of them what is written against what the Workloads
// say. KUEUE_USAGE_OPERATIONS=1000 for a long run.
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "controllers/runtime.h"
#include "controllers/testing/manager_testing.h"

namespace kueue::controllers {
namespace {

struct Sum {
  int64_t pending = 0, reserving = 0, admitted = 0;
  int64_t reserved_cpu = 0, used_cpu = 0;
  bool operator==(const Sum&) const = default;
  std::string text() const {
    return std::to_string(pending) + " pending, " + std::to_string(reserving) + " reserving " +
           std::to_string(reserved_cpu) + ", " + std::to_string(admitted) + " admitted " +
           std::to_string(used_cpu);
  }
};

class UsageTest : public ManagerFixture {
 protected:
  static constexpr const char* kLocal[3] = {"main", "other", "far"};

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  bool is(const json::Value& w, std::string_view type) {
    return condition(&w, type).starts_with("True");
  }
  // Of each queue ("shared", "lab/main"), from the Workloads.
  std::map<std::string, Sum> expected() {
    std::map<std::string, Sum> out;
    std::map<std::string, std::string> target;
    for (const json::Value* queue : api_.list("localqueues"))
      target[std::string(queue->get_string({"metadata", "name"}))] =
          std::string(queue->get_string({"spec", "clusterQueue"}));
    for (const json::Value* w : api_.list("workloads")) {
      if (is(*w, "Finished")) continue;
      const std::string local(w->get_string({"spec", "queueName"}));
      const json::Value* admission = w->find_path({"status", "admission"});
      const bool reserved = admission != nullptr && is(*w, "QuotaReserved");
      for (const std::string& name : {target[local], "lab/" + local}) {
        Sum& sum = out[name];
        if (!reserved) {
          sum.pending += w->get_bool({"spec", "active"}, true);
          continue;
        }
        int64_t cpu = 0;
        for (const json::Value& ps : admission->find("podSetAssignments")->as_array())
          cpu += std::stoll(std::string(ps.get_string({"resourceUsage", "cpu"})));
        ++sum.reserving;
        sum.reserved_cpu += cpu;
        if (is(*w, "Admitted")) {
          ++sum.admitted;
          sum.used_cpu += cpu;
        }
      }
    }
    return out;
  }
  static int64_t total(const json::Value& queue, const char* field) {
    int64_t cpu = 0;
    const json::Value* flavors = queue.find_path({"status", field});
    if (flavors == nullptr) return 0;
    for (const json::Value& flavor : flavors->as_array())
      for (const json::Value& resource : flavor.find("resources")->as_array())
        cpu += std::stoll(std::string(resource.get_string({"total"})));
    return cpu;
  }
  static Sum written(const json::Value& queue) {
    return {queue.get_int({"status", "pendingWorkloads"}),
            queue.get_int({"status", "reservingWorkloads"}),
            queue.get_int({"status", "admittedWorkloads"}), total(queue, "flavorsReservation"),
            total(queue, "flavorsUsage")};
  }
  void check(int step, const std::string& what) {
    std::map<std::string, Sum> want = expected();
    for (const json::Value* queue : api_.list("clusterqueues")) {
      const std::string name(queue->get_string({"metadata", "name"}));
      EXPECT_EQ(written(*queue).text(), want[name].text()) << name << " after " << step << what;
    }
    for (const json::Value* queue : api_.list("localqueues")) {
      const std::string name = "lab/" + std::string(queue->get_string({"metadata", "name"}));
      EXPECT_EQ(written(*queue).text(), want[name].text()) << name << " after " << step << what;
    }
    manager_->runtime().admission.ask([](const engine::State& s) {
      s.check_invariants();
      return 0;
    });
  }

  // As the Job controller.
  void play_pods() {
    for (const json::Value* job : api_.list("jobs")) {
      const std::string name(job->get_string({"metadata", "name"}));
      const bool stopped = job->get_bool({"spec", "suspend"}, false);
      const int want = stopped || done_.contains(name)
                           ? 0
                           : static_cast<int>(job->get_int({"spec", "parallelism"}));
      if (job->get_int({"status", "active"}) != want) moves_.emplace_back(name, want);
    }
    for (const auto& [name, pods] : moves_) set_pods(name, pods, pods);
    moves_.clear();
  }
  std::string some_job() {
    const auto jobs = api_.list("jobs");
    if (jobs.empty()) return "";
    return std::string(jobs[static_cast<size_t>(pick(static_cast<int>(jobs.size())))]->get_string(
        {"metadata", "name"}));
  }
  std::string some_workload() {
    const auto all = api_.list("workloads");
    if (all.empty()) return "";
    return std::string(all[static_cast<size_t>(pick(static_cast<int>(all.size())))]->get_string(
        {"metadata", "name"}));
  }

  std::string operate(int step) {
    const int kind = pick(12);
    if (kind < 5) {
      const std::string name = "j" + std::to_string(step);
      add_job(name, 1 + pick(3));
      api_.change("jobs", "lab", name, [&](json::Value& job) {
        job.at_path({"metadata", "labels", "kueue.x-k8s.io/queue-name"}) = kLocal[pick(3)];
      });
      return " a job";
    }
    if (kind < 7) {
      const std::string name = some_job();
      if (name.empty() || suspended(name)) return " nothing";
      finish_job(name);
      done_.insert(name);
      return " an end";
    }
    if (kind == 7) {
      const std::string name = some_job();
      if (!name.empty()) api_.remove("jobs", "lab", name);
      return " a deleted job";
    }
    if (kind == 8) {
      const std::string name = some_workload();
      if (!name.empty())
        api_.change("workloads", "lab", name,
                    [&](json::Value& w) { w.at_path({"spec", "priority"}) = pick(3) * 10; });
      return " another priority";
    }
    if (kind == 9) {
      const std::string name = some_workload();
      if (!name.empty())
        api_.change("workloads", "lab", name,
                    [&](json::Value& w) { w.at_path({"spec", "active"}) = pick(3) != 0; });
      return " active or not";
    }
    if (kind == 10) {
      api_.change("clusterqueues", "", pick(2) == 0 ? "shared" : "lent", [&](json::Value& queue) {
        json::Value& groups = queue.at_path({"spec", "resourceGroups"});
        json::Value& flavor = groups.as_array()[0].find("flavors")->as_array()[0];
        flavor.find("resources")->as_array()[0]["nominalQuota"] = std::to_string(2 + pick(5));
      });
      return " another quota";
    }
    static constexpr const char* kPolicies[] = {"None", "None", "None", "Hold", "HoldAndDrain"};
    api_.change("clusterqueues", "", pick(2) == 0 ? "shared" : "lent", [&](json::Value& queue) {
      queue.at_path({"spec", "stopPolicy"}) = kPolicies[pick(5)];
    });
    return " another stop policy";
  }

  std::mt19937_64 random_{20240607};
  std::set<std::string> done_;
  std::vector<std::pair<std::string, int>> moves_;
};

TEST_F(UsageTest, StatusIsRightToTheUnitAfterEachOperation) {
  api_.change("clusterqueues", "", "shared", [](json::Value& queue) {
    queue.at_path({"spec", "cohortName"}) = "all";
    queue.at_path({"spec", "preemption", "withinClusterQueue"}) = "LowerPriority";
    queue.at_path({"spec", "preemption", "reclaimWithinCohort"}) = "Any";
  });
  add_cluster_queue("lent", "all", "4");
  add_local_queue("lab", "other", "shared");
  add_local_queue("lab", "far", "lent");
  start();
  const char* given = std::getenv("KUEUE_USAGE_OPERATIONS");
  const int operations = given == nullptr ? 250 : std::stoi(given);
  for (int step = 0; step < operations; ++step) {
    const std::string what = operate(step);
    for (int settle = 0; settle < 6; ++settle) {
      executor_.advance(Duration::millis(1500));
      play_pods();
    }
    executor_.advance(Duration::millis(1500));
    check(step, what);
    if (HasFailure()) FAIL() << log_.substr(log_.size() - std::min<size_t>(log_.size(), 2000));
  }
}

}  // namespace
}  // namespace kueue::controllers
