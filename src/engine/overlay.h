// Overlay: what-if on the World. Removing and restoring workloads and charging usage changes the
// quota cells and topology tables in place, remembers each change, and takes all of it back. No
// copy of the world; a change costs the depth of its tree. One Overlay at a time; nothing permanent
// may happen while it has changes.
#pragma once

#include <vector>

#include "engine/topology/journal.h"
#include "engine/world.h"

namespace kueue::engine {

// What an assignment charges: quota, and pods in topology domains.
struct Charge {
  Usage quota;
  std::vector<PlacedPods> placed;
};

class Overlay {
 public:
  explicit Overlay(World& world) : world_(world) {}
  ~Overlay() { rollback(Mark()); }
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  struct Mark {
    size_t quota = 0;
    size_t topology = 0;
    size_t moves = 0;
  };
  Mark mark() const;
  void rollback(Mark mark);

  // Takes the workload's reservation out, or back in.
  void remove(WorkloadId id);
  void restore(WorkloadId id);
  bool removed(WorkloadId id) const { return id.value < removed_.size() && removed_[id.value]; }

  void charge(QueueId queue, const Charge& charge);
  void discharge(QueueId queue, const Charge& charge);

  World& world() { return world_; }
  const World& world() const { return world_; }

 private:
  void set_removed(WorkloadId id, bool value);
  World& world_;
  std::vector<bool> removed_;
  std::vector<WorkloadId> moves_;  // each toggles removed_
};

}  // namespace kueue::engine
