// Defaults and rules that all kinds of jobs share. Spec section 12.
#include <charconv>

#include "base/names.h"
#include "webhooks/checks.h"
#include "webhooks/jobs/job_kind.h"
#include "webhooks/jobs/owners.h"
#include "webhooks/names.h"

namespace kueue::webhooks {
namespace {

using json::Value;
using schema::FieldErrors;

// An owner of a kind that an enabled integration manages.
bool owner_is_managed(const Call& call, const Value& object) {
  const Value* owner = controller_of(object);
  const OwnerKind* kind = owner == nullptr ? nullptr : owner_kind(*owner);
  return kind != nullptr && call.settings.frameworks.contains(kind->framework);
}

bool namespace_managed(const Call& call) {
  std::optional<wire::LabelMap> labels = call.lookup.namespace_labels(call.ns);
  // A namespace so new that it is not known yet has at least its name.
  if (!labels.has_value())
    labels = wire::LabelMap{{"kubernetes.io/metadata.name", std::string(call.ns)}};
  return call.settings.managed_jobs_namespace_selector.matches(*labels);
}

// The name of the prebuilt Workload and where it stands.
struct Prebuilt {
  std::string name;
  std::string field;
};
Prebuilt prebuilt_of(const Call& call, const Value& object) {
  std::string_view annotation = annotation_of(object, kPrebuiltWorkload);
  if (call.settings.gates.on(Gate::kWorkloadIdentifierAnnotations) && !annotation.empty())
    return {std::string(annotation), annotation_field(kPrebuiltWorkload)};
  return {std::string(label_of(object, kPrebuiltWorkload)), label_field(kPrebuiltWorkload)};
}

void check_max_exec_time(const Value& object, FieldErrors& errors) {
  const Value* label = object.find_path({"metadata", "labels", kMaxExecTime});
  if (label == nullptr || !label->is_string()) return;
  const std::string& text = label->as_string();
  std::string field = label_field(kMaxExecTime);
  const char* first = text.c_str() + (text.starts_with('+') ? 1 : 0);
  int64_t n = 0;
  auto r = std::from_chars(first, text.c_str() + text.size(), n);
  if (r.ec != std::errc() || r.ptr != text.c_str() + text.size()) {
    bool range = r.ec == std::errc::result_out_of_range;
    errors.invalid(field, text,
                   "strconv.Atoi: parsing \"" + text +
                       "\": " + (range ? "value out of range" : "invalid syntax"));
  } else if (n <= 0) {
    errors.invalid(field, n, "should be greater than 0");
  }
}

std::string gvk_text(const JobKind& kind) {
  return std::string(kind.group) + '/' + std::string(kind.version) +
         ", Kind=" + std::string(kind.kind);
}

}  // namespace

bool is_elastic(const Call& call, const Value& object) {
  return call.settings.gates.on(Gate::kElasticJobsViaWorkloadSlices) &&
         annotation_of(object, kElasticJob) == "true";
}

void default_queue(const Call& call, Value& object) {
  if (!label_of(object, kQueueName).empty() || owner_is_managed(call, object)) return;
  if (!call.lookup.local_queue_exists(call.ns, kDefaultName) || !namespace_managed(call)) return;
  object.at_path({"metadata", "labels", kQueueName}) = kDefaultName;
}

void default_priority_class(const Call& call, Value& object) {
  if (!call.settings.gates.on(Gate::kWorkloadPriorityClassDefaulting)) return;
  if (!label_of(object, kPriorityClass).empty() || owner_is_managed(call, object)) return;
  if (!call.lookup.workload_priority_class_exists(kDefaultName)) return;
  object.at_path({"metadata", "labels", kPriorityClass}) = kDefaultName;
}

Result<bool> should_suspend(const Call& call, const Value& object,
                            std::vector<std::string>& warnings) {
  KUEUE_ASSIGN(auto ancestor, managed_ancestor(call, object));
  if (ancestor.has_value()) return false;
  bool queued = !label_of(object, kQueueName).empty();
  if (!queued && !call.settings.manage_jobs_without_queue_name) return false;
  if (namespace_managed(call)) return true;
  // Suspended here it would stay suspended for ever: no controller looks after it.
  if (queued)
    warnings.push_back("namespace \"" + std::string(call.ns) +
                       "\" is not selected by managedJobsNamespaceSelector: Kueue does not manage "
                       "this job, its queue "
                       "name has no effect");
  return false;
}

std::string_view default_managed_by(const Call& call, const Value& object, std::string_view current,
                                    std::string_view own_controller) {
  if (!call.settings.gates.on(Gate::kMultiKueue)) return {};
  if (!current.empty() && current != own_controller) return {};
  std::string_view queue = label_of(object, kQueueName);
  if (queue.empty() || !call.lookup.uses_multikueue(call.ns, queue)) return {};
  return kMultiKueueController;
}

void check_job_create(const Call& call, const JobKind& kind, FieldErrors& errors) {
  std::string_view queue = label_of(call.object, kQueueName);
  if (call.object.find_path({"metadata", "labels", kQueueName}) != nullptr)
    errors.invalid_each(label_field(kQueueName), queue, dns1123_subdomain_problems(queue));
  Prebuilt prebuilt = prebuilt_of(call, call.object);
  if (!prebuilt.name.empty()) {
    if (!kind.prebuilt_workloads)
      errors.forbidden(prebuilt.field,
                       "prebuilt workload is not supported for \"" + gvk_text(kind) + "\"");
    errors.invalid_each(prebuilt.field, prebuilt.name, dns1123_subdomain_problems(prebuilt.name));
  }
  check_max_exec_time(call.object, errors);
  if (is_elastic(call, call.object) && !kind.elastic)
    errors.forbidden(annotation_field(kElasticJob),
                     "elastic job is not supported for \"" + gvk_text(kind) + "\"");
  check_admission_gates(call.object, call.old_object, call.settings.gates, errors);
}

void check_job_update(const Call& call, bool suspended, bool was_suspended, FieldErrors& errors) {
  const Value& now = call.object;
  const Value& before = *call.old_object;
  std::string_view queue = label_of(now, kQueueName), old_queue = label_of(before, kQueueName);
  if (!suspended) check_immutable(queue, old_queue, label_field(kQueueName), errors);
  if (!old_queue.empty() && queue.empty() && call.lookup.local_queue_exists(call.ns, kDefaultName))
    errors.invalid(label_field(kQueueName), "",
                   "queue-name must not be empty in namespace with default queue");
  if (!suspended && !is_elastic(call, now)) {
    Prebuilt name = prebuilt_of(call, now), old_name = prebuilt_of(call, before);
    std::string field = name.name.empty() ? old_name.field : name.field;
    check_immutable(name.name, old_name.name, field, errors);
  }
  if (!suspended || !was_suspended)
    check_immutable(label_of(now, kMaxExecTime), label_of(before, kMaxExecTime),
                    label_field(kMaxExecTime), errors);
  std::string_view priority = label_of(now, kPriorityClass),
                   old_priority = label_of(before, kPriorityClass);
  if (old_priority.empty() && !priority.empty() && !suspended)
    errors.invalid(label_field(kPriorityClass), priority,
                   "WorkloadPriorityClass cannot be added to a non-suspended workload");
  if (!old_priority.empty() && priority.empty())
    errors.invalid(label_field(kPriorityClass), "",
                   "WorkloadPriorityClass cannot be removed from a workload");
  if (call.settings.gates.on(Gate::kElasticJobsViaWorkloadSlices))
    check_immutable(annotation_of(now, kElasticJob), annotation_of(before, kElasticJob),
                    annotation_field(kElasticJob), errors);
}

}  // namespace kueue::webhooks
