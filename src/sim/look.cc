#include "sim/look.h"

#include "api/quantity.h"
#include "json/json.h"

namespace kueue::sim {

std::string name_of(const json::Value& object) {
  return std::string(object.get_string({"metadata", "name"}));
}
std::string namespace_of(const json::Value& object) {
  return std::string(object.get_string({"metadata", "namespace"}));
}
std::string uid_of(const json::Value& object) {
  return std::string(object.get_string({"metadata", "uid"}));
}
bool deleting(const json::Value& object) {
  return object.find_path({"metadata", "deletionTimestamp"}) != nullptr;
}

const json::Value* condition(const json::Value& object, std::string_view type) {
  const json::Value* all = object.find_path({"status", "conditions"});
  if (all == nullptr || !all->is_array()) return nullptr;
  for (const json::Value& one : all->as_array())
    if (one.get_string({"type"}) == type) return &one;
  return nullptr;
}
bool is_true(const json::Value& object, std::string_view type) {
  const json::Value* found = condition(object, type);
  return found != nullptr && found->get_string({"status"}) == "True";
}
std::string reason(const json::Value& object, std::string_view type) {
  const json::Value* found = condition(object, type);
  return found == nullptr ? "" : std::string(found->get_string({"reason"}));
}

std::string brief(const json::Value& object) {
  json::Value copy = object;
  copy.erase_path({"spec", "podSets"});
  copy.erase_path({"spec", "template"});
  copy.erase_path({"spec", "selector"});
  return json::write(copy);
}

int64_t of(const Amounts& amounts, const Amounts::key_type& key) {
  auto found = amounts.find(key);
  return found == amounts.end() ? 0 : found->second;
}

int64_t amount(const json::Value* quantity, std::string_view resource) {
  if (quantity == nullptr) return 0;
  const std::string text = quantity->is_string() ? quantity->as_string()
                           : quantity->is_int()  ? std::to_string(quantity->as_int())
                                                 : "0";
  const auto parsed = api::Quantity::parse(text);
  if (!parsed.ok()) return 0;
  return resource == "cpu" ? parsed->milli_value() : parsed->value();
}

bool stopped(const json::Value& queue) {
  const std::string_view policy = queue.get_string({"spec", "stopPolicy"}, "None");
  return policy != "None" && !policy.empty();
}

bool unfinished(const json::Value& workload) { return !is_true(workload, "Finished"); }

bool reserves(const json::Value& workload) {
  return unfinished(workload) && is_true(workload, "QuotaReserved") &&
         workload.find_path({"status", "admission"}) != nullptr;
}

bool counts(const json::Value& workload) {
  return reserves(workload) && workload.get_bool({"spec", "active"}, true);
}

namespace {

const json::Value* named(const json::Value* list, std::string_view name) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const json::Value& one : list->as_array())
    if (one.get_string({"name"}) == name) return &one;
  return nullptr;
}

}  // namespace

int64_t reclaimed(const json::Value& workload, std::string_view pod_set) {
  const json::Value* found = named(workload.find_path({"status", "reclaimablePods"}), pod_set);
  return found == nullptr ? 0 : found->get_int({"count"});
}

int64_t count_to_run(const json::Value& workload, std::string_view pod_set) {
  const json::Value* set = named(workload.find_path({"spec", "podSets"}), pod_set);
  if (set == nullptr) return 0;
  return std::max<int64_t>(0, set->get_int({"count"}, 1) - reclaimed(workload, pod_set));
}

Amounts charge(const json::Value& workload) {
  Amounts sum;
  const json::Value* sets = workload.find_path({"status", "admission", "podSetAssignments"});
  if (sets == nullptr || !sets->is_array()) return sum;
  for (const json::Value& set : sets->as_array()) {
    const int64_t count = set.get_int({"count"}, 0);
    const int64_t left = std::min(count, count_to_run(workload, set.get_string({"name"})));
    const json::Value* usage = set.find("resourceUsage");
    if (usage == nullptr || !usage->is_object()) continue;
    for (const auto& [resource, quantity] : usage->as_object()) {
      const std::string flavor(set.get_string({"flavors", resource}));
      const int64_t total = amount(&quantity, resource);
      sum[{flavor, resource}] += left < count && count > 0 ? total / count * left : total;
    }
  }
  return sum;
}

const json::Value* workload_of(const Cluster& cluster, const json::Value& job) {
  const json::Value* any = nullptr;
  for (const auto& [key, workload] : cluster.all("workloads")) {
    const json::Value* owners = workload.find_path({"metadata", "ownerReferences"});
    if (owners == nullptr || owners->as_array().empty()) continue;
    if (owners->as_array()[0].get_string({"uid"}) != uid_of(job)) continue;
    if (any == nullptr || unfinished(workload)) any = &workload;
  }
  return any;
}

const json::Value* job_of(const Cluster& cluster, const json::Value& workload) {
  const json::Value* owners = workload.find_path({"metadata", "ownerReferences"});
  if (owners == nullptr || owners->as_array().empty()) return nullptr;
  const json::Value& owner = owners->as_array()[0];
  const json::Value* job =
      cluster.find("jobs", namespace_of(workload), std::string(owner.get_string({"name"})));
  return job != nullptr && uid_of(*job) == owner.get_string({"uid"}) ? job : nullptr;
}

bool job_finished(const json::Value& job) {
  return is_true(job, "Complete") || is_true(job, "Failed");
}

}  // namespace kueue::sim
