// Judges of admission cases: our hooks on the objects, with a lookup over the objects of the case;
// and of the rules for jobs that hooks share.
#include "json/json.h"
#include "json/patch.h"
#include "judge.h"
#include "webhooks/checks.h"
#include "webhooks/jobs/job_kind.h"
#include "webhooks/json_diff.h"
#include "webhooks/names.h"
#include "webhooks/test_lookup.h"

namespace kueue::vectors {
namespace {

using namespace webhooks;

Settings hook_settings_of(const json::Value& test) {
  Settings settings;
  settings.gates = vectors::gates_of(test);
  settings.manage_jobs_without_queue_name =
      test.get_bool({"input", "options", "manageJobsWithoutQueueName"}) ||
      test.get_bool({"input", "args", "manageJobsWithoutQueueName"});
  for (const char* key : {"enableIntegrations", "integrations"})
    for (const json::Value& name : items(at(test, {"input", "raw", key})))
      settings.frameworks.emplace(name.string_or(""));
  if (auto selector = wire::LabelSelector::parse(
          test.get_string({"input", "args", "managedJobsNamespaceSelector", "selector"}));
      selector.ok())
    settings.managed_jobs_namespace_selector = *selector;
  return settings;
}

// What a Call refers to.
struct Stage {
  explicit Stage(const json::Value& test, const json::Value& given, const json::Value* before = {})
      : settings(hook_settings_of(test)), lookup(test), object(given), old_object(before) {}
  Call call() {
    return {old_object == nullptr ? Operation::kCreate : Operation::kUpdate,
            object,
            old_object,
            "",
            object.get_string({"metadata", "namespace"}),
            settings,
            lookup};
  }
  Settings settings;
  TestLookup lookup;
  const json::Value& object;
  const json::Value* old_object;
};

Judge validation(const Hook& (*hook)()) {
  return [hook](const json::Value& test) {
    const json::Value& old = at(test, {"input", "oldObject"});
    Stage stage(test, at(test, {"input", "object"}), old.is_object() ? &old : nullptr);
    schema::FieldErrors errors;
    std::vector<std::string> warnings;
    hook().validate(stage.call(), errors, warnings);
    return compared_errors(at(test, {"expect", "errors"}), errors.take());
  };
}

// A hook's defaults, and the patch that says the same.
Differences defaulted(const Hook& hook, const json::Value& test, const json::Value& object,
                      const json::Value& expected) {
  Stage stage(test, object);
  json::Value result = object;
  std::vector<std::string> warnings;
  Differences out;
  if (compared_error(test, hook.mutate(stage.call(), result, warnings), out)) return out;
  differ(out, "object", pruned(expected), pruned(result));
  auto patched = json::apply_json_patch(object, diff(object, result));
  if (!patched.ok() || !(*patched == result)) out.push_back("the patch says something else");
  return out;
}

Differences job_defaults(const json::Value& test) {
  return defaulted(batch_job_hook(), test, at(test, {"input", "object"}),
                   at(test, {"expect", "object"}));
}

// A job of a kind of its own around a batch Job; unchanged where nothing else is expected.
Differences framework_defaults(const json::Value& test) {
  const json::Value& object = at(test, {"input", "args", "obj", "job"});
  const json::Value& wanted = at(test, {"expect", "raw", "want"});
  return defaulted(batch_job_hook(), test, object, wanted.is_null() ? object : wanted);
}

Differences default_priority(const json::Value& test) {
  json::Value job = argument(test, "jobObj");
  const json::Value before = job;
  Stage stage(test, before);
  default_priority_class(stage.call(), job);
  Differences out;
  differ(out, "label", at(test, {"expect", "raw", "wantPriorityClassLabel"}),
         label_of(job, kPriorityClass));
  return out;
}

// Whether a job is elastic, with the gate off and then as the case has it.
Differences elastic(const json::Value& test) {
  Differences out;
  const json::Array& steps = items(at(test, {"steps"}));
  for (size_t i = 0; i < steps.size(); ++i) {
    Stage stage(test, at(steps[i], {"args", "object"}));
    if (i == 0 && steps.size() > 1)
      stage.settings.gates.force(Gate::kElasticJobsViaWorkloadSlices, false);
    differ(out, "elastic", at(steps[i], {"expect", "result"}),
           is_elastic(stage.call(), stage.object));
  }
  return out;
}

// Whether a job without a class gets the default one.
Differences default_class(const json::Value& test) {
  json::Value job = json::Value::object({{"metadata", json::Value::object()}});
  const json::Value before = job;
  Stage stage(test, before);
  default_priority_class(stage.call(), job);
  return compared_result(test, !label_of(job, kPriorityClass).empty());
}

Differences suspends(const json::Value& test) {
  Stage stage(test, argument(test, "jobObj"));
  std::vector<std::string> warnings;
  Result<bool> result = should_suspend(stage.call(), stage.object, warnings);
  Differences out;
  if (compared_error_text(test, result.ok() ? Result<void>() : result.error(), out)) return out;
  return compared_result(test, *result);
}

Differences ancestor(const json::Value& test) {
  Stage stage(test, argument(test, "jobObj"));
  auto result = managed_ancestor(stage.call(), stage.object);
  Differences out;
  if (compared_error(test, result.ok() ? Result<void>() : result.error(), out)) {
    if (!result.ok() &&
        !result.error().message.starts_with(test.get_string({"expect", "error", "text"})))
      differ(out, "error", at(test, {"expect", "error", "text"}), result.error().message);
    return out;
  }
  differ(out, "ancestor", json::Value(test.get_string({"expect", "result", "metadata", "name"})),
         result->has_value() ? (*result)->get_string({"metadata", "name"}) : "");
  return out;
}

Differences template_topology(const json::Value& test) {
  const json::Value job = json::Value::object();
  Stage stage(test, job);
  schema::FieldErrors errors;
  PodSetView view{.name = "main",
                  .metadata_field = std::string(test.get_string({"input", "args", "replicaPath"})),
                  .metadata = test.find_path({"input", "args", "replicaMetadata"}),
                  .count = {}};
  if (const json::Value& count = at(test, {"input", "args", "podSet", "count"}); count.is_int())
    view.count = count.as_int();
  check_topology(stage.call(), {view}, errors);
  return compared_errors(at(test, {"expect", "errors"}), errors.take());
}

// A job of the kind that the case names.
Differences job_create(const json::Value& test) {
  Stage stage(test, at(test, {"input", "raw", "job"}));
  const json::Value& kind = at(test, {"input", "raw", "gvk"});
  schema::FieldErrors errors;
  check_job_create(stage.call(),
                   {.group = kind.get_string({"group"}),
                    .version = kind.get_string({"version"}),
                    .kind = kind.get_string({"kind"})},
                   errors);
  return compared_errors(at(test, {"expect", "errors"}), errors.take());
}

}  // namespace

void add_hook_judges(Judges& judges) {
  for (const char* call : {"webhooks.ValidateClusterQueue", "webhooks.ValidateClusterQueueUpdate"})
    judges.add("admission " + std::string(call), validation(cluster_queue_hook));
  for (const char* call : {"webhooks.validateCohort", "webhooks.CohortWebhook.ValidateCreate",
                           "webhooks.CohortWebhook.ValidateUpdate"})
    judges.add("admission " + std::string(call), validation(cohort_hook));
  judges.add("admission webhooks.ValidateResourceFlavor", validation(resource_flavor_hook));
  for (const char* call :
       {"webhooks.WorkloadWebhook.ValidateCreate", "webhooks.WorkloadWebhook.ValidateUpdate"})
    judges.add("admission " + std::string(call), validation(workload_hook));
  for (const char* call : {"job.JobWebhook.validateCreate", "job.JobWebhook.validateUpdate"})
    judges.add("admission " + std::string(call), validation(batch_job_hook));
  judges.add("admission job.JobWebhook.Default", job_defaults);
  judges.add("admission jobframework.BaseWebhook.Default", framework_defaults);
  judges.add("function jobframework.IntegrationManager.ApplyDefaultWorkloadPriorityClass",
             default_priority);
  judges.add("function workloadslicing/enabled", elastic);
  judges.add("function priority.DefaultWorkloadPriorityClassExist", default_class);
  judges.add("function jobframework.IntegrationManager.WorkloadShouldBeSuspended", suspends);
  judges.add("function jobframework.IntegrationManager.FindAncestorJobManagedByKueue", ancestor);
  judges.add("function jobframework.ValidateTASPodSetRequest", template_topology);
  judges.add("function jobframework.ValidateSliceSizeAnnotationUpperBound", template_topology);
  judges.add("function jobframework.ValidateJobOnCreate", job_create);
}

}  // namespace kueue::vectors
