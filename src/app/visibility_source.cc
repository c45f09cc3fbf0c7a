#include "app/visibility_source.h"

#include "controllers/journal/explanation.h"
#include "controllers/pending_page.h"
#include "controllers/runtime.h"

namespace kueue::app {
namespace {

class EngineSource final : public visibility::Source {
 public:
  explicit EngineSource(controllers::Manager& manager) : runtime_(manager.runtime()) {}

  std::optional<std::vector<visibility::Pending>> of_cluster_queue(std::string_view name,
                                                                   size_t offset,
                                                                   size_t limit) override {
    const std::string queue(name);
    if (runtime_.stores.cluster_queues.get({"", queue}) == nullptr) return std::nullopt;
    return page(queue, nullptr, offset, limit);
  }

  std::optional<std::vector<visibility::Pending>> of_local_queue(std::string_view namespace_,
                                                                 std::string_view name,
                                                                 size_t offset,
                                                                 size_t limit) override {
    const kube::ObjectKey key{std::string(namespace_), std::string(name)};
    const auto queue = runtime_.stores.local_queues.get(key);
    if (queue == nullptr) return std::nullopt;
    const engine::Key local{key.namespace_, key.name};
    return page(queue->spec.cluster_queue, &local, offset, limit);
  }

  std::optional<json::Value> explanation(std::string_view namespace_,
                                         std::string_view name) override {
    return controllers::explain_workload(runtime_.context,
                                         {std::string(namespace_), std::string(name)});
  }

 private:
  std::vector<visibility::Pending> page(const std::string& cluster_queue, const engine::Key* local,
                                        size_t offset, size_t limit) {
    const auto waiting = runtime_.admission.ask([&](const engine::State& state) {
      return controllers::pending_page(state, cluster_queue, local, offset, limit);
    });
    std::vector<visibility::Pending> out;
    for (const engine::PendingWorkload& one : waiting) {
      visibility::Pending item{.namespace_ = one.key.namespace_,
                               .name = one.key.name,
                               .created = one.created,
                               .owners = {},
                               .priority = static_cast<int32_t>(one.priority),
                               .local_queue = one.local_queue,
                               .position_in_cluster_queue = one.position_in_cluster_queue,
                               .position_in_local_queue = one.position_in_local_queue};
      if (const auto object = runtime_.stores.workloads.get({one.key.namespace_, one.key.name})) {
        item.priority = object->spec.priority.value_or(0);
        for (const api::meta::OwnerReference& owner : object->metadata.owner_references)
          item.owners.push_back({owner.api_version, owner.kind, owner.name, owner.uid});
      }
      out.push_back(std::move(item));
    }
    return out;
  }

  controllers::Runtime& runtime_;
};

}  // namespace

std::unique_ptr<visibility::Source> make_visibility_source(controllers::Manager& manager) {
  return std::make_unique<EngineSource>(manager);
}

}  // namespace kueue::app
