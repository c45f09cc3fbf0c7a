#include "kube/event_recorder.h"

#include <unistd.h>

#include <array>
#include <deque>
#include <map>
#include <mutex>

namespace kueue::kube {

namespace {

constexpr size_t kMostWaiting = 1'000;
constexpr size_t kLongestNote = 1'024;
constexpr int kTries = 4;
constexpr Duration kRetryDelay = Duration::millis(500);
constexpr Duration kSeriesTime = Duration::seconds(6 * 60);

Resource events() { return {"events.k8s.io", "v1", "events", "Event", true}; }

json::Value reference_document(const ObjectReference& reference) {
  json::Value value = json::Value::object();
  auto put = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) value[name] = text;
  };
  put("kind", reference.kind);
  put("namespace", reference.namespace_);
  put("name", reference.name);
  put("uid", reference.uid);
  put("apiVersion", reference.api_version);
  put("resourceVersion", reference.resource_version);
  return value;
}

std::string hex(uint64_t number) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[number & 15]);
    number >>= 4;
  } while (number != 0);
  return text;
}

// Cut between code points.
std::string cut_note(std::string note) {
  static constexpr std::string_view kMark = " ...";
  if (note.size() <= kLongestNote) return note;
  size_t end = kLongestNote - kMark.size();
  while (end > 0 && (static_cast<unsigned char>(note[end]) & 0xC0) == 0x80) --end;
  note.resize(end);
  return note.append(kMark);
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) return "localhost";
  return name.data();
}

// What makes two events the same one.
std::string identity(const EventSink::Event& event) {
  std::string key;
  auto add = [&](std::string_view text) {
    key.append(text);
    key.push_back('\n');
  };
  auto add_reference = [&](const ObjectReference& reference) {
    for (const std::string* part : {&reference.api_version, &reference.kind, &reference.namespace_,
                                    &reference.name, &reference.uid})
      add(*part);
  };
  add(event.type == EventType::kNormal ? "Normal" : "Warning");
  add(event.reason);
  add(event.action);
  add(event.controller);
  add_reference(event.regarding);
  if (event.related) add_reference(*event.related);
  if (event.by_note) add(event.note);
  return key;
}

}  // namespace

struct EventSink::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<Client> c, Executor& e, std::string i)
      : client(std::move(c)), executor(e), strand(e), instance(std::move(i)) {}

  struct Series {
    ObjectKey key;
    int64_t count = 1;
    Instant seen;
    Instant patched;
  };
  // One API write: creation of `document`, or the patch of a series.
  struct Write {
    ObjectKey key;
    json::Value document;
    bool create = true;
    int tries = 0;
  };

  const std::shared_ptr<Client> client;
  Executor& executor;
  Strand strand;
  const std::string instance;
  mutable std::mutex mutex;
  std::map<std::string, Series> series;
  std::deque<Write> waiting;
  bool writing = false;
  bool stopped = false;
  int64_t last_name_ns = 0;

  void emit(Event event) {
    const Instant now = executor.clock().now();
    std::string same = identity(event);
    std::lock_guard lock(mutex);
    if (stopped) return;
    auto held = series.find(same);
    if (held != series.end() && now - held->second.seen > kSeriesTime) {
      series.erase(held);
      held = series.end();
    }
    if (held == series.end()) {
      forget_old(now);
      ObjectKey key = name_event(event, now);
      waiting.push_back({key, document(event, key, now)});
      series.emplace(std::move(same), Series{std::move(key), 1, now, now});
    } else {
      Series& known = held->second;
      ++known.count;
      known.seen = now;
      if (known.count > 2 && now - known.patched < kSeriesTime) return;
      known.patched = now;
      json::Value patch;
      patch["series"] = json::Value::object(
          {{"count", known.count}, {"lastObservedTime", format_micro_time(now)}});
      waiting.push_back({known.key, std::move(patch), false});
    }
    if (waiting.size() > kMostWaiting) waiting.pop_front();
    ask_to_write();
  }

  void forget_old(Instant now) {
    if (series.size() < kMostWaiting) return;
    std::erase_if(series, [&](const auto& each) { return now - each.second.seen > kSeriesTime; });
  }

  ObjectKey name_event(const Event& event, Instant now) {
    last_name_ns = std::max(last_name_ns + 1, now.ns);
    std::string place = event.regarding.namespace_.empty() ? "default" : event.regarding.namespace_;
    return {std::move(place),
            event.regarding.name + "." + hex(static_cast<uint64_t>(last_name_ns))};
  }

  json::Value document(const Event& event, const ObjectKey& key, Instant now) const {
    json::Value value =
        json::Value::object({{"apiVersion", "events.k8s.io/v1"}, {"kind", "Event"}});
    value["metadata"] = json::Value::object({{"name", key.name}, {"namespace", key.namespace_}});
    value["eventTime"] = format_micro_time(now);
    value["reportingController"] = event.controller;
    value["reportingInstance"] = instance.empty() ? event.controller + "-" + host_name() : instance;
    value["action"] = event.action;
    value["reason"] = event.reason;
    value["regarding"] = reference_document(event.regarding);
    if (event.related) value["related"] = reference_document(*event.related);
    value["note"] = cut_note(event.note);
    value["type"] = event.type == EventType::kNormal ? "Normal" : "Warning";
    return value;
  }

  void ask_to_write() {  // the lock is held
    if (writing || stopped) return;
    writing = true;
    strand.run([weak = weak_from_this()] {
      if (std::shared_ptr<State> state = weak.lock()) state->write_next();
    });
  }

  void write_next() {
    Write write;
    {
      std::lock_guard lock(mutex);
      if (stopped || waiting.empty()) {
        writing = false;
        return;
      }
      write = std::move(waiting.front());
      waiting.pop_front();
    }
    Result<json::Value> result =
        write.create ? client->create(events(), write.key.namespace_, write.document)
                     : client->patch(events(), write.key, PatchType::kMerge, write.document);
    std::lock_guard lock(mutex);
    bool again = !result.ok() && result.error().transient() && ++write.tries < kTries;
    auto next = [weak = weak_from_this()] {
      std::shared_ptr<State> state = weak.lock();
      if (!state) return;
      state->strand.run([weak] {
        if (std::shared_ptr<State> inner = weak.lock()) inner->write_next();
      });
    };
    if (again) {
      waiting.push_front(std::move(write));
      executor.run_after(kRetryDelay, next);
    } else {
      next();
    }
  }
};

EventSink::EventSink(std::shared_ptr<Client> client, Executor& executor, std::string instance)
    : state_(std::make_shared<State>(std::move(client), executor, std::move(instance))) {}

EventSink::~EventSink() { stop(); }

void EventSink::emit(Event event) { state_->emit(std::move(event)); }

bool EventSink::flushed() const {
  std::lock_guard lock(state_->mutex);
  return state_->waiting.empty() && !state_->writing;
}

void EventSink::stop() {
  std::lock_guard lock(state_->mutex);
  state_->stopped = true;
  state_->waiting.clear();
}

}  // namespace kueue::kube
