#include "controllers/journal/journal.h"

namespace kueue::controllers {
namespace {

// What the allocator and the containers add; measured, rounded up.
constexpr size_t kPerEntry = 64;
constexpr size_t kPerRecord = 96;
constexpr size_t kNews = 4;  // entries among which the same news is looked for
constexpr Duration kSameNews = Duration::seconds(60);

size_t heap_of(const std::string& text) { return text.capacity() > 15 ? text.capacity() + 17 : 0; }

}  // namespace

size_t Journal::cost(const Records::const_iterator& record) {
  return sizeof(Records::value_type) + kPerRecord + heap_of(record->first.namespace_) +
         heap_of(record->first.name) + heap_of(record->second.uid);
}

size_t Journal::cost(const Entry& entry) {
  return sizeof(Item) + kPerEntry + heap_of(entry.text) + heap_of(entry.other.namespace_) +
         heap_of(entry.other.name);
}

void Journal::note(const engine::Key& workload, std::string_view uid, What what, Instant now,
                   std::string text, const engine::Key& other, bool seen_again) {
  if (text.size() > limits_.text) {
    text.resize(limits_.text - 4);
    text += " ...";
  }
  text.shrink_to_fit();
  std::lock_guard lock(mutex_);
  auto record = records_.find(workload);
  if (record != records_.end() && record->second.uid != uid) {
    erase(record);
    record = records_.end();
  }
  if (record == records_.end()) {
    record = records_.try_emplace(workload, Record{std::string(uid), {}, 0}).first;
    bytes_ += cost(Records::const_iterator(record));
  }
  auto& items = record->second.items;
  const auto same = [&](const Entry& e) {
    return e.what == what && e.text == text && e.other == other;
  };
  if (!seen_again) {
    for (size_t i = items.size(); i > 0 && i + kNews > items.size(); --i) {
      const Entry& entry = items[i - 1]->entry;
      if (same(entry) && now - entry.last < kSameNews) return;
    }
  } else {
    // Why it waits may go to and fro between a few texts: each of them is one entry.
    for (size_t i = items.size(); i > 0 && i + kNews > items.size(); --i) {
      const Items::iterator item = items[i - 1];
      if (!same(item->entry)) {
        const bool passing = item->entry.what == What::kWaits || item->entry.what == What::kPods;
        if (what == What::kWaits && passing) continue;
        break;
      }
      ++item->entry.count;
      item->entry.last = now;
      items_.splice(items_.end(), items_, item);
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(i - 1));
      items.push_back(item);
      return;
    }
  }
  items_.push_back({{what, now, now, 1, std::move(text), other}, record});
  items.push_back(std::prev(items_.end()));
  bytes_ += cost(items_.back().entry);
  if (items.size() > limits_.entries_per_workload) drop_oldest_of(record);
  while (bytes_ > limits_.bytes && !items_.empty()) drop_oldest_of(items_.front().owner);
}

void Journal::drop_oldest_of(Records::iterator record) {
  auto& items = record->second.items;
  bytes_ -= cost(items.front()->entry);
  items_.erase(items.front());
  items.erase(items.begin());
  ++record->second.dropped;
  if (items.empty()) erase(record);
}

void Journal::erase(Records::iterator record) {
  for (const Items::iterator& item : record->second.items) {
    bytes_ -= cost(item->entry);
    items_.erase(item);
  }
  bytes_ -= cost(Records::const_iterator(record));
  records_.erase(record);
}

void Journal::forget(const engine::Key& workload) {
  std::lock_guard lock(mutex_);
  const auto record = records_.find(workload);
  if (record != records_.end()) erase(record);
}

Journal::History Journal::of(const engine::Key& workload, std::string_view uid) const {
  History out;
  out.since = since_;
  std::lock_guard lock(mutex_);
  const auto record = records_.find(workload);
  if (record == records_.end() || record->second.uid != uid) return out;
  for (const Items::iterator& item : record->second.items) out.entries.push_back(item->entry);
  out.dropped = record->second.dropped;
  return out;
}

size_t Journal::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

size_t Journal::workloads() const {
  std::lock_guard lock(mutex_);
  return records_.size();
}

std::string_view journal_word(Journal::What what) {
  switch (what) {
    case Journal::What::kWaits:
      return "Waits";
    case Journal::What::kQuotaReserved:
      return "QuotaReserved";
    case Journal::What::kAdmitted:
      return "Admitted";
    case Journal::What::kPreempts:
      return "Preempts";
    case Journal::What::kPreempted:
      return "Preempted";
    case Journal::What::kEvicted:
      return "Evicted";
    case Journal::What::kRequeued:
      return "Requeued";
    case Journal::What::kBackoff:
      return "Backoff";
    case Journal::What::kCheck:
      return "Check";
    case Journal::What::kPods:
      return "Pods";
    case Journal::What::kDeactivation:
      return "Deactivation";
    case Journal::What::kChanged:
      return "Changed";
    case Journal::What::kWriteFailed:
      return "WriteFailed";
    case Journal::What::kFinished:
      return "Finished";
  }
  return "";
}

}  // namespace kueue::controllers
