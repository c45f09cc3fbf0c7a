#include "apiserver/table_columns.h"

#include <algorithm>
#include <map>

#include "apiserver/table.h"
#include "schema/errors.h"
#include "wire/selector.h"

namespace kueue::apiserver {

namespace {

using json::Array;
using json::Value;
using Path = std::initializer_list<std::string_view>;

const Array& list(const Value& object, Path path) {
  static const Array none;
  const Value* value = object.find_path(path);
  return value != nullptr && value->is_array() ? value->as_array() : none;
}

size_t size_at(const Value& object, Path path) {
  const Value* value = object.find_path(path);
  if (value == nullptr) return 0;
  return value->is_object()  ? value->as_object().size()
         : value->is_array() ? value->as_array().size()
                             : 0;
}

std::string or_text(std::string_view text, std::string_view fallback) {
  return std::string(text.empty() ? fallback : text);
}

std::string name_of(const Value& o) { return std::string(o.get_string({"metadata", "name"})); }

std::string joined(const Array& containers, std::string_view key) {
  std::string out;
  for (const Value& c : containers)
    out += (out.empty() ? "" : ",") + std::string(c.get_string({key}));
  return out;
}

std::string labels_text(const Value* labels) {
  if (labels == nullptr || !labels->is_object() || labels->as_object().empty()) return "<none>";
  std::map<std::string, std::string> sorted;
  for (const auto& [key, value] : labels->as_object()) sorted.emplace(key, value.string_or(""));
  std::string out;
  for (const auto& [key, value] : sorted) {
    if (!out.empty()) out += ',';
    out += key;
    out += '=';
    out += value;
  }
  return out;
}

std::string selector_text(const Value* selector) {
  if (selector == nullptr) return "<none>";
  const auto parsed = wire::LabelSelector::from_object(selector);
  if (!parsed.ok()) return "<error>";
  const std::string text = parsed->to_string();
  return text.empty() ? "<none>" : text;
}

std::string counts(const Value& o, Path ready, Path wanted) {
  return std::to_string(o.get_int(ready)) + "/" + std::to_string(o.get_int(wanted, 1));
}

Value text_or_number(const Value* value, std::string_view absent) {
  if (value == nullptr || value->is_null()) return Value(absent);
  return value->is_string() ? *value : Value(schema::bad_value_text(*value));
}

std::string duration_text(const Value& job, Instant now) {
  const auto start = parse_time(job.get_string({"status", "startTime"}));
  if (!start.ok()) return "";
  Instant end = now;
  if (const auto done = parse_time(job.get_string({"status", "completionTime"})); done.ok())
    end = *done;
  else
    for (const Value& c : list(job, {"status", "conditions"}))
      if (c.get_string({"type"}) == "Failed" && c.get_string({"status"}) == "True")
        if (const auto at = parse_time(c.get_string({"lastTransitionTime"})); at.ok()) end = *at;
  return human_duration(end - *start);
}

std::string job_status(const Value& job) {
  const auto is = [&](std::string_view type) {
    for (const Value& c : list(job, {"status", "conditions"}))
      if (c.get_string({"type"}) == type && c.get_string({"status"}) == "True") return true;
    return false;
  };
  if (is("Complete")) return "Complete";
  if (is("Failed")) return "Failed";
  if (job.find_path({"metadata", "deletionTimestamp"}) != nullptr) return "Terminating";
  if (is("Suspended")) return "Suspended";
  if (is("FailureTarget")) return "FailureTarget";
  if (is("SuccessCriteriaMet")) return "SuccessCriteriaMet";
  return "Running";
}

Array job_cells(const Value& o, Instant now) {
  const Value* completions = o.find_path({"spec", "completions"});
  const int64_t parallelism = o.get_int({"spec", "parallelism"}, 1);
  std::string done = std::to_string(o.get_int({"status", "succeeded"}));
  if (completions != nullptr)
    done += "/" + std::to_string(completions->int_or(0));
  else if (parallelism > 1)
    done += "/1 of " + std::to_string(parallelism);
  else
    done += "/1";
  const Array& containers = list(o, {"spec", "template", "spec", "containers"});
  return {name_of(o),
          job_status(o),
          done,
          duration_text(o, now),
          age(o, now),
          joined(containers, "name"),
          joined(containers, "image"),
          selector_text(o.find_path({"spec", "selector"}))};
}

Array cron_job_cells(const Value& o, Instant now) {
  std::string last = "<none>";
  if (const auto at = parse_time(o.get_string({"status", "lastScheduleTime"})); at.ok())
    last = human_duration(now - *at);
  const Array& containers =
      list(o, {"spec", "jobTemplate", "spec", "template", "spec", "containers"});
  const bool suspend = o.get_bool({"spec", "suspend"});
  return {name_of(o),
          o.get_string({"spec", "schedule"}),
          or_text(o.get_string({"spec", "timeZone"}), "<none>"),
          suspend ? "True" : "False",
          static_cast<int64_t>(size_at(o, {"status", "active"})),
          last,
          age(o, now),
          joined(containers, "name"),
          joined(containers, "image"),
          selector_text(o.find_path({"spec", "jobTemplate", "spec", "selector"}))};
}

Array deployment_cells(const Value& o, Instant now) {
  const Array& containers = list(o, {"spec", "template", "spec", "containers"});
  return {name_of(o),
          counts(o, {"status", "readyReplicas"}, {"spec", "replicas"}),
          std::to_string(o.get_int({"status", "updatedReplicas"})),
          std::to_string(o.get_int({"status", "availableReplicas"})),
          age(o, now),
          joined(containers, "name"),
          joined(containers, "image"),
          selector_text(o.find_path({"spec", "selector"}))};
}

Array replica_set_cells(const Value& o, Instant now) {
  const Array& containers = list(o, {"spec", "template", "spec", "containers"});
  const Value* selector = o.find_path({"spec", "selector"});
  const bool controller = o.get_string({"kind"}) == "ReplicationController";
  return {name_of(o),
          o.get_int({"spec", "replicas"}, 1),
          o.get_int({"status", "replicas"}),
          o.get_int({"status", "readyReplicas"}),
          age(o, now),
          joined(containers, "name"),
          joined(containers, "image"),
          controller ? labels_text(selector) : selector_text(selector)};
}

Array stateful_set_cells(const Value& o, Instant now) {
  const Array& containers = list(o, {"spec", "template", "spec", "containers"});
  return {name_of(o), counts(o, {"status", "readyReplicas"}, {"spec", "replicas"}), age(o, now),
          joined(containers, "name"), joined(containers, "image")};
}

Array daemon_set_cells(const Value& o, Instant now) {
  const Array& containers = list(o, {"spec", "template", "spec", "containers"});
  return {name_of(o),
          o.get_int({"status", "desiredNumberScheduled"}),
          o.get_int({"status", "currentNumberScheduled"}),
          o.get_int({"status", "numberReady"}),
          o.get_int({"status", "updatedNumberScheduled"}),
          o.get_int({"status", "numberAvailable"}),
          labels_text(o.find_path({"spec", "template", "spec", "nodeSelector"})),
          age(o, now),
          joined(containers, "name"),
          joined(containers, "image"),
          selector_text(o.find_path({"spec", "selector"}))};
}

Array namespace_cells(const Value& o, Instant now) {
  return {name_of(o), o.get_string({"status", "phase"}), age(o, now)};
}
Array name_age_cells(const Value& o, Instant now) { return {name_of(o), age(o, now)}; }
Array config_map_cells(const Value& o, Instant now) {
  return {name_of(o), std::to_string(size_at(o, {"data"}) + size_at(o, {"binaryData"})),
          age(o, now)};
}
Array secret_cells(const Value& o, Instant now) {
  return {name_of(o), o.get_string({"type"}), std::to_string(size_at(o, {"data"})), age(o, now)};
}

Array service_cells(const Value& o, Instant now) {
  std::string ports;
  for (const Value& p : list(o, {"spec", "ports"})) {
    ports += (ports.empty() ? "" : ",") + std::to_string(p.get_int({"port"}));
    if (const int64_t node = p.get_int({"nodePort"}); node != 0)
      ports += ":" + std::to_string(node);
    ports += "/" + std::string(p.get_string({"protocol"}));
  }
  std::string external = "<none>";
  if (o.get_string({"spec", "type"}) == "LoadBalancer") external = "<pending>";
  if (o.get_string({"spec", "type"}) == "ExternalName")
    external = o.get_string({"spec", "externalName"});
  return {name_of(o),
          o.get_string({"spec", "type"}),
          or_text(o.get_string({"spec", "clusterIP"}), "<none>"),
          external,
          or_text(ports, "<none>"),
          age(o, now),
          labels_text(o.find_path({"spec", "selector"}))};
}

Array quota_cells(const Value& o, Instant now) {
  std::map<std::string, std::string> requests, limits;
  if (const Value* hard = o.find_path({"status", "hard"}); hard && hard->is_object())
    for (const auto& [key, value] : hard->as_object()) {
      const Value* used = o.find_path({"status", "used", key});
      const std::string text = key + ": " +
                               std::string(used == nullptr ? "0" : used->string_or("0")) + "/" +
                               std::string(value.string_or(""));
      (key.starts_with("limits.") ? limits : requests)[key] = text;
    }
  const auto join = [](const std::map<std::string, std::string>& texts) {
    std::string out;
    for (const auto& [key, text] : texts) out += (out.empty() ? "" : ", ") + text;
    return out;
  };
  return {name_of(o), join(requests), join(limits), age(o, now)};
}

Array priority_class_cells(const Value& o, Instant now) {
  return {name_of(o), o.get_int({"value"}), o.get_bool({"globalDefault"}), age(o, now),
          o.get_string({"preemptionPolicy"})};
}
Array lease_cells(const Value& o, Instant now) {
  return {name_of(o), o.get_string({"spec", "holderIdentity"}), age(o, now)};
}
Array runtime_class_cells(const Value& o, Instant now) {
  return {name_of(o), o.get_string({"handler"}), age(o, now)};
}
Array webhook_cells(const Value& o, Instant now) {
  return {name_of(o), static_cast<int64_t>(size_at(o, {"webhooks"})), age(o, now)};
}
Array policy_cells(const Value& o, Instant now) {
  const Value* kind = o.find_path({"spec", "paramKind"});
  const std::string param = kind == nullptr ? "<unset>"
                                            : std::string(kind->get_string({"apiVersion"})) + "/" +
                                                  std::string(kind->get_string({"kind"}));
  const size_t n = std::max(size_at(o, {"spec", "validations"}), size_at(o, {"spec", "mutations"}));
  return {name_of(o), static_cast<int64_t>(n), param, age(o, now)};
}
Array budget_cells(const Value& o, Instant now) {
  return {name_of(o), text_or_number(o.find_path({"spec", "minAvailable"}), "N/A"),
          text_or_number(o.find_path({"spec", "maxUnavailable"}), "N/A"),
          o.get_int({"status", "disruptionsAllowed"}), age(o, now)};
}

Array binding_cells(const Value& o, Instant now) {
  std::string users, groups, accounts;
  for (const Value& s : list(o, {"subjects"})) {
    const std::string_view kind = s.get_string({"kind"});
    const std::string name(s.get_string({"name"}));
    std::string& into = kind == "User" ? users : kind == "Group" ? groups : accounts;
    if (!into.empty()) into += ", ";
    into += kind == "ServiceAccount" ? std::string(s.get_string({"namespace"})) + "/" + name : name;
  }
  return {name_of(o),
          std::string(o.get_string({"roleRef", "kind"})) + "/" +
              std::string(o.get_string({"roleRef", "name"})),
          age(o, now),
          users,
          groups,
          accounts};
}

Array claim_cells(const Value& o, Instant now) {
  std::string modes;
  for (const Value& m : list(o, {"status", "accessModes"})) {
    const std::string_view text = m.string_or("");
    modes += (modes.empty() ? "" : ",") + std::string(text == "ReadWriteOnce"   ? "RWO"
                                                      : text == "ReadOnlyMany"  ? "ROX"
                                                      : text == "ReadWriteMany" ? "RWX"
                                                                                : "RWOP");
  }
  const std::string phase(o.find_path({"metadata", "deletionTimestamp"}) != nullptr
                              ? "Terminating"
                              : o.get_string({"status", "phase"}));
  return {name_of(o),
          phase,
          o.get_string({"spec", "volumeName"}),
          o.get_string({"status", "capacity", "storage"}),
          modes,
          o.get_string({"spec", "storageClassName"}),
          or_text(o.get_string({"spec", "volumeAttributesClassName"}), "<unset>"),
          age(o, now),
          o.get_string({"spec", "volumeMode"})};
}

Array resource_claim_cells(const Value& o, Instant now) {
  std::string state = o.find_path({"status", "allocation"}) == nullptr ? "pending" : "allocated";
  if (!list(o, {"status", "reservedFor"}).empty()) state += ",reserved";
  if (o.find_path({"metadata", "deletionTimestamp"}) != nullptr) state = "deleted," + state;
  return {name_of(o), state, age(o, now)};
}
Array resource_slice_cells(const Value& o, Instant now) {
  return {name_of(o), or_text(o.get_string({"spec", "nodeName"}), "<unset>"),
          o.get_string({"spec", "driver"}), o.get_string({"spec", "pool", "name"}), age(o, now)};
}
Array template_cells(const Value& o, Instant now) {
  (void)now;
  const Array& containers = list(o, {"template", "spec", "containers"});
  return {name_of(o), joined(containers, "name"), joined(containers, "image"),
          labels_text(o.find_path({"template", "metadata", "labels"}))};
}

const ColumnSet kSets[] = {
    {"/pods",
     "Name:string/"
     "name|Ready:string|Status:string|Restarts:string|Age:string|IP:string*|Node:string*|Nominated "
     "Node:string*|Readiness Gates:string*",
     pod_cells},
    {"/nodes",
     "Name:string/name|Status:string|Roles:string|Age:string|Version:string|Internal-IP:string*|"
     "External-IP:string*|OS-Image:string*|Kernel-Version:string*|Container-Runtime:string*",
     node_cells},
    {"/events",
     "Last Seen:string|Type:string|Reason:string|Object:string|Subobject:string*|Source:string*|"
     "Message:string|First Seen:string*|Count:string*|Name:string/name*",
     event_cells},
    {"/namespaces", "Name:string/name|Status:string|Age:string", namespace_cells},
    {"/configmaps", "Name:string/name|Data:string|Age:string", config_map_cells},
    {"/secrets", "Name:string/name|Type:string|Data:string|Age:string", secret_cells},
    {"/serviceaccounts", "Name:string/name|Age:string", name_age_cells},
    {"/services",
     "Name:string/name|Type:string|Cluster-IP:string|External-IP:string|Port(s):string|Age:string|"
     "Selector:string*",
     service_cells},
    {"/resourcequotas", "Name:string/name|Request:string|Limit:string|Age:string", quota_cells},
    {"/persistentvolumeclaims",
     "Name:string/name|Status:string|Volume:string|Capacity:string|Access "
     "Modes:string|StorageClass:string|VolumeAttributesClass:string|Age:string|VolumeMode:string*",
     claim_cells},
    {"/podtemplates", "Name:string/name|Containers:string|Images:string|Pod Labels:string",
     template_cells},
    {"/replicationcontrollers",
     "Name:string/name|Desired:integer|Current:integer|Ready:integer|Age:string|Containers:string*|"
     "Images:string*|Selector:string*",
     replica_set_cells},
    {"apps/replicasets",
     "Name:string/name|Desired:integer|Current:integer|Ready:integer|Age:string|Containers:string*|"
     "Images:string*|Selector:string*",
     replica_set_cells},
    {"apps/deployments",
     "Name:string/name|Ready:string|Up-to-date:string|Available:string|Age:string|Containers:"
     "string*|Images:string*|Selector:string*",
     deployment_cells},
    {"apps/statefulsets",
     "Name:string/name|Ready:string|Age:string|Containers:string*|Images:string*",
     stateful_set_cells},
    {"apps/daemonsets",
     "Name:string/name|Desired:integer|Current:integer|Ready:integer|Up-to-date:integer|Available:"
     "integer|Node Selector:string|Age:string|Containers:string*|Images:string*|Selector:string*",
     daemon_set_cells},
    {"batch/jobs",
     "Name:string/name|Status:string|Completions:string|Duration:string|Age:string|Containers:"
     "string*|Images:string*|Selector:string*",
     job_cells},
    {"batch/cronjobs",
     "Name:string/name|Schedule:string|Timezone:string|Suspend:boolean|Active:integer|Last "
     "Schedule:string|Age:string|Containers:string*|Images:string*|Selector:string*",
     cron_job_cells},
    {"scheduling.k8s.io/priorityclasses",
     "Name:string/"
     "name|Value:integer|Global-Default:boolean|Age:string|PreemptionPolicy:string",
     priority_class_cells},
    {"coordination.k8s.io/leases", "Name:string/name|Holder:string|Age:string", lease_cells},
    {"node.k8s.io/runtimeclasses", "Name:string/name|Handler:string|Age:string",
     runtime_class_cells},
    {"admissionregistration.k8s.io/mutatingwebhookconfigurations",
     "Name:string/name|Webhooks:integer|Age:string", webhook_cells},
    {"admissionregistration.k8s.io/validatingwebhookconfigurations",
     "Name:string/name|Webhooks:integer|Age:string", webhook_cells},
    {"admissionregistration.k8s.io/validatingadmissionpolicies",
     "Name:string/name|Validations:integer|ParamKind:string|Age:string", policy_cells},
    {"admissionregistration.k8s.io/mutatingadmissionpolicies",
     "Name:string/name|Mutations:integer|ParamKind:string|Age:string", policy_cells},
    {"policy/poddisruptionbudgets",
     "Name:string/name|Min Available:string|Max Unavailable:string|Allowed "
     "Disruptions:integer|Age:string",
     budget_cells},
    {"rbac.authorization.k8s.io/rolebindings",
     "Name:string/"
     "name|Role:string|Age:string|Users:string*|Groups:string*|ServiceAccounts:string*",
     binding_cells},
    {"rbac.authorization.k8s.io/clusterrolebindings",
     "Name:string/"
     "name|Role:string|Age:string|Users:string*|Groups:string*|ServiceAccounts:string*",
     binding_cells},
    {"resource.k8s.io/deviceclasses", "Name:string/name|Age:string", name_age_cells},
    {"resource.k8s.io/resourceclaims", "Name:string/name|State:string|Age:string",
     resource_claim_cells},
    {"resource.k8s.io/resourceclaimtemplates", "Name:string/name|Age:string", name_age_cells},
    {"resource.k8s.io/resourceslices",
     "Name:string/name|Node:string|Driver:string|Pool:string|Age:string", resource_slice_cells},
};

}  // namespace

const ColumnSet* columns_of(std::string_view collection) {
  for (const ColumnSet& set : kSets)
    if (set.collection == collection) return &set;
  return nullptr;
}

std::string age(const json::Value& object, Instant now) {
  const auto made = parse_time(object.get_string({"metadata", "creationTimestamp"}));
  return made.ok() ? human_duration(now - *made) : "<unknown>";
}

}  // namespace kueue::apiserver
