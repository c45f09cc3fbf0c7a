#include "engine/preempt/preempt.h"

#include <algorithm>

#include "engine/preempt/simulate.h"
#include "engine/queue/queueing.h"
#include "engine/topology/assign.h"

namespace kueue::engine {

bool satisfies(const PreemptContext& context, WorkloadId candidate, VictimPolicy policy) {
  const World& world = context.world();
  const Workload& p = world.object(context.request.preemptor);
  const Workload& c = world.object(candidate);
  switch (policy) {
    case VictimPolicy::kNever:
      return false;
    case VictimPolicy::kAny:
      return true;
    case VictimPolicy::kLowerPriority:
      return p.effective_priority() > c.effective_priority();
    case VictimPolicy::kLowerOrNewerEqualPriority:
      if (p.effective_priority() != c.effective_priority())
        return p.effective_priority() > c.effective_priority();
      return queue_timestamp(world, p) < queue_timestamp(world, c);
  }
  return false;
}

VictimPolicy within_policy(const QueueRecord& queue) {
  switch (queue.spec.preemption.within) {
    case WithinClusterQueue::kNever:
      return VictimPolicy::kNever;
    case WithinClusterQueue::kLowerPriority:
      return VictimPolicy::kLowerPriority;
    case WithinClusterQueue::kLowerOrNewerEqualPriority:
      return VictimPolicy::kLowerOrNewerEqualPriority;
  }
  return VictimPolicy::kNever;
}

VictimPolicy reclaim_policy(const QueueRecord& queue) {
  switch (queue.spec.preemption.reclaim) {
    case ReclaimWithinCohort::kNever:
      return VictimPolicy::kNever;
    case ReclaimWithinCohort::kLowerPriority:
      return VictimPolicy::kLowerPriority;
    case ReclaimWithinCohort::kAny:
      return VictimPolicy::kAny;
  }
  return VictimPolicy::kNever;
}

bool uses_needed(const PreemptContext& context, WorkloadId candidate) {
  const Usage& usage = context.world().record(candidate).reservation->usage;
  const std::vector<FrId>& needed = context.request.needed;
  return std::any_of(usage.begin(), usage.end(), [&](const auto& entry) {
    return entry.second > Amount() &&
           std::find(needed.begin(), needed.end(), entry.first) != needed.end();
  });
}

bool already_evicted(const World& world, WorkloadId id) {
  const WorkloadRecord& r = world.record(id);
  return r.object->evicted() && !(r.reservation && r.reservation->assumed);
}

bool candidate_before(const PreemptContext& context, WorkloadId a, WorkloadId b) {
  const World& world = context.world();
  bool a_evicted = already_evicted(world, a);
  if (a_evicted != already_evicted(world, b)) return a_evicted;
  const WorkloadRecord& x = world.record(a);
  const WorkloadRecord& y = world.record(b);
  bool a_own = x.reservation->queue == context.request.queue;
  bool b_own = y.reservation->queue == context.request.queue;
  if (a_own != b_own) return b_own;
  bool same_queue = x.reservation->queue == y.reservation->queue;
  if (same_queue && world.queues[x.reservation->queue].pending.fair() && x.local != y.local) {
    double a_usage = world.local_usage[x.local.value];
    double b_usage = world.local_usage[y.local.value];
    if (a_usage != b_usage) return a_usage > b_usage;
  }
  int64_t a_priority = x.object->effective_priority();
  int64_t b_priority = y.object->effective_priority();
  if (a_priority != b_priority) return a_priority < b_priority;
  if (x.reservation->since != y.reservation->since)
    return x.reservation->since > y.reservation->since;
  if (x.object->uid != y.object->uid) return x.object->uid < y.object->uid;
  return x.object->key < y.object->key;
}

bool preemptor_fits(const PreemptContext& context, bool allow_borrowing) {
  const Forest& forest = context.world().forest;
  for (const auto& [fr, amount] : context.request.usage) {
    if (!allow_borrowing && forest.borrowing_with(context.node(), fr, amount)) return false;
    if (amount > forest.available(context.node(), fr)) return false;
  }
  return !context.request.places_fit || context.request.places_fit();
}

void fill_back(const PreemptContext& context, std::vector<Victim>& victims, bool allow_borrowing) {
  for (size_t i = victims.size(); i-- > 1;) {
    size_t candidate = i - 1;
    context.overlay.restore(victims[candidate].id);
    if (preemptor_fits(context, allow_borrowing)) {
      victims[candidate] = victims.back();
      victims.pop_back();
    } else {
      context.overlay.remove(victims[candidate].id);
    }
  }
}

std::vector<Victim> find_victims(Overlay& overlay, const PreemptRequest& request) {
  PreemptContext context{overlay, request, overlay.world().queues[request.queue]};
  Overlay::Mark mark = overlay.mark();
  std::vector<Victim> victims =
      overlay.world().settings.fair_sharing ? fair_victims(context) : classical_victims(context);
  overlay.rollback(mark);
  return victims;
}

std::vector<Victim> find_victims(Overlay& overlay, WorkloadId id, QueueId queue,
                                 const Assignment& assignment) {
  World& world = overlay.world();
  PreemptRequest request{
      .preemptor = id, .queue = queue, .usage = assignment.quota, .needed = {}, .places_fit = {}};
  if (world.record(id).reservation) request.usage.clear();
  // As in Kueue, a quota of pods asks for preemption but does not say when enough is free: victims
  // are chosen by what the pods request.
  if (ResourceId pods = world.names.find_resource("pods"); pods.valid())
    std::erase_if(request.usage, [&](const auto& entry) {
      return world.names.parts(entry.first).resource == pods;
    });
  for (const PodSetResult& ps : assignment.pod_sets)
    for (const FlavorChoice& f : ps.flavors)
      if (fit_mode(f.mode) == FitMode::kPreempt)
        request.needed.push_back(world.names.fr(f.flavor, f.resource));
  std::sort(request.needed.begin(), request.needed.end());
  request.needed.erase(std::unique(request.needed.begin(), request.needed.end()),
                       request.needed.end());
  request.places_fit = placement_check(overlay, id, queue, assignment);
  return find_victims(overlay, request);
}

Simulation simulate_preemption(Overlay& overlay, WorkloadId id, QueueId queue, FrId fr,
                               Amount amount) {
  World& world = overlay.world();
  PreemptRequest request{
      .preemptor = id, .queue = queue, .usage = {{fr, amount}}, .needed = {fr}, .places_fit = {}};
  std::vector<Victim> victims = find_victims(overlay, request);
  QuotaId node = world.queues[queue].node;
  if (victims.empty())
    return {PreemptMode::kNoCandidates,
            world.forest.lowest_subtree_that_fits(node, fr, amount).height};
  Overlay::Mark mark = overlay.mark();
  bool own = false;
  for (const Victim& v : victims) {
    own |= world.record(v.id).reservation->queue == queue;
    overlay.remove(v.id);
  }
  int32_t borrow = world.forest.lowest_subtree_that_fits(node, fr, amount).height;
  overlay.rollback(mark);
  return {own ? PreemptMode::kPreempt : PreemptMode::kReclaim, borrow};
}

}  // namespace kueue::engine
