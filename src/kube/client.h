// Client: the Kubernetes API as calls, over any wire::Transport. Blocking and thread safe; every
// call returns a value or an Error with the server's reason and causes. Untyped documents;
// kube/api.h puts types on top.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "schema/type.h"
#include "wire/http.h"

namespace kueue::kube {

// Which collection a call is about. Owned strings: also for kinds met at run time.
struct Resource {
  std::string group;
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  static Resource of(const schema::ResourceInfo& info);
  std::string api_version() const;  // "batch/v1", "v1"
  auto operator<=>(const Resource&) const = default;
};

struct ObjectKey {
  std::string namespace_;  // "" for cluster scope
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
  std::string to_string() const;  // "ns/name" or "name"
};

struct ListOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  int64_t limit = 0;  // 0 = everything in one answer
  std::string continue_token = {};
  std::string resource_version = {};
  std::string resource_version_match = {};
  bool managed_fields = true;  // false: metadata.managedFields is left out, which is faster
};

struct ListResult {
  std::vector<json::Value> items;  // apiVersion and kind are filled in
  std::string resource_version;
  std::string continue_token;
  std::optional<int64_t> remaining;
};

struct WriteOptions {
  std::string field_manager = {};
  bool dry_run = false;
  std::string field_validation = {};  // "", Ignore, Warn, Strict
  bool force = false;                 // apply patches only
  std::string subresource = {};       // "status", "scale", ...
};

enum class PatchType : uint8_t { kJson, kMerge, kStrategic, kApply };

struct DeleteOptions {
  std::string propagation = {};  // "", Foreground, Background, Orphan
  std::optional<int64_t> grace_seconds = {};
  std::string uid_precondition = {};
  std::string resource_version_precondition = {};
  bool dry_run = false;
};

struct WatchOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  std::string resource_version = {};
  bool bookmarks = true;
  bool send_initial_events =
      false;              // watch-list; needs resourceVersionMatch=NotOlderThan, set by the client
  Duration timeout = {};  // 0 = the server's default
  bool managed_fields = true;  // as in ListOptions
};

enum class WatchEventType : uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  json::Value object;  // a Status for kError
};

// Calls come from one thread at a time, never after the handle is gone.
class WatchReceiver {
 public:
  virtual ~WatchReceiver() = default;
  virtual void on_event(WatchEvent event) = 0;
  // Once and last. kExpired: relist. No error: the server ended the watch in good order.
  virtual void on_end(Result<void> result) = 0;
};

class Client {
 public:
  // `agent` becomes the User-Agent and the default field manager of writes.
  // `timeout`: how long one request may take.
  Client(std::shared_ptr<wire::Transport> transport, std::string agent,
         Duration timeout = Duration::seconds(60));

  Result<json::Value> get(const Resource& resource, const ObjectKey& key,
                          std::string_view subresource = {});
  Result<ListResult> list(const Resource& resource, std::string_view namespace_,
                          const ListOptions& options = {});
  Result<json::Value> create(const Resource& resource, std::string_view namespace_,
                             const json::Value& object, const WriteOptions& options = {});
  // PUT of the whole object (metadata names it).
  Result<json::Value> update(const Resource& resource, const json::Value& object,
                             const WriteOptions& options = {});
  Result<json::Value> patch(const Resource& resource, const ObjectKey& key, PatchType type,
                            const json::Value& body, const WriteOptions& options = {});
  // The deleted object or a Status.
  Result<json::Value> remove(const Resource& resource, const ObjectKey& key,
                             const DeleteOptions& options = {});
  Result<json::Value> remove_collection(const Resource& resource, std::string_view namespace_,
                                        const ListOptions& which,
                                        const DeleteOptions& options = {});
  std::unique_ptr<wire::StreamHandle> watch(const Resource& resource, std::string_view namespace_,
                                            const WatchOptions& options,
                                            std::shared_ptr<WatchReceiver> receiver);
  // Any path and method; the JSON body of the answer.
  Result<json::Value> raw(std::string_view method, std::string_view path,
                          const json::Value* body = nullptr);

  wire::Transport& transport() { return *transport_; }
  const std::string& agent() const { return agent_; }

 private:
  Result<json::Value> send(wire::Request request, bool managed_fields = true);
  std::shared_ptr<wire::Transport> transport_;
  std::string agent_;
  Duration timeout_;
};

}  // namespace kueue::kube
