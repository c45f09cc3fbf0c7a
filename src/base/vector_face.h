// VectorFace<Self, T>: what follows from data(), size() and emplace_back() of a vector of our own,
// as std::vector has it. A base of SlimVector and InlineVector; costs no space.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace kueue {

template <typename Self, typename T>
class VectorFace {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  T* begin() { return self().data(); }
  T* end() { return begin() + self().size(); }
  const T* begin() const { return self().data(); }
  const T* end() const { return begin() + self().size(); }
  bool empty() const { return self().size() == 0; }
  T& operator[](size_t i) { return begin()[i]; }
  const T& operator[](size_t i) const { return begin()[i]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return end()[-1]; }
  const T& back() const { return end()[-1]; }

  T* insert(const T* before, T item) {
    const auto at = before - begin();
    self().emplace_back(std::move(item));
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  T* erase(T* at) { return self().erase(at, at + 1); }

  bool operator==(const VectorFace& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  const Self& self() const { return static_cast<const Self&>(*this); }
};

// As for std::vector.
template <typename Self, typename T, typename Predicate>
size_t erase_if(VectorFace<Self, T>& vector, Predicate predicate) {
  T* kept = std::remove_if(vector.begin(), vector.end(), predicate);
  const auto gone = static_cast<size_t>(vector.end() - kept);
  static_cast<Self&>(vector).erase(kept, vector.end());
  return gone;
}

}  // namespace kueue
