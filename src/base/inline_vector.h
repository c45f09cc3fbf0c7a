// InlineVector<T, N>: a vector of small plain values that keeps up to N of them in itself and goes
// to the heap for more. Invalidation is that of std::vector; moving one moves its items. Not thread
// safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/vector_face.h"

namespace kueue {

template <typename T, size_t N>
class InlineVector : public VectorFace<InlineVector<T, N>, T> {
  using Face = VectorFace<InlineVector<T, N>, T>;
  static_assert(std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using Face::begin;
  using Face::end;
  using Face::erase;
  using Face::insert;

  InlineVector() : heap_(nullptr) {}
  InlineVector(std::initializer_list<T> items) : InlineVector(items.begin(), items.end()) {}
  template <std::input_iterator It>
  InlineVector(It first, It last) : InlineVector() {
    assign(first, last);
  }
  InlineVector(const InlineVector& other) : InlineVector(other.begin(), other.end()) {}
  InlineVector(InlineVector&& other) noexcept : InlineVector() { take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~InlineVector() { release(); }

  size_t size() const { return size_; }
  T* data() { return capacity_ > N ? heap_ : reinterpret_cast<T*>(inside_); }
  const T* data() const { return capacity_ > N ? heap_ : reinterpret_cast<const T*>(inside_); }

  void reserve(size_t count) {
    if (count <= capacity_) return;
    T* fresh = static_cast<T*>(::operator new(count * sizeof(T)));
    std::uninitialized_copy_n(data(), size_, fresh);
    if (capacity_ > N) ::operator delete(heap_);
    heap_ = fresh;
    capacity_ = static_cast<uint32_t>(count);
  }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    T item(std::forward<Args>(args)...);  // before growth: it may be made of one that is here
    if (size_ == capacity_) reserve(size_t{capacity_} * 2);
    return *new (data() + size_++) T(item);
  }
  void push_back(const T& item) { emplace_back(item); }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(size_t count) {
    reserve(count);
    while (size_ < count) emplace_back();
    size_ = static_cast<uint32_t>(count);
  }
  template <std::input_iterator It>
  void assign(It first, It last) {
    clear();
    if constexpr (std::random_access_iterator<It>) reserve(static_cast<size_t>(last - first));
    for (; first != last; ++first) emplace_back(*first);
  }
  template <typename... Args>
  T* emplace(const T* before, Args&&... args) {
    return insert(before, T(std::forward<Args>(args)...));
  }
  T* erase(T* first, T* last) {
    size_ = static_cast<uint32_t>(std::move(last, end(), first) - begin());
    return first;
  }

 private:
  void release() {
    if (capacity_ > N) ::operator delete(heap_);
    capacity_ = N;
    size_ = 0;
  }
  // Of one that holds nothing; `other` is empty afterwards.
  void take(InlineVector& other) {
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (capacity_ > N)
      heap_ = other.heap_;
    else
      std::uninitialized_copy_n(other.data(), size_, data());
    other.capacity_ = N;
    other.size_ = 0;
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  union {
    T* heap_;
    alignas(T) unsigned char inside_[N * sizeof(T)];
  };
};

}  // namespace kueue
