#include "sim/quota_tree.h"

#include <algorithm>
#include <set>

namespace kueue::sim {

Quota quota_of(const json::Value& object) {
  Quota quota;
  quota.parent = object.get_string({"spec", "cohortName"});
  if (quota.parent.empty()) quota.parent = object.get_string({"spec", "parentName"});
  const json::Value* groups = object.find_path({"spec", "resourceGroups"});
  if (groups == nullptr || !groups->is_array()) return quota;
  for (const json::Value& group : groups->as_array()) {
    for (const json::Value& flavor : group.find("flavors")->as_array()) {
      const std::string name(flavor.get_string({"name"}));
      quota.flavors.push_back(name);
      for (const json::Value& resource : flavor.find("resources")->as_array()) {
        const std::pair key(name, std::string(resource.get_string({"name"})));
        quota.nominal[key] = amount(resource.find("nominalQuota"), key.second);
        if (const auto* limit = resource.find("borrowingLimit"))
          quota.borrowing[key] = amount(limit, key.second);
        if (const auto* limit = resource.find("lendingLimit"))
          quota.lending[key] = amount(limit, key.second);
      }
    }
  }
  return quota;
}

bool is_active(const Cluster& cluster, const json::Value& queue) {
  if (deleting(queue) || stopped(queue)) return false;
  if (const json::Value* checks =
          queue.find_path({"spec", "admissionChecksStrategy", "admissionChecks"}))
    for (const json::Value& check : checks->as_array())
      if (cluster.find("admissionchecks", "", std::string(check.get_string({"name"}))) == nullptr)
        return false;
  for (const std::string& name : quota_of(queue).flavors) {
    const json::Value* flavor = cluster.find("resourceflavors", "", name);
    if (flavor == nullptr) return false;
    const std::string topology(flavor->get_string({"spec", "topologyName"}));
    if (!topology.empty() && cluster.find("topologies", "", topology) == nullptr) return false;
  }
  return true;
}

QuotaTree::QuotaTree(const Cluster& cluster, std::map<std::string, Amounts> usage)
    : usage_(std::move(usage)) {
  for (const auto& [key, queue] : cluster.all("clusterqueues"))
    nodes_["q/" + key.second] = quota_of(queue);  // also of those that are stopped or going
  for (const auto& [key, cohort] : cluster.all("cohorts"))
    nodes_["c/" + key.second] = quota_of(cohort);
  std::vector<std::string> named;
  for (const auto& [key, node] : nodes_)
    if (!node.parent.empty()) named.push_back("c/" + node.parent);
  for (const std::string& name : named) nodes_[name];
}

std::string QuotaTree::root_of(const std::string& queue) const {
  std::string at = "q/" + queue;
  std::set<std::string> seen{at};
  while (!nodes_.at(at).parent.empty()) {
    at = "c/" + nodes_.at(at).parent;
    if (!seen.insert(at).second) return "";
  }
  return at;
}

std::vector<const std::string*> QuotaTree::children(const std::string& parent) const {
  std::vector<const std::string*> list;
  for (const auto& [id, node] : nodes_)
    if (!node.parent.empty() && "c/" + node.parent == parent) list.push_back(&id);
  return list;
}

int64_t QuotaTree::subtree(const std::string& id, const Amounts::key_type& fr) const {
  int64_t sum = of(nodes_.at(id).nominal, fr);
  for (const std::string* child : children(id)) sum += subtree(*child, fr) - local_part(*child, fr);
  return sum;
}

int64_t QuotaTree::local_part(const std::string& id, const Amounts::key_type& fr) const {
  const Amounts& lending = nodes_.at(id).lending;
  auto limit = lending.find(fr);
  return limit == lending.end() ? 0 : std::max<int64_t>(0, subtree(id, fr) - limit->second);
}

int64_t QuotaTree::use(const std::string& id, const Amounts::key_type& fr) const {
  if (id.starts_with("q/")) {
    auto own = usage_.find(id.substr(2));
    return own == usage_.end() ? 0 : of(own->second, fr);
  }
  int64_t sum = 0;
  for (const std::string* child : children(id))
    sum += std::max<int64_t>(0, use(*child, fr) - local_part(*child, fr));
  return sum;
}

int64_t QuotaTree::available_at(const std::string& id, const Amounts::key_type& fr) const {
  const Quota& node = nodes_.at(id);
  const int64_t s = subtree(id, fr), u = use(id, fr), l = local_part(id, fr);
  if (node.parent.empty()) return s - u;
  int64_t above = available_at("c/" + node.parent, fr);
  auto limit = node.borrowing.find(fr);
  if (limit != node.borrowing.end())
    above = std::min(above, (s - l) - std::max<int64_t>(0, u - l) + limit->second);
  return std::max<int64_t>(0, l - u) + above;
}

int64_t QuotaTree::available(const std::string& queue, const Amounts::key_type& fr) const {
  return std::max<int64_t>(0, available_at("q/" + queue, fr));
}

}  // namespace kueue::sim
