// Store: the objects of the cluster in memory, versioned, and the order in which they become
// durable. A write is applied at once, gets the next revision and is queued; one thread writes all
// that is queued in one transaction, then publishes the changes (Hub) and calls the writers back.
// When the disk refuses, everything not yet durable is undone and the writers get the error.
// Objects lie packed (base/packed.h) as soon as they are durable; who reads one gets a copy of its
// text. Thread safe.
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
#include "base/packed.h"
#include "base/result.h"
#include "json/value.h"

namespace kueue::apiserver {

// One version of one object.
struct Stored {
  std::string bytes;  // compact JSON with metadata.resourceVersion = revision
  uint64_t revision = 0;
};
using StoredPtr = std::shared_ptr<const Stored>;

// One version of one object as the store holds it: as text while it is being written, packed from
// then on.
class Version {
 public:
  Version() = default;
  explicit Version(StoredPtr text) : text_(std::move(text)) {}
  explicit Version(PackedPtr packed) : packed_(std::move(packed)) {}
  bool exists() const { return text_ != nullptr || packed_; }
  // 0 when there is none.
  uint64_t revision() const {
    return text_ != nullptr ? text_->revision : packed_ ? packed_->revision() : 0;
  }
  size_t text_size() const {
    return text_ != nullptr ? text_->bytes.size() : packed_ ? packed_->text_size() : 0;
  }
  // Null when there is none. O(size) when packed.
  StoredPtr open() const;
  const PackedPtr& packed() const { return packed_; }
  // Null when packed or absent.
  const Stored* text() const { return text_.get(); }

 private:
  StoredPtr text_;
  PackedPtr packed_;
};

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
  // The same two, for those who keep changes.
  PackedPtr packed;
  PackedPtr packed_previous;
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

  // `log` null = memory only. Loads everything. Without `threaded` queued writes wait for work().
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<SqliteLog> log, Publish publish,
                                             Reset reset, bool threaded = true);
  ~Store();

  uint64_t revision() const { return revision_.load(std::memory_order_acquire); }
  // The last revision of the previous run: a watch may start there. 0 for a new store.
  uint64_t loaded_revision() const { return loaded_revision_; }
  // First revision of this run.
  uint64_t first_revision() const { return first_revision_; }

  // Null when absent. O(log n).
  StoredPtr get(std::string_view collection, std::string_view key) const;

  struct Item {
    std::string key;
    Version version;
  };
  // In key order. Iteration opens one object at a time: `for (const auto& [key, stored] : items)`.
  struct Items {
    std::vector<Item> list;

    class Iterator {
     public:
      explicit Iterator(const Item* at) : at_(at) {}
      std::pair<const std::string&, StoredPtr> operator*() const {
        return {at_->key, at_->version.open()};
      }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      bool operator!=(const Iterator& other) const { return at_ != other.at_; }

     private:
      const Item* at_;
    };
    Iterator begin() const { return Iterator(list.data()); }
    Iterator end() const { return Iterator(list.data() + list.size()); }
    size_t size() const { return list.size(); }
  };
  struct Page {
    Items items;
    uint64_t revision = 0;
    size_t more = 0;   // items beyond `limit`
    std::string next;  // key of the first of them
  };
  // Of a collection what has a key that starts with `prefix` and is not less than `start`; at most
  // `limit` items (0 = all).
  Page snapshot(std::string_view collection, std::string_view prefix, std::string_view start = {},
                size_t limit = 0) const;
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
  // Completes all that is queued on the caller's thread; false when nothing is.
  bool work();

  // Small values beside the objects (keys of the server). Durable when it returns.
  Result<void> set_meta(std::string_view key, std::string_view value);
  std::string meta(std::string_view key) const;

  // Waits for the queue, ends the thread. Later writes get kUnavailable.
  void stop();

 private:
  struct Collection {
    std::shared_ptr<const std::string> name;
    std::map<std::string, Version, std::less<>> objects;
    Packer packer;  // used while loading, then by the thread only
  };
  struct Pending {
    Change change;
    Version previous;
    bool change_is_set = false;
    StoredPtr object;
    Done done;
  };
  Store(std::unique_ptr<SqliteLog> log, Publish publish, Reset reset);
  Collection& collection_of(std::string_view name);
  void enqueue(Pending pending);
  void run();
  void complete(std::vector<Pending> batch);
  Result<void> write_batch(const std::vector<Pending>& batch);
  // Packs what has become durable.
  void pack(std::vector<Pending>& batch);
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
