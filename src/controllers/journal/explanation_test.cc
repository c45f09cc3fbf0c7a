// What a Workload's explanation says, over the whole Manager.
#include "controllers/journal/explanation.h"

#include "controllers/runtime.h"
#include "controllers/testing/manager_testing.h"

namespace kueue::controllers {
namespace {

class ExplanationTest : public ManagerFixture {
 protected:
  std::string name_of(const std::string& job) {
    for (const json::Value* w : api_.list("workloads")) {
      const std::string name(w->get_string({"metadata", "name"}));
      if (name.starts_with("job-" + job + "-")) return name;
    }
    return "";
  }
  json::Value explain(const std::string& job) {
    auto found = explain_workload(manager_->runtime().context, {"lab", name_of(job)});
    return found.has_value() ? *found : json::Value();
  }
  // "What other: message", one line each.
  std::string history(const json::Value& document) {
    std::string out;
    for (const json::Value& entry : document.find("history")->as_array()) {
      out += std::string(entry.get_string({"what"}));
      if (entry.find("workload") != nullptr)
        out += " " + std::string(entry.get_string({"workload"}));
      out += ": " + std::string(entry.get_string({"message"})) + "\n";
    }
    return out;
  }
  void limit_time(const std::string& job, int seconds) {
    api_.change("jobs", "lab", job, [&](json::Value& object) {
      object.at_path({"metadata", "labels", "kueue.x-k8s.io/max-exec-time-seconds"}) =
          std::to_string(seconds);
    });
  }
  void prefer(const std::string& job, int priority) {
    api_.change("workloads", "lab", name_of(job),
                [&](json::Value& object) { object.at_path({"spec", "priority"}) = priority; });
  }
};

TEST_F(ExplanationTest, SaysWhatItWaitsForAndWhenItStarts) {
  start();
  add_job("holder", 3);
  limit_time("holder", 100);
  run();
  add_job("waiter", 2);
  run();
  const json::Value w = explain("waiter");
  EXPECT_EQ(w.get_string({"state"}), "Pending");
  EXPECT_TRUE(w.get_string({"summary"}).starts_with("WaitingForQuota: couldn't assign flavors"))
      << json::write_pretty(w);
  EXPECT_EQ(w.get_int({"position", "clusterQueue"}), 0);
  EXPECT_EQ(w.get_int({"position", "waiting"}), 1);
  ASSERT_EQ(w.find("changes")->as_array().size(), 1u);
  EXPECT_EQ(w.find("changes")->as_array()[0].as_string(),
            "free 1 of cpu in flavor plain, or raise its nominal quota in shared by as much");
  const json::Value* quota =
      &w.find("podSets")->as_array()[0].find("flavors")->as_array()[0].find("quota")->as_array()[0];
  EXPECT_EQ(quota->get_string({"missing"}), "1");
  const auto at = parse_time(w.get_string({"start", "at"}));
  ASSERT_TRUE(at.ok()) << json::write_pretty(w);
  const Duration until = *at - executor_.clock().now();
  EXPECT_GE(until, Duration::seconds(85));
  EXPECT_LE(until, Duration::seconds(101));
  EXPECT_EQ(history(w).substr(0, 23), "Waits: WaitingForQuota:") << history(w);
  const json::Value holder = explain("holder");
  EXPECT_EQ(holder.get_string({"state"}), "Admitted");
  EXPECT_NE(holder.get_string({"summary"}).find("ends at "), std::string::npos);
  EXPECT_EQ(history(holder).substr(0, 14), "QuotaReserved:") << history(holder);
}

TEST_F(ExplanationTest, SaysWhyNobodyKnowsWhenItStarts) {
  start();
  add_job("holder", 3);
  run();
  add_job("waiter", 2);
  run();
  EXPECT_EQ(explain("waiter").get_string({"start", "unknown"}),
            "no end is known of lab/" + name_of("holder") + " (no maximum execution time)");
}

TEST_F(ExplanationTest, SaysWhenItNeverStarts) {
  start();
  add_job("holder", 3);  // whose end nobody knows
  run();
  add_job("huge", 5);
  run();
  const json::Value w = explain("huge");
  EXPECT_NE(w.get_string({"start", "never"}).find("maximum capacity (4)"), std::string::npos)
      << json::write_pretty(w);
}

TEST_F(ExplanationTest, SaysSinceWhenItsHistoryGoes) {
  start();
  add_job("old", 5);
  run();
  EXPECT_EQ(explain("old").find("historySince"), nullptr);
  executor_.advance(Duration::seconds(10));
  const std::string now = format_time(executor_.clock().now());
  restart();
  EXPECT_EQ(explain("old").get_string({"historySince"}), now);
  add_job("new", 5);
  run();
  EXPECT_EQ(explain("new").find("historySince"), nullptr);
}

TEST_F(ExplanationTest, NamesWhoWasPreemptedForWhom) {
  api_.change("clusterqueues", "", "shared", [](json::Value& object) {
    object.at_path({"spec", "preemption", "withinClusterQueue"}) = "LowerPriority";
  });
  start();
  add_job("low", 3);
  run();
  set_pods("low", 3, 3);
  run();
  add_job("high", 3);
  run();
  prefer("high", 100);
  run();
  const std::string low = "lab/" + name_of("low"), high = "lab/" + name_of("high");
  const json::Value waiting = explain("high");
  EXPECT_NE(history(waiting).find("Preempts " + low + ": InClusterQueue"), std::string::npos)
      << history(waiting);
  EXPECT_NE(history(waiting).find("Changed: priority 0 -> 100"), std::string::npos);
  ASSERT_NE(waiting.find("preempting"), nullptr) << json::write_pretty(waiting);
  EXPECT_EQ(waiting.find("preempting")->as_array()[0].get_string({"workload"}), low);
  EXPECT_EQ(waiting.get_string({"start", "unknown"}),
            "it starts when the workloads that it preempts have ended");
  const json::Value victim = explain("low");
  EXPECT_EQ(victim.get_string({"state"}), "Evicting");
  EXPECT_NE(history(victim).find("Preempted " + high + ": InClusterQueue"), std::string::npos)
      << history(victim);
  set_pods("low", 0, 0);
  run();
  EXPECT_EQ(explain("high").get_string({"state"}), "Admitted") << log_;
  EXPECT_NE(history(explain("low")).find("Requeued: Preempted"), std::string::npos);
}

TEST_F(ExplanationTest, ForgetsWhatIsDeletedAndKeepsObjectsClean) {
  start();
  add_job("gone", 9);
  run();
  EXPECT_EQ(explain("gone").get_string({"state"}), "Pending");
  EXPECT_EQ(manager_->runtime().journal.workloads(), 1u);
  const std::string name = name_of("gone");
  EXPECT_EQ(json::write(*api_.find("workloads", "lab", name)).find("kueue-cpp"), std::string::npos);
  api_.remove("jobs", "lab", "gone");
  run();
  api_.remove("workloads", "lab", name);
  run();
  EXPECT_EQ(manager_->runtime().journal.workloads(), 0u);
  EXPECT_FALSE(explain_workload(manager_->runtime().context, {"lab", name}).has_value());
}

}  // namespace
}  // namespace kueue::controllers
