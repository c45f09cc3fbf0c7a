// ElasticUngater: Pods of an elastic job are made with a scheduling gate. It takes the gate off as
// many of them as the slice in force was admitted for (gate ElasticJobsViaWorkloadSlices).
// behaviour 16.
#pragma once

#include <optional>

#include "api/core.h"
#include "controllers/context.h"
#include "controllers/jobs/job.h"
#include "controllers/stores.h"
#include "kube/controller.h"
#include "kube/informer.h"

namespace kueue::controllers::jobs {

class ElasticUngater {
 public:
  // Of the option "controllers".
  static constexpr std::string_view kController = "elastic_job_ungater";

  explicit ElasticUngater(Context& context);

  // `chain`: namespace and name of the first of the slices that follow each other. Of each pod set
  // the Pods come in the order of their names; those that have ended leave room for others. A Pod
  // whose marks contradict the slice's keeps its gate. O(pods of the chain).
  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& chain);

  // The chain an object belongs to; absent when it is none of an elastic job.
  static std::optional<kube::ObjectKey> chain_of(const v1beta2::Workload& workload);
  static std::optional<kube::ObjectKey> chain_of(const api::core::Pod& pod);

  // The Pods that Kueue has started.
  kube::Informer<api::core::Pod>& pods() { return pods_; }

 private:
  WorkloadPointer slice_in_force(const kube::ObjectKey& chain) const;
  Result<void> ungate(const api::core::Pod& pod, const PodSetInfo& info,
                      const v1beta2::Workload& slice);

  Context& context_;
  kube::Informer<api::core::Pod> pods_;
};

}  // namespace kueue::controllers::jobs
