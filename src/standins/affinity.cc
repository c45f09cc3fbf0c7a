#include "standins/affinity.h"

#include <algorithm>

#include "standins/documents.h"
#include "wire/selector.h"

namespace kueue::standins {

namespace {

const json::Array& terms_of(const json::Value& pod, std::string_view kind) {
  static const json::Array none;
  const json::Value* found =
      pod.find_path({"spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"});
  return found != nullptr && found->is_array() ? found->as_array() : none;
}

std::string_view node_label(const json::Value& node, std::string_view key) {
  return node.get_string({"metadata", "labels", key});
}

// Whether the term of a Pod in `own_namespace` speaks about a Pod with this namespace and labels.
bool term_matches(const json::Value& term, std::string_view own_namespace,
                  std::string_view namespace_, const wire::LabelMap& labels) {
  const json::Value* names = term.find("namespaces");
  const json::Value* selector = term.find("namespaceSelector");
  bool named = names != nullptr && names->is_array() && !names->as_array().empty();
  bool selected = selector != nullptr && selector->is_object();
  bool here = !named && !selected && namespace_ == own_namespace;
  if (selected) here = selector->as_object().empty();
  if (named)
    for (const json::Value& name : names->as_array())
      here = here || name.string_or("") == namespace_;
  if (!here) return false;
  const auto wanted = wire::LabelSelector::from_object(term.find("labelSelector"));
  return wanted.ok() && wanted->matches(labels);
}

}  // namespace

PlacedPod placed_pod(const json::Value& pod, const std::string& node) {
  PlacedPod placed;
  placed.node = node;
  placed.namespace_ = key_of(pod).namespace_;
  placed.labels = labels_of(pod);
  placed.avoids = terms_of(pod, "podAntiAffinity");
  return placed;
}

AffinityCheck::AffinityCheck(const json::Value& pod, const std::map<std::string, PlacedPod>& placed,
                             const std::map<std::string, NodeState>& nodes) {
  const std::string own_namespace = key_of(pod).namespace_;
  const wire::LabelMap own_labels = labels_of(pod);
  auto domain = [&](const PlacedPod& other, std::string_view key) {
    auto node = nodes.find(other.node);
    return node == nodes.end() ? std::string_view() : node_label(node->second.node, key);
  };
  auto look = [&](const json::Value& term) {
    Term result;
    result.topology_key = term.get_string({"topologyKey"});
    result.self = term_matches(term, own_namespace, own_namespace, own_labels);
    for (const auto& [uid, other] : placed) {
      if (!term_matches(term, own_namespace, other.namespace_, other.labels)) continue;
      result.anywhere = true;
      std::string_view value = domain(other, result.topology_key);
      if (!value.empty()) result.domains.emplace(value);
    }
    return result;
  };
  for (const json::Value& term : terms_of(pod, "podAffinity")) wanted_.push_back(look(term));
  for (const json::Value& term : terms_of(pod, "podAntiAffinity")) avoided_.push_back(look(term));
  for (const auto& [uid, other] : placed)
    for (const json::Value& term : other.avoids) {
      if (!term_matches(term, other.namespace_, own_namespace, own_labels)) continue;
      std::string key(term.get_string({"topologyKey"}));
      std::string_view value = domain(other, key);
      if (!value.empty()) refused_.emplace(std::move(key), value);
    }
}

std::string AffinityCheck::obstacle(const json::Value& node) const {
  // The first Pod of a group that wants to be together may start anywhere.
  bool first = std::all_of(wanted_.begin(), wanted_.end(),
                           [](const Term& term) { return term.self && !term.anywhere; });
  for (const Term& term : wanted_) {
    std::string_view value = node_label(node, term.topology_key);
    if (value.empty() || (!first && !term.domains.contains(value)))
      return "node(s) didn't match pod affinity rules";
  }
  for (const Term& term : avoided_)
    if (term.domains.contains(node_label(node, term.topology_key)))
      return "node(s) didn't match pod anti-affinity rules";
  for (const auto& [key, value] : refused_)
    if (node_label(node, key) == value)
      return "node(s) didn't satisfy existing pods anti-affinity rules";
  return {};
}

}  // namespace kueue::standins
