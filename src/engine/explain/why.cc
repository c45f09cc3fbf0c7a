#include "engine/explain/why.h"

#include <algorithm>
#include <set>

#include "engine/explain/quantity_text.h"
#include "engine/explain/trial.h"
#include "engine/preempt/preempt.h"
#include "engine/preempt/simulate.h"
#include "engine/queue/digest.h"
#include "engine/queue/queueing.h"
#include "engine/topology/tree.h"

namespace kueue::engine {
namespace {

constexpr size_t kMostDomains = 3;
constexpr size_t kMostNamed = 3;
// How large a change of the rules for a whole queue is: larger than all that could be freed.
constexpr double kRuleChange = 2;

class Asker {
 public:
  Asker(World& world, WorkloadId id, QueueId queue)
      : world_(world), overlay_(world), id_(id), queue_id_(queue), queue_(world.queues[queue]) {}

  void look(Why& out) {
    AssignOptions options;
    // All flavors, not only those that the next look would try.
    FreshScans scans(world_);
    scans.start_over(id_);
    Assignment assignment = assign_flavors(overlay_, id_, queue_id_, options);
    out.message = assignment.message(world_.object(id_));
    for (const PodSetResult& ps : assignment.pod_sets) {
      PodSetLook look;
      look.pod_set = world_.object(id_).pod_sets[ps.index].name;
      look.count = ps.count;
      for (const FlavorAttempt& attempt : ps.attempts)
        look.flavors.push_back(flavor_look(ps, attempt));
      if (ps.attempts.empty()) add_changes(ps.reasons, {}, look.pod_set);
      out.pod_sets.push_back(std::move(look));
    }
    for (const auto& [size, text] : changes_)
      if (std::find(out.changes.begin(), out.changes.end(), text) == out.changes.end())
        out.changes.push_back(text);
  }

 private:
  FlavorLook flavor_look(const PodSetResult& ps, const FlavorAttempt& attempt) {
    FlavorLook out;
    out.flavor = attempt.flavor;
    if (!attempt.reasons.empty()) out.first = attempt.reasons.front();
    FlavorId flavor = world_.names.find_flavor(attempt.flavor);
    bool needs_room = false;
    for (const auto& [resource, amount] : ps.requests) {
      const GroupRecord* group = queue_.group_of(resource);
      if (group == nullptr ||
          std::find(group->flavors.begin(), group->flavors.end(), flavor) == group->flavors.end())
        continue;
      out.quota.push_back(quota_look(world_.names.fr(flavor, resource), amount));
      needs_room |= !out.quota.back().missing.is_zero();
    }
    if (needs_room) out.preemption = preemption_look(flavor, out.quota);
    add_domains(ps, flavor, out);
    add_changes(attempt.reasons, out.quota, world_.object(id_).pod_sets[ps.index].name);
    return out;
  }

  QuotaLook quota_look(FrId fr, Amount requested) {
    const Forest& forest = world_.forest;
    QuotaLook out;
    out.resource = world_.names.text(world_.names.parts(fr).resource);
    out.requested = requested;
    out.available = forest.available(queue_.node, fr);
    out.capacity = forest.potential_available(queue_.node, fr);
    out.missing = max(Amount(), requested - out.available);
    for (QuotaId node : forest.queues_below(forest.at(queue_.node).root)) {
      Amount used = forest.usage(node, fr);
      if (used <= Amount()) continue;
      out.holders.push_back(
          {forest.at(node).name, used, max(Amount(), used - forest.nominal(node, fr))});
    }
    std::sort(out.holders.begin(), out.holders.end(),
              [](const QuotaHolder& a, const QuotaHolder& b) {
                return a.used != b.used ? a.used > b.used : a.cluster_queue < b.cluster_queue;
              });
    return out;
  }

  PreemptionLook preemption_look(FlavorId flavor, const std::vector<QuotaLook>& quota) {
    PreemptionLook out;
    PreemptRequest request{
        .preemptor = id_, .queue = queue_id_, .usage = {}, .needed = {}, .places_fit = {}};
    for (const QuotaLook& look : quota) {
      if (look.requested > look.capacity) {
        out.why_not = "the request exceeds what the ClusterQueue could ever have";
        return out;
      }
      FrId fr = world_.names.fr(flavor, world_.names.find_resource(look.resource));
      request.usage.emplace_back(fr, look.requested);
      if (!look.missing.is_zero()) request.needed.push_back(fr);
    }
    std::sort(request.needed.begin(), request.needed.end());
    for (const Victim& v : find_victims(overlay_, request))
      out.victims.push_back({world_.object(v.id).key, world_.object(v.id).uid, v.reason});
    if (!out.victims.empty()) return out;
    bool own = within_policy(queue_) != VictimPolicy::kNever;
    bool others =
        world_.forest.has_parent(queue_.node) && reclaim_policy(queue_) != VictimPolicy::kNever;
    if (!own && !others)
      out.why_not = "the preemption policies of the ClusterQueue are Never";
    else
      out.why_not = "no workload that the policies allow to preempt would free enough";
    policies_that_help(request);
    return out;
  }

  // One by one the policies that would find victims, each in its mildest form.
  void policies_that_help(const PreemptRequest& request) {
    const Preemption now = queue_.spec.preemption;
    const std::string of = " of ClusterQueue " + queue_.spec.name + " to ";
    const auto helps = [&](const Preemption& tried, const std::string& text) {
      Preemption& policies = world_.queues[queue_id_].spec.preemption;
      policies = tried;
      const std::vector<Victim> victims = find_victims(overlay_, request);
      policies = now;
      if (victims.empty()) return false;
      changes_.emplace(kRuleChange,
                       "set preemption." + text + ": it could then preempt " + named(victims));
      return true;
    };
    for (const auto& [policy, word] :
         {std::pair(WithinClusterQueue::kLowerPriority, "LowerPriority"),
          std::pair(WithinClusterQueue::kLowerOrNewerEqualPriority, "LowerOrNewerEqualPriority")}) {
      Preemption tried = now;
      tried.within = policy;
      if (policy > now.within && helps(tried, "withinClusterQueue" + of + word)) break;
    }
    if (!world_.forest.has_parent(queue_.node)) return;
    for (const auto& [policy, word] :
         {std::pair(ReclaimWithinCohort::kLowerPriority, "LowerPriority"),
          std::pair(ReclaimWithinCohort::kAny, "Any")}) {
      Preemption tried = now;
      tried.reclaim = policy;
      if (policy > now.reclaim && helps(tried, "reclaimWithinCohort" + of + word)) return;
    }
    if (now.borrow.lower_priority) return;
    Preemption tried = now;
    tried.borrow.lower_priority = true;
    std::string and_reclaim;
    if (now.reclaim == ReclaimWithinCohort::kNever) {
      tried.reclaim = ReclaimWithinCohort::kLowerPriority;
      and_reclaim = " with reclaimWithinCohort LowerPriority";
    }
    helps(tried, "borrowWithinCohort.policy" + of + "LowerPriority" + and_reclaim);
  }

  std::string named(const std::vector<Victim>& victims) const {
    std::vector<std::string> names;
    for (const Victim& victim : victims) names.push_back(world_.object(victim.id).key.text());
    std::sort(names.begin(), names.end());
    std::string out;
    for (size_t i = 0; i < names.size() && i < kMostNamed; ++i)
      out += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > kMostNamed)
      out += " and " + std::to_string(names.size() - kMostNamed) + " more";
    return out;
  }

  void add_domains(const PodSetResult& ps, FlavorId flavor, FlavorLook& out) {
    const TopologyTree* tree = topology_tree(world_, flavor);
    if (tree == nullptr) return;
    const ResourceList& per_pod = world_.shapes[world_.record(id_).shapes[ps.index]].raw_requests;
    std::vector<int64_t> fits(tree->nodes.size(), 0);
    for (size_t i = 0; i < tree->leaves.size(); ++i) {
      const int64_t pods = fits_in_leaf(*tree, static_cast<int32_t>(i), per_pod);
      for (int32_t at = tree->leaves[i].node; at >= 0; at = tree->nodes[node_index(at)].parent)
        fits[node_index(at)] += pods;
    }
    for (size_t level = 0; level < tree->level_nodes.size(); ++level) {
      LevelLook& look = out.levels.emplace_back();
      look.level = tree->levels[level];
      for (int32_t node : tree->level_nodes[level])
        look.domains.push_back({tree->nodes[node_index(node)].values, fits[node_index(node)]});
      std::sort(look.domains.begin(), look.domains.end(),
                [](const DomainLook& a, const DomainLook& b) {
                  return a.pods != b.pods ? a.pods > b.pods : a.values < b.values;
                });
      if (look.domains.size() > kMostDomains) look.domains.resize(kMostDomains);
    }
  }

  static size_t node_index(int32_t node) { return static_cast<size_t>(node); }

  // Pods of the pod set, by what is free.
  static int64_t fits_in_leaf(const TopologyTree& tree, int32_t leaf, const ResourceList& per_pod) {
    int64_t pods = INT32_MAX;
    for (const auto& [resource, amount] : per_pod) {
      if (amount <= Amount()) continue;
      const int column = tree.column_of(resource);
      Amount free;
      if (column >= 0) free = tree.free[tree.at(leaf, static_cast<size_t>(column))];
      pods = std::min(pods, std::max<int64_t>(0, free.value() / amount.value()));
    }
    return pods;
  }

  // What has to happen in a flavor with these reasons: all of it, as one change.
  void add_changes(const SlimVector<Reason>& reasons, const std::vector<QuotaLook>& quota,
                   const std::string& pod_set) {
    std::vector<std::string> missing;
    std::string flavor;
    double size = 0;
    for (const QuotaLook& look : quota)
      if (!look.missing.is_zero() && look.missing <= look.requested)
        size = std::max(size, static_cast<double>(look.missing.value()) /
                                  static_cast<double>(look.requested.value()));
    for (const Reason& r : reasons) {
      if (r.kind == ReasonKind::kWaitingForQuota) {
        flavor = r.flavor;
        missing.push_back(quantity_text(r.resource, r.a) + " of " + r.resource);
      } else if (std::string text = change_for(r, pod_set); !text.empty()) {
        changes_.emplace(size, text + room_for(r, quota));
      }
    }
    if (missing.empty()) return;
    std::sort(missing.begin(), missing.end());
    changes_.emplace(size, "free " + listed(missing) + " in flavor " + flavor +
                               ", or raise its nominal quota in " + queue_.spec.name +
                               " by as much");
  }

  static std::string listed(const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) out += (out.empty() ? "" : " and ") + part;
    return out;
  }

  // A flavor that the pods may not have yet: whether there is room for them as well.
  static std::string room_for(const Reason& r, const std::vector<QuotaLook>& quota) {
    if (r.kind != ReasonKind::kTaint && r.kind != ReasonKind::kAffinity) return "";
    std::vector<std::string> missing;
    for (const QuotaLook& look : quota)
      if (!look.missing.is_zero())
        missing.push_back(quantity_text(look.resource, look.missing) + " of " + look.resource);
    return missing.empty() ? "" : ", and free " + listed(missing) + " there";
  }

  std::string change_for(const Reason& r, const std::string& pod_set) {
    const std::string where = r.resource + " in flavor " + r.flavor;
    switch (r.kind) {
      case ReasonKind::kExceedsCapacity:
        return "raise the quota of " + where + " by " + quantity_text(r.resource, r.a + r.b - r.c) +
               ", or request less in pod set " + pod_set;
      case ReasonKind::kTaint:
        return "tolerate " + r.detail + " in pod set " + pod_set + " (flavor " + r.flavor + ")";
      case ReasonKind::kAffinity:
        return "let the node selector of pod set " + pod_set + " allow flavor " + r.flavor;
      case ReasonKind::kFlavorMissing:
        return "create ResourceFlavor " + r.flavor;
      case ReasonKind::kResourceUnavailable:
        return "give " + queue_.spec.name + " a quota of " + r.resource;
      case ReasonKind::kTopology:
        return "free nodes for pod set " + pod_set + ", or ask for a wider topology level";
      case ReasonKind::kWaitingForQuota:
      case ReasonKind::kPinned:
      case ReasonKind::kNotAllowed:
      case ReasonKind::kSliceFlavor:
        return "";
    }
    return "";
  }

  World& world_;
  Overlay overlay_;
  WorkloadId id_;
  QueueId queue_id_;
  const QueueRecord& queue_;
  std::set<std::pair<double, std::string>> changes_;  // by size: a part of what is asked for
};

const char* standing_of(const State& state, const Key& key) {
  switch (state.place(key)) {
    case WorkloadPlace::kActive:
      return "waits in the queue";
    case WorkloadPlace::kInadmissible:
      return "set aside until something changes";
    case WorkloadPlace::kReserved:
      return "holds quota";
    case WorkloadPlace::kUnknown:
      return "in no queue";
  }
  return "";
}

// Of a workload whose way to a ClusterQueue ends before one.
void say_what_is_missing(const World& world, WorkloadId id, Why& out) {
  const WorkloadRecord& r = world.record(id);
  const std::string name = world.object(id).queue_name;
  if (name.empty()) {
    out.message = "it names no queue";
    out.changes = {"set the label kueue.x-k8s.io/queue-name of its job to a LocalQueue"};
    return;
  }
  const std::string ns = out.key.namespace_.str();
  if (!r.local.valid() || !world.locals[r.local].exists) {
    out.message = "there is no LocalQueue " + name + " in namespace " + ns;
    std::vector<std::string> others;
    for (const LocalRecord& local : world.locals)
      if (local.exists && local.key.namespace_ == out.key.namespace_)
        others.push_back(local.key.name);
    std::sort(others.begin(), others.end());
    std::string text = "create LocalQueue " + name + " in namespace " + ns;
    for (size_t i = 0; i < others.size() && i < kMostNamed; ++i)
      text += (i == 0 ? ", or name one that is there: " : ", ") + others[i];
    out.changes = {text};
    return;
  }
  const std::string queue = world.locals[r.local].spec.cluster_queue;
  out.message = "there is no ClusterQueue " + queue + ", which LocalQueue " + name + " leads to";
  out.changes = {"create ClusterQueue " + queue};
}

}  // namespace

Why explain(State& state, const Key& key) {
  Why out;
  World& world = state.world();
  WorkloadId id = world.find(key);
  if (!id.valid()) return out;
  world.forest.settle();
  settle_topology(world);
  out.known = true;
  out.key = key;
  out.standing = standing_of(state, key);
  const WorkloadRecord& r = world.record(id);
  QueueId queue = r.local.valid() ? world.locals[r.local].queue : QueueId();
  if (!queue.valid() || !world.queues[queue].exists) {
    say_what_is_missing(world, id, out);
    return out;
  }
  out.cluster_queue = world.queues[queue].spec.name;
  const LocalRecord& local = world.locals[r.local];
  if (local.spec.stop != StopPolicy::kNone) {
    out.message = "LocalQueue " + local.key.text() + " is stopped";
    out.changes = {"set spec.stopPolicy of LocalQueue " + local.key.text() + " to None"};
    return out;
  }
  if (!world.queues[queue].activity.active) {
    out.message = world.queues[queue].activity.message;
    out.changes = {world.queues[queue].spec.stop != StopPolicy::kNone
                       ? "set spec.stopPolicy of ClusterQueue " + out.cluster_queue + " to None"
                       : "mend ClusterQueue " + out.cluster_queue + ": " + out.message};
    return out;
  }
  // Those with quota have been through all this.
  if (r.reservation) return out;
  const std::optional<std::string> refused = why_not_nominated(world, id, queue);
  Asker(world, id, queue).look(out);
  if (!refused) return out;
  if (!refused->empty()) out.message = *refused;
  // No quota helps what would not be looked at.
  out.changes = {refused->empty() ? "create namespace " + key.namespace_.str()
                                  : "mend what stands against it: " + *refused};
  return out;
}

}  // namespace kueue::engine
