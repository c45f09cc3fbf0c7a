#include "apiserver/table_cells.h"

#include <algorithm>
#include <array>

#include "apiserver/table_text.h"

namespace kueue::apiserver {

namespace {

using Column = schema::PrinterColumn;
using Cells = std::vector<json::Value>;

constexpr Column name_column() { return {.name = "Name", .json_path = "", .format = "name"}; }
constexpr Column text(std::string_view name) { return {.name = name, .json_path = ""}; }
constexpr Column wide(std::string_view name) {
  return {.name = name, .json_path = "", .priority = 1};
}
constexpr Column integer(std::string_view name) {
  return {.name = name, .type = "integer", .json_path = ""};
}
constexpr Column boolean(std::string_view name) {
  return {.name = name, .type = "boolean", .json_path = ""};
}

constexpr std::array kPods = {
    name_column(), text("Ready"), text("Status"),         text("Restarts"),       text("Age"),
    wide("IP"),    wide("Node"),  wide("Nominated Node"), wide("Readiness Gates")};
constexpr std::array kNodes = {
    name_column(),          text("Status"),           text("Roles"),       text("Age"),
    text("Version"),        wide("Internal-IP"),      wide("External-IP"), wide("OS-Image"),
    wide("Kernel-Version"), wide("Container-Runtime")};
constexpr std::array kStatusAge = {name_column(), text("Status"), text("Age")};
constexpr std::array kDataAge = {name_column(), text("Data"), text("Age")};
constexpr std::array kSecrets = {name_column(), text("Type"), text("Data"), text("Age")};
constexpr std::array kAge = {name_column(), text("Age")};
constexpr std::array kServices = {name_column(),       text("Type"),    text("Cluster-IP"),
                                  text("External-IP"), text("Port(s)"), text("Age"),
                                  wide("Selector")};
constexpr std::array kEvents = {
    text("Last Seen"), text("Type"),
    text("Reason"),    text("Object"),
    wide("Subobject"), wide("Source"),
    text("Message"),   wide("First Seen"),
    wide("Count"),     Column{.name = "Name", .json_path = "", .priority = 1, .format = "name"}};
constexpr std::array kQuotas = {name_column(), text("Request"), text("Limit"), text("Age")};
constexpr std::array kReplicas = {name_column(),    integer("Desired"), integer("Current"),
                                  integer("Ready"), text("Age"),        wide("Containers"),
                                  wide("Images"),   wide("Selector")};
constexpr std::array kDeployments = {name_column(),     text("Ready"),   text("Up-to-date"),
                                     text("Available"), text("Age"),     wide("Containers"),
                                     wide("Images"),    wide("Selector")};
constexpr std::array kStatefulSets = {name_column(), text("Ready"), text("Age"), wide("Containers"),
                                      wide("Images")};
constexpr std::array kDaemonSets = {
    name_column(),         integer("Desired"),   integer("Current"),    integer("Ready"),
    integer("Up-to-date"), integer("Available"), text("Node Selector"), text("Age"),
    wide("Containers"),    wide("Images"),       wide("Selector")};
constexpr std::array kRevisions = {name_column(), text("Controller"), text("Revision"),
                                   text("Age")};
constexpr std::array kJobs = {name_column(),    text("Status"),  text("Completions"),
                              text("Duration"), text("Age"),     wide("Containers"),
                              wide("Images"),   wide("Selector")};
constexpr std::array kCronJobs = {name_column(),      text("Schedule"),   text("Timezone"),
                                  boolean("Suspend"), integer("Active"),  text("Last Schedule"),
                                  text("Age"),        wide("Containers"), wide("Images"),
                                  wide("Selector")};
constexpr std::array kPodTemplates = {name_column(), text("Containers"), text("Images"),
                                      text("Pod Labels")};
constexpr std::array kLeases = {name_column(), text("Holder"), text("Age")};
constexpr std::array kPriorityClasses = {name_column(), integer("Value"), boolean("Global-Default"),
                                         text("Age"), text("PreemptionPolicy")};
constexpr std::array kRuntimeClasses = {name_column(), text("Handler"), text("Age")};
constexpr std::array kBudgets = {name_column(), text("Min Available"), text("Max Unavailable"),
                                 integer("Allowed Disruptions"), text("Age")};
constexpr std::array kWebhooks = {name_column(), integer("Webhooks"), text("Age")};
constexpr std::array kPolicies = {name_column(), integer("Validations"), text("ParamKind"),
                                  text("Age")};
constexpr std::array kPolicyBindings = {name_column(), text("PolicyName"), text("ParamRef"),
                                        text("Age")};
constexpr std::array kIngresses = {name_column(),   text("Class"), text("Hosts"),
                                   text("Address"), text("Ports"), text("Age")};
constexpr std::array kNetworkPolicies = {name_column(), text("Pod-Selector"), text("Age")};
constexpr std::array kStorageClasses = {name_column(),
                                        text("Provisioner"),
                                        text("ReclaimPolicy"),
                                        text("VolumeBindingMode"),
                                        text("AllowVolumeExpansion"),
                                        text("Age")};
constexpr std::array kBindings = {name_column(), text("Role"),   text("Age"),
                                  wide("Users"), wide("Groups"), wide("ServiceAccounts")};
constexpr std::array kApiServices = {name_column(), text("Service"), text("Available"),
                                     text("Age")};
constexpr std::array kVolumes = {
    name_column(),  text("Capacity"), text("Access Modes"), text("Reclaim Policy"),
    text("Status"), text("Claim"),    text("StorageClass"), text("VolumeAttributesClass"),
    text("Reason"), text("Age"),      wide("VolumeMode")};
constexpr std::array kClaims = {name_column(),
                                text("Status"),
                                text("Volume"),
                                text("Capacity"),
                                text("Access Modes"),
                                text("StorageClass"),
                                text("VolumeAttributesClass"),
                                text("Age"),
                                wide("VolumeMode")};
constexpr std::array kSlices = {name_column(), text("Node"), text("Driver"), text("Pool"),
                                text("Age")};

int64_t size_at(const json::Value& object, std::string_view member) {
  const json::Value* found = object.find(member);
  if (found == nullptr) return 0;
  if (found->is_object()) return static_cast<int64_t>(found->as_object().size());
  return found->is_array() ? static_cast<int64_t>(found->as_array().size()) : 0;
}

Cells age_cells(const json::Value& o, Instant now) { return {object_name(o), object_age(o, now)}; }

Cells namespace_cells(const json::Value& o, Instant now) {
  return {object_name(o), table_text(o, {"status", "phase"}), object_age(o, now)};
}

Cells config_map_cells(const json::Value& o, Instant now) {
  return {object_name(o), std::to_string(size_at(o, "data") + size_at(o, "binaryData")),
          object_age(o, now)};
}

Cells secret_cells(const json::Value& o, Instant now) {
  return {object_name(o), table_text(o, {"type"}), std::to_string(size_at(o, "data")),
          object_age(o, now)};
}

// "requests.cpu: 1/4, pods: 2/10"
std::string quota_text(const json::Value& o, bool limits) {
  std::string result;
  const json::Value* hard = o.find_path({"status", "hard"});
  if (hard == nullptr || !hard->is_object()) return result;
  std::vector<std::string> names;
  for (const auto& [name, value] : hard->as_object()) names.push_back(name);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    bool is_limit = name.starts_with("limits") || name.find(".limits") != std::string::npos;
    if (is_limit != limits) continue;
    if (!result.empty()) result += ", ";
    result += name + ": " + table_text(o, {"status", "used", name}, "0") + "/" +
              table_text(o, {"status", "hard", name});
  }
  return result;
}

Cells quota_cells(const json::Value& o, Instant now) {
  return {object_name(o), quota_text(o, false), quota_text(o, true), object_age(o, now)};
}

std::string containers(const json::Value& o, std::string_view member) {
  return joined(o, {"spec", "template", "spec", "containers"}, member);
}

Cells replica_cells(const json::Value& o, Instant now) {
  return {object_name(o),
          o.get_int({"spec", "replicas"}),
          o.get_int({"status", "replicas"}),
          o.get_int({"status", "readyReplicas"}),
          object_age(o, now),
          containers(o, "name"),
          containers(o, "image"),
          selector_text(o.find_path({"spec", "selector"}))};
}

std::string ready_of(const json::Value& o) {
  return std::to_string(o.get_int({"status", "readyReplicas"})) + "/" +
         std::to_string(o.get_int({"spec", "replicas"}));
}

Cells deployment_cells(const json::Value& o, Instant now) {
  return {object_name(o),
          ready_of(o),
          std::to_string(o.get_int({"status", "updatedReplicas"})),
          std::to_string(o.get_int({"status", "availableReplicas"})),
          object_age(o, now),
          containers(o, "name"),
          containers(o, "image"),
          selector_text(o.find_path({"spec", "selector"}))};
}

Cells stateful_set_cells(const json::Value& o, Instant now) {
  return {object_name(o), ready_of(o), object_age(o, now), containers(o, "name"),
          containers(o, "image")};
}

Cells daemon_set_cells(const json::Value& o, Instant now) {
  return {object_name(o),
          o.get_int({"status", "desiredNumberScheduled"}),
          o.get_int({"status", "currentNumberScheduled"}),
          o.get_int({"status", "numberReady"}),
          o.get_int({"status", "updatedNumberScheduled"}),
          o.get_int({"status", "numberAvailable"}),
          selector_text(o.find_path({"spec", "template", "spec", "nodeSelector"})),
          object_age(o, now),
          containers(o, "name"),
          containers(o, "image"),
          selector_text(o.find_path({"spec", "selector"}))};
}

Cells revision_cells(const json::Value& o, Instant now) {
  std::string owner = "<none>";
  for (const json::Value& each : table_list(o, {"metadata", "ownerReferences"}))
    if (each.get_bool({"controller"})) {
      std::string kind(each.get_string({"kind"}));
      for (char& c : kind) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      std::string group(each.get_string({"apiVersion"}));
      group = group.substr(0, group.find('/'));
      owner = kind + "." + group + "/" + std::string(each.get_string({"name"}));
    }
  return {object_name(o), owner, std::to_string(o.get_int({"revision"})), object_age(o, now)};
}

Cells pod_template_cells(const json::Value& o, Instant) {
  return {object_name(o), joined(o, {"template", "spec", "containers"}, "name"),
          joined(o, {"template", "spec", "containers"}, "image"),
          selector_text(o.find_path({"template", "metadata", "labels"}))};
}

Cells lease_cells(const json::Value& o, Instant now) {
  return {object_name(o), table_text(o, {"spec", "holderIdentity"}), object_age(o, now)};
}

Cells priority_class_cells(const json::Value& o, Instant now) {
  return {object_name(o), o.get_int({"value"}), o.get_bool({"globalDefault"}), object_age(o, now),
          table_text(o, {"preemptionPolicy"})};
}

Cells runtime_class_cells(const json::Value& o, Instant now) {
  return {object_name(o), table_text(o, {"handler"}), object_age(o, now)};
}

Cells budget_cells(const json::Value& o, Instant now) {
  return {object_name(o), table_text(o, {"spec", "minAvailable"}, "N/A"),
          table_text(o, {"spec", "maxUnavailable"}, "N/A"),
          o.get_int({"status", "disruptionsAllowed"}), object_age(o, now)};
}

Cells webhook_cells(const json::Value& o, Instant now) {
  return {object_name(o), size_at(o, "webhooks"), object_age(o, now)};
}

Cells policy_cells(const json::Value& o, Instant now) {
  std::string kind = "<unset>";
  if (const json::Value* param = o.find_path({"spec", "paramKind"}))
    kind = table_text(*param, {"apiVersion"}) + "/" + table_text(*param, {"kind"});
  return {object_name(o), static_cast<int64_t>(table_list(o, {"spec", "validations"}).size()), kind,
          object_age(o, now)};
}

Cells policy_binding_cells(const json::Value& o, Instant now) {
  std::string param = "<unset>";
  if (const json::Value* reference = o.find_path({"spec", "paramRef"})) {
    std::string name = table_text(*reference, {"name"});
    std::string space = table_text(*reference, {"namespace"});
    param = name.empty()    ? selector_text(reference->find("selector"))
            : space.empty() ? name
                            : space + "/" + name;
  }
  return {object_name(o), table_text(o, {"spec", "policyName"}), param, object_age(o, now)};
}

Cells ingress_cells(const json::Value& o, Instant now) {
  std::string hosts = joined(o, {"spec", "rules"}, "host");
  std::string addresses;
  for (const json::Value& each : table_list(o, {"status", "loadBalancer", "ingress"}))
    addresses +=
        (addresses.empty() ? "" : ",") + table_text(each, {"ip"}, each.get_string({"hostname"}));
  return {object_name(o),
          table_text(o, {"spec", "ingressClassName"}, "<none>"),
          hosts.empty() ? "*" : hosts,
          addresses,
          table_list(o, {"spec", "tls"}).empty() ? "80" : "80, 443",
          object_age(o, now)};
}

Cells network_policy_cells(const json::Value& o, Instant now) {
  return {object_name(o), selector_text(o.find_path({"spec", "podSelector"})), object_age(o, now)};
}

Cells storage_class_cells(const json::Value& o, Instant now) {
  return {object_name(o),
          table_text(o, {"provisioner"}),
          table_text(o, {"reclaimPolicy"}, "Delete"),
          table_text(o, {"volumeBindingMode"}, "<unset>"),
          table_text(o, {"allowVolumeExpansion"}, "false"),
          object_age(o, now)};
}

Cells role_binding_cells(const json::Value& o, Instant now) {
  std::string users, groups, accounts;
  for (const json::Value& subject : table_list(o, {"subjects"})) {
    std::string_view kind = subject.get_string({"kind"});
    std::string& list = kind == "User" ? users : kind == "Group" ? groups : accounts;
    if (!list.empty()) list += ", ";
    if (kind == "ServiceAccount") list += table_text(subject, {"namespace"}) + "/";
    list += subject.get_string({"name"});
  }
  return {object_name(o),
          table_text(o, {"roleRef", "kind"}) + "/" + table_text(o, {"roleRef", "name"}),
          object_age(o, now),
          users,
          groups,
          accounts};
}

Cells api_service_cells(const json::Value& o, Instant now) {
  std::string service = "Local", available;
  if (const json::Value* target = o.find_path({"spec", "service"});
      target != nullptr && target->is_object())
    service = table_text(*target, {"namespace"}) + "/" + table_text(*target, {"name"});
  for (const json::Value& condition : table_list(o, {"status", "conditions"}))
    if (condition.get_string({"type"}) == "Available") {
      available = condition.get_string({"status"});
      if (available != "True") available += " (" + table_text(condition, {"reason"}) + ")";
    }
  return {object_name(o), service, available, object_age(o, now)};
}

std::string access_modes(const json::Value& o, std::initializer_list<std::string_view> path) {
  std::string result;
  for (const json::Value& mode : table_list(o, path)) {
    std::string_view name = mode.string_or("");
    std::string_view abbreviation = name == "ReadWriteOnce"      ? "RWO"
                                    : name == "ReadOnlyMany"     ? "ROX"
                                    : name == "ReadWriteMany"    ? "RWX"
                                    : name == "ReadWriteOncePod" ? "RWOP"
                                                                 : name;
    if (!result.empty()) result += ',';
    result += abbreviation;
  }
  return result;
}

std::string phase_text(const json::Value& o) {
  return o.get_string({"metadata", "deletionTimestamp"}).empty()
             ? table_text(o, {"status", "phase"})
             : "Terminating";
}

Cells volume_cells(const json::Value& o, Instant now) {
  std::string claim;
  if (const json::Value* reference = o.find_path({"spec", "claimRef"}))
    claim = table_text(*reference, {"namespace"}) + "/" + table_text(*reference, {"name"});
  return {object_name(o),
          table_text(o, {"spec", "capacity", "storage"}),
          access_modes(o, {"spec", "accessModes"}),
          table_text(o, {"spec", "persistentVolumeReclaimPolicy"}),
          phase_text(o),
          claim,
          table_text(o, {"spec", "storageClassName"}),
          table_text(o, {"spec", "volumeAttributesClassName"}, "<unset>"),
          table_text(o, {"status", "reason"}),
          object_age(o, now),
          table_text(o, {"spec", "volumeMode"}, "<unset>")};
}

Cells claim_cells(const json::Value& o, Instant now) {
  bool bound = !o.get_string({"spec", "volumeName"}).empty();
  return {object_name(o),
          phase_text(o),
          table_text(o, {"spec", "volumeName"}),
          bound ? table_text(o, {"status", "capacity", "storage"}) : "",
          bound ? access_modes(o, {"status", "accessModes"}) : "",
          table_text(o, {"spec", "storageClassName"}),
          table_text(o, {"spec", "volumeAttributesClassName"}, "<unset>"),
          object_age(o, now),
          table_text(o, {"spec", "volumeMode"}, "<unset>")};
}

Cells slice_cells(const json::Value& o, Instant now) {
  return {object_name(o), table_text(o, {"spec", "nodeName"}), table_text(o, {"spec", "driver"}),
          table_text(o, {"spec", "pool", "name"}), object_age(o, now)};
}

const BuiltinTable kTables[] = {
    {"", "pods", kPods, pod_cells},
    {"", "nodes", kNodes, node_cells},
    {"", "namespaces", kStatusAge, namespace_cells},
    {"", "configmaps", kDataAge, config_map_cells},
    {"", "secrets", kSecrets, secret_cells},
    {"", "serviceaccounts", kAge, age_cells},
    {"", "services", kServices, service_cells},
    {"", "events", kEvents, event_cells},
    {"", "resourcequotas", kQuotas, quota_cells},
    {"", "replicationcontrollers", kReplicas, replica_cells},
    {"", "podtemplates", kPodTemplates, pod_template_cells},
    {"", "persistentvolumes", kVolumes, volume_cells},
    {"", "persistentvolumeclaims", kClaims, claim_cells},
    {"events.k8s.io", "events", kEvents, event_cells},
    {"apps", "deployments", kDeployments, deployment_cells},
    {"apps", "replicasets", kReplicas, replica_cells},
    {"apps", "statefulsets", kStatefulSets, stateful_set_cells},
    {"apps", "daemonsets", kDaemonSets, daemon_set_cells},
    {"apps", "controllerrevisions", kRevisions, revision_cells},
    {"batch", "jobs", kJobs, job_cells},
    {"batch", "cronjobs", kCronJobs, cron_job_cells},
    {"coordination.k8s.io", "leases", kLeases, lease_cells},
    {"scheduling.k8s.io", "priorityclasses", kPriorityClasses, priority_class_cells},
    {"node.k8s.io", "runtimeclasses", kRuntimeClasses, runtime_class_cells},
    {"policy", "poddisruptionbudgets", kBudgets, budget_cells},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations", kWebhooks, webhook_cells},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations", kWebhooks, webhook_cells},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies", kPolicies, policy_cells},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings", kPolicyBindings,
     policy_binding_cells},
    {"networking.k8s.io", "ingresses", kIngresses, ingress_cells},
    {"networking.k8s.io", "networkpolicies", kNetworkPolicies, network_policy_cells},
    {"storage.k8s.io", "storageclasses", kStorageClasses, storage_class_cells},
    {"rbac.authorization.k8s.io", "rolebindings", kBindings, role_binding_cells},
    {"rbac.authorization.k8s.io", "clusterrolebindings", kBindings, role_binding_cells},
    {"apiregistration.k8s.io", "apiservices", kApiServices, api_service_cells},
    {"resource.k8s.io", "deviceclasses", kAge, age_cells},
    {"resource.k8s.io", "resourceclaimtemplates", kAge, age_cells},
    {"resource.k8s.io", "resourceslices", kSlices, slice_cells},
};

}  // namespace

const BuiltinTable* builtin_table(std::string_view group, std::string_view plural) {
  for (const BuiltinTable& table : kTables)
    if (table.group == group && table.plural == plural) return &table;
  return nullptr;
}

}  // namespace kueue::apiserver
