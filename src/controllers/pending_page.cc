#include "controllers/pending_page.h"

namespace kueue::controllers {

std::vector<engine::PendingWorkload> pending_page(const engine::State& state,
                                                  const std::string& cluster_queue,
                                                  const engine::Key* local, size_t offset,
                                                  size_t limit) {
  std::vector<engine::PendingWorkload> page;
  size_t index = 0;
  for (engine::PendingWorkload& one : state.pending(cluster_queue)) {
    if (page.size() == limit) break;
    const bool belongs = local == nullptr || (one.local_queue == local->name &&
                                              one.key.namespace_ == local->namespace_);
    if (!belongs || index++ < offset) continue;
    page.push_back(std::move(one));
  }
  return page;
}

}  // namespace kueue::controllers
