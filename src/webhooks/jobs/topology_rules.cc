// Topology annotations of pod templates. Spec section 12.
#include <charconv>
#include <map>

#include "base/names.h"
#include "json/json.h"
#include "webhooks/checks.h"
#include "webhooks/jobs/job_kind.h"
#include "webhooks/names.h"

namespace kueue::webhooks {
namespace {

using json::Value;
using schema::FieldErrors;

constexpr size_t kMaxLayers = 3;

// The annotations of one template.
struct Annotations {
  const PodSetView& pod_set;
  const Value* find(std::string_view name) const {
    return pod_set.metadata == nullptr ? nullptr
                                       : pod_set.metadata->find_path({"annotations", name});
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string_view text(std::string_view name) const {
    const Value* value = find(name);
    return value == nullptr ? std::string_view() : value->string_or("");
  }
  std::string field(std::string_view name) const {
    return pod_set.metadata_field + ".annotations[" + std::string(name) + "]";
  }
};

bool parse_int(std::string_view text, int64_t* out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  auto r = std::from_chars(text.data(), text.data() + text.size(), *out);
  return r.ec == std::errc() && r.ptr == text.data() + text.size();
}

bool is_bool(std::string_view text) {
  for (std::string_view known :
       {"1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"})
    if (text == known) return true;
  return false;
}

void check_modes(const Annotations& a, FieldErrors& errors) {
  int modes = a.has(kRequiredTopology) + a.has(kPreferredTopology) + a.has(kUnconstrainedTopology);
  if (modes > 1) {
    errors.add({"FieldValueInvalid",
                "Invalid value: must not contain more than one topology annotation: [\"" +
                    std::string(kRequiredTopology) + "\", \"" + std::string(kPreferredTopology) +
                    "\", \"" + std::string(kUnconstrainedTopology) + "\"]",
                a.pod_set.metadata_field + ".annotations"});
  }
  for (std::string_view name : {kRequiredTopology, kPreferredTopology})
    if (a.has(name))
      errors.invalid_each(a.field(name), a.text(name), qualified_name_problems(a.text(name)));
  if (a.has(kUnconstrainedTopology) && !is_bool(a.text(kUnconstrainedTopology)))
    errors.invalid(a.field(kUnconstrainedTopology), a.text(kUnconstrainedTopology),
                   "must be a boolean value");
}

void check_slices(const Annotations& a, FieldErrors& errors) {
  std::string slice = "'" + std::string(kSliceTopology) + "'";
  if (a.has(kSliceTopology))
    errors.invalid_each(a.field(kSliceTopology), a.text(kSliceTopology),
                        qualified_name_problems(a.text(kSliceTopology)));
  if (a.has(kSliceTopology) && !a.has(kSliceSize)) {
    errors.required(a.field(kSliceSize), "must be set when " + slice + " is specified");
    return;
  }
  if (!a.has(kSliceSize)) return;
  if (!a.has(kSliceTopology)) {
    errors.forbidden(a.field(kSliceSize), "may not be set when " + slice + " is not specified");
    return;
  }
  std::string_view text = a.text(kSliceSize);
  int64_t size = 0;
  if (!parse_int(text, &size)) {
    errors.invalid(a.field(kSliceSize), text, "must be a numeric value");
  } else if (size < 1) {
    errors.invalid(a.field(kSliceSize), text, "must be greater than or equal to 1");
  } else if (a.pod_set.count.has_value() && size > *a.pod_set.count) {
    errors.invalid(a.field(kSliceSize), text,
                   "must not be greater than pod set count " + std::to_string(*a.pod_set.count));
  }
}

void check_layer(const json::Array& layers, size_t i, const std::string& field,
                 FieldErrors& errors) {
  std::string at = field + '[' + std::to_string(i) + ']';
  std::string topology(layers[i].get_string({"topology"}));
  if (topology.empty()) {
    errors.required(at + ".topology");
  } else {
    errors.invalid_each(at + ".topology", topology, qualified_name_problems(topology));
  }
  for (size_t k = 0; k < i; ++k)
    if (layers[k].get_string({"topology"}) == topology) {
      errors.duplicate(at + ".topology", topology + " (also at index " + std::to_string(k) + ")");
      break;
    }
  int64_t size = layers[i].get_int({"size"});
  if (size < 1) {
    errors.invalid(at + ".size", size, "must be greater than or equal to 1");
  } else if (i > 0) {
    int64_t parent = layers[i - 1].get_int({"size"});
    if (parent >= 1 && parent % size != 0)
      errors.invalid(at + ".size", size,
                     "must evenly divide the parent layer size " + std::to_string(parent));
  }
}

void check_constraints(const Call& call, const Annotations& a, FieldErrors& errors) {
  if (!a.has(kSliceConstraints)) return;
  std::string field = a.field(kSliceConstraints);
  if (!call.settings.gates.on(Gate::kTASMultiLayerTopology)) {
    errors.forbidden(
        field, "the TASMultiLayerTopology feature gate must be enabled to use this annotation");
    return;
  }
  for (std::string_view other : {kSliceTopology, kSliceSize, kPodSetGroup})
    if (a.has(other))
      errors.forbidden(a.field(other),
                       "may not be set when '" + std::string(kSliceConstraints) + "' is specified");
  std::string_view text = a.text(kSliceConstraints);
  Result<Value> parsed = json::parse(text);
  if (!parsed.ok() || !parsed->is_array()) {
    errors.invalid(field, text, "must be a JSON list of topology constraints");
    return;
  }
  const json::Array& layers = parsed->as_array();
  if (layers.empty() || layers.size() > kMaxLayers) {
    errors.invalid(field, text, "topology constraints must contain between 1 and 3 entries");
    return;
  }
  for (size_t i = 0; i < layers.size(); ++i) check_layer(layers, i, field, errors);
  int64_t outer = layers[0].get_int({"size"});
  if (a.pod_set.count.has_value() && outer > *a.pod_set.count)
    errors.invalid(field, outer,
                   "must not be greater than pod set count " + std::to_string(*a.pod_set.count));
}

void check_group_name(const Annotations& a, FieldErrors& errors) {
  if (!a.has(kPodSetGroup)) return;
  std::string field = a.field(kPodSetGroup);
  int64_t number = 0;
  if (parse_int(a.text(kPodSetGroup), &number))
    errors.invalid(field, a.text(kPodSetGroup), "must not be a number");
  if (a.has(kSliceConstraints)) return;  // told already
  for (std::string_view other : {kSliceTopology, kSliceSize})
    if (a.has(other))
      errors.forbidden(a.field(other),
                       "may not be set when '" + std::string(kPodSetGroup) + "' is specified");
  if (!a.has(kRequiredTopology) && !a.has(kPreferredTopology))
    errors.forbidden(field, "may not be set when neither '" + std::string(kPreferredTopology) +
                                "' nor '" + std::string(kRequiredTopology) + "' is specified");
}

void check_elastic(const Call& call, const Annotations& a, FieldErrors& errors) {
  if (!is_elastic(call, call.object) ||
      call.settings.gates.on(Gate::kElasticJobsViaWorkloadSlicesWithTAS))
    return;
  std::string field = a.pod_set.metadata_field + ".annotations.";
  if (a.has(kRequiredTopology))
    errors.forbidden(field + std::string(kRequiredTopology),
                     "required topology is not supported with elastic jobs");
  if (a.has(kPreferredTopology))
    errors.forbidden(field + std::string(kPreferredTopology),
                     "preferred topology is not supported with elastic jobs");
}

}  // namespace

void check_topology(const Call& call, const std::vector<PodSetView>& pod_sets,
                    FieldErrors& errors) {
  if (!call.settings.gates.on(Gate::kTopologyAwareScheduling)) return;
  for (const PodSetView& pod_set : pod_sets) {
    Annotations a{pod_set};
    check_modes(a, errors);
    check_group_name(a, errors);
    check_slices(a, errors);
    check_constraints(call, a, errors);
    check_elastic(call, a, errors);
  }
}

void check_pod_set_groups(const Call& call, const std::vector<PodSetView>& pod_sets,
                          FieldErrors& errors) {
  if (!call.settings.gates.on(Gate::kTopologyAwareScheduling)) return;
  std::map<std::string, std::vector<const PodSetView*>> groups;
  for (const PodSetView& pod_set : pod_sets) {
    Annotations a{pod_set};
    if (a.has(kPodSetGroup)) groups[std::string(a.text(kPodSetGroup))].push_back(&pod_set);
  }
  for (const auto& [name, members] : groups) {
    if (members.size() != 2) {
      for (const PodSetView* member : members)
        errors.invalid(Annotations{*member}.field(kPodSetGroup), name,
                       "can only define groups of exactly 2 pod sets, got: " +
                           std::to_string(members.size()) + " pod set(s)");
      continue;
    }
    int64_t first = members[0]->count.value_or(1), second = members[1]->count.value_or(1);
    if (first != 1 && second != 1)
      for (const PodSetView* member : members)
        errors.invalid(
            Annotations{*member}.field(kPodSetGroup), name,
            "can only define groups where at least one pod set has only 1 replica, got: " +
                std::to_string(first) + " replica(s) and " + std::to_string(second) +
                " replica(s) in the group");
    Annotations a{*members[0]}, b{*members[1]};
    if (a.text(kRequiredTopology) == b.text(kRequiredTopology) &&
        a.text(kPreferredTopology) == b.text(kPreferredTopology))
      continue;
    for (size_t i = 0; i < 2; ++i)
      errors.add({"FieldValueInvalid",
                  "Invalid value: must specify '" + std::string(kRequiredTopology) + "' or '" +
                      std::string(kPreferredTopology) + "' topology consistent with '" +
                      members[1 - i]->metadata_field + ".annotations' in group '" + name + "'",
                  members[i]->metadata_field + ".annotations"});
  }
}

}  // namespace kueue::webhooks
