// Shared<T>: a value of which copies cost a pointer. They share one immutable T until somebody
// edits his, who then gets a T of his own. Never empty: a fresh one is a default-made T. It may
// have a source instead of a T: something small that makes the T each time somebody looks. Distinct
// Shared values may be used from different threads, as with std::shared_ptr.
#pragma once

#include <memory>
#include <utility>

namespace kueue {

template <typename T>
class Shared {
 public:
  using value_type = T;

  // Makes equal values at every call; from any thread.
  class Source {
   public:
    virtual ~Source() = default;
    virtual std::shared_ptr<const T> open() const = 0;  // never null
  };

  Shared() = default;
  Shared(T value) : value_(std::make_shared<T>(std::move(value))) {}  // NOLINT: implicit by intent
  explicit Shared(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  // The value, never null, for as long as the pointer is held. Costs what the source costs, if
  // there is one: whoever looks at several members keeps the pointer.
  std::shared_ptr<const T> open() const {
    if (source_ != nullptr) return source_->open();
    return value_ == nullptr ? nothing() : value_;
  }

  // They are one value, which is found out without looking at it.
  bool same(const Shared& other) const {
    return value_ == other.value_ && source_ == other.source_;
  }
  // No other Shared has this value.
  bool sole() const {
    return (value_ == nullptr || value_.use_count() == 1) &&
           (source_ == nullptr || source_.use_count() == 1);
  }

  // The value for change; nobody else sees the changes. O(size) when it was shared or has a source.
  // The reference is good until this Shared is copied or assigned.
  T& edit() {
    if (source_ != nullptr) {
      value_ = std::make_shared<T>(*source_->open());
      source_.reset();
    } else if (value_ == nullptr) {
      value_ = std::make_shared<T>();
    } else if (value_.use_count() != 1) {
      value_ = std::make_shared<T>(*value_);
    }
    return *value_;
  }

  bool operator==(const Shared& other) const { return same(other) || *open() == *other.open(); }

 private:
  static std::shared_ptr<const T> nothing() {
    static const std::shared_ptr<const T> kNothing = std::make_shared<const T>();
    return kNothing;
  }
  std::shared_ptr<T> value_;  // null = a default-made T, or that of the source
  std::shared_ptr<const Source> source_;
};

}  // namespace kueue
