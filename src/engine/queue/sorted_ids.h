// SortedIds: an ordered set of ids that costs 4 bytes a member. Members stand side by side in
// chunks, so that taking the first one, or adding one behind the last, touches one line of the
// caches however many there are. The order is given with each call and must stay what it was. Not
// thread safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/fetch_ahead.h"
#include "base/slim_vector.h"

namespace kueue::engine {

template <typename IdType>
class SortedIds {
 public:
  SortedIds() = default;
  SortedIds(SortedIds&& other) noexcept { swap(other); }
  SortedIds& operator=(SortedIds&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SortedIds() { clear(); }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  IdType front() const { return first_->ids()[first_->begin]; }
  void swap(SortedIds& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(first_, other.first_);
    std::swap(rest_, other.rest_);
  }
  // Gives all memory back, too.
  void clear() {
    for (Chunk* c : rest_) ::operator delete(c);
    rest_ = {};
    ::operator delete(std::exchange(first_, nullptr));
    size_ = 0;
  }
  // Begins to fetch what front() and pop_front() touch.
  void fetch() const {
    if (first_ != nullptr) fetch_ahead(first_, reinterpret_cast<const char*>(first_) + 1);
  }

  // The id must not be there yet.
  template <typename Before>
  void insert(IdType id, const Before& before) {
    ++size_;
    if (first_ == nullptr) first_ = make(kLeast);
    if (size_ == 1) return first_->append(id);
    Chunk* last = rest_.empty() ? first_ : rest_.back();
    const bool behind_all = before(last->back(), id);
    size_t at = behind_all ? rest_.size() : chunk_of(id, before);
    if (chunk(at)->full() && make_room(at, behind_all))
      at += behind_all || !before(id, rest_[at]->front()) ? 1 : 0;
    Chunk* c = chunk(at);
    IdType* place = behind_all ? c->last() : std::lower_bound(c->first(), c->last(), id, before);
    std::move_backward(place, c->last(), c->last() + 1);
    *place = id;
    ++c->end;
  }
  // The id must be there.
  template <typename Before>
  void erase(IdType id, const Before& before) {
    if (front() == id) return pop_front();
    const size_t at = chunk_of(id, before);
    Chunk* c = chunk(at);
    IdType* place = std::lower_bound(c->first(), c->last(), id, before);
    std::move(place + 1, c->last(), place);
    --c->end;
    --size_;
    if (c->begin < c->end) return;
    if (at == 0) return drop_first();
    ::operator delete(c);
    rest_.erase(rest_.begin() + (at - 1));
  }
  void pop_front() {
    ++first_->begin;
    --size_;
    if (first_->begin == first_->end) drop_first();
  }
  template <typename Before>
  bool contains(IdType id, const Before& before) const {
    if (size_ == 0) return false;
    const Chunk* c = chunk(chunk_of(id, before));
    const IdType* place = std::lower_bound(c->first(), c->last(), id, before);
    return place != c->last() && *place == id;
  }
  // In order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    if (first_ == nullptr) return;
    std::for_each(first_->first(), first_->last(), visit);
    for (const Chunk* c : rest_) std::for_each(c->first(), c->last(), visit);
  }

 private:
  // Members are those from `begin` to `end`: at least one, but in the first chunk when that is the
  // only one, which is kept for those to come.
  struct Chunk {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t capacity = 0;

    IdType* ids() { return reinterpret_cast<IdType*>(this + 1); }
    const IdType* ids() const { return reinterpret_cast<const IdType*>(this + 1); }
    IdType* first() { return ids() + begin; }
    IdType* last() { return ids() + end; }
    const IdType* first() const { return ids() + begin; }
    const IdType* last() const { return ids() + end; }
    IdType front() const { return *first(); }
    IdType back() const { return last()[-1]; }
    bool full() const { return end == capacity; }
    void append(IdType id) { ids()[end++] = id; }
  };
  static_assert(alignof(IdType) <= alignof(Chunk));
  // A chunk of so many ids takes 32 bytes, then twice as many each time, up to 512.
  static constexpr uint32_t kLeast = 5, kMost = 125;

  static Chunk* make(uint32_t capacity) {
    auto* chunk = new (::operator new(sizeof(Chunk) + capacity * sizeof(IdType))) Chunk();
    chunk->capacity = capacity;
    return chunk;
  }
  // The chunk at a place: 0 is the first, others follow in `rest_`.
  Chunk*& chunk(size_t at) { return at == 0 ? first_ : rest_[at - 1]; }
  const Chunk* chunk(size_t at) const { return at == 0 ? first_ : rest_[at - 1]; }

  // The last chunk that begins with the id or before it, else the first one.
  template <typename Before>
  size_t chunk_of(IdType id, const Before& before) const {
    auto behind = std::upper_bound(rest_.begin(), rest_.end(), id,
                                   [&](IdType a, const Chunk* c) { return before(a, c->front()); });
    return static_cast<size_t>(behind - rest_.begin());
  }

  // Room behind the last member of a full chunk: where members have left in front, in a larger
  // chunk, or by a second chunk that takes the rear half, nothing when what comes goes behind all.
  // Returns whether there is a second one.
  bool make_room(size_t at, bool behind_all) {
    Chunk*& c = chunk(at);
    const uint32_t count = c->end - c->begin;
    if (c->begin >= c->capacity / 2 || (c->capacity == kMost && c->begin > 0 && !behind_all)) {
      std::move(c->first(), c->last(), c->ids());
      c->begin = 0;
      c->end = count;
    } else if (c->capacity < kMost) {
      Chunk* larger = make(c->capacity * 2 + 3);
      std::copy(c->first(), c->last(), larger->ids());
      larger->end = count;
      ::operator delete(std::exchange(c, larger));
    } else {
      Chunk* second = make(behind_all ? kLeast : kMost);
      const uint32_t kept = behind_all ? count : count / 2;
      std::copy(c->first() + kept, c->last(), second->ids());
      second->end = count - kept;
      c->end -= count - kept;
      rest_.insert(rest_.begin() + at, second);
      return true;
    }
    return false;
  }
  void drop_first() {
    if (rest_.empty()) {
      first_->begin = first_->end = 0;
      return;
    }
    ::operator delete(std::exchange(first_, rest_.front()));
    rest_.erase(rest_.begin());
  }

  uint32_t size_ = 0;
  Chunk* first_ = nullptr;
  SlimVector<Chunk*> rest_;
};

}  // namespace kueue::engine
