#include "controllers/workload/requeue_state.h"

namespace kueue::controllers {

std::optional<Instant> retry_time(const api::v1beta2::Workload& workload) {
  std::optional<Instant> latest;
  for (const api::v1beta2::AdmissionCheckState& check : workload.status.admission_checks) {
    if (check.state != "Retry" || !check.requeue_after_seconds || !check.last_transition_time)
      continue;
    const Instant until =
        *check.last_transition_time + Duration::seconds(*check.requeue_after_seconds);
    if (!latest || *latest < until) latest = until;
  }
  return latest;
}

bool requeue_not_before(api::v1beta2::Workload& workload, Instant until, bool counts) {
  auto& requeue = workload.status.requeue_state;
  const bool later =
      !requeue.has_value() || !requeue->requeue_at.has_value() || *requeue->requeue_at < until;
  if (!later && !counts) return false;
  if (!requeue.has_value()) requeue.emplace();
  if (later) requeue->requeue_at = until;
  if (counts) requeue->count = requeue->count.value_or(0) + 1;
  return true;
}

}  // namespace kueue::controllers
