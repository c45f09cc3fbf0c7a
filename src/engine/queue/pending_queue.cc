#include "engine/queue/pending_queue.h"

#include <algorithm>

#include "base/check.h"

namespace kueue::engine {

bool PendingKey::before(const PendingKey& o) const {
  if (sticky != o.sticky) return sticky;
  if (priority != o.priority) return priority > o.priority;
  if (timestamp != o.timestamp) return timestamp < o.timestamp;
  if (int c = uid->compare(*o.uid); c != 0) return c < 0;
  if (int c = namespace_->compare(*o.namespace_); c != 0) return c < 0;
  return *name < *o.name;
}

PendingQueue::Entry* PendingQueue::group(LocalId local) {
  for (Entry& entry : groups_)
    if (entry.local == local) return &entry;
  return nullptr;
}

const PendingQueue::Entry* PendingQueue::group(LocalId local) const {
  for (const Entry& entry : groups_)
    if (entry.local == local) return &entry;
  return nullptr;
}

void PendingQueue::insert(WorkloadId id, LocalId local) {
  LocalId key = group_key(local);
  Entry* entry = group(key);
  if (entry == nullptr) entry = &groups_.emplace_back(Entry{key, Group(Less{keys_})});
  if (entry->members.insert(id).second) ++size_;
}

void PendingQueue::remove(WorkloadId id, LocalId local) {
  Entry* entry = group(group_key(local));
  if (entry == nullptr || entry->members.erase(id) == 0) return;
  --size_;
  if (entry->members.empty() && entry != &groups_.back()) std::swap(*entry, groups_.back());
  if (groups_.back().members.empty()) groups_.pop_back();
}

bool PendingQueue::contains(WorkloadId id, LocalId local) const {
  const Entry* entry = group(group_key(local));
  return entry != nullptr && entry->members.contains(id);
}

WorkloadId PendingQueue::top() const {
  KUEUE_CHECK(size_ > 0, "top() of an empty queue");
  const Entry* best = nullptr;
  double best_usage = 0;
  for (const Entry& entry : groups_) {
    double value = usage(entry.local);
    bool better = best == nullptr || value < best_usage ||
                  (value == best_usage &&
                   (*keys_)[*entry.members.begin()].before((*keys_)[*best->members.begin()]));
    if (!better) continue;
    best = &entry;
    best_usage = value;
  }
  return *best->members.begin();
}

std::vector<WorkloadId> PendingQueue::members() const {
  std::vector<WorkloadId> out;
  out.reserve(size_);
  for (const Entry& entry : groups_)
    out.insert(out.end(), entry.members.begin(), entry.members.end());
  return out;
}

std::vector<WorkloadId> PendingQueue::ordered() const {
  std::vector<std::pair<double, WorkloadId>> all;
  all.reserve(size_);
  for (const Entry& entry : groups_)
    for (WorkloadId id : entry.members) all.emplace_back(usage(entry.local), id);
  if (fair())  // LocalQueues of equal usage compete workload by workload
    std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : (*keys_)[a.second].before((*keys_)[b.second]);
    });
  std::vector<WorkloadId> out;
  out.reserve(size_);
  for (const auto& [value, id] : all) out.push_back(id);
  return out;
}

void PendingQueue::set_fairness(const std::vector<double>* usage,
                                const std::function<LocalId(WorkloadId)>& local_of) {
  if (usage_ == usage) return;
  std::vector<WorkloadId> all = members();
  groups_.clear();
  size_ = 0;
  usage_ = usage;
  for (WorkloadId id : all) insert(id, local_of(id));
}

}  // namespace kueue::engine
