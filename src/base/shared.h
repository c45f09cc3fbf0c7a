// Shared<T>: a value of which copies cost a pointer. They share one immutable T until somebody
// edits his, who then gets a T of his own. Never empty: a fresh one is a default-made T. Distinct
// Shared values may be used from different threads, as with std::shared_ptr.
#pragma once

#include <memory>
#include <utility>

namespace kueue {

template <typename T>
class Shared {
 public:
  using value_type = T;

  Shared() = default;
  Shared(T value) : value_(std::make_shared<T>(std::move(value))) {}  // NOLINT: implicit by intent

  const T& operator*() const { return *get(); }
  const T* operator->() const { return get(); }
  // Never null. Equal addresses are equal values.
  const T* get() const { return value_ == nullptr ? &nothing() : value_.get(); }

  // No other Shared has this value.
  bool sole() const { return value_ == nullptr || value_.use_count() == 1; }

  // The value for change; nobody else sees the changes. O(size) when it was shared. The reference
  // is good until this Shared is copied or assigned.
  T& edit() {
    if (value_ == nullptr)
      value_ = std::make_shared<T>();
    else if (value_.use_count() != 1)
      value_ = std::make_shared<T>(*value_);
    return *value_;
  }

  bool operator==(const Shared& other) const {
    return get() == other.get() || *get() == *other.get();
  }

 private:
  static const T& nothing() {
    static const T kNothing{};
    return kNothing;
  }
  std::shared_ptr<T> value_;  // null = a default-made T
};

}  // namespace kueue
