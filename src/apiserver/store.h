// Store: the objects of the cluster in memory, versioned, and the order in which they become
// durable. A write is applied at once, gets the next revision and is queued; one thread writes all
// that is queued in one transaction, then publishes the changes (Hub) and calls the writers back.
// When the disk refuses, everything not yet durable is undone and the writers get the error. Thread
// safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "apiserver/sqlite_log.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::apiserver {

// One version of one object.
struct Stored {
  std::string bytes;  // compact JSON with metadata.resourceVersion = revision
  uint64_t revision = 0;
};
using StoredPtr = std::shared_ptr<const Stored>;

// "namespace/name", or "name" for cluster scope: the order of a list.
std::string object_key(std::string_view namespace_, std::string_view name);

enum class ChangeType : uint8_t { kAdded, kModified, kDeleted };

struct Change {
  ChangeType type = ChangeType::kAdded;
  std::shared_ptr<const std::string> collection;
  std::string key;
  StoredPtr object;    // deletion: the last state, with the revision of the deletion
  StoredPtr previous;  // null for an addition
  uint64_t revision = 0;
};

// An object serialised before its revision is known.
class Draft {
 public:
  // `object` is changed: its metadata.resourceVersion is set.
  explicit Draft(json::Value& object);
  // The last state of a stored object, for its deletion.
  explicit Draft(const Stored& stored);
  Stored finish(uint64_t revision) const;
  size_t size() const { return head_.size() + tail_.size(); }

 private:
  std::string head_;  // up to and with the opening quote of the version
  std::string tail_;
};

class Store {
 public:
  // With the object as written (for removals its last state); null for flush().
  using Done = std::function<void(const Result<void>&, const StoredPtr&)>;
  // Told about durable changes, in order, from the store's thread; and after a rollback that what
  // was read may not exist.
  using Publish = std::function<void(std::vector<Change>)>;
  using Reset = std::function<void(uint64_t revision)>;

  // `log` null = memory only. Loads everything.
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<SqliteLog> log, Publish publish,
                                             Reset reset);
  ~Store();

  uint64_t revision() const { return revision_.load(std::memory_order_acquire); }
  // The last revision of the previous run: a watch may start there. 0 for a new store.
  uint64_t loaded_revision() const { return loaded_revision_; }
  // First revision of this run.
  uint64_t first_revision() const { return first_revision_; }

  // Null when absent. O(log n).
  StoredPtr get(std::string_view collection, std::string_view key) const;

  struct Page {
    std::vector<std::pair<std::string, StoredPtr>> items;  // in key order
    uint64_t revision = 0;
  };
  // Everything of a collection whose key starts with `prefix`.
  Page snapshot(std::string_view collection, std::string_view prefix) const;
  size_t count(std::string_view collection) const;
  std::vector<std::string> collections() const;

  // Creates (expected = 0) or replaces the version `expected`. kConflict: another version is there,
  // none when one was expected, or one when none was (kAlreadyExists). `done` is called once, when
  // the write is durable or failed.
  Result<StoredPtr> put(std::string_view collection, std::string_view key, uint64_t expected,
                        const Draft& draft, Done done);
  // Removes the version `expected`; the result is the last state (`last` when given) with the
  // revision of the deletion.
  Result<StoredPtr> remove(std::string_view collection, std::string_view key, uint64_t expected,
                           Done done, const Draft* last = nullptr);
  // Calls `done` when everything written so far is durable (or has failed).
  void flush(Done done);
  void flush_and_wait();

  // Small values beside the objects (keys of the server). Durable when it returns.
  Result<void> set_meta(std::string_view key, std::string_view value);
  std::string meta(std::string_view key) const;

  // Waits for the queue, ends the thread. Later writes get kUnavailable.
  void stop();

 private:
  struct Collection {
    std::shared_ptr<const std::string> name;
    std::map<std::string, StoredPtr, std::less<>> objects;
  };
  struct Pending {
    Change change;
    bool change_is_set = false;
    StoredPtr object;
    Done done;
  };
  Store(std::unique_ptr<SqliteLog> log, Publish publish, Reset reset);
  Collection& collection_of(std::string_view name);
  void enqueue(Pending pending);
  void run();
  Result<void> write_batch(const std::vector<Pending>& batch);
  void roll_back(std::vector<Pending>& batch, const Error& error);

  std::unique_ptr<SqliteLog> log_;
  Publish publish_;
  Reset reset_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, Collection, std::less<>> collections_;
  std::vector<Pending> queue_;  // under mutex_
  std::map<std::string, std::string, std::less<>> meta_;
  bool stopping_ = false;
  std::condition_variable_any wake_;
  std::atomic<uint64_t> revision_ = 0;
  uint64_t loaded_revision_ = 0;
  uint64_t first_revision_ = 0;
  std::thread thread_;
};

}  // namespace kueue::apiserver
