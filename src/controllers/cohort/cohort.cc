#include "controllers/cohort/cohort.h"

#include <limits>

#include "controllers/scheduler/admission.h"
#include "engine/engine.h"

namespace kueue::controllers {

Result<kube::ReconcileResult> CohortReconciler::reconcile(const kube::ObjectKey& key) {
  const engine::CohortStatus view = context_.admission->ask(
      [&](const engine::State& state) { return state.cohort_status(key.name); });
  metrics::Metrics& m = *context_.metrics;
  auto cohort = context_.stores->cohorts.get(key);
  if (!view.known && cohort == nullptr) {
    m.forget_cohort(key.name);
    return kube::ReconcileResult{};
  }
  if (!context_.options->engine.fair_sharing.has_value()) return kube::ReconcileResult{};
  m.cohort_weighted_share.set({key.name}, view.weighted_share == std::numeric_limits<int64_t>::max()
                                              ? std::numeric_limits<double>::quiet_NaN()
                                              : static_cast<double>(view.weighted_share));
  if (cohort == nullptr) return kube::ReconcileResult{};
  if (cohort->status.fair_sharing.has_value() &&
      cohort->status.fair_sharing->weighted_share == view.weighted_share)
    return kube::ReconcileResult{};
  json::Value document;
  document.at_path({"status", "fairSharing", "weightedShare"}) = view.weighted_share;
  kube::WriteOptions options;
  options.subresource = "status";
  kube::InformerCore& store = context_.stores->cohorts.core();
  auto written =
      context_.client->patch(store.resource(), key, kube::PatchType::kMerge, document, options);
  if (written.ok()) {
    store.absorb(*written);
  } else if (written.error().code != ErrorCode::kNotFound) {
    return written.error();
  }
  return kube::ReconcileResult{};
}

}  // namespace kueue::controllers
