// FakeApi: an API server in a few lines for tests of the controllers: objects in memory, versions,
// generations, conflicts, status subresource, finalizers, server-side apply of top level status
// fields by manager, watches. It knows no schemas: no defaults, no validation, no pruning. Single
// threaded: use it under a VirtualExecutor.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "json/json.h"
#include "json/patch.h"
#include "kube/client.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::controllers {

class FakeApi final : public wire::Transport {
 public:
  explicit FakeApi(const Clock& clock) : clock_(clock) {}

  // Whether new objects get a uid and a creation time.
  bool fill_in = true;
  // What was asked that changes something, as "patch workloads/status [manager] -> 200".
  std::vector<std::string> writes;
  // Called before a write is done; an Error refuses it.
  std::function<Result<void>(const wire::Request&)> on_write;

  // Puts an object in as it is (uid and versions are filled in when absent). `plural` names its
  // collection.
  void put(const std::string& plural, json::Value object) {
    json::Value& meta = object["metadata"];
    if (fill_in && meta.get_string({"uid"}).empty()) meta["uid"] = "uid-" + std::to_string(++uids_);
    if (fill_in && meta.find("creationTimestamp") == nullptr)
      meta["creationTimestamp"] = format_time(clock_.now());
    if (meta.find("generation") == nullptr) meta["generation"] = 1;
    store(plural, std::move(object), "ADDED");
  }
  const json::Value* find(const std::string& plural, const std::string& namespace_,
                          const std::string& name) const {
    auto all = objects_.find(plural);
    if (all == objects_.end()) return nullptr;
    auto found = all->second.find({namespace_, name});
    return found == all->second.end() ? nullptr : &found->second;
  }
  std::vector<const json::Value*> list(const std::string& plural) const {
    std::vector<const json::Value*> result;
    auto all = objects_.find(plural);
    if (all != objects_.end())
      for (const auto& [key, object] : all->second) result.push_back(&object);
    return result;
  }
  // Changes an object in place, as another client would.
  void change(const std::string& plural, const std::string& namespace_, const std::string& name,
              const std::function<void(json::Value&)>& edit) {
    const json::Value* found = find(plural, namespace_, name);
    KUEUE_CHECK(found != nullptr, name.c_str());
    json::Value copy = *found;
    edit(copy);
    replace(plural, *found, std::move(copy), false);
  }
  // As a DELETE request.
  void remove(const std::string& plural, const std::string& namespace_, const std::string& name) {
    const json::Value* found = find(plural, namespace_, name);
    if (found != nullptr) erase(plural, *found);
  }

  Result<wire::Response> round_trip(const wire::Request& request, Duration) override {
    auto path = wire::parse_resource_path(request.path);
    if (!path) return wire::error_response(make_error(ErrorCode::kNotFound, request.path));
    if (request.method == "GET") {
      if (path->name.empty()) return answer_list(*path);
      const json::Value* found = find(path->resource, path->namespace_, path->name);
      return found == nullptr ? missing(*path) : wire::json_response(*found);
    }
    std::string line = lower(request.method) + " " + path->resource;
    if (!path->subresource.empty()) line += "/" + path->subresource;
    const std::string manager(request.query_value("fieldManager"));
    if (!manager.empty()) line += " [" + manager + "]";
    wire::Response response;
    Result<void> allowed = on_write ? on_write(request) : Result<void>();
    response =
        allowed.ok() ? write(request, *path, manager) : wire::error_response(allowed.error());
    writes.push_back(line + " -> " + std::to_string(response.status));
    return response;
  }

  std::unique_ptr<wire::StreamHandle> open_stream(
      const wire::Request& request, std::shared_ptr<wire::StreamReceiver> receiver) override {
    auto path = wire::parse_resource_path(request.path);
    auto watcher = std::make_shared<Watcher>();
    watcher->plural = path->resource;
    watcher->receiver = receiver;
    wire::Response head;
    head.headers.set("Content-Type", "application/json");
    receiver->on_head(head);
    const std::string from(request.query_value("resourceVersion"));
    const long long after = from.empty() ? 0 : std::stoll(from);
    for (const Past& past : history_)
      if (past.plural == path->resource && past.version > after) receiver->on_data(past.line);
    watchers_.push_back(watcher);
    return std::make_unique<Handle>(watcher);
  }

 private:
  using Key = std::pair<std::string, std::string>;
  struct Watcher {
    std::string plural;
    std::shared_ptr<wire::StreamReceiver> receiver;
  };
  struct Past {
    std::string plural;
    long long version;
    std::string line;
  };
  class Handle final : public wire::StreamHandle {
   public:
    explicit Handle(std::shared_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {}
    ~Handle() override { watcher_->receiver = nullptr; }

   private:
    std::shared_ptr<Watcher> watcher_;
  };

  static std::string lower(std::string text) {
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
  }
  static wire::Response missing(const wire::ResourcePath& path) {
    return wire::error_response(
        make_error(ErrorCode::kNotFound, path.resource + " \"" + path.name + "\" not found"));
  }
  static wire::Response conflict() {
    return wire::error_response(
        make_error(ErrorCode::kConflict,
                   "the object has been modified; please apply your changes "
                   "to the latest version and try again"));
  }

  wire::Response answer_list(const wire::ResourcePath& path) const {
    json::Array items;
    for (const json::Value* object : list(path.resource))
      if (path.namespace_.empty() ||
          object->get_string({"metadata", "namespace"}) == path.namespace_)
        items.push_back(*object);
    json::Value answer = json::Value::object({{"kind", "List"}, {"apiVersion", "v1"}});
    answer.at_path({"metadata", "resourceVersion"}) = std::to_string(version_);
    answer["items"] = std::move(items);
    return wire::json_response(answer);
  }

  wire::Response write(const wire::Request& request, const wire::ResourcePath& path,
                       const std::string& manager) {
    json::Value body;
    if (!request.body.empty()) {
      Result<json::Value> parsed = json::parse(request.body);
      if (!parsed.ok()) return wire::error_response(parsed.error());
      body = std::move(*parsed);
    }
    if (request.method == "POST") {
      const std::string name(body.get_string({"metadata", "name"}));
      if (find(path.resource, path.namespace_, name) != nullptr)
        return wire::error_response(
            make_error(ErrorCode::kAlreadyExists, name + " already exists"));
      if (!path.namespace_.empty()) body.at_path({"metadata", "namespace"}) = path.namespace_;
      put(path.resource, std::move(body));
      return wire::json_response(*find(path.resource, path.namespace_, name), 201);
    }
    const json::Value* found = find(path.resource, path.namespace_, path.name);
    if (found == nullptr) return missing(path);
    if (request.method == "DELETE") {
      erase(path.resource, *found);
      // One that is held by finalizers is shown as it is on its way out.
      if (const json::Value* held = find(path.resource, path.namespace_, path.name))
        return wire::json_response(*held);
      return wire::json_response(wire::success_status("", path.resource, path.name, ""));
    }
    const std::string_view wanted = body.get_string({"metadata", "resourceVersion"});
    if (!wanted.empty() && wanted != found->get_string({"metadata", "resourceVersion"}))
      return conflict();
    json::Value changed;
    if (request.method == "PUT") {
      changed = std::move(body);
    } else if (request.headers.get("Content-Type").find("apply") != std::string_view::npos) {
      changed = apply(path, *found, body, manager);
    } else {
      changed = json::apply_merge_patch(*found, body);
    }
    const Key key{path.namespace_, path.name};
    replace(path.resource, *found, std::move(changed), !path.subresource.empty());
    const json::Value* now = find(path.resource, key.first, key.second);
    return wire::json_response(now == nullptr ? last_deleted_ : *now);
  }

  // Fields of the status that this manager applied before and does not now go away; conditions
  // merge by type.
  json::Value apply(const wire::ResourcePath& path, json::Value object, const json::Value& body,
                    const std::string& manager) {
    std::set<std::string>& owned =
        applied_[path.resource + "/" + path.namespace_ + "/" + path.name + "/" + manager];
    std::set<std::string> now;
    const json::Value* status = body.find("status");
    if (status != nullptr) {
      for (const auto& [name, value] : status->as_object()) {
        if (name != "conditions") {
          object.at_path({"status", name}) = value;
          now.insert(name);
          continue;
        }
        for (const json::Value& condition : value.as_array()) {
          set_condition(object, condition);
          now.insert("condition " + std::string(condition.get_string({"type"})));
        }
      }
    }
    for (const std::string& name : owned) {
      if (now.contains(name)) continue;
      if (name.starts_with("condition ")) {
        remove_condition(object, name.substr(10));
      } else {
        object.erase_path({"status", name});
      }
    }
    owned = std::move(now);
    return object;
  }
  static void set_condition(json::Value& object, const json::Value& condition) {
    json::Value& conditions = object.at_path({"status", "conditions"});
    if (conditions.is_null()) conditions = json::Array();
    for (json::Value& old : conditions.as_array()) {
      if (old.get_string({"type"}) != condition.get_string({"type"})) continue;
      old = condition;
      return;
    }
    conditions.as_array().push_back(condition);
  }
  static void remove_condition(json::Value& object, std::string_view type) {
    if (json::Value* conditions = object.find_path({"status", "conditions"}))
      std::erase_if(conditions->as_array(),
                    [&](const json::Value& c) { return c.get_string({"type"}) == type; });
  }

  void replace(const std::string& plural, const json::Value& old, json::Value changed,
               bool status_only) {
    if (status_only) {
      json::Value kept = old;
      if (const json::Value* status = changed.find("status")) kept["status"] = *status;
      changed = std::move(kept);
    }
    json::Value same = changed;
    same.at_path({"metadata", "resourceVersion"}) = old.get_string({"metadata", "resourceVersion"});
    if (same == old) return;
    const json::Value* before = old.find("spec");
    const json::Value* after = changed.find("spec");
    if (before != nullptr && after != nullptr && !(*before == *after))
      changed.at_path({"metadata", "generation"}) = old.get_int({"metadata", "generation"}) + 1;
    const json::Value* finalizers = changed.find_path({"metadata", "finalizers"});
    const bool held =
        finalizers != nullptr && finalizers->is_array() && !finalizers->as_array().empty();
    if (changed.find_path({"metadata", "deletionTimestamp"}) != nullptr && !held) {
      take(plural, std::move(changed));
      return;
    }
    store(plural, std::move(changed), "MODIFIED");
  }

  void erase(const std::string& plural, const json::Value& object) {
    json::Value copy = object;
    const json::Value* finalizers = copy.find_path({"metadata", "finalizers"});
    if (finalizers != nullptr && finalizers->is_array() && !finalizers->as_array().empty()) {
      if (copy.find_path({"metadata", "deletionTimestamp"}) != nullptr) return;
      copy.at_path({"metadata", "deletionTimestamp"}) = format_time(clock_.now());
      store(plural, std::move(copy), "MODIFIED");
    } else {
      take(plural, std::move(copy));
    }
  }

  void take(const std::string& plural, json::Value object) {
    const Key key{std::string(object.get_string({"metadata", "namespace"})),
                  std::string(object.get_string({"metadata", "name"}))};
    object.at_path({"metadata", "resourceVersion"}) = std::to_string(++version_);
    objects_[plural].erase(key);
    last_deleted_ = object;
    tell(plural, "DELETED", object);
  }

  void store(const std::string& plural, json::Value object, const char* type) {
    object.at_path({"metadata", "resourceVersion"}) = std::to_string(++version_);
    const Key key{std::string(object.get_string({"metadata", "namespace"})),
                  std::string(object.get_string({"metadata", "name"}))};
    json::Value& held = objects_[plural][key];
    held = std::move(object);
    tell(plural, type, held);
  }

  void tell(const std::string& plural, const char* type, const json::Value& object) {
    json::Value event = json::Value::object({{"type", type}, {"object", object}});
    history_.push_back({plural, version_, json::write(event) + "\n"});
    const std::string line = history_.back().line;
    const auto watchers = watchers_;
    for (const auto& watcher : watchers)
      if (watcher->plural == plural && watcher->receiver != nullptr)
        watcher->receiver->on_data(line);
  }

  const Clock& clock_;
  long long version_ = 0;
  int uids_ = 0;
  std::map<std::string, std::map<Key, json::Value>> objects_;
  std::map<std::string, std::set<std::string>> applied_;
  std::vector<std::shared_ptr<Watcher>> watchers_;
  std::vector<Past> history_;
  json::Value last_deleted_;
};

}  // namespace kueue::controllers
