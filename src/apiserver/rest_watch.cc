// watch: initial state, then changes, as newline-delimited events.
#include <atomic>

#include "apiserver/core.h"
#include "apiserver/filter.h"
#include "apiserver/json_scan.h"
#include "apiserver/rest.h"
#include "apiserver/table.h"
#include "apiserver/view.h"
#include "json/json.h"
#include "wire/status.h"

namespace kueue::apiserver {

namespace {

constexpr int64_t kDefaultWatchSeconds = 1800;

std::string event_text(std::string_view type, std::string_view object) {
  std::string text;
  text.reserve(object.size() + type.size() + 32);
  text.append("{\"type\":\"").append(type).append("\",\"object\":").append(object).append("}\n");
  return text;
}

// One open watch. deliver() and progress() come from the hub; close() from anywhere.
class Watch : public Subscriber, public std::enable_shared_from_this<Watch> {
 public:
  Watch(CallPtr call, Filter filter, RowObject include)
      : call_(std::move(call)), filter_(std::move(filter)), include_(include) {
    const Output& output = call_->output;
    view_ = call_->served->api_version;
    if (output.form == Output::Form::kTable)
      view_ += "|table" + std::to_string(static_cast<int>(include_)) + output.version;
    if (output.form == Output::Form::kPartial || output.form == Output::Form::kPartialList)
      view_ += "|partial" + output.version;
    bookmarks_ = call_->request.query_value("allowWatchBookmarks") == "true" ||
                 call_->request.query_value("allowWatchBookmarks") == "1";
  }

  bool deliver(const Change& change, EventTexts& texts) override {
    if (change.revision <= from_ || closed_) return !closed_;
    const std::string_view key = change.key;
    const bool before = change.previous != nullptr && filter_.matches(key, change.previous->bytes);
    const bool after =
        change.type != ChangeType::kDeleted && filter_.matches(key, change.object->bytes);
    if (!before && !after) return true;
    const std::string_view type = !before ? "ADDED" : after ? "MODIFIED" : "DELETED";
    std::string view = view_ + std::string(type) + (first_row_ ? "1" : "");
    const std::string& text = texts.get(view, [&] {
      // An object that left the selection is shown as it was while it belonged, at the revision of
      // its leaving.
      if (type == "DELETED" && change.type != ChangeType::kDeleted)
        return render(type, Draft(*change.previous).finish(change.revision));
      return render(type, *change.object);
    });
    first_row_ = false;
    return send(text);
  }

  bool progress(uint64_t revision) override {
    if (closed_) return false;
    if (!bookmarks_ || revision <= from_) return true;
    return send(bookmark(revision, false));
  }

  void finish() override {
    if (!closed_.exchange(true)) call_->sink->end_stream();
  }

  // Starts the stream with the state that `page` shows, then subscribes.
  void start(const Store::Page* page, bool mark_end, uint64_t from) {
    wire::Response head;
    head.headers.set("Content-Type", "application/json");
    head.headers.set("Cache-Control", "no-cache, private");
    add_warnings(*call_, head.headers);
    call_->sink->begin_stream(std::move(head));
    const std::string collection = call_->resource().collection;
    std::weak_ptr<Watch> weak = weak_from_this();
    call_->sink->on_close([weak, collection, &hub = call_->core->hub] {
      if (auto self = weak.lock()) {
        self->closed_ = true;
        hub.unsubscribe(collection, self.get());
      }
    });
    if (page != nullptr)
      for (const auto& [key, stored] : page->items) {
        if (closed_) return;
        if (!filter_.matches(key, stored->bytes)) continue;
        if (!send(render("ADDED", *stored))) return;
        first_row_ = false;
      }
    if (mark_end && !send(bookmark(from, true))) return;
    from_ = from;
    // A version that this server never gave out comes from another life of it: the client must list
    // again.
    const uint64_t now = call_->core->store->revision();
    const Result<void> subscribed =
        from > now
            ? make_error(ErrorCode::kExpired, "too old resource version: " + std::to_string(from) +
                                                  " (" + std::to_string(now) + ")")
            : call_->core->hub.subscribe(collection, from, shared_from_this());
    if (!subscribed.ok()) {
      send(event_text("ERROR", json::write(wire::status_from_error(subscribed.error()))));
      finish();
      return;
    }
    int64_t seconds = kDefaultWatchSeconds;
    if (const std::string_view t = call_->request.query_value("timeoutSeconds"); !t.empty())
      seconds = std::max<int64_t>(1, std::strtoll(std::string(t).c_str(), nullptr, 10));
    call_->core->timers.after(Duration::seconds(seconds),
                              [weak, collection, &hub = call_->core->hub] {
                                auto self = weak.lock();
                                if (self == nullptr) return;
                                hub.unsubscribe(collection, self.get());
                                self->finish();
                              });
    if (closed_) call_->core->hub.unsubscribe(collection, this);
  }

 private:
  bool send(const std::string& text) {
    if (closed_) return false;
    if (call_->sink->write(text)) return true;
    finish();
    return false;
  }

  std::string render(std::string_view type, const Stored& stored) {
    auto text = object_text(*call_->core, *call_->served, stored);
    if (!text.ok()) return event_text("ERROR", json::write(wire::status_from_error(text.error())));
    switch (call_->output.form) {
      case Output::Form::kTable: {
        const std::string metadata =
            "{\"resourceVersion\":\"" + std::to_string(stored.revision) + "\"}";
        const std::string definitions =
            first_row_ ? column_definitions(*call_->served) : std::string("[]");
        return event_text(type, table_head(call_->output.version, metadata, definitions) +
                                    table_row(*call_->served, *text, include_,
                                              call_->output.version, call_->core->now()) +
                                    "]}");
      }
      case Output::Form::kPartial:
      case Output::Form::kPartialList:
        return event_text(type, partial_text(*text, call_->output.version));
      case Output::Form::kObject:
      case Output::Form::kDiscovery:
        break;
    }
    return event_text(type, *text);
  }

  std::string bookmark(uint64_t revision, bool end_of_initial) {
    std::string metadata =
        "{\"resourceVersion\":\"" + std::to_string(revision) + "\",\"creationTimestamp\":null";
    if (end_of_initial) metadata += ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";
    metadata += "}";
    const Output& output = call_->output;
    if (output.form == Output::Form::kTable)
      return event_text(
          "BOOKMARK",
          table_head(output.version, "{\"resourceVersion\":\"" + std::to_string(revision) + "\"}",
                     "[]") +
              "{\"cells\":[],\"object\":{\"kind\":\"PartialObjectMetadata\","
              "\"apiVersion\":\"meta.k8s.io/" +
              output.version + "\",\"metadata\":" + metadata + "}}]}");
    std::string kind(call_->served->info->kind);
    std::string version = call_->served->api_version;
    if (output.form != Output::Form::kObject) {
      kind = "PartialObjectMetadata";
      version = "meta.k8s.io/" + output.version;
    }
    return event_text("BOOKMARK", "{\"kind\":\"" + kind + "\",\"apiVersion\":\"" + version +
                                      "\",\"metadata\":" + metadata + "}");
  }

  const CallPtr call_;
  const Filter filter_;
  const RowObject include_;
  std::string view_;
  bool bookmarks_ = false;
  bool first_row_ = true;
  uint64_t from_ = 0;
  std::atomic<bool> closed_ = false;
};

bool is_true(std::string_view text) { return text == "true" || text == "1"; }

}  // namespace

void rest_watch(const CallPtr& call) {
  Core& core = *call->core;
  auto filter = Filter::parse(*call);
  if (!filter.ok()) return reply_error(*call, filter.error());
  RowObject include = RowObject::kMetadata;
  if (call->output.form == Output::Form::kTable) {
    auto wanted = row_object(*call);
    if (!wanted.ok()) return reply_error(*call, wanted.error());
    include = *wanted;
  }
  const std::string_view version = call->request.query_value("resourceVersion");
  const std::string_view match = call->request.query_value("resourceVersionMatch");
  const bool listed = is_true(call->request.query_value("sendInitialEvents"));
  const bool listing_said = call->request.has_query("sendInitialEvents");
  if (listing_said && match != "NotOlderThan")
    return reply_error(*call, list_options_error("FieldValueForbidden",
                                                 "Forbidden: sendInitialEvents requires setting "
                                                 "resourceVersionMatch to NotOlderThan"));
  if (!listing_said && !match.empty())
    return reply_error(*call, list_options_error("FieldValueForbidden",
                                                 "Forbidden: resourceVersionMatch is forbidden for "
                                                 "watch unless sendInitialEvents is provided"));
  uint64_t from = 0;
  if (!version.empty()) {
    const auto parsed = parse_revision(version);
    if (!parsed.ok()) return reply_error(*call, parsed.error());
    from = *parsed;
  }
  const uint64_t now = core.store->revision();
  if (listed && from > now) return reply_error(*call, too_large_revision(from, now));
  const std::string& collection = call->resource().collection;
  const std::string prefix = filter->prefix();
  auto watch = std::make_shared<Watch>(call, std::move(filter).value(), include);
  const bool initial = listed || (!listing_said && (version.empty() || version == "0"));
  if (initial) {
    const Store::Page page = core.store->snapshot(collection, prefix);
    const bool mark = listed && is_true(call->request.query_value("allowWatchBookmarks"));
    return watch->start(&page, mark, page.revision);
  }
  if (from == 0) from = now;
  watch->start(nullptr, false, from);
}

}  // namespace kueue::apiserver
