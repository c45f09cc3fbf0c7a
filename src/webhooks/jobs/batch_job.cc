// batch/v1 Job.
#include <algorithm>
#include <charconv>

#include "webhooks/checks.h"
#include "webhooks/jobs/job_kind.h"
#include "webhooks/names.h"

namespace kueue::webhooks {
namespace {

using json::Value;
using schema::FieldErrors;

constexpr JobKind kJob{
    .group = "batch", .version = "v1", .kind = "Job", .prebuilt_workloads = true, .elastic = true};
constexpr std::string_view kOwnController = "kubernetes.io/job-controller";
constexpr std::string_view kNotWhileRunning = "field is immutable while the job is not suspended";

bool suspended(const Value& job) { return job.get_bool({"spec", "suspend"}); }
int64_t parallelism(const Value& job) { return job.get_int({"spec", "parallelism"}, 1); }

// As strconv.Atoi complains.
std::string atoi_problem(const std::string& text, int64_t* out) {
  const char* first = text.c_str() + (text.starts_with('+') ? 1 : 0);
  auto r = std::from_chars(first, text.c_str() + text.size(), *out);
  if (r.ec == std::errc() && r.ptr == text.c_str() + text.size()) return {};
  bool range = r.ec == std::errc::result_out_of_range;
  return "strconv.Atoi: parsing \"" + text +
         "\": " + (range ? "value out of range" : "invalid syntax");
}

void check_partial_admission(const Call& call, FieldErrors& errors) {
  if (!call.settings.gates.on(Gate::kPartialAdmission) ||
      !has_annotation(call.object, kMinParallelism))
    return;
  std::string text(annotation_of(call.object, kMinParallelism));
  std::string field = annotation_field(kMinParallelism);
  if (is_elastic(call, call.object)) {
    errors.invalid(field, text, "partial admission and elastic job cannot be used together");
    return;
  }
  int64_t least = 0;
  std::string problem = atoi_problem(text, &least);
  if (!problem.empty()) {
    errors.invalid(field, text, problem);
  } else if (least <= 0 || least >= parallelism(call.object)) {
    errors.invalid(field, least,
                   "should be between 0 and " + std::to_string(parallelism(call.object) - 1));
  }
}

void check_sync_completions(const Call& call, FieldErrors& errors) {
  if (!has_annotation(call.object, kSyncCompletions)) return;
  std::string text(annotation_of(call.object, kSyncCompletions));
  std::string field = annotation_field(kSyncCompletions);
  static constexpr std::string_view kTrue[] = {"1", "t", "T", "true", "TRUE", "True"};
  static constexpr std::string_view kFalse[] = {"0", "f", "F", "false", "FALSE", "False"};
  if (std::find(std::begin(kFalse), std::end(kFalse), text) != std::end(kFalse)) return;
  if (std::find(std::begin(kTrue), std::end(kTrue), text) == std::end(kTrue)) {
    errors.invalid(field, text, "strconv.ParseBool: parsing \"" + text + "\": invalid syntax");
    return;
  }
  if (call.object.get_string({"spec", "completionMode"}, "NonIndexed") != "Indexed")
    errors.invalid(field, text, "should not be enabled for NonIndexed jobs");
  int64_t completions = call.object.get_int({"spec", "completions"}, 1);
  if (completions != parallelism(call.object))
    errors.invalid("spec.completions", completions,
                   "should be equal to parallelism when " + std::string(kSyncCompletions) +
                       " is annotation is true");
}

// Pods that run at once: completions cap parallelism.
int64_t pod_count(const Value& job) {
  const Value* completions = job.find_path({"spec", "completions"});
  int64_t count = parallelism(job);
  return completions != nullptr && completions->is_int() ? std::min(count, completions->as_int())
                                                         : count;
}

void check_create(const Call& call, FieldErrors& errors) {
  check_job_create(call, kJob, errors);
  check_partial_admission(call, errors);
  check_sync_completions(call, errors);
  std::vector<PodSetView> pod_sets = {
      {.name = "main",
       .metadata_field = "spec.template.metadata",
       .metadata = call.object.find_path({"spec", "template", "metadata"}),
       .count = pod_count(call.object)}};
  check_topology(call, pod_sets, errors);
  check_pod_set_groups(call, pod_sets, errors);
}

void check_update(const Call& call, FieldErrors& errors) {
  const Value& before = *call.old_object;
  check_job_update(call, suspended(call.object), suspended(before), errors);
  bool running = !suspended(call.object) && !suspended(before);
  if (running && has_annotation(before, kMinParallelism) &&
      parallelism(call.object) != parallelism(before))
    errors.forbidden(
        "spec.parallelism",
        "cannot change when partial admission is enabled and the job is not suspended");
  for (std::string_view name : {kMinParallelism, kSyncCompletions})
    if (running && annotation_of(call.object, name) != annotation_of(before, name))
      errors.forbidden(annotation_field(name), kNotWhileRunning);
}

// Pods of elastic jobs wait for their slice.
void add_slice_gate(const Call& call, Value& job) {
  if (!is_elastic(call, job)) return;
  Value& gates = job.at_path({"spec", "template", "spec", "schedulingGates"});
  if (gates.is_null()) gates = Value::array();
  if (!gates.is_array()) return;
  for (const Value& gate : gates.as_array())
    if (gate.get_string({"name"}) == kElasticJob) return;
  gates.as_array().push_back(Value::object({{"name", kElasticJob}}));
}

class JobHook final : public Hook {
 public:
  Result<void> mutate(const Call& call, Value& job,
                      std::vector<std::string>& warnings) const override {
    default_queue(call, job);
    default_priority_class(call, job);
    KUEUE_ASSIGN(bool hold, should_suspend(call, job, warnings));
    if (hold) job.at_path({"spec", "suspend"}) = true;
    std::string_view managed =
        default_managed_by(call, job, job.get_string({"spec", "managedBy"}), kOwnController);
    if (!managed.empty()) job.at_path({"spec", "managedBy"}) = managed;
    add_slice_gate(call, job);
    return {};
  }
  void validate(const Call& call, FieldErrors& errors, std::vector<std::string>&) const override {
    check_create(call, errors);
    if (call.old_object != nullptr) check_update(call, errors);
  }
};

}  // namespace

const Hook& batch_job_hook() {
  static const JobHook kHook;
  return kHook;
}

}  // namespace kueue::webhooks
