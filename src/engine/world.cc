#include "engine/world.h"

#include <algorithm>

#include "base/fetch_ahead.h"

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
  if (WorkloadId next = turns.ahead(0); next.valid()) {
    const WorkloadRecord& r = workloads[next];
    if (r.object && r.object->key == key) return next;
  }
  return workload_ids.find(key.namespace_, key.name, [&](WorkloadId id) {
    // Who looks for a workload goes on to read and change all of it.
    const WorkloadRecord& r = workloads[id];
    fetch_ahead(&r);
    fetch_ahead(r.object.get());
    return r.object && r.object->key == key;
  });
}

QueueId World::find_queue(const Text& name) const {
  auto it = queue_ids.find(name);
  return it == queue_ids.end() ? QueueId() : it->second;
}

LocalId World::find_local(std::string_view ns, std::string_view name) const {
  return local_ids.find(ns, name, [&](LocalId id) {
    return locals[id].key.name == name && locals[id].key.namespace_ == ns;
  });
}

uint64_t World::tree_epoch_of(QueueId queue) const {
  uint32_t root = forest.at(queues[queue].node).root.value;
  return root < trees.size() ? trees[root].epoch : 0;
}

uint32_t World::departures_of(QueueId queue) const {
  uint32_t root = forest.at(queues[queue].node).root.value;
  return root < trees.size() ? trees[root].departures : 0;
}

int64_t World::generation_of(QueueId queue) const {
  uint32_t root = forest.at(queues[queue].node).root.value;
  return queues[queue].generation + (root < trees.size() ? trees[root].releases : 0);
}

void World::touch_tree(QueueId queue) { touch_root(forest.at(queues[queue].node).root); }

void World::touch_root(QuotaId root) {
  // Not counted per tree: a queue that moves to another one must not find the number it left.
  tree(root).epoch = ++news;
}

}  // namespace kueue::engine
