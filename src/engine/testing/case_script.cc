// Case lines about configuration objects and nodes, and the dispatch of all lines.
#include "engine/testing/case_script.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "engine/testing/case_words.h"

namespace kueue::engine::testing {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) out.push_back(part);
  return out;
}

std::string label_key(const std::string& text) {
  return text == "host" ? "kubernetes.io/hostname" : text;
}

namespace {

const std::set<std::string> kConfig = {"flavor", "topology", "check",     "cohort", "queue",
                                       "local",  "node",     "namespace", "foreign"};
const std::set<std::string> kCreate = {"pending", "reserved", "admitted"};
const std::set<std::string> kConditions = {"evict",  "release", "requeued",  "finish", "admit",
                                           "checks", "ready",   "preempted", "hold",   "resume"};
const std::set<std::string> kOther = {"wait",          "remove",      "delete", "fail",
                                      "fail-eviction", "time",        "retry",  "sample",
                                      "consumed",      "second-pass", "change", "written"};

Taint taint_of(const std::string& text) {
  std::vector<std::string> p = split(text, ':');
  p.resize(3);
  return {p[0], p[1], p[2]};
}

void add_amount(ResourceAmounts& list, const std::string& resource, int64_t amount) {
  list.emplace_back(resource, amount);
  std::sort(list.begin(), list.end());
}

// Resource groups: "|" begins the next one.
std::vector<ResourceGroup> groups_of(const CaseLine& line, std::vector<std::string>& errors) {
  std::vector<ResourceGroup> groups(1);
  auto amount_from = [&](const std::string& text) {
    if (text == "inf") return Amount::unlimited();
    try {
      return Amount(std::stoll(text));
    } catch (const std::exception&) {
      errors.push_back("not an amount: " + text);
      return Amount();
    }
  };
  for (const auto& [key, value] : line.options) {
    if (key == "group") groups.emplace_back();
    size_t slash = key.find('/');
    if (slash == std::string::npos) continue;
    ResourceGroup& group = groups.back();
    std::string flavor = key.substr(0, slash), resource = key.substr(slash + 1);
    std::vector<std::string> parts = split(value, ',');
    ResourceQuota quota{resource, amount_from(parts[0]), std::nullopt, std::nullopt};
    for (const std::string& part : parts) {
      if (part.starts_with("borrow:")) quota.borrowing_limit = amount_from(part.substr(7));
      if (part.starts_with("lend:")) quota.lending_limit = amount_from(part.substr(5));
    }
    if (std::find(group.covered.begin(), group.covered.end(), resource) == group.covered.end())
      group.covered.push_back(resource);
    auto it = std::find_if(group.flavors.begin(), group.flavors.end(),
                           [&](auto& f) { return f.flavor == flavor; });
    if (it == group.flavors.end()) it = group.flavors.insert(it, {flavor, {}});
    it->resources.push_back(quota);
  }
  std::erase_if(groups, [](const ResourceGroup& group) { return group.covered.empty(); });
  return groups;
}

StopPolicy stop_of(const std::string& text) {
  if (text == "Hold") return StopPolicy::kHold;
  return text == "HoldAndDrain" ? StopPolicy::kHoldAndDrain : StopPolicy::kNone;
}

LabelSelector selector_of(const std::string& text) {
  LabelSelector out;
  for (const std::string& term : split(text, '&')) out.requirements.push_back(requirement_of(term));
  return out;
}

void queue_policies(const CaseLine& line, ClusterQueue& q) {
  if (line.get("strategy") == "StrictFIFO") q.strategy = QueueingStrategy::kStrictFifo;
  std::string within = line.get("within"), reclaim = line.get("reclaim");
  if (within == "LowerPriority") q.preemption.within = WithinClusterQueue::kLowerPriority;
  if (within == "LowerOrNewerEqualPriority")
    q.preemption.within = WithinClusterQueue::kLowerOrNewerEqualPriority;
  if (reclaim == "Any") q.preemption.reclaim = ReclaimWithinCohort::kAny;
  if (reclaim == "LowerPriority") q.preemption.reclaim = ReclaimWithinCohort::kLowerPriority;
  if (std::string threshold = line.get("borrow"); !threshold.empty()) {
    q.preemption.borrow.lower_priority = true;
    if (threshold != "LowerPriority")
      q.preemption.borrow.max_priority_threshold = std::stoi(threshold);
  }
  if (line.get("when-borrow") == "next")
    q.fungibility.when_can_borrow = FungibilityPolicy::kTryNextFlavor;
  if (line.get("when-preempt") == "stop")
    q.fungibility.when_can_preempt = FungibilityPolicy::kMayStopSearch;
  if (line.get("prefer") == "preemption")
    q.fungibility.preference = FungibilityPreference::kPreemptionOverBorrowing;
  if (std::string mode = line.get("variants"); !mode.empty())
    q.concurrent_admission = {mode == "RetainFirst", line.get("last-acceptable")};
  for (const auto& [key, value] : line.options) {
    if (key != "check") continue;
    std::vector<std::string> p = split(value, ':');
    q.checks.push_back({p[0], p.size() > 1 ? split(p[1], ',') : std::vector<std::string>()});
  }
}

}  // namespace

LabelRequirement requirement_of(const std::string& text) {
  std::vector<std::string> p = split(text, ':');
  if (p.size() == 2 && p[1] != "Exists" && p[1] != "DoesNotExist")
    return {label_key(p[0]), "In", {p[1]}};
  p.resize(std::max<size_t>(p.size(), 2));
  return {label_key(p[0]), p[1], p.size() > 2 ? split(p[2], ',') : std::vector<std::string>()};
}

Toleration toleration_of(const std::string& text) {
  std::vector<std::string> p = split(text, ':');
  p.resize(std::max<size_t>(p.size(), 3));
  return {p[0] == "*" ? "" : p[0], p[1].empty() ? "Exists" : "Equal", p[1], p[2]};
}

bool CaseScript::is_event(const CaseLine& line) {
  return kConfig.contains(line.verb) || kCreate.contains(line.verb) ||
         kConditions.contains(line.verb) || kOther.contains(line.verb);
}

int64_t CaseScript::number(const std::string& text) {
  try {
    return std::stoll(text);
  } catch (const std::exception&) {
    error("not a number: " + text);
    return 0;
  }
}

// Seconds, with a fraction.
Instant CaseScript::at(const std::string& seconds) {
  try {
    return Instant{std::llround(std::stod(seconds) * 1e9)};
  } catch (const std::exception&) {
    error("not a time: " + seconds);
    return {};
  }
}

CaseScript::Events CaseScript::events(const CaseLine& line) {
  const std::string& verb = line.verb;
  if (kConfig.contains(verb)) return configure(line);
  if (kCreate.contains(verb)) return create(line);
  if (kConditions.contains(verb)) return condition(line);
  if (verb == "change") return change(line);
  if (verb == "written") return written(line);
  if (verb == "remove") return removed(line);
  if (verb == "time") {
    now_ = std::max(now_, at(line.name()));
    return {TimePassed{now_}};
  }
  if (verb == "wait") {
    now_ = now_ + (at(line.name()) - Instant{});
    return {TimePassed{now_}};
  }
  if (verb == "retry") return {FlushRetries{}};
  Key key{line.get("ns", "ns"), line.name()};
  if (verb == "delete") {
    workloads_.erase(line.name());
    assumed_.erase(line.name());
    return {WorkloadDeleted{key}};
  }
  if (verb == "fail") {
    bool gone = line.words.size() > 1 && line.words[1] == "gone";
    assumed_.erase(line.name());
    return {AdmissionFailed{key, gone}};
  }
  if (verb == "fail-eviction") return {EvictionFailed{key}};
  if (verb == "sample") return {SampleUsage{key, now_}};
  if (verb == "second-pass") return {SecondPassReady{key}};
  if (verb == "consumed") {
    ConsumedUsage usage{key, {}, line.has("at") ? at(line.get("at")) : now_};
    for (const auto& [resource, amount] : line.options)
      if (resource != "at" && resource != "ns")
        usage.consumed.emplace_back(resource,
                                    static_cast<Nanos>(std::llround(std::stod(amount) * 1e9)));
    return {usage};
  }
  return {};
}

CaseScript::Events CaseScript::configure(const CaseLine& line) {
  const std::string& verb = line.verb;
  if (verb == "flavor") return {FlavorChanged{flavor(line)}};
  if (verb == "queue") return queue(line);
  if (verb == "node") return node(line);
  if (verb == "topology") {
    Topology t{line.name(), {}};
    for (const std::string& level : split(line.get("levels"), ','))
      t.levels.push_back(label_key(level));
    levels_[t.name] = t.levels;
    return {TopologyChanged{t}};
  }
  if (verb == "check")
    return {CheckChanged{{line.name(),
                          line.get("controller") == "multikueue"     ? kMultiKueueController
                          : line.get("controller") == "provisioning" ? kProvisioningController
                                                                     : "example.com/check",
                          line.get("active") != "no"}}};
  if (verb == "cohort")
    return {CohortChanged{{line.name(), line.get("parent"), groups_of(line, errors_),
                           std::stod(line.get("weight", "1"))}}};
  if (verb == "local")
    return {LocalQueueChanged{{{line.get("ns", "ns"), line.name()},
                               line.get("queue"),
                               stop_of(line.get("stop")),
                               std::stod(line.get("weight", "1")),
                               false}}};
  if (verb == "namespace") {
    Labels labels;
    for (const auto& [key, value] : line.options)
      if (key == "label") labels.emplace_back(split(value, ':')[0], split(value, ':')[1]);
    std::sort(labels.begin(), labels.end());
    return {NamespaceChanged{line.name(), labels}};
  }
  ForeignPod pod{{"ns", line.name()}, line.get("node"), {}};
  for (const auto& [key, value] : line.options)
    if (key != "node") add_amount(pod.requests, key, number(value));
  return {ForeignPodChanged{pod}};
}

CaseScript::Events CaseScript::removed(const CaseLine& line) {
  if (line.words.size() < 2) {
    error("remove KIND NAME");
    return {};
  }
  const std::string& kind = line.words[0];
  const std::string& name = line.words[1];
  if (kind == "flavor") return {FlavorDeleted{name}};
  if (kind == "check") return {CheckDeleted{name}};
  if (kind == "topology") return {TopologyDeleted{name}};
  if (kind == "cohort") return {CohortDeleted{name}};
  if (kind == "queue") return {ClusterQueueDeleted{name}};
  if (kind == "local") return {LocalQueueDeleted{{line.get("ns", "ns"), name}}};
  if (kind == "node") return {NodeDeleted{name}};
  if (kind == "namespace") return {NamespaceDeleted{name}};
  if (kind == "foreign") return {ForeignPodDeleted{{"ns", name}}};
  error("remove what? " + kind);
  return {};
}

Flavor CaseScript::flavor(const CaseLine& line) {
  Flavor f;
  f.name = line.name();
  f.topology = line.get("topology");
  topologies_[f.name] = f.topology;
  for (const auto& [key, value] : line.options) {
    std::vector<std::string> p = split(value, ':');
    if (key == "label") f.node_labels.emplace_back(p[0], p[1]);
    if (key == "taint") f.taints.push_back(taint_of(value));
    if (key == "tolerate") f.tolerations.push_back(toleration_of(value));
  }
  std::sort(f.node_labels.begin(), f.node_labels.end());
  return f;
}

CaseScript::Events CaseScript::queue(const CaseLine& line) {
  ClusterQueue q;
  q.name = line.name();
  q.cohort = line.get("cohort");
  std::string selector = line.get("namespaces", "all");
  if (selector != "none")
    q.namespace_selector = selector == "all" ? LabelSelector() : selector_of(selector);
  q.groups = groups_of(line, errors_);
  queue_policies(line, q);
  q.fair_weight = std::stod(line.get("weight", "1"));
  q.stop = stop_of(line.get("stop"));
  q.usage_based_fairness = line.get("scope") == "usage";
  q.terminating = line.get("terminating") == "yes";
  Events out{ClusterQueueChanged{q}};
  if (line.get("local") != "no")
    out.push_back(
        LocalQueueChanged{{{"ns", line.name()}, line.name(), StopPolicy::kNone, 1, false}});
  return out;
}

// Amounts are options of a resource's name.
CaseScript::Events CaseScript::node(const CaseLine& line) {
  Node n;
  n.name = line.name();
  n.labels.emplace_back(label_key("host"), n.name);
  n.ready = line.get("ready") != "no";
  n.unschedulable = line.get("unschedulable") == "yes";
  bool pods = false;
  for (const auto& [key, value] : line.options) {
    if (key == "ready" || key == "unschedulable") continue;
    if (key == "taint") {
      n.taints.push_back(taint_of(value));
    } else if (key == "cpu" || key == "memory" || key == "gpu" || key == "pods") {
      pods = pods || key == "pods";
      add_amount(n.allocatable, key, number(value));
    } else {
      std::erase_if(n.labels, [&](const auto& label) { return label.first == label_key(key); });
      n.labels.emplace_back(label_key(key), value);
    }
  }
  if (!pods) add_amount(n.allocatable, "pods", 110);
  std::sort(n.labels.begin(), n.labels.end());
  return {NodeChanged{n}};
}

}  // namespace kueue::engine::testing
