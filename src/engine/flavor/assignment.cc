#include "engine/flavor/assignment.h"

#include <algorithm>

namespace kueue::engine {

FitMode fit_mode(PreemptMode mode) {
  switch (mode) {
    case PreemptMode::kNoFit:
      return FitMode::kNoFit;
    case PreemptMode::kNoCandidates:
    case PreemptMode::kPreempt:
    case PreemptMode::kReclaim:
      return FitMode::kPreempt;
    case PreemptMode::kFit:
      return FitMode::kFit;
  }
  return FitMode::kNoFit;
}

FitMode PodSetResult::mode() const {
  if (!error.empty()) return FitMode::kNoFit;
  // Without a reason against it, it fits, whatever a single resource said: the group was weighed as
  // a whole.
  if (clean() && !mode_by_places) return FitMode::kFit;
  if (flavors.empty()) return clean() ? FitMode::kFit : FitMode::kNoFit;
  FitMode worst = FitMode::kFit;
  for (const FlavorChoice& f : flavors) worst = std::min(worst, fit_mode(f.mode));
  return worst;
}

const FlavorChoice* PodSetResult::choice(ResourceId resource) const {
  for (const FlavorChoice& f : flavors)
    if (f.resource == resource) return &f;
  return nullptr;
}

FitMode Assignment::mode() const {
  if (pod_sets.empty()) return FitMode::kNoFit;
  FitMode worst = FitMode::kFit;
  for (const PodSetResult& ps : pod_sets) worst = std::min(worst, ps.mode());
  return worst == FitMode::kFit && deferred ? FitMode::kDeferredFit : worst;
}

std::string Assignment::message(const Workload& workload) const {
  std::string out;
  for (const PodSetResult& ps : pod_sets) {
    if (ps.clean()) continue;
    const std::string& name = workload.pod_sets[ps.index].name;
    if (!ps.error.empty()) return "failed to assign flavors to pod set " + name + ": " + ps.error;
    std::vector<std::string> texts;
    for (const Reason& reason : ps.reasons) texts.push_back(render(reason));
    std::sort(texts.begin(), texts.end());
    if (!out.empty()) out += "; ";
    out += "couldn't assign flavors to pod set " + name + ": ";
    for (size_t i = 0; i < texts.size(); ++i) out += (i == 0 ? "" : ", ") + texts[i];
  }
  return out;
}

PendingReason Assignment::pending_reason() const {
  PendingReason most = PendingReason::kNone;
  for (const PodSetResult& ps : pod_sets)
    if (ps.mode() == FitMode::kNoFit && severity(ps.no_fit) > severity(most)) most = ps.no_fit;
  return most;
}

Charge charge_of(const World& world, WorkloadId id, const Assignment& assignment) {
  Charge charge;
  const WorkloadRecord& r = world.record(id);
  if (!r.reservation) charge.quota = assignment.quota;
  for (const PodSetResult& ps : assignment.pod_sets) {
    if (!ps.topology) continue;
    FlavorId flavor;
    for (const FlavorChoice& f : ps.flavors)
      if (!world.flavors[f.flavor].spec.topology.empty()) flavor = f.flavor;
    const ResourceList& per_pod = world.shapes[r.shapes[ps.index]].raw_requests;
    for (const TopologyDomain& d : ps.topology->domains) {
      int32_t count = d.count;
      if (r.reservation)  // only what is more than it has there
        for (const PlacedPods& had : r.reservation->placed)
          if (had.values == d.values && had.flavor == flavor && had.per_pod == per_pod)
            count -= had.count;
      if (count > 0) charge.placed.push_back({flavor, d.values, per_pod, count});
    }
  }
  return charge;
}

}  // namespace kueue::engine
