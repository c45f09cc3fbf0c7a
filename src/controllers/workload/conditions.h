// Questions about a Workload object: its conditions, state and references. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "api/kueue.h"
#include "controllers/names.h"
#include "kube/event_recorder.h"

namespace kueue::controllers {

namespace v1beta2 = api::v1beta2;

// nullptr when absent.
const api::meta::Condition* find_condition(const v1beta2::Workload& workload,
                                           std::string_view type);
const api::meta::Condition* find_condition(const std::vector<api::meta::Condition>& conditions,
                                           std::string_view type);
bool is_true(const v1beta2::Workload& workload, std::string_view type);
bool is_false(const v1beta2::Workload& workload, std::string_view type);
// lastTransitionTime, zero when absent.
Instant transition_time(const v1beta2::Workload& workload, std::string_view type);
// QuotaReserved=True with an admission.
bool has_reservation(const v1beta2::Workload& workload);
// Admitted=True with an admission: without one somebody else wrote the condition, and there is
// nothing to start a job with.
bool is_admitted(const v1beta2::Workload& workload);
bool is_finished(const v1beta2::Workload& workload);
// spec.active, true when absent.
bool is_active(const v1beta2::Workload& workload);
bool is_evicted(const v1beta2::Workload& workload);

kube::ObjectReference reference_to(const v1beta2::Workload& workload);

// Sets or adds a condition by metav1's rules: the transition time moves only with the status. True
// when changed.
bool set_condition(std::vector<api::meta::Condition>& conditions, std::string_view type,
                   bool status, std::string_view reason, std::string_view message,
                   int64_t generation, Instant now);

}  // namespace kueue::controllers
