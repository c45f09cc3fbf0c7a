#include "standins/placement.h"

#include <algorithm>

#include "standins/affinity.h"
#include "standins/documents.h"

namespace kueue::standins {

namespace {

Amounts amounts_at(const json::Value* object) {
  Amounts result;
  if (object == nullptr || !object->is_object()) return result;
  for (const auto& [name, value] : object->as_object()) {
    Result<api::Quantity> quantity = api::Quantity::from_json(value);
    if (quantity.ok()) result[name] = *quantity;  // the server has refused what does not parse
  }
  return result;
}

void raise_to(Amounts& to, const Amounts& what) {
  for (const auto& [name, quantity] : what) {
    api::Quantity& held = to[name];
    if (held < quantity) held = quantity;
  }
}

const json::Array& items_at(const json::Value& value,
                            std::initializer_list<std::string_view> path) {
  static const json::Array none;
  const json::Value* found = value.find_path(path);
  return found != nullptr && found->is_array() ? found->as_array() : none;
}

// Init containers run one after the other; those with restartPolicy Always stay.
Amounts container_requests(const json::Value& pod) {
  Amounts total, sidecars, peak;
  for (const json::Value& container : items_at(pod, {"spec", "initContainers"})) {
    Amounts own = amounts_at(container.find_path({"resources", "requests"}));
    if (container.get_string({"restartPolicy"}) == "Always") {
      add_amounts(sidecars, own);
      raise_to(peak, sidecars);
    } else {
      add_amounts(own, sidecars);
      raise_to(peak, own);
    }
  }
  for (const json::Value& container : items_at(pod, {"spec", "containers"}))
    add_amounts(total, amounts_at(container.find_path({"resources", "requests"})));
  add_amounts(total, sidecars);
  raise_to(total, peak);
  return total;
}

bool expression_holds(const json::Value& expression, const wire::LabelMap& labels) {
  std::string_view key = expression.get_string({"key"});
  std::string_view op = expression.get_string({"operator"});
  auto found = labels.find(key);
  if (op == "Exists") return found != labels.end();
  if (op == "DoesNotExist") return found == labels.end();
  const json::Array& values = items_at(expression, {"values"});
  bool listed = found != labels.end() &&
                std::any_of(values.begin(), values.end(), [&](const json::Value& value) {
                  return value.string_or("") == found->second;
                });
  if (op == "In") return listed;
  if (op == "NotIn") return !listed;
  if ((op == "Gt" || op == "Lt") && found != labels.end() && values.size() == 1) {
    char* end = nullptr;
    long long have = std::strtoll(found->second.c_str(), &end, 10);
    if (end == found->second.c_str() || *end != 0) return false;
    long long bound = std::strtoll(std::string(values[0].string_or("")).c_str(), nullptr, 10);
    return op == "Gt" ? have > bound : have < bound;
  }
  return false;
}

bool term_holds(const json::Value& term, const json::Value& node) {
  const json::Array& expressions = items_at(term, {"matchExpressions"});
  const json::Array& fields = items_at(term, {"matchFields"});
  if (expressions.empty() && fields.empty()) return false;
  wire::LabelMap labels = labels_of(node);
  wire::LabelMap names = {{"metadata.name", std::string(node.get_string({"metadata", "name"}))}};
  return std::all_of(expressions.begin(), expressions.end(),
                     [&](const json::Value& each) { return expression_holds(each, labels); }) &&
         std::all_of(fields.begin(), fields.end(),
                     [&](const json::Value& each) { return expression_holds(each, names); });
}

// The first taint that keeps the Pod away; nullptr when none does.
const json::Value* untolerated_taint(const json::Value& pod, const json::Value& node) {
  const json::Array& tolerations = items_at(pod, {"spec", "tolerations"});
  for (const json::Value& taint : items_at(node, {"spec", "taints"})) {
    std::string_view effect = taint.get_string({"effect"});
    if (effect != "NoSchedule" && effect != "NoExecute") continue;
    bool tolerated = std::any_of(tolerations.begin(), tolerations.end(),
                                 [&](const json::Value& each) { return tolerates(each, taint); });
    if (!tolerated) return &taint;
  }
  return nullptr;
}

// "2 this, 1 that", sorted as kube-scheduler sorts it.
std::string counted(const std::map<std::string, int>& counts) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(std::to_string(count) + " " + reason);
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace

void add_amounts(Amounts& to, const Amounts& what) {
  for (const auto& [name, quantity] : what) to[name].add(quantity);
}

void subtract_amounts(Amounts& from, const Amounts& what) {
  for (const auto& [name, quantity] : what) from[name].sub(quantity);
}

Amounts pod_requests(const json::Value& pod) {
  Amounts total = container_requests(pod);
  for (const auto& [name, quantity] : amounts_at(pod.find_path({"spec", "resources", "requests"})))
    total[name] = quantity;
  add_amounts(total, amounts_at(pod.find_path({"spec", "overhead"})));
  total["pods"] = api::Quantity::of(1);
  return total;
}

bool tolerates(const json::Value& toleration, const json::Value& taint) {
  std::string_view effect = toleration.get_string({"effect"});
  if (!effect.empty() && effect != taint.get_string({"effect"})) return false;
  std::string_view key = toleration.get_string({"key"});
  if (!key.empty() && key != taint.get_string({"key"})) return false;
  std::string_view op = toleration.get_string({"operator"}, "Equal");
  if (op == "Exists") return true;
  return !key.empty() && toleration.get_string({"value"}) == taint.get_string({"value"});
}

bool matches_node(const json::Value& pod, const json::Value& node) {
  if (const json::Value* selector = pod.find_path({"spec", "nodeSelector"});
      selector != nullptr && selector->is_object()) {
    wire::LabelMap labels = labels_of(node);
    for (const auto& [name, value] : selector->as_object()) {
      auto found = labels.find(name);
      if (found == labels.end() || found->second != value.string_or("")) return false;
    }
  }
  const json::Value* required = pod.find_path(
      {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  if (required == nullptr || !required->is_object()) return true;
  const json::Array& terms = items_at(*required, {"nodeSelectorTerms"});
  return std::any_of(terms.begin(), terms.end(),
                     [&](const json::Value& term) { return term_holds(term, node); });
}

std::vector<std::string> obstacles(const json::Value& pod, const Amounts& requests,
                                   const NodeState& node, bool empty) {
  if (node.node.get_bool({"spec", "unschedulable"})) return {"node(s) were unschedulable"};
  if (const json::Value* taint = untolerated_taint(pod, node.node)) {
    std::string value(taint->get_string({"value"}));
    return {"node(s) had untolerated taint(s) {" + std::string(taint->get_string({"key"})) +
            (value.empty() ? "" : "=" + value) + "}"};
  }
  if (!matches_node(pod, node.node)) return {"node(s) didn't match Pod's node affinity/selector"};
  std::vector<std::string> missing;
  for (const auto& [name, quantity] : requests) {
    if (quantity.is_zero()) continue;
    auto allocatable = node.allocatable.find(name);
    api::Quantity left =
        allocatable == node.allocatable.end() ? api::Quantity() : allocatable->second;
    if (auto used = node.used.find(name); !empty && used != node.used.end()) left.sub(used->second);
    if (left < quantity)
      missing.push_back(name == "pods" ? "Too many pods" : "Insufficient " + name);
  }
  return missing;
}

std::optional<std::string> choose_node(const json::Value& pod, const Amounts& requests,
                                       const std::map<std::string, NodeState>& nodes,
                                       const std::map<std::string, PlacedPod>& placed,
                                       std::string& why) {
  const AffinityCheck affinity(pod, placed, nodes);
  const AffinityCheck alone(pod, {}, nodes);
  std::optional<std::string> best;
  double best_share = 0;
  std::map<std::string, int> counts, preemption;
  for (const auto& [name, node] : nodes) {
    std::vector<std::string> reasons = obstacles(pod, requests, node);
    if (reasons.empty())
      if (std::string reason = affinity.obstacle(node.node); !reason.empty())
        reasons.push_back(std::move(reason));
    for (const std::string& reason : reasons) ++counts[reason];
    if (!reasons.empty()) {
      ++preemption[obstacles(pod, requests, node, /*empty=*/true).empty() &&
                           alone.obstacle(node.node).empty()
                       ? "No preemption victims found for incoming pod."
                       : "Preemption is not helpful for scheduling."];
      continue;
    }
    auto has = node.allocatable.find("cpu");
    auto used = node.used.find("cpu");
    double total = has == node.allocatable.end() ? 0 : has->second.as_double();
    double share = total > 0 && used != node.used.end() ? used->second.as_double() / total : 0;
    if (!best || share < best_share) {
      best = name;
      best_share = share;
    }
  }
  if (best) return best;
  std::string total = std::to_string(nodes.size());
  if (nodes.empty()) {
    why = "no nodes available to schedule pods";
    return std::nullopt;
  }
  why = "0/" + total + " nodes are available: " + counted(counts) +
        ". no new claims to deallocate, preemption: 0/" + total +
        " nodes are available: " + counted(preemption);
  return std::nullopt;
}

}  // namespace kueue::standins
