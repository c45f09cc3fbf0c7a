// v1beta1 <-> v1beta2, one pair of functions per kind whose versions differ.
#include "api/conversion.h"

#include <string>
#include <utility>

#include "api/registry.h"
#include "api/topology_assignment.h"
#include "schema/codec.h"

namespace kueue::api {
namespace {

using json::Value;

constexpr std::string_view kGroup = "kueue.x-k8s.io";

// Moves the member `from` of the object at `path` to the name `to`.
void rename(Value& object, std::initializer_list<std::string_view> path, std::string_view from,
            std::string_view to) {
  Value* parent = object.find_path(path);
  if (parent == nullptr || !parent->is_object()) return;
  Value* member = parent->find(from);
  if (member == nullptr) return;
  Value moved = std::move(*member);
  parent->as_object().erase(from);
  if (!moved.is_null()) parent->as_object().set(to, std::move(moved));
}

json::Array* array_at(Value& object, std::initializer_list<std::string_view> path) {
  Value* value = object.find_path(path);
  return value != nullptr && value->is_array() ? &value->as_array() : nullptr;
}

// The members of `path` that are empty objects now were made by us or say nothing.
void erase_if_empty(Value& object, std::initializer_list<std::string_view> path) {
  const Value* value = object.find_path(path);
  if (value != nullptr && value->is_object() && value->as_object().empty()) object.erase_path(path);
}

void replace_text(Value& object, std::initializer_list<std::string_view> path,
                  std::string_view old_text, std::string_view new_text) {
  Value* value = object.find_path(path);
  if (value != nullptr && value->string_or("") == old_text) *value = Value(new_text);
}

Result<void> cluster_queue_up(Value& object) {
  rename(object, {"spec"}, "cohort", "cohortName");
  replace_text(object, {"spec", "flavorFungibility", "whenCanBorrow"}, "Borrow", "MayStopSearch");
  replace_text(object, {"spec", "flavorFungibility", "whenCanPreempt"}, "Preempt", "MayStopSearch");
  if (json::Array* checks = array_at(object, {"spec", "admissionChecks"});
      checks != nullptr && !checks->empty()) {
    json::Array names = std::move(*checks);
    Value& list = object.at_path({"spec", "admissionChecksStrategy", "admissionChecks"});
    if (!list.is_array()) list = json::Array{};
    for (Value& name : names) {
      bool known = false;
      for (const Value& rule : list.as_array())
        known = known || rule.get_string({"name"}) == name.string_or("");
      if (!known) list.as_array().push_back(Value::object({{"name", std::move(name)}}));
    }
  }
  object.erase_path({"spec", "admissionChecks"});
  object.erase_path({"status", "pendingWorkloadsStatus"});
  object.erase_path({"status", "fairSharing", "admissionFairSharingStatus"});
  // As Kueue's conversion, which goes through structs, writes it.
  if (object.find("status") == nullptr) object["status"] = Value::object();
  return {};
}

Result<void> cluster_queue_down(Value& object) {
  rename(object, {"spec"}, "cohortName", "cohort");
  object.erase_path({"spec", "concurrentAdmissionPolicy"});
  return {};
}

Result<void> cohort_up(Value& object) {
  object.erase_path({"status", "fairSharing", "admissionFairSharingStatus"});
  return {};
}

Result<void> local_queue_up(Value& object) {
  rename(object, {"status"}, "flavorUsage", "flavorsUsage");
  object.erase_path({"status", "flavors"});
  return {};
}

Result<void> local_queue_down(Value& object) {
  rename(object, {"status"}, "flavorsUsage", "flavorUsage");
  return {};
}

Result<void> multi_kueue_cluster_up(Value& object) {
  Value source = Value::object();
  if (Value* profile = object.find_path({"spec", "clusterProfileRef"});
      profile != nullptr && !profile->is_null())
    source["clusterProfileRef"] = *profile;
  // v1beta1 demands a kubeConfig even beside a cluster profile; without a location it says nothing.
  if (!object.get_string({"spec", "kubeConfig", "location"}).empty())
    source["kubeConfig"] = *object.find_path({"spec", "kubeConfig"});
  object.erase_path({"spec", "clusterProfileRef"});
  object.erase_path({"spec", "kubeConfig"});
  if (!source.as_object().empty()) object.at_path({"spec", "clusterSource"}) = std::move(source);
  erase_if_empty(object, {"spec"});
  return {};
}

Result<void> multi_kueue_cluster_down(Value& object) {
  Value kube_config = Value::object({{"location", ""}, {"locationType", ""}});
  if (Value* given = object.find_path({"spec", "clusterSource", "kubeConfig"});
      given != nullptr && given->is_object())
    kube_config = std::move(*given);
  Value profile;
  if (Value* given = object.find_path({"spec", "clusterSource", "clusterProfileRef"});
      given != nullptr)
    profile = std::move(*given);
  object.erase_path({"spec", "clusterSource"});
  object.at_path({"spec", "kubeConfig"}) = std::move(kube_config);
  if (!profile.is_null()) object.at_path({"spec", "clusterProfileRef"}) = std::move(profile);
  return {};
}

// How the two versions say where a priority comes from.
struct PrioritySource {
  std::string_view source;  // v1beta1
  std::string_view group;   // v1beta2
  std::string_view kind;
};
constexpr PrioritySource kPrioritySources[] = {
    {"kueue.x-k8s.io/workloadpriorityclass", "kueue.x-k8s.io", "WorkloadPriorityClass"},
    {"scheduling.k8s.io/priorityclass", "scheduling.k8s.io", "PriorityClass"},
};

void priority_up(Value& object) {
  const std::string name(object.get_string({"spec", "priorityClassName"}));
  const std::string source(object.get_string({"spec", "priorityClassSource"}));
  object.erase_path({"spec", "priorityClassName"});
  object.erase_path({"spec", "priorityClassSource"});
  for (const PrioritySource& s : kPrioritySources) {
    if (s.source != source) continue;
    object.at_path({"spec", "priorityClassRef"}) =
        Value::object({{"group", s.group}, {"kind", s.kind}, {"name", name}});
  }
}

void priority_down(Value& object) {
  const std::string name(object.get_string({"spec", "priorityClassRef", "name"}));
  const std::string group(object.get_string({"spec", "priorityClassRef", "group"}));
  object.erase_path({"spec", "priorityClassRef"});
  for (const PrioritySource& s : kPrioritySources) {
    if (s.group != group) continue;
    object.at_path({"spec", "priorityClassName"}) = Value(name);
    object.at_path({"spec", "priorityClassSource"}) = Value(s.source);
  }
}

Result<Value> topology_up(const Value& old) {
  Result<std::vector<std::string>> levels = std::vector<std::string>{};
  if (const Value* list = old.find("levels"))
    levels = schema::decode<std::vector<std::string>>(*list);
  KUEUE_TRY(levels);
  std::vector<TopologyDomain> domains;
  const Value* list = old.find("domains");
  if (list != nullptr && list->is_array()) {
    for (const Value& item : list->as_array()) {
      TopologyDomain& domain = domains.emplace_back();
      domain.count = static_cast<int32_t>(item.get_int({"count"}));
      const Value* values = item.find("values");
      if (values == nullptr || !values->is_array() || values->as_array().size() != levels->size()) {
        return make_error(ErrorCode::kInvalid, "topologyAssignment.domains[" +
                                                   std::to_string(domains.size() - 1) +
                                                   "].values: must have one value for each level");
      }
      for (const Value& value : values->as_array()) domain.values.emplace_back(value.string_or(""));
    }
  }
  return schema::encode(pack_topology(*levels, domains));
}

Result<Value> topology_down(const Value& packed) {
  KUEUE_ASSIGN(const v1beta2::TopologyAssignment assignment,
               schema::decode<v1beta2::TopologyAssignment>(packed));
  KUEUE_ASSIGN(const std::vector<TopologyDomain> domains, unpack_topology(assignment));
  json::Array list;
  for (const TopologyDomain& domain : domains) {
    list.push_back(Value::object({{"count", static_cast<int64_t>(domain.count)},
                                  {"values", schema::encode(domain.values)}}));
  }
  return Value::object(
      {{"domains", std::move(list)}, {"levels", schema::encode(assignment.levels)}});
}

Result<void> topologies(Value& object, Result<Value> (*convert)(const Value&)) {
  json::Array* assignments = array_at(object, {"status", "admission", "podSetAssignments"});
  if (assignments == nullptr) return {};
  for (Value& assignment : *assignments) {
    Value* topology = assignment.find("topologyAssignment");
    if (topology == nullptr || !topology->is_object()) continue;
    KUEUE_ASSIGN(*topology, convert(*topology));
  }
  return {};
}

// As Kueue's conversion, which goes through structs, writes it.
void template_metadata(Value& object) {
  json::Array* pod_sets = array_at(object, {"spec", "podSets"});
  if (pod_sets == nullptr) return;
  for (Value& pod_set : *pod_sets) {
    Value* pod = pod_set.find("template");
    if (pod != nullptr && pod->is_object() && pod->find("metadata") == nullptr)
      (*pod)["metadata"] = Value::object();
  }
}

Result<void> workload_up(Value& object) {
  priority_up(object);
  template_metadata(object);
  rename(object, {"status"}, "accumulatedPastExexcutionTimeSeconds",
         "accumulatedPastExecutionTimeSeconds");
  return topologies(object, &topology_up);
}

Result<void> workload_down(Value& object) {
  priority_down(object);
  rename(object, {"status"}, "accumulatedPastExecutionTimeSeconds",
         "accumulatedPastExexcutionTimeSeconds");
  object.erase_path({"spec", "preemptionGates"});
  object.erase_path({"status", "preemptionGates"});
  if (json::Array* pod_sets = array_at(object, {"spec", "podSets"})) {
    for (Value& pod_set : *pod_sets)
      pod_set.erase_path({"topologyRequest", "podsetSliceRequiredTopologyConstraints"});
  }
  return topologies(object, &topology_down);
}

Result<void> nothing(Value&) { return {}; }

Result<void> admission_check_up(Value& object) {
  object.erase_path({"spec", "retryDelayMinutes"});
  return {};
}

Result<void> multi_kueue_config_down(Value& object) {
  object.erase_path({"spec", "quotaManagement"});
  return {};
}

struct Converter {
  std::string_view kind;
  Result<void> (*up)(Value&);    // v1beta1 -> v1beta2
  Result<void> (*down)(Value&);  // v1beta2 -> v1beta1
};
constexpr Converter kConverters[] = {
    {"AdmissionCheck", &admission_check_up, &nothing},
    {"ClusterQueue", &cluster_queue_up, &cluster_queue_down},
    {"Cohort", &cohort_up, &nothing},
    {"LocalQueue", &local_queue_up, &local_queue_down},
    {"MultiKueueCluster", &multi_kueue_cluster_up, &multi_kueue_cluster_down},
    {"MultiKueueConfig", &nothing, &multi_kueue_config_down},
    {"ProvisioningRequestConfig", &nothing, &nothing},
    {"ResourceFlavor", &nothing, &nothing},
    {"Topology", &nothing, &nothing},
    {"Workload", &workload_up, &workload_down},
    {"WorkloadPriorityClass", &nothing, &nothing},
};

}  // namespace

Result<Value> convert_kueue(Value object, std::string_view version) {
  const std::string from(object.get_string({"apiVersion"}));
  const std::string kind(object.get_string({"kind"}));
  const std::string to = std::string(kGroup) + "/" + std::string(version);
  const std::string v1beta1 = std::string(kGroup) + "/v1beta1";
  const std::string v1beta2 = std::string(kGroup) + "/v1beta2";
  if ((from != v1beta1 && from != v1beta2) || (to != v1beta1 && to != v1beta2)) {
    return make_error(ErrorCode::kBadRequest, "no conversion from " + from + " to " + to);
  }
  if (from == to) return object;
  object["apiVersion"] = Value(to);
  if (kind.ends_with("List")) {
    if (json::Array* items = array_at(object, {"items"})) {
      for (Value& item : *items) {
        KUEUE_ASSIGN(item, convert_kueue(std::move(item), version));
      }
    }
    return object;
  }
  for (const Converter& converter : kConverters) {
    if (converter.kind != kind) continue;
    KUEUE_TRY(to == v1beta2 ? converter.up(object) : converter.down(object));
    return object;
  }
  return make_error(ErrorCode::kBadRequest,
                    "no kind \"" + kind + "\" in group " + std::string(kGroup));
}

}  // namespace kueue::api
