// Typed ids of dense tables, and vectors indexed by them. An id says where something is stored; it
// never decides an order that can be seen.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace kueue {

template <typename Tag>
struct Id {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(size_t v) : value(static_cast<uint32_t>(v)) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  auto operator<=>(const Id&) const = default;
};

template <typename IdType>
std::vector<IdType> first_ids(size_t count) {
  std::vector<IdType> out;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) out.push_back(IdType(i));
  return out;
}

// A vector whose index is an Id type. Elements are never moved to another index.
template <typename IdType, typename T>
class IndexVec {
 public:
  T& operator[](IdType id) { return items_[id.value]; }
  const T& operator[](IdType id) const { return items_[id.value]; }
  bool contains(IdType id) const { return id.value < items_.size(); }
  IdType push(T item) {
    items_.push_back(std::move(item));
    return IdType(items_.size() - 1);
  }
  // Grows so that `id` exists.
  T& ensure(IdType id) {
    if (id.value >= items_.size()) items_.resize(id.value + 1);
    return items_[id.value];
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  // All ids in use, in index order.
  std::vector<IdType> ids() const { return first_ids<IdType>(items_.size()); }

 private:
  std::vector<T> items_;
};

// The same for large tables: in pieces, so that growing moves nothing and leaves little unused.
// References to elements stay good.
template <typename IdType, typename T>
class PieceVec {
 public:
  T& operator[](IdType id) { return pieces_[id.value / kPiece]->items[id.value % kPiece]; }
  const T& operator[](IdType id) const {
    return pieces_[id.value / kPiece]->items[id.value % kPiece];
  }
  bool contains(IdType id) const { return id.value < size_; }
  IdType push(T item) {
    IdType id(size_);
    ensure(id) = std::move(item);
    return id;
  }
  // Grows so that `id` exists.
  T& ensure(IdType id) {
    while (id.value >= pieces_.size() * kPiece) pieces_.push_back(std::make_unique<Piece>());
    if (id.value >= size_) size_ = size_t{id.value} + 1;
    return (*this)[id];
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // All ids in use, in index order.
  std::vector<IdType> ids() const { return first_ids<IdType>(size_); }

 private:
  static constexpr size_t kPiece = 256;
  // No array of its own: new T[] may put a count in front of it, which costs as much as rounding up
  // to the next size of the allocator does.
  struct Piece {
    T items[kPiece];
  };
  std::vector<std::unique_ptr<Piece>> pieces_;
  size_t size_ = 0;
};

}  // namespace kueue
