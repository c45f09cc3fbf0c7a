// Stores: the typed caches of every kind that the core controllers read. Job kinds bring their own.
#pragma once

#include <memory>

#include "api/batch.h"
#include "api/core.h"
#include "api/kueue.h"
#include "kube/informer.h"

namespace kueue::controllers {

namespace v1beta2 = api::v1beta2;

// Names of indexes.
inline constexpr const char* kByOwner = "owner";             // uid of the controller owner
inline constexpr const char* kByQueue = "queue";             // "namespace/queue"
inline constexpr const char* kByPriorityClass = "priority";  // name of the WorkloadPriorityClass
inline constexpr const char* kByClusterQueue = "cluster-queue";

struct Stores {
  Stores(std::shared_ptr<kube::Client> client, kube::Executor& executor);

  kube::Informer<v1beta2::Workload> workloads;
  kube::Informer<v1beta2::ClusterQueue> cluster_queues;
  kube::Informer<v1beta2::LocalQueue> local_queues;
  kube::Informer<v1beta2::Cohort> cohorts;
  kube::Informer<v1beta2::ResourceFlavor> flavors;
  kube::Informer<v1beta2::AdmissionCheck> checks;
  kube::Informer<v1beta2::Topology> topologies;
  kube::Informer<v1beta2::WorkloadPriorityClass> workload_priority_classes;
  kube::Informer<api::core::v1::Namespace> namespaces;
  kube::Informer<api::core::v1::LimitRange> limit_ranges;

  void start();
  void stop();
  bool synced() const;
  bool idle() const;
  std::vector<kube::InformerCore*> all();
};

}  // namespace kueue::controllers
