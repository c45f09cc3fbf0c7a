#include "controllers/stores.h"

#include <algorithm>

#include "controllers/jobs/slices.h"
#include "controllers/names.h"

namespace kueue::controllers {
namespace {

std::string group_of(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : std::string(api_version.substr(0, slash));
}

// Nobody reads who wrote which field.
template <typename T>
void drop_unread(T& object) {
  object.metadata.managed_fields.clear();
  object.metadata.managed_fields.shrink_to_fit();
  object.metadata.annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
}

// Nor what lies and runs on a machine.
void drop_unread_of_node(api::core::Node& node) {
  drop_unread(node);
  api::core::NodeStatus kept;
  kept.allocatable = std::move(node.status.allocatable);
  kept.conditions = std::move(node.status.conditions);
  node.status = std::move(kept);
}

template <typename T>
kube::Informer<T> make_informer(const std::shared_ptr<kube::Client>& client,
                                kube::Executor& executor) {
  return kube::Informer<T>(client, executor, kube::Resource::of(T::resource()), &decode_object<T>,
                           {}, &drop_unread<T>);
}

}  // namespace

std::string owner_index_key(std::string_view kind, std::string_view api_version,
                            std::string_view namespace_, std::string_view name) {
  std::string key(kind);
  key += '.';
  key += group_of(api_version);
  key += '/';
  key += namespace_;
  key += '/';
  key += name;
  return key;
}

const api::meta::OwnerReference* controller_of(const api::meta::ObjectMeta& meta) {
  for (const api::meta::OwnerReference& owner : meta.owner_references)
    if (owner.controller.value_or(false)) return &owner;
  return nullptr;
}

Stores::Stores(std::shared_ptr<kube::Client> client, kube::Executor& executor, bool with_nodes)
    : workloads(
          client, executor, kube::Resource::of(v1beta2::Workload::resource()),
          [this](json::Value& document, v1beta2::Workload& workload) {
            return pod_templates.decode(document, workload);
          },
          {}, &drop_unread<v1beta2::Workload>),
      cluster_queues(make_informer<v1beta2::ClusterQueue>(client, executor)),
      local_queues(make_informer<v1beta2::LocalQueue>(client, executor)),
      cohorts(make_informer<v1beta2::Cohort>(client, executor)),
      flavors(make_informer<v1beta2::ResourceFlavor>(client, executor)),
      checks(make_informer<v1beta2::AdmissionCheck>(client, executor)),
      topologies(make_informer<v1beta2::Topology>(client, executor)),
      workload_priority_classes(make_informer<v1beta2::WorkloadPriorityClass>(client, executor)),
      priority_classes(make_informer<api::scheduling::PriorityClass>(client, executor)),
      namespaces(make_informer<api::core::Namespace>(client, executor)),
      limit_ranges(make_informer<api::core::LimitRange>(client, executor)),
      runtime_classes(make_informer<api::node::RuntimeClass>(client, executor)),
      nodes(client, executor, kube::Resource::of(api::core::Node::resource()),
            &decode_object<api::core::Node>, {}, &drop_unread_of_node),
      with_nodes_(with_nodes) {
  using Keys = std::vector<std::string>;
  workloads.add_index(kByOwner, [](const v1beta2::Workload& w) -> Keys {
    const auto* owner = controller_of(w.metadata);
    return owner == nullptr ? Keys{} : Keys{owner->uid};
  });
  workloads.add_index(kByOwnerName, [](const v1beta2::Workload& w) -> Keys {
    const auto* owner = controller_of(w.metadata);
    return owner == nullptr ? Keys{}
                            : Keys{owner_index_key(owner->kind, owner->api_version,
                                                   w.metadata.namespace_, owner->name)};
  });
  workloads.add_index(kByQueue, [](const v1beta2::Workload& w) -> Keys {
    return {w.metadata.namespace_ + "/" + w.spec.queue_name};
  });
  workloads.add_index(kBySliceName, [](const v1beta2::Workload& w) -> Keys {
    if (!w.metadata.annotations.contains(kElasticJobAnnotation)) return {};
    return {w.metadata.namespace_ + "/" + jobs::slice_name(w)};
  });
  workloads.add_index(kByPriorityClass, [](const v1beta2::Workload& w) -> Keys {
    const auto& ref = w.spec.priority_class_ref;
    return ref.has_value() ? Keys{ref->kind + "/" + ref->name} : Keys{};
  });
  workloads.add_index(kByClusterQueue, [](const v1beta2::Workload& w) -> Keys {
    const auto& admission = w.status.admission;
    return admission.has_value() ? Keys{admission->cluster_queue} : Keys{};
  });
  local_queues.add_index(
      kByTarget, [](const v1beta2::LocalQueue& q) -> Keys { return {q.spec.cluster_queue}; });
}

std::vector<kube::InformerCore*> Stores::all() {
  std::vector<kube::InformerCore*> informers{
      &workloads.core(),    &cluster_queues.core(),
      &local_queues.core(), &cohorts.core(),
      &flavors.core(),      &checks.core(),
      &topologies.core(),   &workload_priority_classes.core(),
      &namespaces.core(),   &priority_classes.core(),
      &limit_ranges.core(), &runtime_classes.core()};
  if (with_nodes_) informers.push_back(&nodes.core());
  return informers;
}

void Stores::start() {
  for (kube::InformerCore* informer : all()) informer->start();
}

void Stores::stop() {
  for (kube::InformerCore* informer : all()) informer->stop();
}

bool Stores::synced() {
  const auto informers = all();
  return std::all_of(informers.begin(), informers.end(),
                     [](const kube::InformerCore* i) { return i->has_synced(); });
}

bool Stores::idle() {
  const auto informers = all();
  return std::all_of(informers.begin(), informers.end(),
                     [](const kube::InformerCore* i) { return i->idle(); });
}

}  // namespace kueue::controllers
