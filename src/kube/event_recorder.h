// EventRecorder: Events (events.k8s.io/v1) about objects, as client-go's events package sends them.
// An event that is repeated becomes a series of the first one instead of a new object. Thread safe;
// emitting never blocks on the API.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/client.h"
#include "kube/executor.h"

namespace kueue::kube {

struct ObjectReference {
  std::string api_version;
  std::string kind;
  std::string namespace_;
  std::string name;
  std::string uid;
  std::string resource_version;
  bool operator==(const ObjectReference&) const = default;
};

enum class EventType : uint8_t { kNormal, kWarning };

// The sink that recorders of several controllers share. Writes leave in order, on the executor; a
// write that fails is retried a few times, then dropped. At most 1,000 events wait, the oldest go
// first.
//
// Two events are the same when type, reason, action, controller, regarding and related are (the
// note is not looked at). First: created as "<regarding.name>.<hex of the time in ns>" in the
// namespace of regarding ("default" for cluster scope), eventTime = now, no series. Second: a patch
// adds series {count: 2, lastObservedTime}. Later ones only count up; the series is patched again
// after 6 minutes, and what was not seen for 6 minutes is forgotten.
class EventSink {
 public:
  // `instance` becomes reportingInstance, "<controller>-<host>" when empty.
  EventSink(std::shared_ptr<Client> client, Executor& executor, std::string instance);
  ~EventSink();

  struct Event {
    EventType type = EventType::kNormal;
    std::string reason;
    std::string action;
    std::string note;        // cut to 1024 bytes, ending in " ..." when cut
    std::string controller;  // reportingController
    ObjectReference regarding;
    std::optional<ObjectReference> related = {};
    // Events with other notes are other events, as the older recorder of client-go has it.
    bool by_note = false;
  };
  void emit(Event event);
  // True when nothing waits to be written. For tests and for the end of the process.
  bool flushed() const;
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// One controller's handle on the sink.
class EventRecorder {
 public:
  EventRecorder(std::shared_ptr<EventSink> sink, std::string controller, bool by_note = false)
      : sink_(std::move(sink)), controller_(std::move(controller)), by_note_(by_note) {}

  void emit(const ObjectReference& regarding, EventType type, std::string_view reason,
            std::string_view action, std::string note,
            std::optional<ObjectReference> related = {}) const {
    sink_->emit({type, std::string(reason), std::string(action), std::move(note), controller_,
                 regarding, std::move(related), by_note_});
  }
  void normal(const ObjectReference& regarding, std::string_view reason, std::string note) const {
    emit(regarding, EventType::kNormal, reason, reason, std::move(note));
  }
  void warning(const ObjectReference& regarding, std::string_view reason, std::string note) const {
    emit(regarding, EventType::kWarning, reason, reason, std::move(note));
  }
  const std::string& controller() const { return controller_; }

 private:
  std::shared_ptr<EventSink> sink_;
  std::string controller_;
  bool by_note_ = false;
};

}  // namespace kueue::kube
