#include "kube/informer.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace kueue::kube {

namespace {

constexpr int64_t kPageSize = 500;
constexpr int kPagesAhead = 2;
constexpr Duration kFirstDelay = Duration::millis(800);
constexpr Duration kLongestDelay = Duration::seconds(30);
constexpr size_t kGraves = 4096;

uint64_t version_number(std::string_view text) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// 0 of none.
size_t hash_of_uid(std::string_view uid) {
  return uid.empty() ? 0 : std::hash<std::string_view>()(uid);
}

}  // namespace

// Everything is guarded by `mutex`, except what is set before start(). Changes of the store append
// a notice under the same lock, so notices are in the order of the changes whoever made them.
struct InformerCore::State : std::enable_shared_from_this<State> {
  // An object in the store; made to be small.
  struct Held {
    size_t uid = 0;        // hash of it: tells whether an object was deleted and made again
    uint64_t version = 0;  // resourceVersion as a number; versions of one server are ordered
    ErasedObject object;
  };
  using Store = std::map<ObjectKey, Held>;
  using Node = Store::value_type;  // stays where it is until it is erased
  struct ByKey {
    bool operator()(const Node* a, const Node* b) const { return a->first < b->first; }
  };
  struct Index {
    IndexFunction keys;
    std::map<std::string, std::set<const Node*, ByKey>, std::less<>> entries;
  };
  // An object that comes in.
  struct Made {
    ObjectKey key;
    Held held;
  };
  struct Notice {
    ErasedObject old;
    ErasedObject now;
    bool synced = false;  // not a change: the first list is complete
  };
  class Receiver;

  State(std::shared_ptr<Client> c, Executor& e, Resource r, Decode d, InformerOptions o)
      : client(std::move(c)),
        executor(e),
        strand(e),
        resource(std::move(r)),
        decode(std::move(d)),
        options(std::move(o)) {}

  const std::shared_ptr<Client> client;
  Executor& executor;
  Strand strand;
  const Resource resource;
  const Decode decode;
  const InformerOptions options;
  std::vector<Handler> handlers;
  std::function<void(const Error&)> on_error;

  mutable std::mutex mutex;
  Store store;
  std::map<std::string, Index, std::less<>> indexes;
  // Deletions that the watch, or an answer, has told of: an older event that comes late, or again,
  // does not bring the object back. The newest ones are kept.
  struct Grave {
    uint64_t version = 0;
    size_t uid = 0;  // who lies in it never comes back, whatever its version
  };
  std::map<ObjectKey, Grave> graves;
  std::deque<ObjectKey> graves_by_age;
  std::deque<WatchEvent> inbox;
  std::deque<Notice> notices;
  bool draining = false;   // a drain task is on the strand
  uint64_t seen = 0;       // the watch has passed this version
  std::string watch_from;  // the same as text
  bool started = false, stopped = false, synced = false, busy = false;
  uint64_t watch_number = 0;  // calls of older watches are ignored
  std::unique_ptr<wire::StreamHandle> watch;
  Duration delay = kFirstDelay;

  std::mutex dispatch;  // held while handlers run
  std::atomic<std::thread::id> dispatcher;

  // Takes managedFields out of the document, where they are still there (an answer to a write):
  // nobody reads them, and they are long.
  Result<Made> make(json::Value& document) const {
    document.erase_path({"metadata", "managedFields"});
    Made made;
    made.key = {std::string(document.get_string({"metadata", "namespace"})),
                std::string(document.get_string({"metadata", "name"}))};
    made.held.uid = hash_of_uid(document.get_string({"metadata", "uid"}));
    made.held.version = version_number(document.get_string({"metadata", "resourceVersion"}));
    Result<ErasedObject> object = decode(document);
    if (!object.ok()) {
      Error error = object.error();
      error.message = resource.kind + " " + made.key.to_string() + " is skipped: " + error.message;
      return error;
    }
    made.held.object = std::move(*object);
    return made;
  }

  void report(const Error& error) const {
    if (on_error) on_error(error);
  }

  void add_to_indexes(const Node& node) {
    for (auto& [name, index] : indexes)
      for (std::string& key : index.keys(node.second.object.get()))
        index.entries[std::move(key)].insert(&node);
  }

  void remove_from_indexes(const Node& node) {
    for (auto& [name, index] : indexes)
      for (const std::string& key : index.keys(node.second.object.get())) {
        auto entry = index.entries.find(key);
        if (entry == index.entries.end()) continue;
        entry->second.erase(&node);
        if (entry->second.empty()) index.entries.erase(entry);
      }
  }

  // The lock is held. False when the store has this version or a newer one. `listed_at`: the
  // version of the list it is from, 0 = it is from elsewhere. A list shows the newest there is at
  // its version, so what we know from before and it does not is no more: the server was put back
  // to an older state.
  bool put(Made made, uint64_t listed_at = 0) {
    if (auto grave = graves.find(made.key);
        grave != graves.end() && grave->second.version > listed_at) {
      if (made.held.version != 0 && made.held.version <= grave->second.version) return false;
      if (made.held.uid != 0 && made.held.uid == grave->second.uid) return false;
    }
    auto [node, fresh] = store.try_emplace(std::move(made.key));
    Held& held = node->second;
    if (fresh) {
      notices.push_back({nullptr, made.held.object});
    } else {
      const bool gone = held.version > made.held.version && held.version <= listed_at;
      if (held.version >= made.held.version && made.held.version != 0 && !gone) return false;
      if (held.uid == made.held.uid) {
        notices.push_back({held.object, made.held.object});
      } else {  // deleted and made again
        notices.push_back({held.object, nullptr});
        notices.push_back({nullptr, made.held.object});
      }
      remove_from_indexes(*node);
    }
    held = std::move(made.held);
    add_to_indexes(*node);
    return true;
  }

  // The lock is held. `last` is the final state the server sent, null when it is not known.
  void drop(Store::iterator node, ErasedObject last) {
    notices.push_back({last ? std::move(last) : node->second.object, nullptr});
    remove_from_indexes(*node);
    store.erase(node);
  }

  void bury(const ObjectKey& key, Grave grave) {  // the lock is held
    if (!graves.insert_or_assign(key, grave).second) return;
    graves_by_age.push_back(key);
    if (graves_by_age.size() <= kGraves) return;
    graves.erase(graves_by_age.front());
    graves_by_age.pop_front();
  }

  // The lock is held. The versions we know are of a time that the server has forgotten.
  void go_back_to(uint64_t version) {
    for (auto& [key, held] : store) held.version = 0;
    graves.clear();
    graves_by_age.clear();
    seen = version;
  }

  void ask_for_drain() {  // the lock is held
    if (draining || stopped) return;
    draining = true;
    strand.run([weak = weak_from_this()] {
      if (std::shared_ptr<State> state = weak.lock()) state->drain();
    });
  }

  // Takes events into the store and tells the handlers, until nothing is left.
  void drain() {
    while (true) {
      std::deque<WatchEvent> events;
      std::deque<Notice> told;
      {
        std::lock_guard lock(mutex);
        events.swap(inbox);
        told.swap(notices);
        if (stopped || (events.empty() && told.empty())) {
          draining = busy = false;
          return;
        }
        busy = true;
      }
      tell(told);
      for (WatchEvent& event : events) take(event);
    }
  }

  void tell(const std::deque<Notice>& told) {
    std::lock_guard guard(dispatch);
    dispatcher = std::this_thread::get_id();
    for (const Notice& notice : told) {
      {
        std::lock_guard lock(mutex);
        if (stopped) break;
        if (notice.synced) synced = true;
      }
      if (notice.synced) continue;
      for (const Handler& handler : handlers) handler(notice.old, notice.now);
    }
    dispatcher = std::thread::id();
  }

  void take(WatchEvent& event) {
    if (event.type == WatchEventType::kError) return;  // on_end follows with the same error
    std::string text(event.object.get_string({"metadata", "resourceVersion"}));
    Made incoming;
    bool usable = false;
    if (event.type != WatchEventType::kBookmark) {
      Result<Made> made = make(event.object);
      if (made.ok()) {
        incoming = std::move(*made);
        usable = true;
      } else {
        report(made.error());
      }
    }
    std::lock_guard lock(mutex);
    if (const uint64_t number = version_number(text); number >= seen) {
      seen = number;
      watch_from = std::move(text);
    }
    delay = kFirstDelay;
    if (!usable) return;
    if (event.type != WatchEventType::kDeleted) {
      put(std::move(incoming));
      return;
    }
    bury(incoming.key, {incoming.held.version, incoming.held.uid});
    if (auto node = store.find(incoming.key);
        node != store.end() && node->second.version <= incoming.held.version)
      drop(node, std::move(incoming.held.object));
  }

  // A list under way: one task fetches pages, the strand takes them, a little behind.
  struct Listing {
    ListOptions page;           // the fetching task's
    std::set<ObjectKey> found;  // the strand's
    bool begins = true;         // the strand's: no page was taken
    int ahead = 0;              // pages fetched and not taken
    bool waits = false;         // for the strand to catch up
  };

  void list() {
    auto listing = std::make_shared<Listing>();
    listing->page = {.label_selector = options.label_selector,
                     .field_selector = options.field_selector,
                     .limit = kPageSize,
                     .managed_fields = false};
    go_on(std::move(listing));
  }

  void go_on(std::shared_ptr<Listing> listing) {
    executor.run([weak = weak_from_this(), listing = std::move(listing)] {
      if (std::shared_ptr<State> state = weak.lock()) state->fetch(listing);
    });
  }

  void fetch(const std::shared_ptr<Listing>& listing) {
    bool last = false;
    while (!last) {
      {
        std::lock_guard lock(mutex);
        if (stopped) return;
        listing->waits = listing->ahead >= kPagesAhead;
        if (listing->waits) return;  // the strand calls go_on()
        ++listing->ahead;
      }
      Result<ListResult> page = client->list(resource, options.namespace_, listing->page);
      last = !page.ok() || page->continue_token.empty();
      if (!last) listing->page.continue_token = page->continue_token;
      auto fetched = std::make_shared<Result<ListResult>>(std::move(page));
      strand.run([weak = weak_from_this(), listing, fetched] {
        if (std::shared_ptr<State> state = weak.lock()) state->take_page(listing, *fetched);
      });
    }
  }

  void take_page(const std::shared_ptr<Listing>& listing, Result<ListResult>& page) {
    if (!page.ok()) {
      report(page.error());
      again(/*relist=*/true);
      return;
    }
    std::vector<Made> found;
    for (json::Value& item : page->items) {
      Result<Made> made = make(item);
      item = json::Value();
      if (made.ok())
        found.push_back(std::move(*made));
      else
        report(made.error());
    }
    const bool last = page->continue_token.empty();
    const uint64_t number = version_number(page->resource_version);
    std::deque<Notice> told;
    bool more = false;
    {
      std::lock_guard lock(mutex);
      if (std::exchange(listing->begins, false) && number != 0 && number < seen) go_back_to(number);
      for (Made& made : found) {
        listing->found.insert(made.key);
        put(std::move(made), number);
      }
      if (last) end_list(*listing, page->resource_version);
      told.swap(notices);
      --listing->ahead;
      more = std::exchange(listing->waits, false) && !stopped;
      busy = true;
    }
    if (more) go_on(listing);
    tell(told);
    {
      std::lock_guard lock(mutex);
      busy = false;
    }
    if (last) start_watch();
  }

  // With the lock held.
  void end_list(const Listing& listing, const std::string& version) {
    const uint64_t number = version_number(version);
    for (auto node = store.begin(); node != store.end();) {
      auto next = std::next(node);
      // What we wrote ourselves after the list was made is newer than the list.
      if (!listing.found.contains(node->first) && node->second.version <= number)
        drop(node, nullptr);
      node = next;
    }
    seen = std::max(seen, number);
    watch_from = version;
    delay = kFirstDelay;
    if (!synced) notices.push_back({nullptr, nullptr, true});
  }

  void start_watch();

  // Tries again after a growing delay.
  void again(bool relist) {
    std::lock_guard lock(mutex);
    if (stopped) return;
    Duration wait = delay;
    delay = std::min(delay * 2, kLongestDelay);
    executor.run_after(wait, [weak = weak_from_this(), relist] {
      std::shared_ptr<State> state = weak.lock();
      if (!state) return;
      state->strand.run([weak, relist] {
        std::shared_ptr<State> inner = weak.lock();
        if (!inner) return;
        if (relist)
          inner->list();
        else
          inner->start_watch();
      });
    });
  }

  void watch_ended(uint64_t number, const Result<void>& result) {
    std::unique_ptr<wire::StreamHandle> old;  // closed outside the lock
    bool at_once = false;
    {
      std::lock_guard lock(mutex);
      if (stopped || number != watch_number) return;
      old = std::move(watch);
      at_once = result.ok() && delay == kFirstDelay;
      if (at_once) delay = delay * 2;  // until the next event shows that the watch works
    }
    old.reset();
    if (!result.ok() && result.error().code == ErrorCode::kExpired) {
      list();
    } else if (at_once) {
      start_watch();
    } else {
      // A server that is away may still know our version when it is back; one that refuses the
      // watch gets a fresh list.
      bool away = result.ok() || result.error().code == ErrorCode::kUnavailable ||
                  result.error().code == ErrorCode::kTooManyRequests;
      if (!result.ok()) report(result.error());
      again(/*relist=*/!away);
    }
  }
};

class InformerCore::State::Receiver final : public WatchReceiver {
 public:
  Receiver(std::weak_ptr<State> state, uint64_t number)
      : state_(std::move(state)), number_(number) {}

  void on_event(WatchEvent event) override {
    std::shared_ptr<State> state = state_.lock();
    if (!state) return;
    std::lock_guard lock(state->mutex);
    if (state->stopped || state->watch_number != number_) return;
    state->inbox.push_back(std::move(event));
    state->ask_for_drain();
  }

  void on_end(Result<void> result) override {
    std::shared_ptr<State> state = state_.lock();
    if (!state) return;
    // Behind the drain of what has come before.
    state->strand.run([weak = state_, number = number_, result = std::move(result)] {
      if (std::shared_ptr<State> inner = weak.lock()) inner->watch_ended(number, result);
    });
  }

 private:
  const std::weak_ptr<State> state_;
  const uint64_t number_;
};

void InformerCore::State::start_watch() {
  WatchOptions how{.label_selector = options.label_selector,
                   .field_selector = options.field_selector,
                   .managed_fields = false};
  uint64_t number;
  {
    std::lock_guard lock(mutex);
    if (stopped) return;
    how.resource_version = watch_from;
    number = ++watch_number;
  }
  std::unique_ptr<wire::StreamHandle> opened = client->watch(
      resource, options.namespace_, how, std::make_shared<Receiver>(weak_from_this(), number));
  std::lock_guard lock(mutex);
  if (!stopped && watch_number == number) watch = std::move(opened);
}

InformerCore::InformerCore(std::shared_ptr<Client> client, Executor& executor, Resource resource,
                           Decode decode, InformerOptions options)
    : state_(std::make_shared<State>(std::move(client), executor, std::move(resource),
                                     std::move(decode), std::move(options))) {}

InformerCore::~InformerCore() { stop(); }

void InformerCore::add_handler(Handler handler) {
  KUEUE_CHECK(!state_->started, "handlers are added before start()");
  state_->handlers.push_back(std::move(handler));
}

void InformerCore::add_index(std::string name, IndexFunction keys) {
  KUEUE_CHECK(!state_->started, "indexes are added before start()");
  state_->indexes[std::move(name)].keys = std::move(keys);
}

void InformerCore::set_on_error(std::function<void(const Error&)> on_error) {
  KUEUE_CHECK(!state_->started, "on_error is set before start()");
  state_->on_error = std::move(on_error);
}

void InformerCore::start() {
  state_->started = true;
  state_->strand.run([weak = std::weak_ptr<State>(state_)] {
    if (std::shared_ptr<State> state = weak.lock()) state->list();
  });
}

void InformerCore::stop() {
  std::unique_ptr<wire::StreamHandle> watch;
  {
    std::lock_guard lock(state_->mutex);
    state_->stopped = true;
    watch = std::move(state_->watch);
  }
  watch.reset();
  if (state_->dispatcher.load() == std::this_thread::get_id()) return;  // called by a handler
  std::lock_guard wait_for_handlers(state_->dispatch);
}

bool InformerCore::has_synced() const {
  std::lock_guard lock(state_->mutex);
  return state_->synced;
}

bool InformerCore::idle() const {
  std::lock_guard lock(state_->mutex);
  return state_->inbox.empty() && state_->notices.empty() && !state_->busy;
}

ErasedObject InformerCore::get(const ObjectKey& key) const {
  std::lock_guard lock(state_->mutex);
  auto found = state_->store.find(key);
  return found == state_->store.end() ? nullptr : found->second.object;
}

std::vector<ErasedObject> InformerCore::list(std::string_view namespace_) const {
  std::lock_guard lock(state_->mutex);
  std::vector<ErasedObject> result;
  if (namespace_.empty()) {
    result.reserve(state_->store.size());
    for (const auto& [key, stored] : state_->store) result.push_back(stored.object);
    return result;
  }
  auto stored = state_->store.lower_bound({std::string(namespace_), ""});
  for (; stored != state_->store.end() && stored->first.namespace_ == namespace_; ++stored)
    result.push_back(stored->second.object);
  return result;
}

std::vector<ErasedObject> InformerCore::by_index(std::string_view index,
                                                 std::string_view value) const {
  std::lock_guard lock(state_->mutex);
  std::vector<ErasedObject> result;
  auto named = state_->indexes.find(index);
  KUEUE_CHECK(named != state_->indexes.end(), "no index of that name");
  auto entry = named->second.entries.find(value);
  if (entry == named->second.entries.end()) return result;
  for (const State::Node* node : entry->second) result.push_back(node->second.object);
  return result;
}

size_t InformerCore::size() const {
  std::lock_guard lock(state_->mutex);
  return state_->store.size();
}

void InformerCore::absorb(const json::Value& document) {
  json::Value copy = document;
  Result<State::Made> made = state_->make(copy);
  if (!made.ok()) {
    state_->report(made.error());
    return;
  }
  std::lock_guard lock(state_->mutex);
  if (state_->stopped || made->held.version <= state_->seen) return;
  if (state_->put(std::move(*made))) state_->ask_for_drain();
}

void InformerCore::forget(const ObjectKey& key, std::string_view uid) {
  std::lock_guard lock(state_->mutex);
  auto node = state_->store.find(key);
  if (state_->stopped || node == state_->store.end()) return;
  const State::Held& held = node->second;
  if (held.uid != hash_of_uid(uid)) return;
  state_->bury(key, {held.version, held.uid});
  state_->drop(node, nullptr);
  state_->ask_for_drain();
}

const Resource& InformerCore::resource() const { return state_->resource; }

}  // namespace kueue::kube
