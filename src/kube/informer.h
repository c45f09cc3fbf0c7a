// Informer: one kind of the API as a typed, always current store with change notices. Lists in
// pages, then watches from there; starts over when its version is too old; goes on after broken
// connections with growing delay (from 800 ms, at most 30 s).
//
// Thread safe. Stored objects are immutable and shared. Watch events are taken from the stream's
// thread into an inbox and handled on a Strand; handlers run there, one at a time, in the order of
// the changes. A page of a list is taken into the store, and told, while the next one is fetched.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/executor.h"

namespace kueue::kube {

using ErasedObject = std::shared_ptr<const void>;

struct InformerOptions {
  std::string namespace_ = {};
  std::string label_selector = {};
  std::string field_selector = {};
};

// The part without types.
class InformerCore {
 public:
  // Makes the C++ object; an object that cannot be decoded is reported by on_error and skipped.
  // The document may be taken apart.
  using Decode = std::function<Result<ErasedObject>(json::Value& document)>;
  // old null: added; now null: deleted (old is its last known state, or the final one the server
  // sent).
  using Handler = std::function<void(const ErasedObject& old, const ErasedObject& now)>;
  using IndexFunction = std::function<std::vector<std::string>(const void* object)>;

  InformerCore(std::shared_ptr<Client> client, Executor& executor, Resource resource, Decode decode,
               InformerOptions options);
  ~InformerCore();  // stop()
  InformerCore(const InformerCore&) = delete;
  InformerCore& operator=(const InformerCore&) = delete;

  // Before start() only.
  void add_handler(Handler handler);
  void add_index(std::string name, IndexFunction keys);
  void set_on_error(std::function<void(const Error&)> on_error);

  void start();
  // No handler starts afterwards.
  void stop();
  // The first list is in the store and every handler has been told about its objects.
  bool has_synced() const;
  // All notices of changes known so far have been handled. For tests.
  bool idle() const;

  ErasedObject get(const ObjectKey& key) const;                            // null when absent
  std::vector<ErasedObject> list(std::string_view namespace_ = {}) const;  // sorted by key
  std::vector<ErasedObject> by_index(std::string_view index,
                                     std::string_view value) const;  // sorted by key
  size_t size() const;

  // Takes the answer of our own write into the store at once and queues the notices, so that the
  // writer's next look sees it. Ignored when the store already holds this version or a newer one,
  // and when the watch has passed this version (the object may have been deleted since). The watch
  // event of that version is then no news and gives no notice.
  void absorb(const json::Value& document);
  // The answer of our own delete, or of the patch that took the last finalizer of a deleted object:
  // the object with this uid is gone. Drops it at once, and nothing older brings it back. Nothing
  // happens when the store has another one.
  void forget(const ObjectKey& key, std::string_view uid);

  const Resource& resource() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// `decode` fills a fresh T from a document (the table codec of the kind does), which it may take
// apart.
// `transform` runs on the decoded object before it is stored and drops what nobody will read
// (managedFields always is).
template <typename T>
class Informer {
 public:
  using Ptr = std::shared_ptr<const T>;
  using DecodeInto = std::function<Result<void>(json::Value& document, T& object)>;
  using Transform = std::function<void(T& object)>;
  using Handler = std::function<void(const Ptr& old, const Ptr& now)>;

  Informer(std::shared_ptr<Client> client, Executor& executor, Resource resource, DecodeInto decode,
           InformerOptions options = {}, Transform transform = {})
      : core_(
            std::move(client), executor, std::move(resource),
            [decode = std::move(decode),
             transform = std::move(transform)](json::Value& document) -> Result<ErasedObject> {
              auto object = std::make_shared<T>();
              Result<void> decoded = decode(document, *object);
              if (!decoded.ok()) return decoded.error();
              if (transform) transform(*object);
              return ErasedObject(std::move(object));
            },
            std::move(options)) {}

  void add_handler(Handler handler) {
    core_.add_handler(
        [handler = std::move(handler)](const ErasedObject& old, const ErasedObject& now) {
          handler(std::static_pointer_cast<const T>(old), std::static_pointer_cast<const T>(now));
        });
  }
  void add_index(std::string name, std::function<std::vector<std::string>(const T&)> keys) {
    core_.add_index(std::move(name), [keys = std::move(keys)](const void* object) {
      return keys(*static_cast<const T*>(object));
    });
  }

  Ptr get(const ObjectKey& key) const { return std::static_pointer_cast<const T>(core_.get(key)); }
  std::vector<Ptr> list(std::string_view namespace_ = {}) const {
    return cast(core_.list(namespace_));
  }
  std::vector<Ptr> by_index(std::string_view index, std::string_view value) const {
    return cast(core_.by_index(index, value));
  }

  InformerCore& core() { return core_; }
  const InformerCore& core() const { return core_; }
  void start() { core_.start(); }
  void stop() { core_.stop(); }
  bool has_synced() const { return core_.has_synced(); }
  size_t size() const { return core_.size(); }
  void absorb(const json::Value& document) { core_.absorb(document); }

 private:
  static std::vector<Ptr> cast(const std::vector<ErasedObject>& objects) {
    std::vector<Ptr> result;
    result.reserve(objects.size());
    for (const ErasedObject& object : objects)
      result.push_back(std::static_pointer_cast<const T>(object));
    return result;
  }
  InformerCore core_;
};

}  // namespace kueue::kube
