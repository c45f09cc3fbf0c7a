#include "apiserver/store.h"

#include <algorithm>
#include <utility>

#include "apiserver/json_scan.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

// Revisions that a crash may have shown to readers without making them durable are never used
// again.
constexpr uint64_t kRevisionGap = 1'000'000;
constexpr std::string_view kRevisionKey = "revision";

// Why a row cannot be what was written, "" when it can. SQLite notices damage to its pages' order,
// not to what they hold.
std::string damage(const SqliteLog::Row& row) {
  if (row.sum == SqliteLog::Sum::kRight) return {};
  if (!row.value.starts_with('{') || !well_formed(row.value)) return "it is no JSON object";
  const std::string_view metadata = scan_path(row.value, {"metadata"});
  if (scan_string(metadata, {"resourceVersion"}) != std::to_string(row.revision))
    return "its resourceVersion is not " + std::to_string(row.revision);
  if (object_key(scan_string(metadata, {"namespace"}), scan_string(metadata, {"name"})) != row.key)
    return "its name is another";
  if (row.sum == SqliteLog::Sum::kWrong) return "it does not match its checksum";
  return {};
}

}  // namespace

std::string object_key(std::string_view namespace_, std::string_view name) {
  std::string key;
  if (!namespace_.empty()) {
    key.reserve(namespace_.size() + name.size() + 1);
    key.append(namespace_).append("/");
  }
  key.append(name);
  return key;
}

Draft::Draft(json::Value& object) {
  object["metadata"]["resourceVersion"] = "";
  std::string text = json::write(object);
  const std::string_view hole = scan_path(text, {"metadata", "resourceVersion"});
  const size_t at = static_cast<size_t>(hole.data() - text.data()) + 1;
  tail_ = text.substr(at);
  text.resize(at);
  head_ = std::move(text);
}

Draft::Draft(const Stored& stored) {
  const std::string_view hole = scan_path(stored.bytes, {"metadata", "resourceVersion"});
  KUEUE_CHECK(hole.size() >= 2, "stored object without resourceVersion");
  const size_t at = static_cast<size_t>(hole.data() - stored.bytes.data());
  head_ = stored.bytes.substr(0, at + 1);
  tail_ = stored.bytes.substr(at + hole.size() - 1);
}

Stored Draft::finish(uint64_t revision) const {
  const std::string digits = std::to_string(revision);
  Stored stored;
  stored.revision = revision;
  stored.bytes.reserve(head_.size() + digits.size() + tail_.size());
  stored.bytes.append(head_).append(digits).append(tail_);
  return stored;
}

StoredPtr Version::open() const {
  if (text_ != nullptr || !packed_) return text_;
  auto stored = std::make_shared<Stored>();
  stored->bytes = packed_->text();
  stored->revision = packed_->revision();
  return stored;
}

Store::Store(std::unique_ptr<SqliteLog> log, Publish publish, Reset reset)
    : log_(std::move(log)), publish_(std::move(publish)), reset_(std::move(reset)) {}

Result<std::unique_ptr<Store>> Store::open(std::unique_ptr<SqliteLog> log, Publish publish,
                                           Reset reset, bool threaded) {
  std::unique_ptr<Store> store(new Store(std::move(log), std::move(publish), std::move(reset)));
  uint64_t newest = 0;
  if (store->log_ != nullptr) {
    std::string damaged;
    KUEUE_TRY(store->log_->load(
        [&](const SqliteLog::Row& row) {
          if (std::string why = damage(row); !why.empty()) {
            if (damaged.empty())
              damaged = std::string(row.key) + " of " + std::string(row.collection) + ": " + why;
            return;
          }
          if (row.revision > newest) newest = row.revision;
          Collection& collection = store->collection_of(row.collection);
          collection.objects.emplace(row.key,
                                     Version(collection.packer.pack(row.value, row.revision)));
        },
        [&](std::string_view key, std::string_view value) {
          store->meta_.emplace(key, value);
          if (key == kRevisionKey) {
            const uint64_t n = std::strtoull(std::string(value).c_str(), nullptr, 10);
            if (n > newest) newest = n;
          }
        }));
    if (!damaged.empty()) return store->log_->damaged(damaged);
    KUEUE_TRY(store->log_->check_index());
  }
  store->loaded_revision_ = newest;
  store->first_revision_ = newest == 0 ? 1 : newest + kRevisionGap;
  store->revision_ = store->first_revision_;
  if (threaded) store->thread_ = std::thread([raw = store.get()] { raw->run(); });
  return store;
}

Store::~Store() { stop(); }

void Store::stop() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Store::Collection& Store::collection_of(std::string_view name) {
  auto it = collections_.find(name);
  if (it == collections_.end()) {
    it = collections_.emplace(std::string(name), Collection{}).first;
    it->second.name = std::make_shared<const std::string>(name);
  }
  return it->second;
}

StoredPtr Store::get(std::string_view collection, std::string_view key) const {
  Version version;
  {
    std::shared_lock lock(mutex_);
    const auto it = collections_.find(collection);
    if (it == collections_.end()) return nullptr;
    const auto object = it->second.objects.find(key);
    if (object == it->second.objects.end()) return nullptr;
    version = object->second;
  }
  return version.open();
}

Store::Page Store::snapshot(std::string_view collection, std::string_view prefix,
                            std::string_view start, size_t limit) const {
  Page page;
  std::shared_lock lock(mutex_);
  page.revision = revision();
  const auto it = collections_.find(collection);
  if (it == collections_.end()) return page;
  const auto& objects = it->second.objects;
  if (prefix.empty()) page.items.list.reserve(limit == 0 ? objects.size() : limit);
  for (auto o = objects.lower_bound(std::max(prefix, start)); o != objects.end(); ++o) {
    if (!std::string_view(o->first).starts_with(prefix)) break;
    if (limit == 0 || page.items.size() < limit) {
      page.items.list.push_back({o->first, o->second});
      continue;
    }
    if (page.more++ == 0) page.next = o->first;
  }
  return page;
}

size_t Store::count(std::string_view collection) const {
  std::shared_lock lock(mutex_);
  const auto it = collections_.find(collection);
  return it == collections_.end() ? 0 : it->second.objects.size();
}

std::vector<std::string> Store::collections() const {
  std::shared_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, collection] : collections_) names.push_back(name);
  return names;
}

void Store::enqueue(Pending pending) {
  queue_.push_back(std::move(pending));
  if (queue_.size() == 1) wake_.notify_one();
}

Result<StoredPtr> Store::put(std::string_view collection, std::string_view key, uint64_t expected,
                             const Draft& draft, Done done) {
  std::unique_lock lock(mutex_);
  if (stopping_) return make_error(ErrorCode::kUnavailable, "the server is shutting down");
  Collection& target = collection_of(collection);
  auto it = target.objects.find(key);
  const bool exists = it != target.objects.end();
  if (expected == 0 && exists) return make_error(ErrorCode::kAlreadyExists, "object exists");
  if (expected != 0 && (!exists || it->second.revision() != expected))
    return make_error(ErrorCode::kConflict, "object changed");
  const uint64_t revision = revision_.load(std::memory_order_relaxed) + 1;
  auto stored = std::make_shared<const Stored>(draft.finish(revision));
  Pending pending;
  pending.change = Change{.type = exists ? ChangeType::kModified : ChangeType::kAdded,
                          .collection = target.name,
                          .key = std::string(key),
                          .object = stored,
                          .previous = nullptr,
                          .revision = revision,
                          .packed = nullptr,
                          .packed_previous = nullptr};
  if (exists) pending.previous = it->second;
  pending.change_is_set = true;
  pending.object = pending.change.object;
  pending.done = std::move(done);
  if (exists)
    it->second = Version(stored);
  else
    target.objects.emplace(key, Version(stored));
  revision_.store(revision, std::memory_order_release);
  enqueue(std::move(pending));
  return StoredPtr(stored);
}

Result<StoredPtr> Store::remove(std::string_view collection, std::string_view key,
                                uint64_t expected, Done done, const Draft* last_state) {
  std::unique_lock lock(mutex_);
  if (stopping_) return make_error(ErrorCode::kUnavailable, "the server is shutting down");
  Collection& target = collection_of(collection);
  auto it = target.objects.find(key);
  if (it == target.objects.end() || it->second.revision() != expected)
    return make_error(ErrorCode::kConflict, "object changed");
  const uint64_t revision = revision_.load(std::memory_order_relaxed) + 1;
  auto last = std::make_shared<const Stored>(last_state != nullptr
                                                 ? last_state->finish(revision)
                                                 : Draft(*it->second.open()).finish(revision));
  Pending pending;
  pending.change = Change{.type = ChangeType::kDeleted,
                          .collection = target.name,
                          .key = std::string(key),
                          .object = last,
                          .previous = nullptr,
                          .revision = revision,
                          .packed = nullptr,
                          .packed_previous = nullptr};
  pending.previous = it->second;
  pending.change_is_set = true;
  pending.object = pending.change.object;
  pending.done = std::move(done);
  target.objects.erase(it);
  revision_.store(revision, std::memory_order_release);
  enqueue(std::move(pending));
  return StoredPtr(last);
}

void Store::flush(Done done) {
  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    done(Result<void>(), nullptr);
    return;
  }
  Pending pending;
  pending.done = std::move(done);
  enqueue(std::move(pending));
}

void Store::flush_and_wait() {
  std::mutex mutex;
  std::condition_variable ready;
  bool finished = false;
  flush([&](const Result<void>&, const StoredPtr&) {
    std::lock_guard lock(mutex);
    finished = true;
    ready.notify_all();
  });
  std::unique_lock lock(mutex);
  ready.wait(lock, [&] { return finished; });
}

Result<void> Store::set_meta(std::string_view key, std::string_view value) {
  // Only used while opening, before anything is queued: the log has one user at a time.
  std::unique_lock lock(mutex_);
  if (log_ != nullptr) KUEUE_TRY(log_->set_meta(key, value));
  meta_.insert_or_assign(std::string(key), std::string(value));
  return {};
}

std::string Store::meta(std::string_view key) const {
  std::shared_lock lock(mutex_);
  const auto it = meta_.find(key);
  return it == meta_.end() ? std::string() : it->second;
}

Result<void> Store::write_batch(const std::vector<Pending>& batch) {
  if (log_ == nullptr) return {};
  std::vector<SqliteLog::Write> writes;
  writes.reserve(batch.size());
  uint64_t newest = 0;
  for (const Pending& p : batch) {
    if (!p.change_is_set) continue;
    newest = p.change.revision;
    writes.push_back(SqliteLog::Write{
        .collection = p.change.collection.get(),
        .key = &p.change.key,
        .revision = p.change.revision,
        .value = p.change.type == ChangeType::kDeleted ? nullptr : &p.change.object->bytes});
  }
  if (writes.empty()) return {};
  return log_->write(writes, newest);
}

void Store::roll_back(std::vector<Pending>& batch, const Error& error) {
  std::vector<Pending> failed;
  uint64_t now = 0;
  {
    std::unique_lock lock(mutex_);
    failed = std::move(batch);
    for (Pending& p : queue_) failed.push_back(std::move(p));
    queue_.clear();
    for (auto p = failed.rbegin(); p != failed.rend(); ++p) {
      if (!p->change_is_set) continue;
      auto& objects = collection_of(*p->change.collection).objects;
      if (!p->previous.exists())
        objects.erase(p->change.key);
      else
        objects.insert_or_assign(p->change.key, p->previous);
    }
    now = revision_.load() + 1;
    revision_.store(now);
  }
  reset_(now);
  for (Pending& p : failed)
    if (p.done) p.done(error, nullptr);
}

void Store::pack(std::vector<Pending>& batch) {
  std::vector<Collection*> collections(batch.size(), nullptr);
  {
    std::shared_lock lock(mutex_);
    for (size_t i = 0; i < batch.size(); ++i)
      if (batch[i].change_is_set)
        collections[i] = &collections_.find(*batch[i].change.collection)->second;
  }
  // What an object of this batch replaces may be of this batch too: then it is packed by now.
  std::map<const Stored*, PackedPtr> fresh;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (collections[i] == nullptr) continue;
    Pending& p = batch[i];
    p.change.previous = p.previous.open();
    p.change.packed_previous = p.previous.packed();
    if (!p.change.packed_previous && p.change.previous != nullptr)
      p.change.packed_previous = fresh[p.change.previous.get()];
    p.change.packed = collections[i]->packer.pack(p.change.object->bytes, p.change.revision);
    fresh.emplace(p.change.object.get(), p.change.packed);
  }
  std::unique_lock lock(mutex_);
  for (size_t i = 0; i < batch.size(); ++i) {
    if (collections[i] == nullptr || batch[i].change.type == ChangeType::kDeleted) continue;
    auto& objects = collections[i]->objects;
    const auto it = objects.find(batch[i].change.key);
    // Replaced or removed since: its writer's turn comes.
    if (it != objects.end() && it->second.text() == batch[i].change.object.get())
      it->second = Version(batch[i].change.packed);
  }
  // A queued write that replaces what has just been packed need not hold the text.
  for (Pending& next : queue_)
    if (const auto known = fresh.find(next.previous.text()); known != fresh.end())
      next.previous = Version(known->second);
}

void Store::run() {
  while (true) {
    std::vector<Pending> batch;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      batch.swap(queue_);
    }
    complete(std::move(batch));
  }
}

bool Store::work() {
  std::vector<Pending> batch;
  {
    std::unique_lock lock(mutex_);
    if (queue_.empty()) return false;
    batch.swap(queue_);
  }
  complete(std::move(batch));
  return true;
}

void Store::complete(std::vector<Pending> batch) {
  if (Result<void> written = write_batch(batch); !written.ok()) {
    roll_back(batch, written.error());
    return;
  }
  pack(batch);
  std::vector<Change> changes;
  changes.reserve(batch.size());
  for (Pending& p : batch)
    if (p.change_is_set) changes.push_back(std::move(p.change));
  if (!changes.empty()) publish_(std::move(changes));
  for (Pending& p : batch)
    if (p.done) p.done(Result<void>(), p.object);
}

}  // namespace kueue::apiserver
