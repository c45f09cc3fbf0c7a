#include "controllers/jobs/pod_set_info.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "controllers/jobs/slices.h"
#include "controllers/names.h"
#include "controllers/workload/conditions.h"
#include "json/json.h"
#include "schema/codec.h"

namespace kueue::controllers::jobs {
namespace {

Result<void> merge_map(schema::Map<std::string>& into, const schema::Map<std::string>& from,
                       std::string_view what) {
  for (const auto& [key, value] : from) {
    auto [at, inserted] = into.emplace(key, value);
    if (!inserted && at->second != value)
      return make_error(ErrorCode::kInvalid, "invalid admission check PodSetUpdate: conflict for " +
                                                 std::string(what) + ": conflict for key=" + key +
                                                 ", value1=" + at->second + ", value2=" + value);
  }
  return {};
}

template <typename T>
void merge_list(std::vector<T>& into, const std::vector<T>& from) {
  for (const T& item : from)
    if (std::find(into.begin(), into.end(), item) == into.end()) into.push_back(item);
}

// No operator means Equal.
void merge_tolerations(std::vector<api::core::Toleration>& into,
                       const std::vector<api::core::Toleration>& from) {
  const auto plain = [](api::core::Toleration toleration) {
    if (toleration.operator_ == "Equal") toleration.operator_.clear();
    return toleration;
  };
  for (const api::core::Toleration& one : from)
    if (std::none_of(into.begin(), into.end(),
                     [&](const auto& other) { return plain(other) == plain(one); }))
      into.push_back(one);
}

// Label values: at most 63 characters, and a DNS label here, since the queue's name may be a longer
// subdomain.
bool is_dns_label(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool asks_for_topology(const v1beta2::PodSet& pod_set) {
  const auto& request = pod_set.topology_request;
  return request.has_value() && (!request->required.empty() || !request->preferred.empty() ||
                                 request->unconstrained.value_or(false) ||
                                 !request->pod_set_slice_required_topology.empty() ||
                                 !request->podset_slice_required_topology_constraints.empty());
}

Result<void> add_flavors(const Context& context, const v1beta2::PodSetAssignment& assignment,
                         PodSetInfo& info) {
  std::set<std::string> names;
  for (const auto& [resource, flavor] : assignment.flavors) names.insert(flavor);
  for (const std::string& name : names) {
    auto flavor = context.stores->flavors.get({"", name});
    if (flavor == nullptr)
      return make_error(ErrorCode::kNotFound,
                        "resourceflavors.kueue.x-k8s.io \"" + name + "\" not found");
    KUEUE_TRY(merge_map(info.node_selector, flavor->spec.node_labels, "nodeSelector"));
    merge_tolerations(info.tolerations, flavor->spec.tolerations);
  }
  return {};
}

Result<void> merge_update(PodSetInfo& info, const v1beta2::PodSetUpdate& update) {
  KUEUE_TRY(merge_map(info.labels, update.labels, "labels"));
  KUEUE_TRY(merge_map(info.annotations, update.annotations, "annotations"));
  KUEUE_TRY(merge_map(info.node_selector, update.node_selector, "nodeSelector"));
  merge_tolerations(info.tolerations, update.tolerations);
  return {};
}

// The updates of admission checks for the pod set that the info names.
Result<void> add_checks(const v1beta2::Workload& workload, PodSetInfo& info) {
  for (const v1beta2::AdmissionCheckState& check : workload.status.admission_checks) {
    for (const v1beta2::PodSetUpdate& update : check.pod_set_updates) {
      if (update.name != info.name) continue;
      Result<void> merged = merge_update(info, update);
      if (!merged.ok())
        return make_error(ErrorCode::kInvalid,
                          "in admission check \"" + check.name + "\": " + merged.error().message);
    }
  }
  return {};
}

void add_marks(const Context& context, const v1beta2::Workload& workload,
               const v1beta2::PodSet& pod_set, const v1beta2::PodSetAssignment* assignment,
               PodSetInfo& info) {
  const FeatureGates& gates = context.gates();
  info.labels[std::string(kPodSetLabel)] = pod_set.name;
  if (gates.on(Gate::kAssignQueueLabelsForPods)) {
    const std::string& queue = workload.status.admission->cluster_queue;
    if (is_dns_label(queue)) info.labels[std::string(kClusterQueueLabel)] = queue;
    if (!workload.spec.queue_name.empty())
      info.labels[std::string(kLocalQueueLabel)] = workload.spec.queue_name;
  }
  if (workload.metadata.labels.contains(kMultiKueueOriginLabel))
    info.labels[std::string(kWorkerPodLabel)] = "true";
  if (gates.on(Gate::kElasticJobsViaWorkloadSlices) &&
      workload.metadata.annotations.contains(kElasticJobAnnotation))
    info.annotations[std::string(kSliceNameAnnotation)] = slice_name(workload);
  if (!gates.on(Gate::kTopologyAwareScheduling)) return;
  info.annotations[std::string(kWorkloadAnnotation)] = workload.metadata.name;
  if (assignment != nullptr && assignment->topology_assignment.has_value()) {
    info.scheduling_gates.push_back({std::string(kTopologyGate)});
    if (!asks_for_topology(pod_set))
      info.annotations[std::string(kUnconstrainedTopologyAnnotation)] = "true";
  }
}

Result<std::optional<int32_t>> parse_int32(std::string_view annotation, const std::string& text) {
  int32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    return make_error(ErrorCode::kInvalid,
                      std::string(annotation) + ": " + text + " is no integer");
  return std::optional<int32_t>(value);
}

Result<std::vector<v1beta2::PodsetSliceRequiredTopologyConstraint>> parse_constraints(
    const std::string& text) {
  Result<json::Value> parsed = json::parse(text);
  if (!parsed.ok() || !parsed->is_array())
    return make_error(ErrorCode::kInvalid,
                      "failed to parse multi-layer topology constraints annotation: " +
                          (parsed.ok() ? std::string("not a list") : parsed.error().message));
  std::vector<v1beta2::PodsetSliceRequiredTopologyConstraint> constraints;
  for (const json::Value& item : parsed->as_array()) {
    v1beta2::PodsetSliceRequiredTopologyConstraint constraint;
    constraint.topology = item.get_string({"topology"});
    constraint.size = static_cast<int32_t>(item.get_int({"size"}));
    constraints.push_back(std::move(constraint));
  }
  if (constraints.empty() || constraints.size() > 3)
    return make_error(ErrorCode::kInvalid,
                      "topology constraints must contain between 1 and 3 entries: got " +
                          std::to_string(constraints.size()));
  return constraints;
}

}  // namespace

Result<std::vector<PodSetInfo>> infos_of_admission(const Context& context,
                                                   const v1beta2::Workload& workload) {
  KUEUE_CHECK(workload.status.admission.has_value(), "infos of a workload without admission");
  const auto& assignments = workload.status.admission->pod_set_assignments;
  std::vector<PodSetInfo> infos;
  for (const v1beta2::PodSet& pod_set : workload.spec.pod_sets) {
    PodSetInfo info;
    info.name = pod_set.name;
    info.count = pod_set.count.value_or(1);
    const auto assignment = std::find_if(assignments.begin(), assignments.end(),
                                         [&](const auto& a) { return a.name == pod_set.name; });
    const v1beta2::PodSetAssignment* found =
        assignment == assignments.end() ? nullptr : &*assignment;
    if (found != nullptr) {
      info.count = found->count.value_or(info.count);
      KUEUE_TRY(add_flavors(context, *found, info));
    }
    add_marks(context, workload, pod_set, found, info);
    KUEUE_TRY(add_checks(workload, info));
    infos.push_back(std::move(info));
  }
  return infos;
}

Result<PodSetInfo> info_of_checks(const v1beta2::Workload& workload, const std::string& pod_set) {
  PodSetInfo info;
  info.name = pod_set;
  KUEUE_TRY(add_checks(workload, info));
  return info;
}

std::vector<PodSetInfo> infos_of_spec(const v1beta2::Workload& workload) {
  std::vector<PodSetInfo> infos;
  for (const v1beta2::PodSet& pod_set : workload.spec.pod_sets) {
    const auto opened = pod_set.template_.open();
    const api::core::PodTemplateSpec& pod = *opened;
    infos.push_back({pod_set.name, pod_set.count.value_or(1), pod.metadata.labels,
                     pod.metadata.annotations, pod.spec.node_selector, pod.spec.tolerations,
                     pod.spec.scheduling_gates});
  }
  return infos;
}

Result<void> merge_info(api::core::PodTemplateSpec& pod_template, const PodSetInfo& info,
                        const FeatureGates& gates) {
  // A new slice takes the pods of the old one over.
  if (gates.on(Gate::kElasticJobsViaWorkloadSlices) &&
      pod_template.metadata.annotations.contains(kSliceNameAnnotation) &&
      info.annotations.contains(kSliceNameAnnotation))
    for (std::string_view name : {kWorkloadAnnotation, kSliceNameAnnotation})
      if (info.annotations.contains(name))
        pod_template.metadata.annotations.erase(std::string(name));
  // Marks of an earlier start whose Workload has vanished, so that nothing could restore them.
  for (std::string_view name : {kPodSetLabel, kClusterQueueLabel, kLocalQueueLabel})
    if (info.labels.contains(name)) pod_template.metadata.labels.erase(std::string(name));
  KUEUE_TRY(merge_map(pod_template.metadata.annotations, info.annotations, "annotations"));
  KUEUE_TRY(merge_map(pod_template.metadata.labels, info.labels, "labels"));
  KUEUE_TRY(merge_map(pod_template.spec.node_selector, info.node_selector, "nodeSelector"));
  merge_tolerations(pod_template.spec.tolerations, info.tolerations);
  merge_list(pod_template.spec.scheduling_gates, info.scheduling_gates);
  return {};
}

void restore_info(api::core::PodTemplateSpec& pod_template, const PodSetInfo& info,
                  const std::vector<std::string_view>& kept) {
  schema::Map<std::string> labels = info.labels;
  for (std::string_view name : kept) {
    auto found = pod_template.metadata.labels.find(name);
    if (found != pod_template.metadata.labels.end()) labels.insert(*found);
  }
  pod_template.metadata.labels = std::move(labels);
  pod_template.metadata.annotations = info.annotations;
  pod_template.spec.node_selector = info.node_selector;
  pod_template.spec.tolerations = info.tolerations;
  pod_template.spec.scheduling_gates = info.scheduling_gates;
}

bool holds_other_start(const api::core::PodTemplateSpec& pod_template, const PodSetInfo& original,
                       const PodSetInfo* info, const std::vector<std::string_view>& kept,
                       const FeatureGates& gates) {
  // Each start puts this one in.
  if (!pod_template.metadata.labels.contains(kPodSetLabel) ||
      original.labels.contains(kPodSetLabel))
    return false;
  if (info == nullptr) return true;
  api::core::PodTemplateSpec again = pod_template;
  restore_info(again, original, kept);
  return !merge_info(again, *info, gates).ok() ||
         schema::encode(again) != schema::encode(pod_template);
}

void sanitize(std::vector<v1beta2::PodSet>& pod_sets) {
  const auto repeats = [](const std::vector<api::core::Container>& containers) {
    return std::any_of(containers.begin(), containers.end(), [](const auto& container) {
      std::set<std::string_view> names;
      return std::any_of(container.env.begin(), container.env.end(),
                         [&](const auto& env) { return !names.insert(env.name).second; });
    });
  };
  const auto keep_last = [](std::vector<api::core::Container>& containers) {
    for (api::core::Container& container : containers) {
      std::vector<api::core::EnvVar> kept;
      for (api::core::EnvVar& env : container.env) {
        const auto same = std::find_if(kept.begin(), kept.end(),
                                       [&](const auto& other) { return other.name == env.name; });
        if (same == kept.end()) {
          kept.push_back(std::move(env));
        } else {
          *same = std::move(env);
        }
      }
      container.env = std::move(kept);
    }
  };
  for (v1beta2::PodSet& pod_set : pod_sets) {
    const auto pod = pod_set.template_.open();
    const api::core::PodSpec& spec = pod->spec;
    if (!repeats(spec.containers) && !repeats(spec.init_containers)) continue;
    keep_last(pod_set.template_.edit().spec.containers);
    keep_last(pod_set.template_.edit().spec.init_containers);
  }
}

std::vector<v1beta2::ReclaimablePod> limited_to_pod_sets(
    const v1beta2::Workload& workload, std::vector<v1beta2::ReclaimablePod> reclaimable) {
  for (v1beta2::ReclaimablePod& pods : reclaimable)
    for (const v1beta2::PodSet& pod_set : workload.spec.pod_sets)
      if (pod_set.name == pods.name) pods.count = std::min(pods.count, pod_set.count.value_or(1));
  return reclaimable;
}

std::vector<v1beta2::ReclaimablePod> allowed_reclaimable(const v1beta2::Workload& workload,
                                                         std::vector<v1beta2::ReclaimablePod> now,
                                                         const FeatureGates& gates) {
  if (!has_reservation(workload)) return now;
  const bool elastic = gates.on(Gate::kElasticJobsViaWorkloadSlices) &&
                       workload.metadata.annotations.contains(kElasticJobAnnotation);
  const auto shrank = [&](const std::string& name) {
    for (const v1beta2::PodSet& pod_set : workload.spec.pod_sets)
      for (const auto& assignment : workload.status.admission->pod_set_assignments)
        if (pod_set.name == name && assignment.name == name &&
            pod_set.count.value_or(1) < assignment.count.value_or(0))
          return true;
    return false;
  };
  for (const v1beta2::ReclaimablePod& before : workload.status.reclaimable_pods) {
    if (elastic && shrank(before.name)) continue;
    const auto same = std::find_if(now.begin(), now.end(),
                                   [&](const auto& pods) { return pods.name == before.name; });
    if (same == now.end()) {
      now.push_back(before);
    } else {
      same->count = std::max(same->count, before.count);
    }
  }
  return now;
}

bool same_reclaimable(std::vector<v1beta2::ReclaimablePod> a,
                      std::vector<v1beta2::ReclaimablePod> b) {
  const auto by_name = [](const auto& x, const auto& y) { return x.name < y.name; };
  std::sort(a.begin(), a.end(), by_name);
  std::sort(b.begin(), b.end(), by_name);
  return a == b;
}

Result<Boxed<v1beta2::PodSetTopologyRequest>> topology_request(
    const api::core::PodTemplateSpec& pod_template, const TopologyHints& hints,
    const FeatureGates& gates) {
  if (!gates.on(Gate::kTopologyAwareScheduling)) return Boxed<v1beta2::PodSetTopologyRequest>();
  const auto& annotations = pod_template.metadata.annotations;
  const auto annotation = [&](std::string_view name) {
    auto found = annotations.find(name);
    return found == annotations.end() ? std::string() : found->second;
  };
  v1beta2::PodSetTopologyRequest request;
  request.required = annotation(kRequiredTopologyAnnotation);
  request.preferred = annotation(kPreferredTopologyAnnotation);
  if (annotations.contains(kUnconstrainedTopologyAnnotation)) {
    const std::string text = annotation(kUnconstrainedTopologyAnnotation);
    const bool yes = text == "true" || text == "True" || text == "TRUE" || text == "1" ||
                     text == "t" || text == "T";
    const bool no = text == "false" || text == "False" || text == "FALSE" || text == "0" ||
                    text == "f" || text == "F";
    if (!yes && !no)
      return make_error(ErrorCode::kInvalid,
                        "strconv.ParseBool: parsing \"" + text + "\": invalid syntax");
    request.unconstrained = yes;
  }
  // A group goes to one domain: without one that is asked for there is none.
  if (!request.required.empty() || !request.preferred.empty())
    request.pod_set_group_name = annotation(kPodSetGroupAnnotation);
  request.pod_set_slice_required_topology = annotation(kSliceRequiredTopologyAnnotation);
  if (const std::string text = annotation(kSliceSizeAnnotation);
      !text.empty() && !request.pod_set_slice_required_topology.empty()) {
    KUEUE_ASSIGN(request.pod_set_slice_size, parse_int32(kSliceSizeAnnotation, text));
  }
  const std::string constraints = annotation(kSliceConstraintsAnnotation);
  if (!constraints.empty() && gates.on(Gate::kTASMultiLayerTopology)) {
    KUEUE_ASSIGN(request.podset_slice_required_topology_constraints,
                 parse_constraints(constraints));
  }
  request.pod_index_label = hints.pod_index_label;
  request.sub_group_index_label = hints.sub_group_index_label;
  request.sub_group_count = hints.sub_group_count;
  if (request == v1beta2::PodSetTopologyRequest{}) return Boxed<v1beta2::PodSetTopologyRequest>();
  return Boxed<v1beta2::PodSetTopologyRequest>(std::move(request));
}

}  // namespace kueue::controllers::jobs
