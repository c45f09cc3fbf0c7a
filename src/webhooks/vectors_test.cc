// Hooks against what Kueue's own tests recorded: field errors in order, and objects after
// defaulting.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "json/json.h"
#include "json/patch.h"
#include "webhooks/checks.h"
#include "webhooks/handler.h"
#include "webhooks/jobs/job_kind.h"
#include "webhooks/json_diff.h"
#include "webhooks/names.h"
#include "webhooks/test_lookup.h"

namespace kueue::webhooks {
namespace {

using json::Value;

std::filesystem::path shared_folder() {
  if (const char* path = std::getenv("KUEUE_SHARED")) return path;
  return KUEUE_SOURCE_DIR "/../shared";
}

json::Array cases_of(const std::string& name) {
  auto path = shared_folder() / "vectors" / "tables" / (name + ".json");
  if (!std::filesystem::exists(path)) return {};
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = json::parse(text.str());
  KUEUE_CHECK(parsed.ok(), name.c_str());
  return parsed->find("cases")->as_array();
}
#define CASES(name)                   \
  json::Array cases = cases_of(name); \
  if (cases.empty()) GTEST_SKIP() << "NO VECTORS " << name << " AT " << shared_folder()

Settings settings_of(const Value& test) {
  Settings settings;
  for (const auto& [name, value] : test.find("featureGates")->as_object())
    if (const GateSpec* spec = find_gate(name); spec != nullptr)
      settings.gates.force(spec->gate, value.as_bool());
  settings.manage_jobs_without_queue_name =
      test.get_bool({"input", "options", "manageJobsWithoutQueueName"}) ||
      test.get_bool({"input", "args", "manageJobsWithoutQueueName"});
  for (const char* key : {"enableIntegrations", "integrations"})
    for (const Value& name : list_at(test, {"input", "raw", key}))
      settings.frameworks.emplace(name.string_or(""));
  return settings;
}

// "reason|field" and the detail at the end of each message.
void expect_errors(const std::vector<ErrorCause>& found, const Value* list) {
  std::vector<std::string> ours, theirs, details;
  for (const ErrorCause& cause : found) ours.push_back(cause.reason + "|" + cause.field);
  if (list != nullptr && list->is_array())
    for (const Value& e : list->as_array()) {
      theirs.push_back(std::string(e.get_string({"type"})) + "|" +
                       std::string(e.get_string({"field"})));
      details.emplace_back(e.get_string({"detail"}));
    }
  EXPECT_EQ(ours, theirs);
  for (size_t i = 0; i < details.size() && i < found.size(); ++i)
    EXPECT_TRUE(found[i].message.ends_with(details[i])) << found[i].message << "\n" << details[i];
}

std::vector<ErrorCause> validate(const Hook& hook, const Value& test, const Value& object,
                                 const Value* old) {
  Settings settings = settings_of(test);
  TestLookup lookup(test);
  Call call{old == nullptr ? Operation::kCreate : Operation::kUpdate,
            object,
            old,
            "",
            object.get_string({"metadata", "namespace"}),
            settings,
            lookup};
  schema::FieldErrors errors;
  std::vector<std::string> warnings;
  hook.validate(call, errors, warnings);
  return errors.take();
}

void run_validation(const std::string& name, const Hook& hook) {
  CASES(name);
  for (const Value& test : cases) {
    SCOPED_TRACE(test.get_string({"id"}));
    const Value* old = test.find_path({"input", "oldObject"});
    if (old != nullptr && !old->is_object()) old = nullptr;
    expect_errors(validate(hook, test, *test.find_path({"input", "object"}), old),
                  test.find_path({"expect", "errors"}));
  }
}

TEST(WebhookVectors, ClusterQueue) {
  run_validation("webhooks/validate-cluster-queue", cluster_queue_hook());
}
TEST(WebhookVectors, ClusterQueueUpdate) {
  run_validation("webhooks/validate-cluster-queue-update", cluster_queue_hook());
}
TEST(WebhookVectors, TotalFlavors) {
  run_validation("webhooks/validate-total-flavors", cluster_queue_hook());
}
TEST(WebhookVectors, TotalResources) {
  run_validation("webhooks/validate-total-covered-resources", cluster_queue_hook());
}
TEST(WebhookVectors, Combinations) {
  run_validation("webhooks/validate-flavor-resource-combinations", cluster_queue_hook());
}
TEST(WebhookVectors, ResourceFlavor) {
  run_validation("webhooks/validate-resource-flavor", resource_flavor_hook());
}
TEST(WebhookVectors, Workload) { run_validation("webhooks/validate-workload", workload_hook()); }
TEST(WebhookVectors, WorkloadUpdate) {
  run_validation("webhooks/validate-workload-update", workload_hook());
}
TEST(WebhookVectors, JobCreate) { run_validation("jobs-job/validate-create", batch_job_hook()); }
TEST(WebhookVectors, JobUpdate) { run_validation("jobs-job/validate-update", batch_job_hook()); }

TEST(WebhookVectors, JobDefaults) {
  CASES("jobs-job/default");
  for (const Value& test : cases) {
    SCOPED_TRACE(test.get_string({"id"}));
    // Its manager knows no JobSets, whose owner is then not looked for; ours knows all kinds.
    if (test.get_string({"id"}) == "jobs-job/default-006") continue;
    Settings settings = settings_of(test);
    TestLookup lookup(test);
    const Value& object = *test.find_path({"input", "object"});
    Call call{Operation::kCreate, object, nullptr, "", object.get_string({"metadata", "namespace"}),
              settings,           lookup};
    Value out = object;
    std::vector<std::string> warnings;
    Result<void> result = batch_job_hook().mutate(call, out, warnings);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const Value& expected = *test.find_path({"expect", "object"});
    EXPECT_EQ(json::write_sorted(out), json::write_sorted(expected));
    // The patch says the same.
    auto patched = json::apply_json_patch(object, diff(object, out));
    ASSERT_TRUE(patched.ok()) << patched.error().message;
    EXPECT_TRUE(*patched == out);
  }
}

TEST(WebhookVectors, DefaultPriorityClass) {
  CASES("jobframework/apply-default-workload-priority-class");
  for (const Value& test : cases) {
    SCOPED_TRACE(test.get_string({"id"}));
    Settings settings = settings_of(test);
    TestLookup lookup(test);
    Value job = *test.find_path({"input", "args", "jobObj"});
    Value before = job;
    Call call{Operation::kCreate, before, nullptr, "", "default", settings, lookup};
    default_priority_class(call, job);
    EXPECT_EQ(label_of(job, kPriorityClass),
              test.get_string({"expect", "raw", "wantPriorityClassLabel"}));
  }
}

TEST(WebhookVectors, ShouldSuspend) {
  CASES("jobframework/workload-should-be-suspended");
  for (const Value& test : cases) {
    SCOPED_TRACE(test.get_string({"id"}));
    Settings settings = settings_of(test);
    auto selector = wire::LabelSelector::parse(
        test.get_string({"input", "args", "managedJobsNamespaceSelector", "selector"}));
    ASSERT_TRUE(selector.ok());
    settings.managed_jobs_namespace_selector = *selector;
    TestLookup lookup(test);
    const Value& job = *test.find_path({"input", "args", "jobObj"});
    Call call{Operation::kCreate, job,   nullptr, "", job.get_string({"metadata", "namespace"}),
              settings,           lookup};
    std::vector<std::string> warnings;
    Result<bool> result = should_suspend(call, job, warnings);
    const Value* error = test.find_path({"expect", "error"});
    ASSERT_EQ(result.ok(), error == nullptr || error->is_null());
    if (result.ok()) {
      EXPECT_EQ(*result, test.get_bool({"expect", "result"}));
    } else {
      EXPECT_EQ(result.error().message, error->get_string({"text"}));
    }
  }
}

TEST(WebhookVectors, ManagedAncestor) {
  CASES("jobframework/find-ancestor-job-managed-by-kueue");
  for (const Value& test : cases) {
    SCOPED_TRACE(test.get_string({"id"}));
    Settings settings = settings_of(test);
    TestLookup lookup(test);
    const Value& job = *test.find_path({"input", "args", "jobObj"});
    Call call{Operation::kCreate, job,   nullptr, "", job.get_string({"metadata", "namespace"}),
              settings,           lookup};
    auto result = managed_ancestor(call, job);
    const Value* error = test.find_path({"expect", "error"});
    bool fails = error != nullptr && !error->is_null();
    ASSERT_EQ(result.ok(), !fails) << (result.ok() ? "" : result.error().message);
    if (fails) {
      EXPECT_TRUE(result.error().message.starts_with(error->get_string({"text"})))
          << result.error().message;
      continue;
    }
    std::string_view wanted = test.get_string({"expect", "result", "metadata", "name"});
    EXPECT_EQ(result->has_value() ? (*result)->get_string({"metadata", "name"}) : "", wanted);
  }
}

TEST(WebhookVectors, TopologyOfOneTemplate) {
  for (const char* name : {"jobframework/validate-slice-required-topology-constraints-annotation",
                           "jobframework/validate-slice-size-annotation-upper-bound"}) {
    CASES(name);
    for (const Value& test : cases) {
      SCOPED_TRACE(test.get_string({"id"}));
      Settings settings = settings_of(test);
      TestLookup lookup(test);
      Value job = Value::object();
      Call call{Operation::kCreate, job, nullptr, "", "", settings, lookup};
      schema::FieldErrors errors;
      PodSetView view{
          .name = "main",
          .metadata_field = std::string(test.get_string({"input", "args", "replicaPath"})),
          .metadata = test.find_path({"input", "args", "replicaMetadata"}),
          .count = {}};
      if (const Value* count = test.find_path({"input", "args", "podSet", "count"}))
        view.count = count->as_int();
      check_topology(call, {view}, errors);
      expect_errors(errors.take(), test.find_path({"expect", "errors"}));
    }
  }
}

}  // namespace
}  // namespace kueue::webhooks
