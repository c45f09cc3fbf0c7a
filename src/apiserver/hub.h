// Hub: hands durable changes to watchers, in order, and remembers the last ones of each collection
// so that a watch can start in the past. One thread of its own delivers, or whoever calls work().
// Thread safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "apiserver/store.h"
#include "base/result.h"

namespace kueue::apiserver {

// Texts made of one change, each made once and shared by all watchers that want the same.
class EventTexts {
 public:
  // `make` runs when there is no text under `view` yet.
  const std::string& get(std::string_view view, const std::function<std::string()>& make);

 private:
  std::vector<std::pair<std::string, std::string>> texts_;
};

class Subscriber {
 public:
  virtual ~Subscriber() = default;
  // One call at a time. False: no more, please.
  virtual bool deliver(const Change& change, EventTexts& texts) = 0;
  // Everything up to `revision` has been delivered. Called now and then. False: no more.
  virtual bool progress(uint64_t revision) = 0;
  // The hub drops this subscriber: it stops (or what was delivered is no longer certain).
  virtual void finish() = 0;

 private:
  friend class Hub;
  std::mutex mutex_;
};

class Hub {
 public:
  // `history`: changes kept per collection, fewer when they need more than 8 MiB.
  explicit Hub(size_t history) : history_(history) {}
  ~Hub() { stop(); }

  // Watches may start at `loaded`, or at `first` and later. Without `threaded` everything waits for
  // work().
  void start(uint64_t loaded, uint64_t first, bool threaded = true);
  // Delivers one change, or the progress that was asked for, on the caller's thread; false when
  // there is none.
  bool work();
  void publish(std::vector<Change> changes);
  // Drops all history and subscribers: clients must list again.
  void reset(uint64_t revision);

  // Delivers what happened after `from`, then what happens. kExpired when that is no longer known.
  Result<void> subscribe(std::string_view collection, uint64_t from,
                         std::shared_ptr<Subscriber> subscriber);
  void unsubscribe(std::string_view collection, const Subscriber* subscriber);
  // What the objects whose keys start with `prefix` were at `from`, for each that has changed since
  // (Version() = it was not there); nullopt when no longer known.
  std::optional<std::map<std::string, Version>> before(std::string_view collection,
                                                       std::string_view prefix, uint64_t from);
  bool reaches_back_to(std::string_view collection, uint64_t from);
  // Calls progress() of every subscriber, on the hub's thread.
  void send_progress();
  size_t subscribers() const;
  // Every change, before the subscribers get it; set before start(). Must be quick.
  void set_observer(std::function<void(const Change&)> observer) {
    observer_ = std::move(observer);
  }

  // Delivers what is queued, finishes all subscribers, ends the thread.
  void stop();

 private:
  using List = std::vector<std::shared_ptr<Subscriber>>;
  // A change as the history keeps it.
  struct Past {
    ChangeType type;
    std::string key;
    PackedPtr object;
    PackedPtr previous;
    uint64_t revision;
    Change open(std::shared_ptr<const std::string> collection) const;
    size_t cost() const;
  };
  struct Channel {
    std::shared_ptr<const std::string> name;  // set with the first change
    std::deque<Past> ring;
    size_t bytes = 0;
    uint64_t floor = 0;  // changes after this revision are all in the ring
    std::shared_ptr<const List> list = std::make_shared<const List>();
  };
  Channel& channel(std::string_view collection);
  bool known(const Channel& channel, uint64_t from) const;
  void remember(Channel& channel, const Change& change);
  void run();
  void deliver(std::unique_lock<std::mutex> lock);
  void finish_all();

  const size_t history_;
  std::function<void(const Change&)> observer_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Change> queue_;
  std::map<std::string, Channel, std::less<>> channels_;
  uint64_t loaded_ = 0;
  uint64_t first_ = 0;
  uint64_t published_ = 0;
  bool progress_wanted_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace kueue::apiserver
