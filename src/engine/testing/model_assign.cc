// The naive engine: flavors of a workload (behaviour.md 6).
#include <algorithm>

#include "engine/explain/quantity_text.h"
#include "engine/testing/model.h"

namespace kueue::engine::testing {
namespace {

bool viable(PreemptMode mode) {
  return mode != PreemptMode::kNoFit && mode != PreemptMode::kNoCandidates;
}

// Positive when the first is better.
int compare_quality(PreemptMode a, int a_borrow, PreemptMode b, int b_borrow,
                    FungibilityPreference preference) {
  int by_mode = static_cast<int>(a) - static_cast<int>(b);
  int by_borrow = b_borrow - a_borrow;
  if (a == PreemptMode::kNoFit && b == PreemptMode::kNoFit) return 0;
  if (!viable(a) || !viable(b)) return by_mode != 0 ? by_mode : by_borrow;
  if (preference == FungibilityPreference::kBorrowingOverPreemption)
    return by_mode != 0 ? by_mode : by_borrow;
  return by_borrow != 0 ? by_borrow : by_mode;
}

int severity(PendingReason r) {
  if (r == PendingReason::kNoMatchingFlavor) return 4;
  if (r == PendingReason::kExceedsMaxQuota) return 3;
  if (r == PendingReason::kWaitingForQuota) return 2;
  return r == PendingReason::kTopologyPlacementFailed ? 1 : 0;
}

PendingReason worse(PendingReason a, PendingReason b) { return severity(a) >= severity(b) ? a : b; }

// Why the flavor does not suit the pods; "" when it does.
std::string mismatch(const Tables& t, const std::string& name, const PodTemplate& pod) {
  auto it = t.flavors.find(name);
  if (it == t.flavors.end()) return "flavor " + name + " not found";
  const Flavor& flavor = it->second;
  for (const Taint& taint : flavor.taints) {
    if (taint.effect == "PreferNoSchedule") continue;
    bool tolerated = false;
    for (const Toleration& tol : pod.tolerations) tolerated = tolerated || tolerates(tol, taint);
    for (const Toleration& tol : flavor.tolerations) tolerated = tolerated || tolerates(tol, taint);
    if (!tolerated)
      return "untolerated taint {" + taint.key + " " + taint.value + " " + taint.effect +
             " <nil>} in flavor " + name;
  }
  for (const auto& [key, value] : pod.node_selector) {
    const std::string* label = find_label(flavor.node_labels, key);
    if (label != nullptr && *label != value)
      return "flavor " + name + " doesn't match node affinity";
  }
  return "";
}

class Assigner {
 public:
  Assigner(const Snapshot& s, const AssignRequest& request)
      : s_(s), t_(*s.t), request_(request), w_(*request.item->w), q_(t_.queues.at(request.queue)) {}

  ModelAssignment run() {
    out_.scan.generation = t_.states.at(request_.queue).generation;
    out_.scan.cycle = t_.cycle;
    out_.scan.digest = t_.digest(w_);
    for (const std::vector<size_t>& group : groups())
      if (!assign_together(group)) break;
    return out_;
  }

 private:
  // Pod sets that share flavors; one that shares with nobody is alone.
  std::vector<std::vector<size_t>> groups() const {
    std::vector<std::vector<size_t>> out;
    std::map<std::string, size_t> by_name;
    for (size_t i = 0; i < w_.pod_sets.size(); ++i) {
      const auto& topology = w_.pod_sets[i].topology;
      const std::string name = topology ? topology->pod_set_group : "";
      if (!name.empty() && by_name.contains(name)) {
        out[by_name[name]].push_back(i);
      } else {
        by_name[name] = out.size();
        out.push_back({i});
      }
    }
    return out;
  }

  const ResourceGroup* group_of(const std::string& resource) const {
    for (const ResourceGroup& group : q_.groups)
      if (std::find(group.covered.begin(), group.covered.end(), resource) != group.covered.end())
        return &group;
    return nullptr;
  }

  Requests requests_of(size_t index, int32_t& count) const {
    const PodSet& ps = w_.pod_sets[index];
    count = request_.counts.empty() ? t_.effective_count(w_, ps) : request_.counts[index];
    Requests out;
    for (const auto& [resource, amount] : ps.pod->requests) out[resource] = Amount(amount) * count;
    if (group_of("pods") != nullptr) out["pods"] = Amount(count);
    return out;
  }

  // One flavor per resource for all of them: as if they were one pod set that asks for the sum.
  bool assign_together(const std::vector<size_t>& members) {
    ModelPodSet all;
    std::vector<ModelPodSet> each;
    for (size_t index : members) {
      ModelPodSet& one = each.emplace_back();
      one.index = index;
      one.requests = requests_of(index, one.count);
      for (const auto& [resource, amount] : one.requests) all.requests[resource] += amount;
    }
    bool failed = !choose(members, all);
    for (ModelPodSet& one : each) {
      one.reasons = all.reasons;
      one.no_fit = all.no_fit;
      std::map<std::string, int> tried;
      for (const auto& [resource, amount] : one.requests) {
        auto it = all.flavors.find(resource);
        if (failed || it == all.flavors.end()) continue;
        one.flavors.insert(*it);
        out_.borrow = std::max(out_.borrow, it->second.borrow);
        out_.usage[{it->second.flavor, resource}] += amount;
        tried[resource] = it->second.tried;
      }
      out_.scan.tried.push_back(tried);
      out_.pod_sets.push_back(one);
    }
    return !failed;
  }

  bool choose(const std::vector<size_t>& members, ModelPodSet& out) {
    bool failed = false;
    bool all_covered = t_.settings.ignore_undeclared && t_.gate(Gate::kQuotaCheckStrategy);
    // Resources that no ClusterQueue knows speak first, then the others; the last by name first.
    for (auto it = out.requests.rbegin(); it != out.requests.rend() && !failed; ++it)
      if (!it->second.is_zero() && !all_covered && !known(it->first))
        failed = unavailable(it->first, out);
    for (auto it = out.requests.rbegin(); it != out.requests.rend() && !failed; ++it) {
      if (out.flavors.contains(it->first)) continue;
      const ResourceGroup* group = group_of(it->first);
      if (group == nullptr) {
        if (!it->second.is_zero() && !all_covered) failed = unavailable(it->first, out);
      } else {
        failed = !scan_group(*group, members, out);
      }
    }
    return !failed;
  }

  static bool unavailable(const std::string& resource, ModelPodSet& out) {
    out.reasons = {"resource " + resource + " unavailable in ClusterQueue"};
    out.no_fit = PendingReason::kNoMatchingFlavor;
    return true;
  }

  bool known(const std::string& resource) const {
    for (const auto& [name, queue] : t_.queues)
      for (const ResourceGroup& group : queue.groups)
        for (const std::string& covered : group.covered)
          if (covered == resource) return true;
    return false;
  }

  int first_flavor(size_t pod_set, const Requests& wanted) const {
    if (!t_.gate(Gate::kFlavorFungibility) || request_.pinned != nullptr) return 0;
    const auto& scan = request_.item->scan;
    if (!scan || pod_set >= scan->tried.size()) return 0;
    auto it = scan->tried[pod_set].find(wanted.rbegin()->first);
    return it == scan->tried[pod_set].end() ? 0 : it->second + 1;
  }

  std::string not_pinned(const std::string& flavor, const std::vector<size_t>& members,
                         const Requests& wanted) const {
    if (request_.pinned == nullptr) return "";
    for (const auto& [resource, amount] : wanted)
      for (const ModelPodSet& before : request_.pinned->pod_sets) {
        if (std::find(members.begin(), members.end(), before.index) == members.end()) continue;
        auto it = before.flavors.find(resource);
        if (it != before.flavors.end() && it->second.flavor != flavor)
          return "skipping flavor " + flavor +
                 " as it is not found in the nomination mapping for resource " + resource;
      }
    return "";
  }

  std::string not_allowed(const std::string& flavor) const {
    const auto& allowed = w_.allowed_flavors;
    if (!t_.gate(Gate::kConcurrentAdmission) || allowed.empty()) return "";
    for (const std::string& name : allowed)
      if (name == flavor) return "";
    return "skipping flavor " + flavor +
           " due to WorkloadAllowedResourceFlavorAnnotation annotation";
  }

  // What keeps some of the pod sets from the flavor, whatever its quota.
  std::string ruled_out(const std::string& flavor, const std::vector<size_t>& members,
                        const Requests& wanted) const {
    std::string no = not_pinned(flavor, members, wanted);
    if (no.empty()) no = not_allowed(flavor);
    for (size_t i = 0; i < members.size() && no.empty(); ++i)
      no = mismatch(t_, flavor, *w_.pod_sets[members[i]].pod);
    return no;
  }

  // All resources of a group come from one flavor; true when one was found.
  bool scan_group(const ResourceGroup& group, const std::vector<size_t>& members,
                  ModelPodSet& out) {
    bool fungible = t_.gate(Gate::kFlavorFungibility);
    Requests wanted;
    for (const auto& entry : out.requests)
      if (std::find(group.covered.begin(), group.covered.end(), entry.first) != group.covered.end())
        wanted.insert(entry);
    std::map<std::string, Chosen> best;
    PreemptMode best_mode = PreemptMode::kNoFit;
    int best_borrow = 0;
    std::vector<std::string> reasons;
    PendingReason least = PendingReason::kNone;
    auto note = [&](PendingReason r) {
      if (least == PendingReason::kNone || severity(r) < severity(least)) least = r;
    };
    int last = static_cast<int>(group.flavors.size()) - 1, stopped = -1;
    for (int i = first_flavor(members.front(), wanted); i <= last; ++i) {
      stopped = i;
      const std::string& flavor = group.flavors[static_cast<size_t>(i)].flavor;
      if (std::string no = ruled_out(flavor, members, wanted); !no.empty()) {
        reasons.push_back(no);
        note(PendingReason::kNoMatchingFlavor);
        continue;
      }
      PreemptMode mode = PreemptMode::kFit;
      int borrow = 0;
      PendingReason no_fit = PendingReason::kNone;
      std::map<std::string, Chosen> here;
      for (const auto& [resource, amount] : wanted) {
        Chosen c = weigh(flavor, resource, amount, members, reasons, no_fit);
        if (compare_quality(c.mode, c.borrow, mode, borrow, q_.fungibility.preference) < 0) {
          mode = c.mode;
          borrow = c.borrow;
        }
        here[resource] = c;
      }
      if (mode == PreemptMode::kNoFit) {
        note(no_fit);
        here.clear();
      }
      bool stop =
          viable(mode) &&
          !(mode != PreemptMode::kFit &&
            q_.fungibility.when_can_preempt == FungibilityPolicy::kTryNextFlavor) &&
          !(borrow > 0 && q_.fungibility.when_can_borrow == FungibilityPolicy::kTryNextFlavor);
      bool take = fungible ? stop || compare_quality(mode, borrow, best_mode, best_borrow,
                                                     q_.fungibility.preference) > 0
                           : mode > best_mode;
      if (take) {
        best = here;
        best_mode = mode;
        best_borrow = borrow;
      }
      if (fungible ? stop : best_mode == PreemptMode::kFit) break;
    }
    for (auto& [resource, chosen] : best) {
      chosen.tried = !fungible ? 0 : (stopped == last ? -1 : stopped);
      out.flavors[resource] = chosen;
    }
    out.no_fit = worse(out.no_fit, least);
    if (best.empty()) out.reasons.clear();  // the group that fails speaks alone
    if (best_mode != PreemptMode::kFit)
      out.reasons.insert(out.reasons.end(), reasons.begin(), reasons.end());
    return !best.empty();
  }

  // What the replaced slice holds for these pod sets; its flavor is that of the first of them.
  std::optional<Fr> old_slice(const std::vector<size_t>& members, const std::string& resource,
                              Amount& held) const {
    std::optional<Fr> out;
    if (!request_.replaced) return out;
    const Item& old = t_.items.at(*request_.replaced);
    for (const PodSetAssignment& a : old.held->admission.pod_sets)
      for (size_t member : members) {
        if (a.name != w_.pod_sets[member].name) continue;
        held += Amount(amount_of(a.usage, resource));
        for (const auto& [r, flavor] : a.flavors)
          if (r == resource && member == members.front()) out = Fr{flavor, resource};
      }
    return out;
  }

  Chosen weigh(const std::string& flavor, const std::string& resource, Amount amount,
               const std::vector<size_t>& members, std::vector<std::string>& reasons,
               PendingReason& no_fit) const {
    Chosen out;
    out.flavor = flavor;
    Amount held;
    std::optional<Fr> old = old_slice(members, resource, held);
    bool other = old && old->first != flavor;
    if (other) {
      reasons.push_back("could not assign " + flavor +
                        " flavor since the original workload is assigned: " + old->first);
      no_fit = worse(no_fit, PendingReason::kNoMatchingFlavor);
    }
    if (!old || other) held = Amount();
    out = quota(flavor, resource, amount, held, reasons, no_fit);
    if (other) {
      out.mode = PreemptMode::kNoFit;
      out.borrow = 0;
    }
    return out;
  }

  Chosen quota(const std::string& flavor, const std::string& resource, Amount amount, Amount held,
               std::vector<std::string>& reasons, PendingReason& no_fit) const {
    Chosen out;
    out.flavor = flavor;
    Fr fr{flavor, resource};
    auto it = out_.usage.find(fr);
    Amount assumed = it == out_.usage.end() ? Amount() : it->second;
    Amount v = assumed + amount - held;
    Amount most = s_.potential({true, q_.name}, fr);
    if (v > most) {
      reasons.push_back("insufficient quota for " + resource + " in flavor " + flavor +
                        ", previously considered podsets requests (" +
                        quantity_text(resource, assumed) + ") + current podset request (" +
                        quantity_text(resource, v - assumed) + ") > maximum capacity (" +
                        quantity_text(resource, most) + ")");
      no_fit = worse(no_fit, PendingReason::kExceedsMaxQuota);
      out.mode = PreemptMode::kNoFit;
      return out;
    }
    auto [height, more_above] = s_.lowest_subtree(q_.name, fr, v);
    out.borrow = height;
    Amount available = s_.available(q_.name, fr);
    if (v <= available) return out;
    reasons.push_back("insufficient unused quota for " + resource + " in flavor " + flavor + ", " +
                      quantity_text(resource, v - available) + " more needed");
    no_fit = worse(no_fit, PendingReason::kWaitingForQuota);
    bool may_borrow =
        q_.preemption.borrow.lower_priority ||
        (t_.settings.fair_sharing && q_.preemption.reclaim != ReclaimWithinCohort::kNever);
    if (!(v <= s_.nominal({true, q_.name}, fr)) && !more_above && !may_borrow) {
      out.mode = PreemptMode::kNoFit;
      return out;
    }
    std::vector<ModelVictim> found = victims(s_, w_.key, q_.name, {{fr, v}}, {fr});
    Snapshot after = s_;
    bool own = false;
    for (const ModelVictim& victim : found) {
      after.removed.insert(victim.key);
      own = own || t_.items.at(victim.key).held->queue == q_.name;
    }
    out.mode = found.empty() ? PreemptMode::kNoCandidates
                             : (own ? PreemptMode::kPreempt : PreemptMode::kReclaim);
    out.borrow = after.lowest_subtree(q_.name, fr, v).first;
    return out;
  }

  const Snapshot& s_;
  const Tables& t_;
  const AssignRequest& request_;
  const Workload& w_;
  const ClusterQueue& q_;
  ModelAssignment out_;
};

}  // namespace

bool ModelScan::has_untried() const {
  for (const auto& pod_set : tried)
    for (const auto& [resource, index] : pod_set)
      if (index != -1) return true;
  return false;
}

FitMode ModelPodSet::mode() const {
  if (reasons.empty()) return FitMode::kFit;
  if (flavors.empty()) return FitMode::kNoFit;
  FitMode worst = FitMode::kFit;
  for (const auto& [resource, chosen] : flavors) {
    FitMode mode = chosen.mode == PreemptMode::kFit     ? FitMode::kFit
                   : chosen.mode == PreemptMode::kNoFit ? FitMode::kNoFit
                                                        : FitMode::kPreempt;
    worst = std::min(worst, mode);
  }
  return worst;
}

FitMode ModelAssignment::mode() const {
  if (pod_sets.empty()) return FitMode::kNoFit;
  FitMode worst = FitMode::kFit;
  for (const ModelPodSet& ps : pod_sets) worst = std::min(worst, ps.mode());
  return worst == FitMode::kFit && deferred ? FitMode::kDeferredFit : worst;
}

std::string ModelAssignment::message(const Workload& w) const {
  std::string out;
  for (const ModelPodSet& ps : pod_sets) {
    if (ps.reasons.empty()) continue;
    std::vector<std::string> sorted = ps.reasons;
    std::sort(sorted.begin(), sorted.end());
    if (!out.empty()) out += "; ";
    out += "couldn't assign flavors to pod set " + w.pod_sets[ps.index].name + ": ";
    for (size_t i = 0; i < sorted.size(); ++i) out += (i == 0 ? "" : ", ") + sorted[i];
  }
  return out;
}

PendingReason ModelAssignment::pending() const {
  PendingReason out = PendingReason::kNone;
  for (const ModelPodSet& ps : pod_sets)
    if (ps.mode() == FitMode::kNoFit) out = worse(out, ps.no_fit);
  return out;
}

ModelAssignment assign(const Snapshot& s, const AssignRequest& request) {
  return Assigner(s, request).run();
}

}  // namespace kueue::engine::testing
