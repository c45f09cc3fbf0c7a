// What is taken over from a Configuration that is loaded again, and what is said of the rest.
#include "app/manager_setup.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace kueue::app {
namespace {

json::Value parse(const char* text) { return json::parse(text).value(); }

TEST(PlanReload, TakesOverWhatItCanAndNamesEachField) {
  struct Case {
    const char* before;
    const char* after;
    const char* in_force;
    std::vector<std::string> lines;
  };
  const std::string later = ": changed; takes effect when the manager is started anew";
  const Case cases[] = {
      {R"({"a":1})", R"({"a":1})", R"({"a":1})", {}},
      {R"({"clientConnection":{"qps":20,"burst":30}})",
       R"({"clientConnection":{"qps":50,"burst":30}})",
       R"({"clientConnection":{"qps":50,"burst":30}})",
       {"clientConnection.qps: in force for requests to come"}},
      {R"({"tls":{"minVersion":"VersionTLS13","cipherSuites":["a"]}})",
       R"({"metrics":{}})",
       R"({})",
       {"metrics" + later, "tls: in force for new connections"}},
      {R"({"webhook":{"port":1,"host":"h"},"metrics":{"bindAddress":"a"}})",
       R"({"webhook":{"port":2,"host":"h"},"metrics":{"bindAddress":"b"}})",
       R"({"webhook":{"port":1,"host":"h"},"metrics":{"bindAddress":"a"}})",
       {"metrics.bindAddress" + later, "webhook.port" + later}},
      {R"({"waitForPodsReady":{"timeout":"5m","blockAdmission":true}})",
       R"({"waitForPodsReady":{"timeout":"6m","blockAdmission":false,
           "requeuingStrategy":{"timestamp":"Creation"}}})",
       R"({"waitForPodsReady":{"timeout":"6m","blockAdmission":true}})",
       {"waitForPodsReady.blockAdmission" + later, "waitForPodsReady.requeuingStrategy" + later,
        "waitForPodsReady.timeout: in force for all Workloads"}},
      {R"({"waitForPodsReady":{"timeout":"5m"}})",
       R"({})",
       R"({"waitForPodsReady":{"timeout":"5m"}})",
       {"waitForPodsReady" + later}},
      {R"({"objectRetentionPolicies":{"workloads":{"afterFinished":"1h"}}})",
       R"({"objectRetentionPolicies":{"workloads":{}},"managedJobsNamespaceSelector":
           {"matchLabels":{"a.b/c":"d"}}})",
       R"({"objectRetentionPolicies":{"workloads":{}},"managedJobsNamespaceSelector":
           {"matchLabels":{"a.b/c":"d"}}})",
       {"managedJobsNamespaceSelector: in force for all Jobs",
        "objectRetentionPolicies.workloads.afterFinished: in force for all Workloads"}},
      {R"({"managedJobsNamespaceSelector":{"matchLabels":{"a.b/c":"d","e":"f"}}})",
       R"({"managedJobsNamespaceSelector":{"matchLabels":{"a.b/c":"x"}}})",
       R"({"managedJobsNamespaceSelector":{"matchLabels":{"a.b/c":"x"}}})",
       {"managedJobsNamespaceSelector: in force for all Jobs"}},
  };
  for (const Case& c : cases) {
    const Reload plan = plan_reload(parse(c.before), parse(c.after));
    EXPECT_EQ(plan.lines, c.lines) << c.after;
    EXPECT_EQ(plan.in_force, parse(c.in_force)) << json::write(plan.in_force);
    // What asks for a new start is named again; what is in force is not.
    const Reload again = plan_reload(plan.in_force, parse(c.after));
    for (const std::string& line : again.lines) EXPECT_TRUE(line.ends_with(later)) << line;
  }
}

TEST(ManagerSetup, NamesControllersThatAreNotThere) {
  config::ManagerOptions flags;
  flags.controllers = {"workload_controller", "jobset", "worklaod_controller"};
  auto setup = load_manager_setup(flags);
  ASSERT_TRUE(setup.ok()) << setup.error().message;
  std::vector<std::string> told;
  for (const ErrorCause& one : setup->not_built)
    if (one.field == "--controllers") told.push_back(one.message);
  EXPECT_EQ(told, (std::vector<std::string>{
                      "no controller of the name \"jobset\" is there",
                      "no controller of the name \"worklaod_controller\" is there"}));
}

}  // namespace
}  // namespace kueue::app
