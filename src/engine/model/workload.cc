#include "engine/model/workload.h"

namespace kueue::engine {

const Condition* Workload::condition(ConditionType type) const {
  for (const Condition& c : conditions)
    if (c.type == type) return &c;
  return nullptr;
}

bool Workload::is_true(ConditionType type) const {
  const Condition* c = condition(type);
  return c != nullptr && c->status == ConditionStatus::kTrue;
}

bool Workload::is_false(ConditionType type) const {
  const Condition* c = condition(type);
  return c != nullptr && c->status == ConditionStatus::kFalse;
}

bool Workload::reserved() const {
  return admission.has_value() && is_true(ConditionType::kQuotaReserved);
}

bool Workload::on_hold() const {
  const Condition* c = condition(ConditionType::kQuotaReserved);
  return c != nullptr && c->status == ConditionStatus::kFalse && c->reason == "OnHold";
}

bool Workload::has_closed_preemption_gate() const {
  for (const PreemptionGate& gate : preemption_gates)
    if (!gate.open) return true;
  return false;
}

bool Workload::preempted_again_for(const std::string& preemptor_uid) const {
  const Condition* c = condition(ConditionType::kPreempted);
  return preempted_again && c != nullptr && c->status == ConditionStatus::kTrue &&
         !preemptor_uid.empty() && c->message.starts_with(preempted_for_text(preemptor_uid));
}

std::string preempted_for_text(const std::string& preemptor_uid) {
  return "Preempted to accommodate a workload (UID: " +
         (preemptor_uid.empty() ? "UNKNOWN" : preemptor_uid) + ",";
}

}  // namespace kueue::engine
