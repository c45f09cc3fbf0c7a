// Workload: pod sets, reservations, checks, and what may change while quota is held. Spec
// section 2.
#include <algorithm>
#include <charconv>
#include <map>

#include "api/quantity.h"
#include "base/names.h"
#include "webhooks/checks.h"
#include "webhooks/hook.h"
#include "webhooks/names.h"
#include "webhooks/ordered_text.h"

namespace kueue::webhooks {
namespace {

using json::Value;
using schema::FieldErrors;

constexpr std::string_view kNotNegative = "must be greater than or equal to 0";

bool elastic(const Call& call, const Value& object) {
  return call.settings.gates.on(Gate::kElasticJobsViaWorkloadSlices) &&
         annotation_of(object, kElasticJob) == "true";
}

const Value* pod_set_named(const Value& object, std::string_view name) {
  for (const Value& ps : list_at(object, {"spec", "podSets"}))
    if (ps.get_string({"name"}, "main") == name) return &ps;
  return nullptr;
}

int64_t count_of(const Value& pod_set) { return pod_set.get_int({"count"}, 1); }

std::vector<std::string> pod_set_names(const Value& object) {
  std::vector<std::string> out;
  for (const Value& ps : list_at(object, {"spec", "podSets"}))
    out.emplace_back(ps.get_string({"name"}, "main"));
  return out;
}

void check_resource_list(const Call& call, const Value* list, const std::string& field,
                         FieldErrors& errors) {
  if (list == nullptr || !list->is_object()) return;
  std::map<std::string_view, const Value*> sorted;
  for (const auto& [name, quantity] : list->as_object()) sorted[name] = &quantity;
  for (const auto& [name, quantity] : sorted) {
    std::string at = field + '[' + std::string(name) + ']';
    if (name == "pods") errors.invalid(at, name, "the key is reserved for internal kueue use");
    if (call.settings.gates.on(Gate::kWorkloadValidateResourcesAreNonNegative) &&
        quantity_sign(*quantity) < 0)
      errors.invalid(at, quantity_text(*quantity), kNotNegative);
  }
}

void check_resources(const Call& call, const Value& holder, const std::string& field,
                     FieldErrors& errors) {
  check_resource_list(call, holder.find_path({"resources", "requests"}),
                      field + ".resources.requests", errors);
  check_resource_list(call, holder.find_path({"resources", "limits"}), field + ".resources.limits",
                      errors);
}

void check_slices(const Value& pod_set, const std::string& field, FieldErrors& errors) {
  const Value* request = pod_set.find("topologyRequest");
  if (request == nullptr || !request->is_object()) return;
  std::string at = field + ".topologyRequest";
  bool topology = !request->get_string({"podSetSliceRequiredTopology"}).empty();
  const Value* size = request->find("podSetSliceSize");
  bool has_size = size != nullptr && !size->is_null();
  if (topology && !has_size) {
    errors.required(at + ".podSetSliceSize",
                    "must be set when podSetSliceRequiredTopology is specified");
  } else if (topology && size->int_or(0) <= 0) {
    errors.invalid(at + ".podSetSliceSize", *size, "must be greater than 0");
  } else if (!topology && has_size) {
    errors.forbidden(at + ".podSetSliceSize",
                     "may not be set when podSetSliceRequiredTopology is not specified");
  }
  const json::Array& layers = list_at(*request, {"podsetSliceRequiredTopologyConstraints"});
  for (size_t i = 0; i < layers.size(); ++i) {
    int64_t n = layers[i].get_int({"size"});
    if (n <= 0)
      errors.invalid(at + ".podsetSliceRequiredTopologyConstraints[" + std::to_string(i) + "].size",
                     n, "must be greater than 0");
  }
}

void check_pod_set(const Call& call, const Value& pod_set, size_t i, FieldErrors& errors) {
  std::string field = "spec.podSets[" + std::to_string(i) + "]";
  if (call.settings.gates.on(Gate::kWorkloadValidationForPodSetMetadata)) {
    check_labels(pod_set.find_path({"template", "metadata", "labels"}),
                 field + ".template.metadata.labels", errors);
    check_annotations(pod_set.find_path({"template", "metadata", "annotations"}),
                      field + ".template.metadata.annotations", errors);
  }
  const Value* spec = pod_set.find_path({"template", "spec"});
  if (spec != nullptr && spec->is_object()) {
    std::string at = field + ".template.spec";
    for (const char* list : {"initContainers", "containers"}) {
      const json::Array& containers = list_at(*spec, {list});
      for (size_t k = 0; k < containers.size(); ++k)
        check_resources(call, containers[k], at + '.' + list + '[' + std::to_string(k) + ']',
                        errors);
    }
    check_resources(call, *spec, at, errors);
  }
  if (call.settings.gates.on(Gate::kTASValidateWorkloadSliceSize))
    check_slices(pod_set, field, errors);
}

void check_pod_sets(const Call& call, FieldErrors& errors) {
  const json::Array& pod_sets = list_at(call.object, {"spec", "podSets"});
  int64_t variable = 0;
  for (size_t i = 0; i < pod_sets.size(); ++i) {
    check_pod_set(call, pod_sets[i], i, errors);
    const Value* least = pod_sets[i].find("minCount");
    if (least != nullptr && !least->is_null()) ++variable;
  }
  if (variable > 1) errors.invalid("spec.podSets", variable, "at most one podSet can use minCount");
  if (variable > 0 && elastic(call, call.object))
    errors.invalid("spec.podSets", variable,
                   "partial admission and elastic job cannot be used together");
}

// The reservation's assignments name pod sets, and usage divides evenly among pods.
void check_admission(const Value& object, FieldErrors& errors) {
  const json::Array& assignments = list_at(object, {"status", "admission", "podSetAssignments"});
  for (size_t i = 0; i < assignments.size(); ++i) {
    std::string at = "status.admission.podSetAssignments[" + std::to_string(i) + "]";
    std::string_view name = assignments[i].get_string({"name"}, "main");
    if (pod_set_named(object, name) == nullptr)
      errors.add({"FieldValueNotFound", "Not found: \"" + std::string(name) + "\"", at + ".name"});
    int64_t count = assignments[i].get_int({"count"});
    const Value* usage = assignments[i].find("resourceUsage");
    if (count <= 0 || usage == nullptr || !usage->is_object()) continue;
    for (const auto& [resource, quantity] : usage->as_object()) {
      Result<api::Quantity> q = api::Quantity::from_json(quantity);
      if (!q.ok()) continue;
      int64_t amount = resource == "cpu" ? q->milli_value() : q->value();
      if (amount % count != 0)
        errors.invalid(at + ".resourceUsage[" + resource + "]", q->to_string(),
                       "is not a multiple of " + std::to_string(count));
    }
  }
}

void check_reservation(const Call& call, FieldErrors& errors) {
  const Value* admission = call.object.find_path({"status", "admission"});
  bool admitted = admission != nullptr && admission->is_object();
  if (admitted) check_admission(call.object, errors);
  if (admitted || !condition_true(call.object, "QuotaReserved")) return;
  if (call.old_object != nullptr && condition_true(*call.old_object, "QuotaReserved")) {
    const Value* before = call.old_object->find_path({"status", "admission"});
    if (before == nullptr || before->is_null()) return;  // it was so already
  }
  errors.required("status.admission", "must be set while the QuotaReserved condition is true");
}

const Value* reclaimable_named(const Value& object, std::string_view name) {
  for (const Value& r : list_at(object, {"status", "reclaimablePods"}))
    if (r.get_string({"name"}) == name) return &r;
  return nullptr;
}

void check_reclaimable(const Call& call, FieldErrors& errors) {
  std::vector<std::string> names = pod_set_names(call.object);
  std::vector<std::string_view> supported(names.begin(), names.end());
  for (const Value& r : list_at(call.object, {"status", "reclaimablePods"})) {
    std::string_view name = r.get_string({"name"});
    std::string at = "status.reclaimablePods[" + std::string(name) + "]";
    const Value* pod_set = pod_set_named(call.object, name);
    if (pod_set == nullptr) {
      errors.not_supported(at + ".name", name, supported);
      continue;
    }
    int64_t count = r.get_int({"count"});
    if (count <= count_of(*pod_set)) continue;
    // An elastic workload that shrank may keep the count it had.
    if (call.old_object != nullptr && elastic(call, call.object)) {
      const Value* before = reclaimable_named(*call.old_object, name);
      if (before != nullptr && before->get_int({"count"}) == count) continue;
    }
    errors.invalid(at + ".count", count,
                   "should be less or equal to " + std::to_string(count_of(*pod_set)));
  }
}

void check_pod_set_updates(const Call& call, FieldErrors& errors) {
  std::vector<std::string> names = pod_set_names(call.object);
  std::vector<std::string_view> supported(names.begin(), names.end());
  const json::Array& checks = list_at(call.object, {"status", "admissionChecks"});
  for (size_t i = 0; i < checks.size(); ++i) {
    const json::Array& updates = list_at(checks[i], {"podSetUpdates"});
    for (size_t k = 0; k < updates.size(); ++k) {
      std::string at = "status.admissionChecks[" + std::to_string(i) + "].podSetUpdates[" +
                       std::to_string(k) + "]";
      std::string_view name = updates[k].get_string({"name"});
      if (std::find(names.begin(), names.end(), name) == names.end())
        errors.not_supported(at + ".name", name, supported);
      const json::Array& tolerations = list_at(updates[k], {"tolerations"});
      for (size_t t = 0; t < tolerations.size(); ++t) {
        std::string_view key = tolerations[t].get_string({"key"});
        if (!key.empty())
          errors.invalid_each(at + ".tolerations[" + std::to_string(t) + "].key", key,
                              qualified_name_problems(key));
      }
      check_annotations(updates[k].find("annotations"), at + ".annotations", errors);
      check_labels(updates[k].find("nodeSelector"), at + ".nodeSelector", errors);
      check_labels(updates[k].find("labels"), at + ".labels", errors);
    }
  }
}

void check_priority_boost(const Call& call, FieldErrors& errors) {
  if (!call.settings.gates.on(Gate::kPriorityBoost) || !has_annotation(call.object, kPriorityBoost))
    return;
  std::string text(annotation_of(call.object, kPriorityBoost));
  std::string field = annotation_field(kPriorityBoost);
  if (text.empty()) {
    errors.invalid(
        field, text,
        "must be a valid signed integer; use \"0\" explicitly, empty string is not allowed");
    return;
  }
  const char* first = text.c_str() + (text[0] == '+' ? 1 : 0);
  int32_t n = 0;
  auto r = std::from_chars(first, text.c_str() + text.size(), n);
  if (r.ec != std::errc() || r.ptr != text.c_str() + text.size())
    errors.invalid(field, text, "must be a valid signed integer");
}

void immutable(const Value& now, const std::string& field, FieldErrors& errors) {
  errors.add(
      {"FieldValueInvalid", "Invalid value: " + ordered_text(now) + ": field is immutable", field});
}

// Pod sets stay as they are while quota is reserved; elastic workloads may shrink.
void check_frozen_pod_sets(const Call& call, FieldErrors& errors) {
  if (!condition_true(*call.old_object, "QuotaReserved")) return;
  const json::Array& now = list_at(call.object, {"spec", "podSets"});
  const json::Array& before = list_at(*call.old_object, {"spec", "podSets"});
  if (now.size() != before.size()) {
    const Value* whole = call.object.find_path({"spec", "podSets"});
    immutable(whole == nullptr ? Value() : *whole, "spec.podSets", errors);
    return;
  }
  bool may_shrink = call.settings.gates.on(Gate::kElasticJobsViaWorkloadSlices);
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i] == before[i]) continue;
    Value same = now[i];
    if (may_shrink && count_of(now[i]) <= count_of(before[i])) same["count"] = count_of(before[i]);
    Value old = before[i];
    if (may_shrink) old["count"] = count_of(before[i]);
    if (!(same == old)) immutable(now[i], "spec.podSets." + std::to_string(i), errors);
  }
}

// An assignment without what topology placement may change later.
Value without_topology(const Value& admission) {
  Value out = admission;
  if (Value* list = out.find("podSetAssignments"); list != nullptr && list->is_array())
    for (Value& assignment : list->as_array()) {
      assignment.erase_path({"topologyAssignment"});
      assignment.erase_path({"delayedTopologyRequest"});
    }
  return out;
}

void check_frozen_admission(const Call& call, FieldErrors& errors) {
  const Value* now = call.object.find_path({"status", "admission"});
  const Value* before = call.old_object->find_path({"status", "admission"});
  if (now == nullptr || before == nullptr || !now->is_object() || !before->is_object() ||
      *now == *before)
    return;
  bool same_size =
      list_at(*now, {"podSetAssignments"}).size() == list_at(*before, {"podSetAssignments"}).size();
  if (call.settings.gates.on(Gate::kTopologyAwareScheduling) && same_size &&
      without_topology(*now) == without_topology(*before))
    return;
  immutable(*now, "status.admission", errors);
}

// While quota is held reclaimable pods only grow, but for elastic pod sets that shrank.
void check_reclaimable_update(const Call& call, FieldErrors& errors) {
  if (!condition_true(*call.old_object, "QuotaReserved") ||
      !condition_true(call.object, "QuotaReserved"))
    return;
  for (const Value& before : list_at(*call.old_object, {"status", "reclaimablePods"})) {
    std::string_view name = before.get_string({"name"});
    const Value* pod_set = pod_set_named(call.object, name);
    if (elastic(call, call.object) && pod_set != nullptr) {
      bool shrank = false;
      for (const Value& a : list_at(call.object, {"status", "admission", "podSetAssignments"}))
        shrank = shrank || (a.get_string({"name"}, "main") == name &&
                            count_of(*pod_set) < a.get_int({"count"}));
      if (shrank) continue;
    }
    std::string at = "status.reclaimablePods[" + std::string(name) + "]";
    const Value* now = reclaimable_named(call.object, name);
    if (now == nullptr) {
      errors.required(at, "cannot be removed");
    } else if (now->get_int({"count"}) < before.get_int({"count"})) {
      errors.invalid(at + ".count", now->get_int({"count"}),
                     "cannot be less than " + std::to_string(before.get_int({"count"})));
    }
  }
}

void check_frozen_updates(const Call& call, FieldErrors& errors) {
  const json::Array& checks = list_at(call.object, {"status", "admissionChecks"});
  for (size_t i = 0; i < checks.size(); ++i) {
    if (checks[i].get_string({"state"}) != "Ready") continue;
    for (const Value& before : list_at(*call.old_object, {"status", "admissionChecks"})) {
      if (before.get_string({"name"}) != checks[i].get_string({"name"}) ||
          before.get_string({"state"}) != "Ready")
        continue;
      const Value* now = checks[i].find("podSetUpdates");
      const Value* old = before.find("podSetUpdates");
      check_immutable(now == nullptr ? Value() : *now, old == nullptr ? Value() : *old,
                      "status.admissionChecks[" + std::to_string(i) + "].podSetUpdates", errors);
    }
  }
}

void check_cluster_name(const Call& call, FieldErrors& errors) {
  std::string_view now = call.object.get_string({"status", "clusterName"});
  if (now.empty() || !call.old_object->get_string({"status", "clusterName"}).empty()) return;
  if (call.settings.gates.on(Gate::kElasticJobsViaWorkloadSlices) &&
      has_annotation(call.object, kSliceReplacement))
    return;
  for (const Value& name : list_at(*call.old_object, {"status", "nominatedClusterNames"}))
    if (name.string_or("") == now) return;
  errors.invalid("status.clusterName", now,
                 "when setting clusterName it must be one of the nominatedClusterNames");
}

class WorkloadHook final : public Hook {
 public:
  Result<void> mutate(const Call& call, Value& object, std::vector<std::string>&) const override {
    if (call.settings.gates.on(Gate::kPartialAdmission)) return {};
    if (Value* pod_sets = object.find_path({"spec", "podSets"});
        pod_sets != nullptr && pod_sets->is_array())
      for (Value& pod_set : pod_sets->as_array()) pod_set.erase_path({"minCount"});
    return {};
  }
  void validate(const Call& call, FieldErrors& errors, std::vector<std::string>&) const override {
    check_pod_sets(call, errors);
    check_reservation(call, errors);
    check_reclaimable(call, errors);
    check_pod_set_updates(call, errors);
    check_priority_boost(call, errors);
    check_admission_gates(call.object, call.old_object, call.settings.gates, errors);
    if (call.old_object == nullptr) return;
    check_frozen_pod_sets(call, errors);
    check_reclaimable_update(call, errors);
    check_frozen_admission(call, errors);
    check_frozen_updates(call, errors);
    check_cluster_name(call, errors);
  }
};

}  // namespace

const Hook& workload_hook() {
  static const WorkloadHook kHook;
  return kHook;
}

}  // namespace kueue::webhooks
