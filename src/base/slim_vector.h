// SlimVector<T>: a vector in the size of a pointer, for parts of values that are mostly empty or
// small. An empty one owns nothing; count and capacity stand in front of the items. Invalidation is
// that of std::vector. Not thread safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/vector_face.h"

namespace kueue {

template <typename T>
class SlimVector : public VectorFace<SlimVector<T>, T> {
  using Face = VectorFace<SlimVector<T>, T>;

 public:
  using Face::begin;
  using Face::empty;
  using Face::end;
  using Face::erase;

  SlimVector() = default;
  SlimVector(std::initializer_list<T> items) : SlimVector(items.begin(), items.end()) {}
  SlimVector(const std::vector<T>& items)  // NOLINT: implicit by intent
      : SlimVector(items.begin(), items.end()) {}
  template <std::input_iterator It>
  SlimVector(It first, It last) {
    reserve(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }
  SlimVector(const SlimVector& other) : SlimVector(other.begin(), other.end()) {}
  SlimVector(SlimVector&& other) noexcept : head_(std::exchange(other.head_, nullptr)) {}
  SlimVector& operator=(const SlimVector& other) {
    SlimVector copy(other);
    std::swap(head_, copy.head_);
    return *this;
  }
  SlimVector& operator=(SlimVector&& other) noexcept {
    std::swap(head_, other.head_);
    return *this;
  }
  ~SlimVector() {
    clear();
    release(head_);
  }

  size_t size() const { return head_ == nullptr ? 0 : head_->size; }
  size_t capacity() const { return head_ == nullptr ? 0 : head_->capacity; }
  T* data() { return items(head_); }
  const T* data() const { return items(head_); }

  void push_back(const T& item) { emplace_back(item); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size() < capacity()) return construct(head_, std::forward<Args>(args)...);
    // The new item first: it may be made of one that is here.
    Head* old = head_;
    Head* fresh = allocate(old == nullptr ? 1 : size_t{old->capacity} * 2);
    fresh->size = old == nullptr ? 0 : old->size;
    T& item = construct(fresh, std::forward<Args>(args)...);
    if (old != nullptr) move_items(old, fresh);
    head_ = fresh;
    return item;
  }
  // Makes room for exactly so many.
  void reserve(size_t count) {
    if (count <= capacity()) return;
    Head* fresh = allocate(count);
    fresh->size = static_cast<uint32_t>(size());
    if (head_ != nullptr) move_items(head_, fresh);
    head_ = fresh;
  }
  void resize(size_t count) {
    reserve(count);
    while (size() > count) pop_back();
    while (size() < count) emplace_back();
  }
  void pop_back() { std::destroy_at(data() + --head_->size); }
  void clear() {
    while (!empty()) pop_back();
  }
  T* erase(T* first, T* last) {
    T* kept = std::move(last, end(), first);
    while (end() != kept) pop_back();
    return first;
  }
  template <typename It>
  void assign(It first, It last) {
    *this = SlimVector(first, last);
  }
  void shrink_to_fit() {
    if (capacity() > size()) *this = SlimVector(*this);
  }

  bool operator<(const SlimVector& other) const {
    return std::lexicographical_compare(begin(), end(), other.begin(), other.end());
  }

 private:
  struct alignas(alignof(T) > 8 ? alignof(T) : 8) Head {
    uint32_t size = 0;
    uint32_t capacity = 0;
  };
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  static T* items(Head* head) { return head == nullptr ? nullptr : reinterpret_cast<T*>(head + 1); }
  static Head* allocate(size_t capacity) {
    auto* head = new (::operator new(sizeof(Head) + capacity * sizeof(T))) Head();
    head->capacity = static_cast<uint32_t>(capacity);
    return head;
  }
  static void release(Head* head) { ::operator delete(head); }
  template <typename... Args>
  static T& construct(Head* head, Args&&... args) {
    T* item = new (items(head) + head->size) T(std::forward<Args>(args)...);
    ++head->size;
    return *item;
  }
  // Into the same places of `to`; `from` goes.
  static void move_items(Head* from, Head* to) {
    std::uninitialized_move_n(items(from), from->size, items(to));
    std::destroy_n(items(from), from->size);
    release(from);
  }

  Head* head_ = nullptr;
};

}  // namespace kueue
