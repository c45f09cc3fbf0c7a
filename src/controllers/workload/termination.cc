// Workloads that were told to go and do not go: named in conditions of our own, where Extensions
// ask for them. That nobody waits for them any more is the engine's doing
// (engine::Workload::given_up).
#include <algorithm>

#include "controllers/names.h"
#include "controllers/workload/conditions.h"
#include "controllers/workload/workload.h"

namespace kueue::controllers {

bool preempted_for(const v1beta2::Workload& victim, const v1beta2::Workload& preemptor) {
  const api::meta::Condition* preempted = find_condition(victim, kPreempted);
  return preempted != nullptr && preempted->status == "True" && !preemptor.metadata.uid.empty() &&
         preempted->message.find("(UID: " + preemptor.metadata.uid + ",") != std::string::npos;
}

// "ns/name since TIME" of each that had to go for it and is overdue, sorted.
std::string WorkloadReconciler::overdue_victims(const v1beta2::Workload& workload) const {
  std::vector<std::string> names;
  for (const auto& queue : context_.stores->cluster_queues.list())
    for (const WorkloadPointer& other :
         context_.stores->workloads.by_index(kByClusterQueue, queue->metadata.name))
      if (is_evicted(*other) && has_reservation(*other) && preempted_for(*other, workload) &&
          transition_time(*other, kEvicted) + context_.options->bounded_termination->after <=
              context_.now())
        names.push_back(other->metadata.namespace_ + "/" + other->metadata.name + " since " +
                        format_time(transition_time(*other, kEvicted)));
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

bool WorkloadReconciler::sync_termination(v1beta2::Workload& workload, Outcome& outcome) const {
  const auto& bound = context_.options->bounded_termination;
  std::string late, waits_for;
  if (bound.has_value() && bound->conditions && !is_finished(workload)) {
    if (is_evicted(workload) && has_reservation(workload)) {
      const Instant since = transition_time(workload, kEvicted);
      const Duration left = since + bound->after - context_.now();
      if (left.ns > 0) {
        outcome.within(left);
      } else {
        late = "Told to go at " + format_time(since) + " and still there after " +
               format_duration(bound->after) + "; nobody waits for its quota any more";
      }
    } else if (!has_reservation(workload)) {
      waits_for = overdue_victims(workload);
      if (!waits_for.empty())
        waits_for = "Preempted workloads that do not end are given up on: " + waits_for;
    }
  }
  const auto sync = [&](std::string_view type, const char* reason, const std::string& text) {
    return text.empty()
               ? bridge::remove_condition(workload, type)
               : bridge::set_condition(workload, type, true, reason, text, status_context());
  };
  bool changed = sync(kTerminationOverdue, "StillThere", late);
  changed |= sync(kPreemptionOverdue, "VictimsStillThere", waits_for);
  return changed;
}

}  // namespace kueue::controllers
