#include "apiserver/bootstrap.h"

#include "apiserver/core.h"
#include "apiserver/write.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

void create(Core& core, std::string_view group, std::string_view plural, std::string_view json) {
  auto object = json::parse(json);
  KUEUE_CHECK(object.ok(), "bootstrap object is no JSON");
  // Present already, or a kind that this server was not given.
  (void)create_internally(core, group, "v1", plural, std::move(object).value());
}

}  // namespace

Result<void> bootstrap_objects(Core& core) {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    if (core.store->get("/namespaces", name) != nullptr) continue;
    const std::string n = name;
    create(
        core, "", "namespaces",
        "{\"metadata\":{\"name\":\"" + n + "\",\"labels\":{\"kubernetes.io/metadata.name\":\"" + n +
            "\"}},\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}");
  }
  create(core, "scheduling.k8s.io", "priorityclasses",
         R"({"metadata":{"name":"system-node-critical"},"value":2000001000,"description":)"
         R"("Used for system critical pods that must not be moved from their current node.",)"
         R"("preemptionPolicy":"PreemptLowerPriority"})");
  create(core, "scheduling.k8s.io", "priorityclasses",
         R"({"metadata":{"name":"system-cluster-critical"},"value":2000000000,"description":)"
         R"("Used for system critical pods that must run in the cluster, but can be moved to )"
         R"(another node if necessary.","preemptionPolicy":"PreemptLowerPriority"})");
  return {};
}

}  // namespace kueue::apiserver
