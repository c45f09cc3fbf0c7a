// Workload -> engine::Workload.
#include <algorithm>
#include <charconv>

#include "bridge/convert.h"
#include "bridge/quantities.h"
#include "bridge/requests.h"
#include "bridge/to_engine.h"
#include "bridge/workload_status.h"
#include "json/json.h"
#include "schema/codec.h"

namespace kueue::bridge {
namespace {

using api::v1beta2::PodSet;

std::string annotation(const api::meta::ObjectMeta& meta, const char* key) {
  auto it = meta.annotations.find(std::string("kueue.x-k8s.io/") + key);
  return it == meta.annotations.end() ? std::string() : it->second;
}

std::string label(const api::meta::ObjectMeta& meta, const char* key) {
  auto it = meta.labels.find(std::string("kueue.x-k8s.io/") + key);
  return it == meta.labels.end() ? std::string() : it->second;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  for (size_t start = 0; start <= text.size();) {
    size_t comma = std::min(text.find(',', start), text.size());
    if (comma > start) out.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return out;
}

std::optional<engine::ConditionType> condition_type(const std::string& name) {
  using T = engine::ConditionType;
  static constexpr std::pair<const char*, T> kTypes[] = {
      {"QuotaReserved", T::kQuotaReserved},
      {"Admitted", T::kAdmitted},
      {"Evicted", T::kEvicted},
      {"Preempted", T::kPreempted},
      {"Requeued", T::kRequeued},
      {"Finished", T::kFinished},
      {"PodsReady", T::kPodsReady},
      {"DeactivationTarget", T::kDeactivationTarget},
      {"BlockedOnPreemptionGates", T::kBlockedOnPreemptionGates},
      {"WaitingForReplacementPods", T::kWaitingForReplacementPods},
  };
  for (const auto& [text, type] : kTypes)
    if (name == text) return type;
  return std::nullopt;
}

engine::ConditionStatus condition_status(const std::string& text) {
  if (text == "True") return engine::ConditionStatus::kTrue;
  return text == "False" ? engine::ConditionStatus::kFalse : engine::ConditionStatus::kUnknown;
}

engine::ResourceAmounts amounts(const ResourceMap& resources) {
  engine::ResourceAmounts out;
  for (const auto& [name, quantity] : resources)
    out.emplace_back(name, std::max<int64_t>(0, internal_amount(name, quantity)));
  return out;
}

template <typename T>
void add_json(std::string& shape, const char* tag, const T& part) {
  shape += tag;
  shape += json::write(schema::encode(part));
}

// Everything that scheduling can depend on, as text.
std::string shape_of(const api::core::PodSpec& spec) {
  std::string out;
  auto containers = [&](const char* tag, const std::vector<api::core::Container>& list) {
    out += tag;
    for (const api::core::Container& c : list) {
      out += "{";
      if (c.resources)
        for (const auto& [name, quantity] : c.resources->requests)
          out += name + "=" + quantity.to_string() + ";";
      for (const api::core::ContainerPort& port : c.ports) add_json(out, "p", port);
      out += "}";
    }
  };
  containers("i", spec.init_containers);
  containers("c", spec.containers);
  for (const auto& [key, value] : spec.node_selector) out += "s" + key + "=" + value + ";";
  if (spec.affinity) add_json(out, "a", *spec.affinity);
  for (const api::core::Toleration& t : spec.tolerations) add_json(out, "t", t);
  out += "u" + spec.runtime_class_name;
  if (spec.priority) out += "y" + std::to_string(*spec.priority);
  for (const api::core::TopologySpreadConstraint& c : spec.topology_spread_constraints)
    add_json(out, "d", c);
  for (const auto& [name, quantity] : spec.overhead)
    out += "o" + name + "=" + quantity.to_string() + ";";
  for (const api::core::PodResourceClaim& claim : spec.resource_claims) add_json(out, "k", claim);
  return out;
}

engine::PodTemplate pod_template(const api::core::PodSpec& spec, const Surroundings& around,
                                 const DeviceRequests* devices) {
  engine::PodTemplate out;
  ResourceMap requests = pod_requests(spec);
  out.raw_requests = amounts(requests);
  if (around.rules != nullptr) requests = quota_view(requests, *around.rules);
  if (devices != nullptr) add_devices(requests, *devices);
  out.requests = amounts(requests);
  out.node_selector.assign(spec.node_selector.begin(), spec.node_selector.end());
  out.tolerations = tolerations_of(spec.tolerations);
  if (spec.affinity && spec.affinity->node_affinity) {
    const api::core::NodeAffinity& affinity = *spec.affinity->node_affinity;
    if (affinity.required_during_scheduling_ignored_during_execution) {
      out.required_affinity.emplace();
      for (const auto& term :
           affinity.required_during_scheduling_ignored_during_execution->node_selector_terms)
        out.required_affinity->push_back(term_of(term));
    }
    for (const auto& term : affinity.preferred_during_scheduling_ignored_during_execution)
      out.preferred_affinity.push_back({term.weight, term_of(term.preference)});
  }
  out.shape = shape_of(spec);
  // Claims of one name may come to different devices.
  if (devices != nullptr)
    for (const auto& [name, quantity] : devices->amounts)
      out.shape += "v" + name + "=" + quantity.to_string() + ";";
  return out;
}

const DeviceRequests* devices_of(const std::string& pod_set, const Surroundings& around) {
  if (around.devices == nullptr) return nullptr;
  auto found = around.devices->find(pod_set);
  return found == around.devices->end() ? nullptr : &found->second;
}

engine::TopologyRequest topology_request(const api::v1beta2::PodSetTopologyRequest& r) {
  engine::TopologyRequest out;
  if (!r.required.empty()) out.required = r.required;
  if (!r.preferred.empty()) out.preferred = r.preferred;
  out.unconstrained = r.unconstrained;
  out.pod_set_group = r.pod_set_group_name;
  if (!r.pod_set_slice_required_topology.empty())
    out.slice_topology = r.pod_set_slice_required_topology;
  out.slice_size = r.pod_set_slice_size;
  for (const auto& layer : r.podset_slice_required_topology_constraints)
    out.slice_layers.push_back({layer.topology, layer.size});
  return out;
}

engine::CheckState check_state(const std::string& state) {
  if (state == "Ready") return engine::CheckState::kReady;
  if (state == "Retry") return engine::CheckState::kRetry;
  return state == "Rejected" ? engine::CheckState::kRejected : engine::CheckState::kPending;
}

void read_status(const api::v1beta2::Workload& w, engine::Workload& out) {
  for (const api::meta::Condition& c : w.status.conditions)
    if (auto type = condition_type(c.type))
      out.conditions.push_back({*type, condition_status(c.status), c.reason, c.message,
                                c.last_transition_time.value_or(Instant())});
  if (w.status.admission) out.admission = from_api(*w.status.admission);
  for (const api::v1beta2::AdmissionCheckState& check : w.status.admission_checks) {
    engine::CheckStatus status{check.name, check_state(check.state), {}};
    for (const api::v1beta2::PodSetUpdate& u : check.pod_set_updates)
      status.updates.push_back({u.name,
                                {u.node_selector.begin(), u.node_selector.end()},
                                tolerations_of(u.tolerations)});
    out.checks.push_back(std::move(status));
  }
  if (w.status.requeue_state) out.requeue_at = w.status.requeue_state->requeue_at;
  int64_t preemptions = 0;
  if (w.status.scheduling_stats)
    for (const auto& eviction : w.status.scheduling_stats->evictions)
      if (eviction.reason == "Preempted") preemptions += eviction.count;
  out.preempted_again = preemptions >= 2;
  for (const auto& r : w.status.reclaimable_pods) out.reclaimable.emplace_back(r.name, r.count);
  for (const auto& node : w.status.unhealthy_nodes) out.unhealthy_nodes.push_back(node.name);
  for (const auto& gate : w.spec.preemption_gates) {
    bool open = false;
    for (const auto& state : w.status.preemption_gates)
      open = open || (state.name == gate.name && state.position == "Open");
    out.preemption_gates.push_back({gate.name, open});
  }
  out.cluster_name = w.status.cluster_name;
}

void read_metadata(const api::v1beta2::Workload& w, const FeatureGates& gates,
                   engine::Workload& out) {
  const api::meta::ObjectMeta& meta = w.metadata;
  out.key = {meta.namespace_, meta.name};
  out.uid = meta.uid;
  out.generation = meta.generation.value_or(0);
  // A missing time is older than everything.
  out.created = meta.creation_timestamp.value_or(Instant{INT64_MIN / 2});
  out.job_uid = label(meta, "job-uid");
  out.admission_gated_by = annotation(meta, "admission-gated-by");
  out.allowed_flavors = split(annotation(meta, "workload-allowed-resource-flavors"));
  out.concurrent_admission_parent = label(meta, "concurrent-admission-parent") == "true";
  out.elastic = annotation(meta, "elastic-job") == "true";
  out.slice_name = annotation(meta, "workload-slice-name");
  std::string replaces = annotation(meta, "workload-slice-replacement-for");
  if (size_t slash = replaces.find('/'); slash != std::string::npos)
    out.replaces = engine::Key{replaces.substr(0, slash), replaces.substr(slash + 1)};
  out.pod_owned = annotation(meta, "is-group-workload") != "true" &&
                  meta.owner_references.size() == 1 && meta.owner_references[0].kind == "Pod";
  for (const api::meta::OwnerReference& owner : meta.owner_references) {
    if (!owner.controller.value_or(false)) continue;
    if (owner.kind == "Workload" && owner.api_version.starts_with("kueue.x-k8s.io/"))
      out.variant_parent_uid = owner.uid;
  }
  out.boost_text = annotation(meta, "priority-boost");
  int32_t boost = 0;
  const char* end = out.boost_text.data() + out.boost_text.size();
  if (gates.on(Gate::kPriorityBoost))
    if (auto [p, error] = std::from_chars(out.boost_text.data(), end, boost);
        error == std::errc() && p == end)
      out.boost = boost;
}

std::string join_errors(const char* prefix, const std::vector<std::string>& errors) {
  if (errors.empty()) return {};
  std::string out;
  for (const std::string& error : errors) out += (out.empty() ? "" : ", ") + error;
  return prefix + (errors.size() == 1 ? out : "[" + out + "]");
}

}  // namespace

std::shared_ptr<const engine::PodTemplate> TemplatePool::share(engine::PodTemplate pod) {
  std::lock_guard lock(mutex_);
  std::weak_ptr<const engine::PodTemplate>& slot = by_shape_[pod.shape];
  if (auto known = slot.lock(); known && *known == pod) return known;
  auto made = std::make_shared<const engine::PodTemplate>(std::move(pod));
  slot = made;
  if (by_shape_.size() > sweep_at_) {
    std::erase_if(by_shape_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<size_t>(1024, by_shape_.size() * 2);
  }
  return made;
}

std::shared_ptr<const engine::Workload> to_engine(const api::v1beta2::Workload& w,
                                                  const Surroundings& around) {
  auto out = std::make_shared<engine::Workload>();
  read_metadata(w, *around.gates, *out);
  out->queue_name = w.spec.queue_name;
  out->active = w.spec.active.value_or(true);
  out->priority = w.spec.priority.value_or(0);
  out->names_priority = w.spec.priority.has_value();
  LimitSummary limits = summarize(around.limit_ranges);
  std::vector<std::string> over_limits, out_of_range;
  for (size_t i = 0; i < w.spec.pod_sets.size(); ++i) {
    const PodSet& ps = w.spec.pod_sets[i];
    api::core::PodSpec spec = adjusted(ps.template_.open()->spec, limits, around);
    for (std::string& error : limit_errors(spec, i)) over_limits.push_back(std::move(error));
    for (std::string& error : limit_range_errors(spec, limits, i))
      out_of_range.push_back(std::move(error));
    engine::PodSet set;
    set.name = ps.name;
    set.count = ps.count.value_or(1);
    set.min_count = ps.min_count;
    engine::PodTemplate pod = pod_template(spec, around, devices_of(ps.name, around));
    set.pod = around.pool != nullptr ? around.pool->share(std::move(pod))
                                     : std::make_shared<const engine::PodTemplate>(std::move(pod));
    if (ps.topology_request) set.topology = topology_request(*ps.topology_request);
    out->pod_sets.push_back(std::move(set));
  }
  out->misconfigured = join_errors("resources validation failed: ", over_limits);
  if (out->misconfigured.empty())
    out->misconfigured =
        join_errors("resources didn't satisfy LimitRange constraints: ", out_of_range);
  read_status(w, *out);
  const engine::Condition* evicted = out->condition(engine::ConditionType::kEvicted);
  out->given_up = around.given_up_since.has_value() && out->evicted() && out->reserved() &&
                  evicted->since <= *around.given_up_since;
  return out;
}

}  // namespace kueue::bridge
