#include "engine/explain/estimate.h"

#include <algorithm>
#include <map>
#include <memory>

#include "engine/explain/trial.h"
#include "engine/flavor/assignment.h"
#include "engine/topology/tree.h"

namespace kueue::engine {
namespace {

constexpr int kMostSteps = 400;      // assignments tried
constexpr size_t kMostBefore = 100;  // waiting workloads before it
constexpr size_t kMostNamed = 10;

// Something that holds quota and goes at a known time.
struct Ending {
  Key key;
  WorkloadId reserved;             // holds a reservation, or
  std::unique_ptr<Charge> charge;  // was let in while playing
  QueueId queue;
};

class Player {
 public:
  Player(World& world, WorkloadId id, QueueId queue, Instant now, const TimeLeft& left)
      : world_(world),
        overlay_(world),
        scans_(world),
        id_(id),
        queue_(queue),
        now_(now),
        left_(left) {}

  StartEstimate play(const std::vector<WorkloadId>& before) {
    StartEstimate out;
    if (std::string why = never(); !why.empty()) {
      out.never = true;
      out.why_not = std::move(why);
      return out;
    }
    line_ = before;
    line_.push_back(id_);
    for (WorkloadId each : before) scans_.start_over(each);
    collect_endings(out);
    Instant time = now_;
    while (true) {
      if (let_in(time, out)) {
        out.at = time;
        out.unending.clear();
        return out;
      }
      if (steps_ > kMostSteps) {
        out.why_not = "too much waits and runs there to foresee it";
        return out;
      }
      if (endings_.empty()) {
        out.why_not = unknown_text(out);
        return out;
      }
      auto next = endings_.begin();
      time = next->first;
      out.after.push_back(next->second.key);
      leave(next->second);
      endings_.erase(next);
    }
  }

 private:
  // Why it would not fit if nothing of its cohort tree held quota; "" when it would, or when places
  // are missing, which others may hold.
  std::string never() {
    const Forest& forest = world_.forest;
    const Overlay::Mark mark = overlay_.mark();
    scans_.start_over(id_);
    for (QuotaId node : forest.queues_below(forest.at(world_.queues[queue_].node).root))
      for (WorkloadId id : world_.queues[world_.queue_of_node[node.value]].reserved)
        overlay_.remove(id);
    const Assignment assignment = assign_flavors(overlay_, id_, queue_, {});
    overlay_.rollback(mark);
    if (assignment.mode() != FitMode::kNoFit) return "";
    for (const PodSetResult& ps : assignment.pod_sets) {
      const auto places = [](const Reason& reason) { return reason.kind == ReasonKind::kTopology; };
      if (std::any_of(ps.reasons.begin(), ps.reasons.end(), places)) return "";
      for (const FlavorAttempt& attempt : ps.attempts)
        if (std::any_of(attempt.reasons.begin(), attempt.reasons.end(), places)) return "";
    }
    return assignment.message(world_.object(id_));
  }

  void collect_endings(StartEstimate& out) {
    const Forest& forest = world_.forest;
    for (QuotaId node : forest.queues_below(forest.at(world_.queues[queue_].node).root)) {
      const QueueId queue = world_.queue_of_node[node.value];
      for (WorkloadId id : world_.queues[queue].reserved) {
        const Key& key = world_.object(id).key;
        const std::optional<Duration> left = left_(key);
        if (!left) {
          out.unending.push_back(key);
          continue;
        }
        endings_.emplace(now_ + std::max(*left, Duration{}), Ending{key, id, nullptr, queue});
      }
    }
    std::sort(out.unending.begin(), out.unending.end());
  }

  // Those that fit now are let in, in their order; true when it was among them.
  bool let_in(Instant time, StartEstimate& out) {
    const bool strict = world_.queues[queue_].spec.strategy == QueueingStrategy::kStrictFifo;
    for (auto each = line_.begin(); each != line_.end() && steps_ <= kMostSteps;) {
      ++steps_;
      const Assignment assignment = assign_flavors(overlay_, *each, queue_, {});
      if (assignment.mode() != FitMode::kFit) {
        if (strict) return false;
        ++each;
        continue;
      }
      if (*each == id_) return true;
      ++out.before;
      Ending ending{world_.object(*each).key, WorkloadId(),
                    std::make_unique<Charge>(charge_of(world_, *each, assignment)), queue_};
      overlay_.charge(queue_, *ending.charge);
      const std::optional<Duration> left = left_(ending.key);
      if (left) {
        const Instant end = time + std::max(*left, Duration{});
        endings_.emplace(end, std::move(ending));
      } else {
        out.unending.push_back(ending.key);
      }
      each = line_.erase(each);
    }
    return false;
  }

  void leave(const Ending& ending) {
    if (ending.charge == nullptr) return overlay_.remove(ending.reserved);
    overlay_.discharge(ending.queue, *ending.charge);
  }

  std::string unknown_text(StartEstimate& out) const {
    std::sort(out.unending.begin(), out.unending.end());
    if (out.unending.empty())
      return "it does not fit even when everything that holds quota has ended";
    std::string text = "no end is known of ";
    for (size_t i = 0; i < out.unending.size() && i < kMostNamed; ++i)
      text += (i == 0 ? "" : ", ") + out.unending[i].text();
    if (out.unending.size() > kMostNamed)
      text += " and " + std::to_string(out.unending.size() - kMostNamed) + " more";
    return text + " (no maximum execution time)";
  }

  World& world_;
  Overlay overlay_;
  FreshScans scans_;
  WorkloadId id_;
  QueueId queue_;
  Instant now_;
  const TimeLeft& left_;
  std::vector<WorkloadId> line_;
  std::multimap<Instant, Ending> endings_;
  int steps_ = 0;
};

StartEstimate unknown(std::string why) {
  StartEstimate out;
  out.why_not = std::move(why);
  return out;
}

}  // namespace

StartEstimate estimate_start(State& state, const Key& key, Instant now, const TimeLeft& left) {
  World& world = state.world();
  const WorkloadId id = world.find(key);
  if (!id.valid()) return unknown("it is not known to the scheduler");
  const WorkloadRecord& record = world.record(id);
  if (record.reservation) return unknown("it holds quota already");
  if (record.place == Place::kNone) return unknown("it waits in no queue");
  const QueueId queue = record.queue;
  world.forest.settle();
  settle_topology(world);
  if (auto refused = why_not_nominated(world, id, queue))
    return unknown(refused->empty() ? "its namespace is not known" : *refused);
  std::vector<WorkloadId> before;
  for (const PendingWorkload& one : state.pending(world.queues[queue].spec.name)) {
    if (one.key == key) return Player(world, id, queue, now, left).play(before);
    if (before.size() == kMostBefore)
      return unknown("more than " + std::to_string(kMostBefore) + " workloads wait before it");
    before.push_back(world.find(one.key));
  }
  return unknown("a cycle is looking at it now");
}

}  // namespace kueue::engine
