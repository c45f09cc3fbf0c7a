// What the engine reads of pod templates, nodes and flavors: amounts, taints, tolerations,
// selectors. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/slim_vector.h"
#include "base/text.h"

namespace kueue::engine {

// Resource name to amount in internal units (cpu: millicores, else base units). Sorted by name, no
// duplicates.
using ResourceAmounts = SlimVector<std::pair<Text, int64_t>>;
// Sorted by key, no duplicates.
using Labels = std::vector<std::pair<std::string, std::string>>;

// nullptr when absent.
const std::string* find_label(const Labels& labels, const std::string& key);
// 0 when absent.
int64_t amount_of(const ResourceAmounts& amounts, const std::string& resource);

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  std::string key;  // "" with Exists tolerates everything
  std::string op;   // "" = Equal, Exists, Lt, Gt
  std::string value;
  std::string effect;  // "" = all
  bool operator==(const Toleration&) const = default;
};

struct LabelRequirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
  bool operator==(const LabelRequirement&) const = default;
};

// matchLabels appear as In requirements. No requirement = everything.
struct LabelSelector {
  std::vector<LabelRequirement> requirements;
  bool operator==(const LabelSelector&) const = default;
};

struct NodeSelectorTerm {
  std::vector<LabelRequirement> expressions;
  std::vector<LabelRequirement> fields;  // metadata.name only
  bool operator==(const NodeSelectorTerm&) const = default;
};

struct PreferredTerm {
  int32_t weight = 0;
  NodeSelectorTerm term;
  bool operator==(const PreferredTerm&) const = default;
};

// One pod of a pod set, as the engine sees it. Equal pods should share one value.
struct PodTemplate {
  ResourceAmounts requests;      // quota view: behaviour.md section 1 applied, per pod
  ResourceAmounts raw_requests;  // the pod's own requests, for topology placement
  Labels node_selector;
  std::vector<Toleration> tolerations;
  std::optional<std::vector<NodeSelectorTerm>> required_affinity;
  std::vector<PreferredTerm> preferred_affinity;
  // Identity of everything that matters for scheduling (the "spec shape"): equal texts are
  // interchangeable.
  std::string shape;
  bool operator==(const PodTemplate&) const = default;
};

// True when the requirement holds for these labels (Kubernetes' label selector rules; Gt and Lt
// compare integers).
bool matches(const LabelRequirement& requirement, const Labels& labels);
bool matches(const LabelSelector& selector, const Labels& labels);
// An empty term matches nothing. `name` is metadata.name of the node.
bool matches(const NodeSelectorTerm& term, const Labels& labels, const std::string& name);
bool tolerates(const Toleration& toleration, const Taint& taint);
// The first NoSchedule or NoExecute taint that none of the tolerations covers, nullptr when there
// is none.
const Taint* untolerated(const std::vector<Taint>& taints,
                         const std::vector<Toleration>& tolerations,
                         const std::vector<Toleration>& more = {});
// "key=value:Effect", as Kubernetes prints taints.
std::string taint_text(const Taint& taint);

}  // namespace kueue::engine
