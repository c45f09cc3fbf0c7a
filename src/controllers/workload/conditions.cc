#include "controllers/workload/conditions.h"

namespace kueue::controllers {

const api::meta::Condition* find_condition(const std::vector<api::meta::Condition>& conditions,
                                           std::string_view type) {
  for (const api::meta::Condition& condition : conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}

const api::meta::Condition* find_condition(const v1beta2::Workload& workload,
                                           std::string_view type) {
  return find_condition(workload.status.conditions, type);
}

bool is_true(const v1beta2::Workload& workload, std::string_view type) {
  const api::meta::Condition* condition = find_condition(workload, type);
  return condition != nullptr && condition->status == "True";
}

bool is_false(const v1beta2::Workload& workload, std::string_view type) {
  const api::meta::Condition* condition = find_condition(workload, type);
  return condition != nullptr && condition->status == "False";
}

Instant transition_time(const v1beta2::Workload& workload, std::string_view type) {
  const api::meta::Condition* condition = find_condition(workload, type);
  return condition == nullptr ? Instant{} : condition->last_transition_time.value_or(Instant{});
}

bool has_reservation(const v1beta2::Workload& workload) {
  return workload.status.admission.has_value() && is_true(workload, kQuotaReserved);
}

bool is_admitted(const v1beta2::Workload& workload) {
  return workload.status.admission.has_value() && is_true(workload, kAdmitted);
}
bool is_finished(const v1beta2::Workload& workload) { return is_true(workload, kFinished); }
bool is_evicted(const v1beta2::Workload& workload) { return is_true(workload, kEvicted); }
bool is_active(const v1beta2::Workload& workload) { return workload.spec.active.value_or(true); }

kube::ObjectReference reference_to(const v1beta2::Workload& workload) {
  return {.api_version = "kueue.x-k8s.io/v1beta2",
          .kind = "Workload",
          .namespace_ = workload.metadata.namespace_,
          .name = workload.metadata.name,
          .uid = workload.metadata.uid,
          .resource_version = workload.metadata.resource_version};
}

bool set_condition(std::vector<api::meta::Condition>& conditions, std::string_view type,
                   bool status, std::string_view reason, std::string_view message,
                   int64_t generation, Instant now) {
  const std::string_view text = status ? "True" : "False";
  for (api::meta::Condition& condition : conditions) {
    if (condition.type != type) continue;
    if (condition.status == text && condition.reason == reason && condition.message == message &&
        condition.observed_generation == generation)
      return false;
    if (condition.status != text) condition.last_transition_time = now;
    condition.status = text;
    condition.reason = reason;
    condition.message = message;
    condition.observed_generation = generation;
    return true;
  }
  api::meta::Condition condition;
  condition.type = type;
  condition.status = text;
  condition.reason = reason;
  condition.message = message;
  condition.observed_generation = generation;
  condition.last_transition_time = now;
  conditions.push_back(std::move(condition));
  return true;
}

}  // namespace kueue::controllers
