#include "app/webhook_lookup.h"

#include "api/registry.h"
#include "controllers/runtime.h"
#include "webhooks/jobs/owners.h"

namespace kueue::app {
namespace {

constexpr std::string_view kMultiKueue = "kueue.x-k8s.io/multikueue";

// Of kinds whose fields we know, and of those that jobs may belong to.
std::optional<kube::Resource> resource_of(std::string_view api_version, std::string_view kind) {
  if (const schema::ResourceInfo* info = api::find_kind(api_version, kind); info != nullptr)
    return kube::Resource::of(*info);
  const webhooks::OwnerKind* owner = webhooks::owner_kind(
      json::Value::object({{"apiVersion", std::string(api_version)}, {"kind", std::string(kind)}}));
  if (owner == nullptr) return std::nullopt;
  const size_t slash = api_version.find('/');
  return kube::Resource{.group = std::string(owner->group),
                        .version = std::string(api_version.substr(slash + 1)),
                        .plural = std::string(owner->plural),
                        .kind = std::string(owner->kind)};
}

class StoreLookup final : public webhooks::Lookup {
 public:
  StoreLookup(controllers::Stores& stores, std::shared_ptr<kube::Client> client,
              const controllers::Options& options)
      : stores_(stores),
        client_(std::move(client)),
        queues_(options.runs("localqueue_controller") && options.runs("clusterqueue_controller")) {}

  bool local_queue_exists(std::string_view ns, std::string_view name) override {
    return queues_ && stores_.local_queues.get({std::string(ns), std::string(name)}) != nullptr;
  }

  bool uses_multikueue(std::string_view ns, std::string_view local_queue) override {
    if (!queues_) return false;
    const auto queue = stores_.local_queues.get({std::string(ns), std::string(local_queue)});
    if (queue == nullptr) return false;
    const auto target = stores_.cluster_queues.get({"", queue->spec.cluster_queue});
    if (target == nullptr || !target->spec.admission_checks_strategy) return false;
    for (const auto& rule : target->spec.admission_checks_strategy->admission_checks) {
      const auto check = stores_.checks.get({"", rule.name});
      if (check != nullptr && check->spec.controller_name == kMultiKueue) return true;
    }
    return false;
  }

  bool workload_priority_class_exists(std::string_view name) override {
    return stores_.workload_priority_classes.get({"", std::string(name)}) != nullptr;
  }

  std::optional<wire::LabelMap> namespace_labels(std::string_view name) override {
    const auto found = stores_.namespaces.get({"", std::string(name)});
    if (found == nullptr) return std::nullopt;
    wire::LabelMap labels;
    for (const auto& [key, value] : found->metadata.labels) labels.emplace(key, value);
    return labels;
  }

  Result<std::optional<json::Value>> get_object(std::string_view api_version, std::string_view kind,
                                                std::string_view ns,
                                                std::string_view name) override {
    const std::optional<kube::Resource> resource = resource_of(api_version, kind);
    if (!resource.has_value()) return std::optional<json::Value>();
    auto object =
        client_->get(*resource, {resource->namespaced ? std::string(ns) : "", std::string(name)});
    if (object.ok()) return std::optional(*std::move(object));
    if (object.error().code == ErrorCode::kNotFound) return std::optional<json::Value>();
    return std::move(object).error();
  }

 private:
  controllers::Stores& stores_;
  std::shared_ptr<kube::Client> client_;
  const bool queues_;
};

}  // namespace

std::shared_ptr<webhooks::Lookup> make_webhook_lookup(controllers::Manager& manager,
                                                      std::shared_ptr<kube::Client> client,
                                                      const controllers::Options& options) {
  return std::make_shared<StoreLookup>(manager.runtime().stores, std::move(client), options);
}

webhooks::Settings webhook_settings(const controllers::Options& options) {
  return {.gates = options.gates,
          .manage_jobs_without_queue_name = options.manage_jobs_without_queue_name,
          .managed_jobs_namespace_selector = options.managed_jobs_namespace_selector,
          .frameworks = options.frameworks};
}

}  // namespace kueue::app
