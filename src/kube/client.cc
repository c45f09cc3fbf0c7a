#include "kube/client.h"

#include "json/json.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::kube {
namespace {

// A connection that went stale while idle fails at its next use: reads are simply sent again.
constexpr int kAttemptsOfReads = 3;
constexpr size_t kMaxFrameBytes = 64u << 20;

std::string path_of(const Resource& resource, std::string_view namespace_, std::string_view name,
                    std::string_view subresource = {}) {
  return wire::resource_path({.group = resource.group,
                              .version = resource.version,
                              .namespace_ = resource.namespaced ? std::string(namespace_) : "",
                              .resource = resource.plural,
                              .name = std::string(name),
                              .subresource = std::string(subresource)});
}

wire::Request request_for(std::string_view method, std::string path) {
  wire::Request request;
  request.method = method;
  request.path = std::move(path);
  return request;
}

using Query = std::vector<std::pair<std::string, std::string>>;

void put(Query& query, const char* name, std::string_view value) {
  if (!value.empty()) query.emplace_back(name, value);
}

void put_list_options(Query& query, const ListOptions& options) {
  put(query, "labelSelector", options.label_selector);
  put(query, "fieldSelector", options.field_selector);
  if (options.limit > 0) query.emplace_back("limit", std::to_string(options.limit));
  put(query, "continue", options.continue_token);
  put(query, "resourceVersion", options.resource_version);
  put(query, "resourceVersionMatch", options.resource_version_match);
}

void put_write_options(Query& query, const WriteOptions& options, const std::string& agent) {
  put(query, "fieldManager", options.field_manager.empty() ? agent : options.field_manager);
  if (options.dry_run) query.emplace_back("dryRun", "All");
  put(query, "fieldValidation", options.field_validation);
  if (options.force) query.emplace_back("force", "true");
}

void put_body(wire::Request& request, const json::Value& body,
              const char* type = "application/json") {
  request.headers.set("Content-Type", type);
  json::write_to(request.body, body);
}

const char* content_type(PatchType type) {
  switch (type) {
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
    case PatchType::kApply:
      return "application/apply-patch+yaml";
  }
  return "";
}

// DeleteOptions as a body; null when there is nothing to say.
json::Value delete_body(const DeleteOptions& options) {
  json::Value body;
  if (!options.propagation.empty()) body["propagationPolicy"] = options.propagation;
  if (options.grace_seconds) body["gracePeriodSeconds"] = *options.grace_seconds;
  if (!options.uid_precondition.empty()) {
    body.at_path({"preconditions", "uid"}) = options.uid_precondition;
  }
  if (!options.resource_version_precondition.empty()) {
    body.at_path({"preconditions", "resourceVersion"}) = options.resource_version_precondition;
  }
  if (options.dry_run) body["dryRun"] = json::Value::array({"All"});
  if (!body.is_null()) {
    body["kind"] = "DeleteOptions";
    body["apiVersion"] = "v1";
  }
  return body;
}

json::ParseOptions parse_options(bool managed_fields) {
  json::ParseOptions options;
  if (managed_fields) return options;
  options.skipped_in = "metadata";
  options.skipped = "managedFields";
  return options;
}

Result<json::Value> parse_answer(const wire::Response& response, bool managed_fields) {
  if (response.status >= 400) return wire::error_from_response(response);
  if (response.body.empty()) return json::Value();
  auto body = json::parse(response.body, parse_options(managed_fields));
  if (body.ok()) return body;
  return make_error(ErrorCode::kInternal,
                    "the server's answer is not JSON: " + body.error().message);
}

// Cuts the stream into lines and decodes each as a watch event.
class WatchDecoder final : public wire::StreamReceiver {
 public:
  WatchDecoder(std::shared_ptr<WatchReceiver> receiver, bool managed_fields)
      : receiver_(std::move(receiver)), options_(parse_options(managed_fields)) {}

  void on_head(const wire::Response& head) override { head_ = head; }

  void on_data(std::string_view chunk) override {
    if (ended_) return;
    if (head_.status != 200) {
      if (head_.body.size() < kMaxFrameBytes) head_.body.append(chunk);
      return;
    }
    while (!ended_) {
      size_t line_end = chunk.find('\n');
      if (line_end == std::string_view::npos) break;
      if (buffer_.empty()) {
        frame(chunk.substr(0, line_end));
      } else {
        buffer_.append(chunk.substr(0, line_end));
        frame(buffer_);
        buffer_.clear();
      }
      chunk.remove_prefix(line_end + 1);
    }
    if (ended_) return;
    buffer_.append(chunk);
    if (buffer_.size() > kMaxFrameBytes) {
      end(make_error(ErrorCode::kInternal, "a watch event exceeds 64 MiB"));
    }
  }

  void on_end(Result<void> result) override {
    if (ended_) return;
    if (head_.status != 200) return end(wire::error_from_response(head_));
    if (result.ok() && !buffer_.empty()) frame(buffer_);
    if (!ended_) end(std::move(result));
  }

 private:
  void frame(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    auto parsed = json::parse(line, options_);
    if (!parsed.ok()) {
      return end(
          make_error(ErrorCode::kInternal, "a watch event is not JSON: " + parsed.error().message));
    }
    std::string type(parsed->get_string({"type"}));
    json::Value* object = parsed->find("object");
    WatchEvent event;
    if (object) event.object = std::move(*object);
    if (type == "ADDED") {
      event.type = WatchEventType::kAdded;
    } else if (type == "MODIFIED") {
      event.type = WatchEventType::kModified;
    } else if (type == "DELETED") {
      event.type = WatchEventType::kDeleted;
    } else if (type == "BOOKMARK") {
      event.type = WatchEventType::kBookmark;
    } else if (type == "ERROR") {
      event.type = WatchEventType::kError;
      Error error = wire::error_from_status(event.object);
      receiver_->on_event(std::move(event));
      return end(std::move(error));
    } else {
      return;  // kinds of events that newer servers may add
    }
    receiver_->on_event(std::move(event));
  }

  void end(Result<void> result) {
    ended_ = true;
    receiver_->on_end(std::move(result));
  }

  std::shared_ptr<WatchReceiver> receiver_;
  const json::ParseOptions options_;
  wire::Response head_;
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace

Resource Resource::of(const schema::ResourceInfo& info) {
  return {std::string(info.group), std::string(info.version), std::string(info.plural),
          std::string(info.kind), info.namespaced};
}

std::string Resource::api_version() const {
  return group.empty() ? version : group + "/" + version;
}

std::string ObjectKey::to_string() const {
  return namespace_.empty() ? name : namespace_ + "/" + name;
}

Client::Client(std::shared_ptr<wire::Transport> transport, std::string agent, Duration timeout)
    : transport_(std::move(transport)), agent_(std::move(agent)), timeout_(timeout) {}

Result<json::Value> Client::send(wire::Request request, bool managed_fields) {
  request.headers.set("Accept", "application/json");
  request.headers.set("User-Agent", agent_);
  int attempts = request.method == "GET" ? kAttemptsOfReads : 1;
  for (;;) {
    Result<wire::Response> response = transport_->round_trip(request, timeout_);
    if (response.ok()) return parse_answer(*response, managed_fields);
    if (response.error().code != ErrorCode::kUnavailable || --attempts == 0)
      return response.error();
  }
}

Result<json::Value> Client::get(const Resource& resource, const ObjectKey& key,
                                std::string_view subresource) {
  return send(request_for("GET", path_of(resource, key.namespace_, key.name, subresource)));
}

Result<ListResult> Client::list(const Resource& resource, std::string_view namespace_,
                                const ListOptions& options) {
  wire::Request request = request_for("GET", path_of(resource, namespace_, ""));
  put_list_options(request.query, options);
  KUEUE_ASSIGN(json::Value answer, send(std::move(request), options.managed_fields));
  ListResult result;
  result.resource_version = answer.get_string({"metadata", "resourceVersion"});
  result.continue_token = answer.get_string({"metadata", "continue"});
  if (const json::Value* remaining = answer.find_path({"metadata", "remainingItemCount"})) {
    if (remaining->is_int()) result.remaining = remaining->as_int();
  }
  json::Value* items = answer.find("items");
  if (items && items->is_array()) result.items = std::move(items->as_array());
  // Servers leave them out in items of built-in kinds.
  for (json::Value& item : result.items) {
    if (!item.is_object()) {
      return make_error(ErrorCode::kInternal,
                        "the server's list of " + resource.plural + " holds no objects");
    }
    if (!item.find("apiVersion")) item["apiVersion"] = resource.api_version();
    if (!item.find("kind")) item["kind"] = resource.kind;
  }
  return result;
}

Result<json::Value> Client::create(const Resource& resource, std::string_view namespace_,
                                   const json::Value& object, const WriteOptions& options) {
  // A subresource is created under the object that its body names: pods/NAME/binding.
  std::string_view name =
      options.subresource.empty() ? std::string_view() : object.get_string({"metadata", "name"});
  wire::Request request =
      request_for("POST", path_of(resource, namespace_, name, options.subresource));
  put_write_options(request.query, options, agent_);
  put_body(request, object);
  return send(std::move(request));
}

Result<json::Value> Client::update(const Resource& resource, const json::Value& object,
                                   const WriteOptions& options) {
  wire::Request request =
      request_for("PUT", path_of(resource, object.get_string({"metadata", "namespace"}),
                                 object.get_string({"metadata", "name"}), options.subresource));
  put_write_options(request.query, options, agent_);
  put_body(request, object);
  return send(std::move(request));
}

Result<json::Value> Client::patch(const Resource& resource, const ObjectKey& key, PatchType type,
                                  const json::Value& body, const WriteOptions& options) {
  wire::Request request =
      request_for("PATCH", path_of(resource, key.namespace_, key.name, options.subresource));
  put_write_options(request.query, options, agent_);
  put_body(request, body, content_type(type));
  return send(std::move(request));
}

Result<json::Value> Client::remove(const Resource& resource, const ObjectKey& key,
                                   const DeleteOptions& options) {
  wire::Request request = request_for("DELETE", path_of(resource, key.namespace_, key.name));
  json::Value body = delete_body(options);
  if (!body.is_null()) put_body(request, body);
  return send(std::move(request));
}

Result<json::Value> Client::remove_collection(const Resource& resource, std::string_view namespace_,
                                              const ListOptions& which,
                                              const DeleteOptions& options) {
  wire::Request request = request_for("DELETE", path_of(resource, namespace_, ""));
  put_list_options(request.query, which);
  json::Value body = delete_body(options);
  if (!body.is_null()) put_body(request, body);
  return send(std::move(request));
}

std::unique_ptr<wire::StreamHandle> Client::watch(const Resource& resource,
                                                  std::string_view namespace_,
                                                  const WatchOptions& options,
                                                  std::shared_ptr<WatchReceiver> receiver) {
  wire::Request request = request_for("GET", path_of(resource, namespace_, ""));
  Query& query = request.query;
  query.emplace_back("watch", "true");
  put(query, "labelSelector", options.label_selector);
  put(query, "fieldSelector", options.field_selector);
  put(query, "resourceVersion", options.resource_version);
  if (options.bookmarks || options.send_initial_events)
    query.emplace_back("allowWatchBookmarks", "true");
  if (options.send_initial_events) {
    query.emplace_back("sendInitialEvents", "true");
    query.emplace_back("resourceVersionMatch", "NotOlderThan");
  }
  if (options.timeout.ns > 0) {
    query.emplace_back("timeoutSeconds",
                       std::to_string(std::max<int64_t>(1, options.timeout.ns / 1'000'000'000)));
  }
  request.headers.set("Accept", "application/json");
  request.headers.set("User-Agent", agent_);
  return transport_->open_stream(
      request, std::make_shared<WatchDecoder>(std::move(receiver), options.managed_fields));
}

Result<json::Value> Client::raw(std::string_view method, std::string_view path,
                                const json::Value* body) {
  size_t mark = path.find('?');
  wire::Request request = request_for(method, std::string(path.substr(0, mark)));
  if (mark != std::string_view::npos) request.query = wire::parse_query(path.substr(mark + 1));
  if (body) put_body(request, *body);
  return send(std::move(request));
}

}  // namespace kueue::kube
