// What explanations share when they try a workload that waits: whether a cycle would look at it,
// and scans of its flavors as if it had just come. Nothing of it stays.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cycle/entry.h"
#include "engine/world.h"

namespace kueue::engine {

// Scans start at the first flavor while this lives, as they will when quota has come back.
class FreshScans {
 public:
  explicit FreshScans(World& world) : world_(world) {}
  FreshScans(const FreshScans&) = delete;
  FreshScans& operator=(const FreshScans&) = delete;
  ~FreshScans() {
    for (auto& [id, scan] : kept_) world_.record(id).scan = std::move(scan);
  }
  void start_over(WorkloadId id) { kept_.emplace_back(id, std::move(world_.record(id).scan)); }

 private:
  World& world_;
  std::vector<std::pair<WorkloadId, std::unique_ptr<ScanProgress>>> kept_;
};

// Why a cycle would not look at it in this queue, "" when that has no text; nullopt = it would.
inline std::optional<std::string> why_not_nominated(World& world, WorkloadId id, QueueId queue) {
  Entry entry;
  entry.head.id = id;
  entry.queue = queue;
  if (may_be_nominated(world, entry)) return std::nullopt;
  return std::move(entry.message);
}

}  // namespace kueue::engine
