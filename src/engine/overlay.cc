#include "engine/overlay.h"

#include "base/check.h"

namespace kueue::engine {

Overlay::Mark Overlay::mark() const {
  return {world_.forest.journal_mark(), topology_journal_mark(world_), moves_.size()};
}

void Overlay::rollback(Mark mark) {
  world_.forest.rollback(mark.quota);
  rollback_topology(world_, mark.topology);
  while (moves_.size() > mark.moves) {
    removed_[moves_.back().value] = !removed_[moves_.back().value];
    moves_.pop_back();
  }
}

void Overlay::set_removed(WorkloadId id, bool value) {
  if (removed_.size() <= id.value) removed_.resize(id.value + 1, false);
  KUEUE_CHECK(removed_[id.value] != value, "a workload was removed or restored twice");
  removed_[id.value] = value;
  moves_.push_back(id);
}

void Overlay::remove(WorkloadId id) {
  const Reservation& r = *world_.record(id).reservation;
  set_removed(id, true);
  world_.forest.what_if_remove(world_.queues[r.queue].node, r.usage);
  what_if_remove_placed(world_, r.placed);
}

void Overlay::restore(WorkloadId id) {
  const Reservation& r = *world_.record(id).reservation;
  set_removed(id, false);
  world_.forest.what_if_add(world_.queues[r.queue].node, r.usage);
  what_if_add_placed(world_, r.placed);
}

void Overlay::charge(QueueId queue, const Charge& charge) {
  world_.forest.what_if_add(world_.queues[queue].node, charge.quota);
  what_if_add_placed(world_, charge.placed);
}

void Overlay::discharge(QueueId queue, const Charge& charge) {
  world_.forest.what_if_remove(world_.queues[queue].node, charge.quota);
  what_if_remove_placed(world_, charge.placed);
}

}  // namespace kueue::engine
