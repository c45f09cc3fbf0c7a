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
  if (context.world().object(candidate).given_up) return false;
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

CandidateRank rank_of(const PreemptContext& context, WorkloadId id) {
  const World& world = context.world();
  const WorkloadRecord& r = world.record(id);
  CandidateRank out;
  out.id = id;
  out.evicted = already_evicted(world, id);
  out.own = r.reservation->queue == context.request.queue;
  out.queue = r.reservation->queue;
  if (world.queues[out.queue].pending.fair()) out.usage = world.local_usage[r.local.value];
  out.priority = r.object->effective_priority();
  out.since = r.reservation->since;
  out.object = r.object.get();
  return out;
}

bool CandidateRank::before(const CandidateRank& o) const {
  if (evicted != o.evicted) return evicted;
  if (own != o.own) return o.own;
  if (queue == o.queue && usage != o.usage) return usage > o.usage;
  if (priority != o.priority) return priority < o.priority;
  if (since != o.since) return since > o.since;
  if (object->uid != o.object->uid) return object->uid < o.object->uid;
  return object->key < o.object->key;
}

bool candidate_before(const PreemptContext& context, WorkloadId a, WorkloadId b) {
  return rank_of(context, a).before(rank_of(context, b));
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
    erase_if(request.usage,
             [&](const auto& entry) { return world.names.parts(entry.first).resource == pods; });
  for (const PodSetResult& ps : assignment.pod_sets)
    for (const FlavorChoice& f : ps.flavors)
      if (fit_mode(f.mode) == FitMode::kPreempt)
        request.needed.push_back(world.names.fr(f.flavor, f.resource));
  std::sort(request.needed.begin(), request.needed.end());
  request.needed.erase(std::unique(request.needed.begin(), request.needed.end()),
                       request.needed.end());
  request.places_fit = placement_check(overlay, id, queue, assignment);
  if (request.places_fit == nullptr && request.usage.size() == 1 && request.needed.size() == 1)
    for (const VictimSearch& search : assignment.searches)
      if (search.fr == request.needed.front() && search.fr == request.usage.front().first &&
          search.amount == request.usage.front().second)
        return search.victims;
  return find_victims(overlay, request);
}

Simulation simulate_preemption(Overlay& overlay, WorkloadId id, QueueId queue, FrId fr,
                               Amount amount, VictimSearch* search) {
  World& world = overlay.world();
  PreemptRequest request{
      .preemptor = id, .queue = queue, .usage = {{fr, amount}}, .needed = {fr}, .places_fit = {}};
  std::vector<Victim> victims = find_victims(overlay, request);
  QuotaId node = world.queues[queue].node;
  if (search != nullptr) *search = {fr, amount, victims};
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
