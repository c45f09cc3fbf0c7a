// Case lines about workloads: what they ask for, what they hold, what happens to them.
#include <algorithm>

#include "engine/testing/case_script.h"
#include "engine/testing/case_words.h"

namespace kueue::engine::testing {
namespace {

bool is_resource(const std::string& key) {
  for (const char* name : {"cpu", "memory", "gpu", "tpu", "credits", "pods.quota"})
    if (key == name) return true;
  return key.starts_with("example.com/");
}

void set_amount(ResourceAmounts& list, const std::string& resource, int64_t amount) {
  erase_if(list, [&](const auto& entry) { return entry.first == resource; });
  list.emplace_back(resource, amount);
  std::sort(list.begin(), list.end());
}

NodeSelectorTerm term_of(const std::string& text) {
  NodeSelectorTerm term;
  for (const std::string& part : split(text, '&')) {
    if (part.starts_with("name:"))
      term.fields.push_back({"metadata.name", "In", {part.substr(5)}});
    else
      term.expressions.push_back(requirement_of(part));
  }
  return term;
}

// A pod set on its way: the options that stand for it.
struct Draft {
  PodSet pod_set;
  PodTemplate pod;
  ResourceAmounts raw;
  std::string shape;
};

bool topology_option(const std::string& key, const std::string& value, PodSet& ps) {
  static const std::vector<std::string> kKeys = {
      "required", "preferred", "unconstrained", "share", "slice-size", "slice-level", "layer"};
  if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) return false;
  if (!ps.topology) ps.topology.emplace();
  TopologyRequest& t = *ps.topology;
  if (key == "required") t.required = label_key(value);
  if (key == "preferred") t.preferred = label_key(value);
  if (key == "unconstrained") t.unconstrained = value == "yes";
  if (key == "share") t.pod_set_group = value;
  if (key == "slice-size") t.slice_size = std::stoi(value);
  if (key == "slice-level") t.slice_topology = label_key(value);
  if (key == "layer") {
    std::vector<std::string> p = split(value, ':');
    t.slice_layers.push_back({label_key(p[0]), std::stoi(p[1])});
  }
  return true;
}

bool pod_option(const std::string& key, const std::string& value, Draft& draft) {
  if (topology_option(key, value, draft.pod_set)) return true;
  if (is_resource(key)) {
    set_amount(draft.pod.requests, key == "pods.quota" ? "pods" : key, std::stoll(value));
    return true;
  }
  if (key.starts_with("raw.")) {
    set_amount(draft.raw, key.substr(4), std::stoll(value));
    return true;
  }
  if (key == "pods") {
    draft.pod_set.count = std::stoi(value);
    return true;
  }
  if (key == "min") {
    draft.pod_set.min_count = std::stoi(value);
    return true;
  }
  if (key == "tolerate") {
    draft.pod.tolerations.push_back(toleration_of(value));
  } else if (key == "select") {
    draft.pod.node_selector.emplace_back(label_key(split(value, ':')[0]), split(value, ':')[1]);
  } else if (key == "affinity") {
    if (!draft.pod.required_affinity) draft.pod.required_affinity.emplace();
    draft.pod.required_affinity->push_back(term_of(value));
  } else if (key == "prefer") {
    size_t colon = value.find(':');
    draft.pod.preferred_affinity.push_back(
        {std::stoi(value.substr(0, colon)), term_of(value.substr(colon + 1))});
  } else {
    return false;
  }
  draft.shape += key + "=" + value + "|";
  return true;
}

}  // namespace

void set_condition(Workload& w, Condition condition) {
  erase_if(w.conditions, [&](const Condition& c) { return c.type == condition.type; });
  w.conditions.push_back(std::move(condition));
}

std::shared_ptr<const Workload> CaseScript::workload(const std::string& name) const {
  auto it = workloads_.find(name);
  return it == workloads_.end() ? nullptr : it->second;
}

Workload* CaseScript::known(const std::string& name) {
  auto it = workloads_.find(name);
  if (it == workloads_.end()) return nullptr;
  it->second = std::make_shared<Workload>(*it->second);
  return it->second.get();
}

CaseScript::Events CaseScript::deliver(Workload& w) {
  return {WorkloadChanged{workloads_.at(w.key.name)}};
}

// Options about the workload as a whole; others belong to pod sets or to the admission.
void CaseScript::whole(const std::string& key, const std::string& value, Workload& w) {
  if (key == "queue") w.queue_name = value;
  if (key == "ns") w.key.namespace_ = value;
  if (key == "uid") w.uid = value;
  if (key == "job") w.job_uid = value;
  if (key == "priority") w.priority = number(value);
  if (key == "boost") {
    w.boost = number(value);
    w.boost_text = value;
  }
  if (key == "at") w.created = at(value);
  if (key == "active") w.active = value == "yes";
  if (key == "gated-by") w.admission_gated_by = value;
  if (key == "allowed") w.allowed_flavors = split(value, ',');
  if (key == "parent") w.concurrent_admission_parent = value == "yes";
  if (key == "variant-of") w.variant_parent_uid = value;
  if (key == "elastic") w.elastic = value == "yes";
  if (key == "slice") w.slice_name = value;
  if (key == "replaces")
    w.replaces = Key{w.key.namespace_.empty() ? "ns" : w.key.namespace_, value};
  if (key == "pod-owned") w.pod_owned = value == "yes";
  if (key == "multikueue") w.multikueue = value == "yes";
  if (key == "wrong") w.misconfigured = value;
  if (key == "cluster") w.cluster_name = value;
  if (key == "unhealthy")
    w.unhealthy_nodes = value == "none" ? std::vector<std::string>() : split(value, ',');
  if (key == "requeue-at") w.requeue_at = value == "none" ? std::nullopt : std::optional(at(value));
  if (key == "preemption-gate") {
    std::vector<std::string> p = split(value, ':');
    w.preemption_gates = {{p[0], p.size() > 1 && p[1] == "open"}};
  }
  if (key == "reclaimable") {
    std::vector<std::string> p = split(value, ':');
    w.reclaimable = {{p[0], static_cast<int32_t>(number(p[1]))}};
  }
}

void CaseScript::pod_sets(const CaseLine& line, Workload& w) {
  static const std::vector<std::string> kOthers = {"queue",       "ns",
                                                   "uid",         "job",
                                                   "priority",    "boost",
                                                   "at",          "active",
                                                   "gated-by",    "allowed",
                                                   "parent",      "variant-of",
                                                   "elastic",     "slice",
                                                   "replaces",    "pod-owned",
                                                   "multikueue",  "wrong",
                                                   "cluster",     "unhealthy",
                                                   "requeue-at",  "preemption-gate",
                                                   "reclaimable", "flavor",
                                                   "place",       "granted",
                                                   "reserved-at", "evicted",
                                                   "checks",      "delayed",
                                                   "ready",       "cluster-queue"};
  std::vector<Draft> drafts(1);
  drafts[0].pod_set.name = "main";
  drafts[0].pod_set.count = 1;
  bool named = false;
  for (const auto& [key, value] : line.options) {
    if (key == "set") {
      if (named) drafts.emplace_back();
      named = true;
      drafts.back().pod_set.name = value;
      drafts.back().pod_set.count = 1;
      continue;
    }
    if (pod_option(key, value, drafts.back())) continue;
    if (key.starts_with("flavor.") ||
        std::find(kOthers.begin(), kOthers.end(), key) != kOthers.end())
      continue;
    error("unknown option " + key + " in: " + line.text);
  }
  w.pod_sets.clear();
  for (Draft& draft : drafts) {
    draft.pod.raw_requests = draft.raw.empty() ? draft.pod.requests : draft.raw;
    draft.pod.shape = draft.shape;
    std::string text = draft.shape;
    for (const ResourceAmounts* list : {&draft.pod.requests, &draft.pod.raw_requests})
      for (const auto& [resource, amount] : *list)
        text += " " + resource + ":" + std::to_string(amount);
    std::shared_ptr<PodTemplate>& shared = templates_[text];
    if (!shared) shared = std::make_shared<PodTemplate>(std::move(draft.pod));
    draft.pod_set.pod = shared;
    w.pod_sets.push_back(std::move(draft.pod_set));
  }
}

// flavor=F for all resources or flavor.RESOURCE=F; granted=N pods; place=VALUES:N,VALUES:N.
void CaseScript::admission(const CaseLine& line, Workload& w) {
  Admission out{w.queue_name, {}};
  size_t current = 0;
  std::vector<std::vector<std::pair<std::string, std::string>>> by_set(w.pod_sets.size());
  bool named = false;
  for (const auto& option : line.options) {
    if (option.first == "set") {
      if (named) ++current;
      named = true;
    }
    by_set[current].push_back(option);
  }
  std::string all;
  for (size_t i = 0; i < w.pod_sets.size(); ++i) {
    const PodSet& ps = w.pod_sets[i];
    PodSetAssignment a;
    a.name = ps.name;
    a.count = ps.count;
    std::map<std::string, std::string> flavors;
    std::string place;
    for (const auto& [key, value] : by_set[i]) {
      if (key == "flavor") all = value;
      if (key.starts_with("flavor.")) flavors[key.substr(7)] = value;
      if (key == "granted") a.count = static_cast<int32_t>(number(value));
      if (key == "place") place = value;
      if (key == "delayed" && value == "yes") a.delayed = DelayedTopology::kPending;
    }
    for (const auto& [resource, amount] : ps.pod->requests) {
      auto it = flavors.find(resource);
      const std::string& flavor = it == flavors.end() ? all : it->second;
      if (flavor.empty()) continue;
      a.flavors.emplace_back(resource, flavor);
      a.usage.emplace_back(resource, amount * *a.count);
    }
    if (!place.empty()) {
      auto topology = std::make_shared<TopologyAssignment>();
      std::string flavor = a.flavors.empty() ? all : a.flavors.front().second.str();
      std::vector<std::string> levels = levels_[topologies_[flavor]];
      for (const std::string& part : split(place, ',')) {
        std::vector<std::string> p = split(part, ':');
        topology->domains.push_back({split(p[0], '/'), static_cast<int32_t>(number(p[1]))});
      }
      size_t depth = topology->domains.front().values.size();
      if (levels.size() >= depth)
        topology->levels.assign(levels.end() - static_cast<std::ptrdiff_t>(depth), levels.end());
      a.topology = topology;
    }
    out.pod_sets.push_back(std::move(a));
  }
  w.admission = out;
}

CaseScript::Events CaseScript::create(const CaseLine& line) {
  auto w = std::make_shared<Workload>();
  w->key = {"ns", line.name()};
  w->uid = line.name();
  // A name that is there already stands for the object with a new spec.
  auto before = workloads_.find(line.name());
  w->generation = before == workloads_.end() ? 1 : before->second->generation + 1;
  w->created = Instant{} + Duration::seconds(1);
  for (const auto& [key, value] : line.options) whole(key, value, *w);
  pod_sets(line, *w);
  if (line.verb != "pending") {
    Instant since = line.has("reserved-at") ? at(line.get("reserved-at")) : w->created;
    admission(line, *w);
    // The LocalQueue feeds the ClusterQueue of its own name unless the line says otherwise.
    w->admission->cluster_queue = line.get("cluster-queue", w->queue_name);
    set_condition(
        *w, {ConditionType::kQuotaReserved, ConditionStatus::kTrue, "QuotaReserved", "", since});
    if (line.verb == "admitted")
      set_condition(*w, {ConditionType::kAdmitted, ConditionStatus::kTrue, "Admitted", "", since});
    if (line.get("ready") == "yes")
      set_condition(*w, {ConditionType::kPodsReady, ConditionStatus::kTrue, "Started", "", since});
    if (line.get("evicted") == "yes")
      set_condition(*w, {ConditionType::kEvicted, ConditionStatus::kTrue, "Preempted", "", since});
  }
  for (const auto& [key, value] : line.options) {
    if (key != "checks") continue;
    for (const std::string& item : split(value, ',')) {
      std::vector<std::string> p = split(item, ':');
      CheckState state = p[1] == "Ready"      ? CheckState::kReady
                         : p[1] == "Retry"    ? CheckState::kRetry
                         : p[1] == "Rejected" ? CheckState::kRejected
                                              : CheckState::kPending;
      w->checks.push_back({p[0], state, {}});
    }
  }
  workloads_[line.name()] = w;
  return deliver(*w);
}

// A new spec: what the line names changes, what it does not name stays.
CaseScript::Events CaseScript::change(const CaseLine& line) {
  Workload* w = known(line.name());
  if (w == nullptr) return {};
  bool spec = false;
  for (const auto& [key, value] : line.options) {
    whole(key, value, *w);
    spec = spec || key == "priority" || key == "active" || key == "pods" ||
           (is_resource(key) && line.get("spec") != "same");
    for (PodSet& ps : w->pod_sets) {
      if (key == "pods" && &ps == &w->pod_sets.back())
        ps.count = static_cast<int32_t>(number(value));
      if (!is_resource(key)) continue;
      PodTemplate pod = *ps.pod;
      set_amount(pod.requests, key, number(value));
      set_amount(pod.raw_requests, key, number(value));
      ps.pod = std::make_shared<PodTemplate>(std::move(pod));
    }
  }
  if (spec) ++w->generation;
  return deliver(*w);
}

CaseScript::Events CaseScript::condition(const CaseLine& line) {
  Workload* w = known(line.name());
  if (w == nullptr) return {};
  auto yes = [&](ConditionType type, const std::string& reason) {
    set_condition(*w, {type, ConditionStatus::kTrue, reason, "", now_});
  };
  auto no = [&](ConditionType type, const std::string& reason) {
    set_condition(*w, {type, ConditionStatus::kFalse, reason, "", now_});
  };
  const std::string& verb = line.verb;
  if (verb == "finish") yes(ConditionType::kFinished, "Succeeded");
  if (verb == "admit") yes(ConditionType::kAdmitted, "Admitted");
  if (verb == "hold") no(ConditionType::kQuotaReserved, "OnHold");
  if (verb == "resume") no(ConditionType::kQuotaReserved, "Pending");
  if (verb == "ready") {
    if (line.get("ready") == "no")
      no(ConditionType::kPodsReady, "WaitForStart");
    else
      yes(ConditionType::kPodsReady, "Started");
  }
  if (verb == "evict") yes(ConditionType::kEvicted, line.get("reason", "Preempted"));
  if (verb == "preempted") {
    yes(ConditionType::kEvicted, "Preempted");
    const std::string by = line.get("by", "");
    w->preempted_again = line.get("again", "no") == "yes";
    set_condition(*w, {ConditionType::kPreempted, ConditionStatus::kTrue,
                       line.get("reason", "InClusterQueue"), preempted_for_text(by), now_});
  }
  if (verb == "requeued") {
    if (line.get("requeued") == "no")
      no(ConditionType::kRequeued, line.get("reason", "PodsReadyTimeout"));
    else
      yes(ConditionType::kRequeued, line.get("reason", "BackoffFinished"));
    w->requeue_at.reset();
  }
  if (verb == "release") {
    w->admission.reset();
    no(ConditionType::kQuotaReserved, "Pending");
    no(ConditionType::kAdmitted, "NoReservation");
    if (line.get("requeued") == "no") no(ConditionType::kRequeued, "PodsReadyTimeout");
    if (line.has("requeue-at")) w->requeue_at = at(line.get("requeue-at"));
    assumed_.erase(line.name());
  }
  for (const auto& [key, value] : line.options)
    for (CheckStatus& check : w->checks)
      if (verb == "checks" && check.name == key)
        check.state = value == "Ready"      ? CheckState::kReady
                      : value == "Retry"    ? CheckState::kRetry
                      : value == "Rejected" ? CheckState::kRejected
                                            : CheckState::kPending;
  return deliver(*w);
}

void CaseScript::remember(const Plan& plan) {
  for (const Command& command : plan.commands)
    if (const auto* a = std::get_if<Admit>(&command)) assumed_[a->key.name] = *a;
}

// The API server has what the cycles decided.
CaseScript::Events CaseScript::written(const CaseLine& line) {
  Events out;
  std::map<std::string, Admit> done;
  for (const auto& [name, command] : assumed_)
    if (line.words.empty() || line.name() == name) done.emplace(name, command);
  for (const auto& [name, command] : done) {
    assumed_.erase(name);
    Workload* w = known(name);
    if (w == nullptr) continue;
    w->admission = *command.admission;
    if (command.second_pass) w->unhealthy_nodes.clear();
    if (!command.second_pass)
      set_condition(
          *w, {ConditionType::kQuotaReserved, ConditionStatus::kTrue, "QuotaReserved", "", now_});
    if (command.admitted && !w->admitted())
      set_condition(*w, {ConditionType::kAdmitted, ConditionStatus::kTrue, "Admitted", "", now_});
    out.push_back(WorkloadChanged{workloads_.at(name)});
  }
  return out;
}

}  // namespace kueue::engine::testing
