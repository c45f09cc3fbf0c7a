#include "apiserver/traits.h"

#include <map>

#include "apiserver/kinds.h"

namespace kueue::apiserver {

namespace {

using Table = std::map<std::string, Traits, std::less<>>;

Table core_table() {
  Table t;
  t["/pods"] = {.generation = true,
                .set_defaults = kinds::pod_defaults,
                .prepare_create = kinds::pod_create,
                .validate = kinds::pod_validate,
                .validate_update = kinds::pod_validate_update};
  t["/podtemplates"] = {.generation = true, .set_defaults = kinds::template_defaults};
  t["/namespaces"] = {.no_delete_collection = true,
                      .name = Traits::Name::kLabel,
                      .set_defaults = kinds::namespace_defaults,
                      .prepare_create = kinds::namespace_create,
                      .prepare_update = kinds::namespace_update};
  t["/configmaps"] = {.validate = kinds::config_map_validate,
                      .validate_update = kinds::config_map_validate_update};
  t["/secrets"] = {.set_defaults = kinds::secret_defaults,
                   .validate = kinds::secret_validate,
                   .validate_update = kinds::secret_validate_update};
  t["/nodes"] = {.prepare_create = kinds::node_create};
  t["/services"] = {.create_on_update = true,
                    .name = Traits::Name::kLabel,
                    .set_defaults = kinds::service_defaults,
                    .prepare_create = kinds::service_create};
  t["/events"] = {.create_on_update = true,
                  .set_defaults = kinds::event_defaults,
                  .validate = kinds::event_validate};
  t["/endpoints"] = {.create_on_update = true};
  t["/limitranges"] = {.create_on_update = true};
  t["/replicationcontrollers"] = {.generation = true,
                                  .set_defaults = kinds::replication_controller_defaults,
                                  .validate = kinds::selector_validate};
  t["/bindings"] = {.review = true};
  return t;
}

Table workload_table() {
  Table t;
  t["batch/jobs"] = {.generation = true,
                     .set_defaults = kinds::job_defaults,
                     .prepare_create = kinds::job_create,
                     .validate = kinds::job_validate,
                     .validate_update = kinds::job_validate_update,
                     .validate_status = kinds::job_validate_status};
  t["batch/cronjobs"] = {.generation = true, .set_defaults = kinds::cron_job_defaults};
  t["apps/deployments"] = {.generation = true,
                           .set_defaults = kinds::deployment_defaults,
                           .validate = kinds::selector_validate,
                           .validate_update = kinds::selector_validate_update};
  t["apps/replicasets"] = {.generation = true,
                           .set_defaults = kinds::replica_set_defaults,
                           .validate = kinds::selector_validate,
                           .validate_update = kinds::selector_validate_update};
  t["apps/statefulsets"] = {.generation = true,
                            .set_defaults = kinds::stateful_set_defaults,
                            .validate = kinds::selector_validate,
                            .validate_update = kinds::stateful_set_validate_update};
  t["apps/daemonsets"] = {.generation = true,
                          .set_defaults = kinds::daemon_set_defaults,
                          .validate = kinds::selector_validate,
                          .validate_update = kinds::selector_validate_update};
  return t;
}

Table other_table() {
  Table t;
  t["apiextensions.k8s.io/customresourcedefinitions"] = {
      .generation = true,
      .set_defaults = kinds::crd_defaults,
      .prepare_create = kinds::crd_create,
      .prepare_update = kinds::crd_update,
      .validate = kinds::crd_validate,
      .validate_update = kinds::crd_validate_update};
  t["scheduling.k8s.io/priorityclasses"] = {
      .generation = true,
      .set_defaults = kinds::priority_class_defaults,
      .validate = kinds::priority_class_validate,
      .validate_update = kinds::priority_class_validate_update};
  for (const char* plural : {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"})
    t[std::string("admissionregistration.k8s.io/") + plural] = {
        .generation = true,
        .set_defaults = kinds::webhook_defaults,
        .validate = kinds::webhook_validate};
  for (const char* plural : {"validatingadmissionpolicies", "validatingadmissionpolicybindings",
                             "mutatingadmissionpolicybindings"})
    t[std::string("admissionregistration.k8s.io/") + plural] = {
        .generation = true, .set_defaults = kinds::policy_defaults};
  t["admissionregistration.k8s.io/mutatingadmissionpolicies"] = {
      .generation = true,
      .set_defaults = kinds::policy_defaults,
      .prepare_create = kinds::mutating_policy_create};
  t["apiregistration.k8s.io/apiservices"] = {.prepare_create = kinds::api_service_create};
  t["coordination.k8s.io/leases"] = {.unconditional_update = false, .create_on_update = true};
  for (const char* plural : {"networkpolicies", "ingresses", "ingressclasses"})
    t[std::string("networking.k8s.io/") + plural] = {.generation = true};
  t["policy/poddisruptionbudgets"] = {.generation = true};
  t["discovery.k8s.io/endpointslices"] = {.generation = true};
  for (const char* plural : {"deviceclasses", "resourceslices"})
    t[std::string("resource.k8s.io/") + plural] = {.generation = true};
  for (const char* plural : {"flowschemas", "prioritylevelconfigurations"})
    t[std::string("flowcontrol.apiserver.k8s.io/") + plural] = {.generation = true};
  for (const char* plural : {"roles", "rolebindings", "clusterroles", "clusterrolebindings"})
    t[std::string("rbac.authorization.k8s.io/") + plural] = {.create_on_update = true,
                                                             .name = Traits::Name::kPathSegment};
  for (const char* path :
       {"authentication.k8s.io/tokenreviews", "authentication.k8s.io/selfsubjectreviews",
        "authorization.k8s.io/subjectaccessreviews",
        "authorization.k8s.io/selfsubjectaccessreviews",
        "authorization.k8s.io/localsubjectaccessreviews",
        "authorization.k8s.io/selfsubjectrulesreviews"})
    t[path] = {.review = true};
  return t;
}

}  // namespace

const Traits& traits_of(std::string_view group, std::string_view plural) {
  static const Table table = [] {
    Table all = core_table();
    all.merge(workload_table());
    all.merge(other_table());
    return all;
  }();
  static const Traits plain;
  std::string path(group);
  path.append("/").append(plural);
  if (path == "events.k8s.io/events") path = "/events";
  const auto it = table.find(path);
  return it == table.end() ? plain : it->second;
}

const Traits& custom_traits() {
  static const Traits traits{.generation = true, .unconditional_update = false};
  return traits;
}

}  // namespace kueue::apiserver
