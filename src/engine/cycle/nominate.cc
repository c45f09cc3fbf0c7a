// Nomination: may the head be looked at, and which assignment would it get (behaviour.md 4.3 and
// 5).
#include <algorithm>
#include <numeric>

#include "engine/cycle/entry.h"
#include "engine/topology/assign.h"

namespace kueue::engine {
namespace {

bool fail(Entry& entry, PendingReason reason, std::string message) {
  entry.pending = reason;
  entry.message = std::move(message);
  return false;
}

bool feasible(const Assignment& assignment, const std::vector<Victim>& victims) {
  FitMode mode = assignment.mode();
  return mode == FitMode::kFit || mode == FitMode::kDeferredFit ||
         (mode == FitMode::kPreempt && !victims.empty());
}

struct Attempt {
  Assignment assignment;
  std::vector<Victim> victims;
};

Attempt attempt(Overlay& overlay, const Entry& entry, const AssignOptions& options) {
  Attempt out;
  out.assignment = assign_flavors(overlay, entry.id(), entry.queue, options);
  if (out.assignment.mode() == FitMode::kPreempt)
    out.victims = find_victims(overlay, entry.id(), entry.queue, out.assignment);
  return out;
}

// Fewer pods: the largest counts (by equal fractions between minCount and count) that are feasible.
std::optional<Attempt> reduced(Overlay& overlay, const Entry& entry, AssignOptions options) {
  const Workload& w = overlay.world().object(entry.id());
  if (!overlay.world().gate(Gate::kPartialAdmission)) return std::nullopt;
  std::vector<int64_t> deltas;
  for (const PodSet& ps : w.pod_sets)
    deltas.push_back(std::max(0, ps.count - ps.min_count.value_or(ps.count)));
  int64_t total = std::accumulate(deltas.begin(), deltas.end(), int64_t{0});
  if (total == 0) return std::nullopt;
  std::optional<Attempt> best;
  int64_t low = 0, high = total + 1;  // the smallest step that is feasible lies in [low, high)
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (middle > total) break;
    options.counts.clear();
    for (size_t i = 0; i < deltas.size(); ++i)
      options.counts.push_back(w.pod_sets[i].count -
                               static_cast<int32_t>(deltas[i] * middle / total));
    Attempt a = attempt(overlay, entry, options);
    if (feasible(a.assignment, a.victims)) {
      best = std::move(a);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return best;
}

bool scan_is_outdated(const World& world, const Entry& entry) {
  const WorkloadRecord& r = world.record(entry.id());
  if (world.gate(Gate::kFlavorFungibilityPreserveScanProgress)) {
    if (!(r.scan->digest == r.digest)) return true;
    if (world.cycle - r.scan->cycle <= 1) return false;
  }
  return world.generation_of(entry.queue) != r.scan->queue_generation;
}

// One that has tried everything starts anew next time, as without any.
void keep_progress(WorkloadRecord& record, ScanProgress& scan) {
  if (scan.has_untried())
    record.scan = std::make_unique<ScanProgress>(std::move(scan));
  else
    record.scan.reset();
}

void find_assignment(Overlay& overlay, Entry& entry, const AssignOptions& options) {
  Attempt full = attempt(overlay, entry, options);
  if (!feasible(full.assignment, full.victims))
    if (std::optional<Attempt> fewer = reduced(overlay, entry, options)) full = std::move(*fewer);
  // The replaced slice goes with whatever else has to go; alone it does not make room.
  if (entry.replaced.valid() && feasible(full.assignment, full.victims) &&
      std::none_of(full.victims.begin(), full.victims.end(),
                   [&](const Victim& v) { return v.id == entry.replaced; }))
    full.victims.push_back({entry.replaced, PreemptReason::kNone});
  if (full.assignment.mode() == FitMode::kPreempt)
    reserve_places(overlay, entry.id(), entry.queue, full.victims, entry.replaced, full.assignment);
  entry.assignment = std::move(full.assignment);
  entry.victims = std::move(full.victims);
  entry.message = entry.assignment.message(overlay.world().object(entry.id()));
}

}  // namespace

bool may_be_nominated(World& world, Entry& entry) {
  const WorkloadRecord& r = world.record(entry.id());
  const Workload& w = *r.object;
  const QueueRecord& queue = world.queues[entry.queue];
  if (!entry.head.second_pass && r.reservation) {
    entry.silent = true;
    return false;
  }
  for (const CheckStatus& check : w.checks)
    if (check.state == CheckState::kRetry || check.state == CheckState::kRejected)
      return fail(entry, PendingReason::kPendingEvaluation,
                  "The workload has failed admission checks");
  if (!queue.exists)
    return fail(entry, PendingReason::kMisconfigured,
                "ClusterQueue " + queue.spec.name + " not found");
  if (!queue.active)
    return fail(entry, PendingReason::kSuspended,
                "ClusterQueue " + queue.spec.name + " is inactive");
  auto labels = world.namespaces.find(w.key.namespace_);
  if (labels == world.namespaces.end()) {
    entry.requeue = RequeueReason::kNamespaceMismatch;
    return fail(entry, PendingReason::kMisconfigured,
                "namespace " + w.key.namespace_ + " not found");
  }
  if (!queue.spec.namespace_selector || !matches(*queue.spec.namespace_selector, labels->second)) {
    entry.requeue = RequeueReason::kNamespaceMismatch;
    return fail(entry, PendingReason::kMisconfigured,
                "workload namespace doesn't match ClusterQueue selector");
  }
  if (!w.misconfigured.empty()) return fail(entry, PendingReason::kMisconfigured, w.misconfigured);
  return true;
}

void nominate(Overlay& overlay, Entry& entry) {
  World& world = overlay.world();
  WorkloadRecord& r = world.record(entry.id());
  if (r.scan && scan_is_outdated(world, entry)) r.scan.reset();
  r.looked_in_part = r.scan != nullptr && r.scan->has_untried();
  entry.nominated = true;
  entry.replaced = replaced_slice(world, entry.id());
  AssignOptions options;
  options.replaced = entry.replaced;
  find_assignment(overlay, entry, options);
  keep_progress(r, entry.assignment.scan);
}

void nominate_again(Overlay& overlay, Entry& entry) {
  overlay.world().record(entry.id()).scan.reset();
  overlay.world().record(entry.id()).looked_in_part = true;
  Assignment nominated = std::move(entry.assignment);
  AssignOptions options;
  options.replaced = entry.replaced;
  options.pinned = &nominated;
  find_assignment(overlay, entry, options);
  keep_progress(overlay.world().record(entry.id()), entry.assignment.scan);
}

WorkloadId replaced_slice(const World& world, WorkloadId id) {
  const Workload& w = world.object(id);
  if (!world.gate(Gate::kElasticJobsViaWorkloadSlices) || !w.elastic || !w.replaces)
    return WorkloadId();
  WorkloadId old = world.find(*w.replaces);
  return old.valid() && world.record(old).reservation && !world.object(old).finished()
             ? old
             : WorkloadId();
}

}  // namespace kueue::engine
