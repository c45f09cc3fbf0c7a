// Stores: the typed caches of every kind that the core controllers read. Job kinds bring their own.
#pragma once

#include <memory>
#include <vector>

#include "api/core.h"
#include "api/kueue.h"
#include "controllers/pod_templates.h"
#include "kube/informer.h"
#include "schema/codec.h"

namespace kueue::controllers {

namespace v1beta2 = api::v1beta2;
using WorkloadPointer = std::shared_ptr<const v1beta2::Workload>;

// Indexes of Stores::workloads.
inline constexpr const char* kByOwner = "owner";             // uid of the controller owner
inline constexpr const char* kByOwnerName = "owner-name";    // "Kind.group/namespace/name" of it
inline constexpr const char* kByQueue = "queue";             // "namespace/queue"
inline constexpr const char* kBySliceName = "slice";         // "namespace/name" of the first slice
inline constexpr const char* kByPriorityClass = "priority";  // "Kind/name" of priorityClassRef
inline constexpr const char* kByClusterQueue = "cluster-queue";  // that holds its reservation
// Index of Stores::local_queues: the ClusterQueue it points to.
inline constexpr const char* kByTarget = "target";

struct Stores {
  // Without `with_nodes` the store of Nodes stays empty.
  Stores(std::shared_ptr<kube::Client> client, kube::Executor& executor, bool with_nodes = false);

  PodTemplates pod_templates;  // of `workloads`
  kube::Informer<v1beta2::Workload> workloads;
  kube::Informer<v1beta2::ClusterQueue> cluster_queues;
  kube::Informer<v1beta2::LocalQueue> local_queues;
  kube::Informer<v1beta2::Cohort> cohorts;
  kube::Informer<v1beta2::ResourceFlavor> flavors;
  kube::Informer<v1beta2::AdmissionCheck> checks;
  kube::Informer<v1beta2::Topology> topologies;
  kube::Informer<v1beta2::WorkloadPriorityClass> workload_priority_classes;
  kube::Informer<api::scheduling::PriorityClass> priority_classes;
  kube::Informer<api::core::Namespace> namespaces;
  kube::Informer<api::core::LimitRange> limit_ranges;
  kube::Informer<api::node::RuntimeClass> runtime_classes;
  kube::Informer<api::core::Node> nodes;

  std::vector<kube::InformerCore*> all();
  void start();
  void stop();
  bool synced();
  bool idle();

 private:
  const bool with_nodes_;
};

// "Kind.group/namespace/name", the value of kByOwnerName.
std::string owner_index_key(std::string_view kind, std::string_view api_version,
                            std::string_view namespace_, std::string_view name);
// The controller among the owners, nullptr when there is none.
const api::meta::OwnerReference* controller_of(const api::meta::ObjectMeta& meta);

// An Informer's decoder by the table of T.
template <typename T>
Result<void> decode_object(const json::Value& document, T& object) {
  return schema::decode_value(schema::value_binding<T>, document, &object);
}

}  // namespace kueue::controllers
