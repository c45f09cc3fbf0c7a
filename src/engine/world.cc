#include "engine/world.h"

#include <algorithm>

namespace kueue::engine {

bool ScanProgress::has_untried() const {
  for (const auto& pod_set : tried)
    for (const auto& [resource, index] : pod_set)
      if (index != -1) return true;
  return false;
}

const GroupRecord* QueueRecord::group_of(ResourceId resource) const {
  for (const GroupRecord& group : groups)
    if (std::find(group.covered.begin(), group.covered.end(), resource) != group.covered.end())
      return &group;
  return nullptr;
}

WorkloadId World::find(const Key& key) const {
  auto it = workload_ids.find(key.text());
  return it == workload_ids.end() ? WorkloadId() : it->second;
}

QueueId World::find_queue(const std::string& name) const {
  auto it = queue_ids.find(name);
  return it == queue_ids.end() ? QueueId() : it->second;
}

LocalId World::find_local(const Key& key) const {
  auto it = local_ids.find(key.text());
  return it == local_ids.end() ? LocalId() : it->second;
}

uint64_t World::tree_epoch_of(QueueId queue) const {
  auto it = tree_epoch.find(forest.at(queues[queue].node).root.value);
  return it == tree_epoch.end() ? 0 : it->second;
}

int64_t World::generation_of(QueueId queue) const {
  auto it = tree_releases.find(forest.at(queues[queue].node).root.value);
  return queues[queue].generation + (it == tree_releases.end() ? 0 : it->second);
}

void World::touch_tree(QueueId queue) { ++tree_epoch[forest.at(queues[queue].node).root.value]; }

}  // namespace kueue::engine
