// A Lookup over the objects of a test vector or of a list.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "webhooks/checks.h"
#include "webhooks/hook.h"

namespace kueue::webhooks {

class TestLookup final : public Lookup {
 public:
  TestLookup() = default;
  // The objects of input.objects and those that input.setup hands to caches.
  explicit TestLookup(const json::Value& test) {
    for (const json::Value& object : list_at(test, {"input", "objects"})) objects.push_back(object);
    for (const json::Value& step : list_at(test, {"input", "setup"}))
      if (const json::Value* args = step.find("args"); args != nullptr && args->is_object())
        for (const auto& [name, object] : args->as_object()) objects.push_back(object);
  }

  const json::Value* find(std::string_view kind, std::string_view ns, std::string_view name) const {
    for (const json::Value& object : objects)
      if (object.get_string({"kind"}) == kind &&
          object.get_string({"metadata", "namespace"}) == ns &&
          object.get_string({"metadata", "name"}) == name)
        return &object;
    return nullptr;
  }

  bool local_queue_exists(std::string_view ns, std::string_view name) override {
    return find("LocalQueue", ns, name) != nullptr;
  }
  bool uses_multikueue(std::string_view ns, std::string_view local_queue) override {
    const json::Value* lq = find("LocalQueue", ns, local_queue);
    const json::Value* cq =
        lq == nullptr ? nullptr
                      : find("ClusterQueue", "", lq->get_string({"spec", "clusterQueue"}));
    if (cq == nullptr) return false;
    for (const json::Value& check :
         list_at(*cq, {"spec", "admissionChecksStrategy", "admissionChecks"})) {
      const json::Value* object = find("AdmissionCheck", "", check.get_string({"name"}));
      if (object != nullptr &&
          object->get_string({"spec", "controllerName"}) == "kueue.x-k8s.io/multikueue")
        return true;
    }
    return false;
  }
  bool workload_priority_class_exists(std::string_view name) override {
    return find("WorkloadPriorityClass", "", name) != nullptr;
  }
  std::optional<wire::LabelMap> namespace_labels(std::string_view name) override {
    const json::Value* ns = find("Namespace", "", name);
    if (ns == nullptr) return std::nullopt;
    wire::LabelMap out;
    if (const json::Value* labels = ns->find_path({"metadata", "labels"});
        labels != nullptr && labels->is_object())
      for (const auto& [key, value] : labels->as_object())
        out[key] = std::string(value.string_or(""));
    return out;
  }
  Result<std::optional<json::Value>> get_object(std::string_view, std::string_view kind,
                                                std::string_view ns,
                                                std::string_view name) override {
    const json::Value* object = find(kind, ns, name);
    if (object == nullptr) return std::optional<json::Value>();
    return std::optional<json::Value>(*object);
  }

  std::vector<json::Value> objects;
};

}  // namespace kueue::webhooks
