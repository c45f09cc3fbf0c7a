#include "engine/queue/checks.h"

#include <algorithm>

namespace kueue::engine {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

std::vector<std::string> checks_for_admission(const World& world, const Admission& admission) {
  QueueId queue = world.find_queue(admission.cluster_queue);
  if (!queue.valid()) return {};
  return checks_for_admission(world, queue, admission);
}

std::vector<std::string> checks_for_admission(const World& world, QueueId queue,
                                              const Admission& admission) {
  std::set<std::string> out;
  for (const CheckRule& rule : world.queues[queue].spec.checks) {
    bool applies = rule.on_flavors.empty();
    for (const PodSetAssignment& ps : admission.pod_sets)
      for (const auto& [resource, flavor] : ps.flavors)
        applies = applies || contains(rule.on_flavors, flavor);
    if (applies) out.insert(rule.check);
  }
  return {out.begin(), out.end()};
}

std::vector<std::string> checks_for_queue(const World& world, QueueId queue) {
  std::set<std::string> out;
  const QueueRecord& q = world.queues[queue];
  for (const CheckRule& rule : q.spec.checks) {
    bool all = true;
    if (!rule.on_flavors.empty())
      for (const GroupRecord& group : q.groups)
        for (FlavorId flavor : group.flavors)
          all = all && contains(rule.on_flavors, world.names.text(flavor));
    if (all) out.insert(rule.check);
  }
  return {out.begin(), out.end()};
}

bool has_check_of(const World& world, const QueueRecord& queue, FlavorId flavor,
                  const char* controller) {
  for (const CheckRule& rule : queue.spec.checks) {
    auto it = world.checks.find(rule.check);
    if (it == world.checks.end() || it->second.controller != controller) continue;
    if (rule.on_flavors.empty() || contains(rule.on_flavors, world.names.text(flavor))) return true;
  }
  return false;
}

}  // namespace kueue::engine
