#include "apiserver/hub.h"

#include <algorithm>

namespace kueue::apiserver {

namespace {

constexpr size_t kHistoryBytes = 8u << 20;

Version version_of(const StoredPtr& text) { return text == nullptr ? Version() : Version(text); }

}  // namespace

Change Hub::Past::open(std::shared_ptr<const std::string> collection) const {
  return {.type = type,
          .collection = std::move(collection),
          .key = key,
          .object = Version(object).open(),
          .previous = Version(previous).open(),
          .revision = revision,
          .packed = object,
          .packed_previous = previous};
}

// The previous version is mostly the object of another change, or the current one: counting it in
// full may only make the history shorter.
size_t Hub::Past::cost() const {
  return sizeof(Past) + key.size() + object->cost() + (previous ? previous->cost() : 0);
}

const std::string& EventTexts::get(std::string_view view,
                                   const std::function<std::string()>& make) {
  for (const auto& [name, text] : texts_)
    if (name == view) return text;
  texts_.emplace_back(std::string(view), make());
  return texts_.back().second;
}

void Hub::start(uint64_t loaded, uint64_t first, bool threaded) {
  loaded_ = loaded;
  first_ = first;
  published_ = first;
  if (threaded) thread_ = std::thread([this] { run(); });
}

Hub::Channel& Hub::channel(std::string_view collection) {
  auto it = channels_.find(collection);
  if (it == channels_.end()) {
    it = channels_.emplace(std::string(collection), Channel{}).first;
    it->second.floor = loaded_;
  }
  return it->second;
}

bool Hub::known(const Channel& channel, uint64_t from) const {
  return from >= channel.floor && (from >= first_ || from == loaded_);
}

void Hub::remember(Channel& channel, const Change& change) {
  channel.name = change.collection;
  channel.ring.push_back({.type = change.type,
                          .key = change.key,
                          .object = change.packed,
                          .previous = change.packed_previous,
                          .revision = change.revision});
  channel.bytes += channel.ring.back().cost();
  while (channel.ring.size() > history_ ||
         (channel.bytes > kHistoryBytes && channel.ring.size() > 1)) {
    channel.floor = channel.ring.front().revision;
    channel.bytes -= channel.ring.front().cost();
    channel.ring.pop_front();
  }
}

void Hub::publish(std::vector<Change> changes) {
  std::lock_guard lock(mutex_);
  for (Change& change : changes) queue_.push_back(std::move(change));
  wake_.notify_one();
}

void Hub::finish_all() {
  std::vector<std::shared_ptr<const List>> lists;
  {
    std::lock_guard lock(mutex_);
    for (auto& [name, channel] : channels_) {
      lists.push_back(std::move(channel.list));
      channel.list = std::make_shared<const List>();
    }
  }
  for (const auto& list : lists)
    for (const auto& subscriber : *list) {
      std::lock_guard lock(subscriber->mutex_);
      subscriber->finish();
    }
}

void Hub::reset(uint64_t revision) {
  {
    std::lock_guard lock(mutex_);
    for (auto& [name, channel] : channels_) {
      channel.ring.clear();
      channel.bytes = 0;
    }
    for (auto& [name, channel] : channels_) channel.floor = revision;
    loaded_ = first_ = revision;
  }
  finish_all();
}

Result<void> Hub::subscribe(std::string_view collection, uint64_t from,
                            std::shared_ptr<Subscriber> subscriber) {
  std::vector<Past> missed;
  std::shared_ptr<const std::string> name;
  std::unique_lock turn(subscriber->mutex_, std::defer_lock);
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return make_error(ErrorCode::kUnavailable, "the server is shutting down");
    Channel& c = channel(collection);
    if (!known(c, from))
      return make_error(ErrorCode::kExpired, "too old resource version: " + std::to_string(from) +
                                                 " (" + std::to_string(std::max(c.floor, first_)) +
                                                 ")");
    auto it = std::upper_bound(c.ring.begin(), c.ring.end(), from,
                               [](uint64_t r, const Past& x) { return r < x.revision; });
    missed.assign(it, c.ring.end());
    name = c.name;
    auto list = std::make_shared<List>(*c.list);
    list->push_back(subscriber);
    c.list = std::move(list);
    turn.lock();
  }
  for (const Past& past : missed) {
    EventTexts texts;
    if (!subscriber->deliver(past.open(name), texts)) {
      turn.unlock();
      unsubscribe(collection, subscriber.get());
      break;
    }
  }
  return {};
}

void Hub::unsubscribe(std::string_view collection, const Subscriber* subscriber) {
  std::lock_guard lock(mutex_);
  Channel& c = channel(collection);
  auto list = std::make_shared<List>();
  list->reserve(c.list->size());
  for (const auto& s : *c.list)
    if (s.get() != subscriber) list->push_back(s);
  c.list = std::move(list);
}

std::optional<std::map<std::string, Version>> Hub::before(std::string_view collection,
                                                          std::string_view prefix, uint64_t from) {
  std::lock_guard lock(mutex_);
  Channel& c = channel(collection);
  if (!known(c, from)) return std::nullopt;
  std::map<std::string, Version> versions;
  for (const Past& past : c.ring)
    if (past.revision > from && past.key.starts_with(prefix))
      versions.emplace(past.key, Version(past.previous));
  for (const Change& change : queue_)
    if (change.revision > from && *change.collection == collection &&
        change.key.starts_with(prefix))
      versions.emplace(change.key, version_of(change.previous));
  return versions;
}

bool Hub::reaches_back_to(std::string_view collection, uint64_t from) {
  std::lock_guard lock(mutex_);
  return known(channel(collection), from);
}

void Hub::send_progress() {
  std::lock_guard lock(mutex_);
  progress_wanted_ = true;
  wake_.notify_one();
}

size_t Hub::subscribers() const {
  std::lock_guard lock(mutex_);
  size_t n = 0;
  for (const auto& [name, channel] : channels_) n += channel.list->size();
  return n;
}

void Hub::run() {
  while (true) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return stopping_ || progress_wanted_ || !queue_.empty(); });
    if (stopping_ && queue_.empty()) return;
    deliver(std::move(lock));
  }
}

bool Hub::work() {
  std::unique_lock lock(mutex_);
  if (!progress_wanted_ && queue_.empty()) return false;
  deliver(std::move(lock));
  return true;
}

void Hub::deliver(std::unique_lock<std::mutex> lock) {
  std::vector<Change> changes;
  std::vector<std::pair<std::string, std::shared_ptr<const List>>> lists;
  uint64_t published = 0;
  // A subscriber that joins now must find in the ring what it will not be handed below: one change
  // at a time.
  if (!queue_.empty()) {
    changes.push_back(std::move(queue_.front()));
    queue_.pop_front();
    remember(channel(*changes.front().collection), changes.front());
    published_ = changes.front().revision;
    auto list = channel(*changes.front().collection).list;
    lists.emplace_back(*changes.front().collection, std::move(list));
  } else {
    progress_wanted_ = false;
    published = published_;
    for (const auto& [name, channel] : channels_) lists.emplace_back(name, channel.list);
  }
  lock.unlock();
  if (!changes.empty() && observer_) observer_(changes.front());
  EventTexts texts;
  for (const auto& [name, list] : lists)
    for (const auto& subscriber : *list) {
      bool more = true;
      {
        std::lock_guard turn(subscriber->mutex_);
        more = changes.empty() ? subscriber->progress(published)
                               : subscriber->deliver(changes.front(), texts);
      }
      if (!more) unsubscribe(name, subscriber.get());
    }
}

void Hub::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  finish_all();
}

}  // namespace kueue::apiserver
