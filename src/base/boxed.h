// Boxed<T>: an optional value that lives on the heap. It behaves like std::optional<T>, costs one
// pointer when absent, and may hold a type that is not complete yet. API structs use it for large
// optional parts. Copies deeply. Not thread safe.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"

namespace kueue {

template <typename T>
class Boxed {
 public:
  using value_type = T;

  Boxed() = default;
  Boxed(std::nullopt_t) {}                                               // NOLINT
  Boxed(const T& value) : pointer_(std::make_unique<T>(value)) {}        // NOLINT
  Boxed(T&& value) : pointer_(std::make_unique<T>(std::move(value))) {}  // NOLINT
  Boxed(const std::optional<T>& value) { *this = value; }                // NOLINT
  Boxed(const Boxed& other)
      : pointer_(other.pointer_ ? std::make_unique<T>(*other.pointer_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  ~Boxed() = default;

  Boxed& operator=(const Boxed& other) {
    if (this != &other) pointer_ = other.pointer_ ? std::make_unique<T>(*other.pointer_) : nullptr;
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  Boxed& operator=(std::nullopt_t) {
    pointer_.reset();
    return *this;
  }
  Boxed& operator=(const T& value) {
    pointer_ = std::make_unique<T>(value);
    return *this;
  }
  Boxed& operator=(T&& value) {
    pointer_ = std::make_unique<T>(std::move(value));
    return *this;
  }
  Boxed& operator=(const std::optional<T>& value) {
    pointer_ = value ? std::make_unique<T>(*value) : nullptr;
    return *this;
  }

  bool has_value() const { return pointer_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  // CHECK that there is a value.
  T& value() {
    KUEUE_CHECK(has_value(), "value() of an empty Boxed");
    return *pointer_;
  }
  const T& value() const {
    KUEUE_CHECK(has_value(), "value() of an empty Boxed");
    return *pointer_;
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // nullptr when empty.
  T* get() { return pointer_.get(); }
  const T* get() const { return pointer_.get(); }

  T value_or(T fallback) const { return has_value() ? *pointer_ : std::move(fallback); }
  std::optional<T> to_optional() const {
    return has_value() ? std::optional<T>(*pointer_) : std::nullopt;
  }
  // Replaces the value by a default-made one, or one made of `args`, and returns it.
  template <typename... Args>
  T& emplace(Args&&... args) {
    pointer_ = std::make_unique<T>(std::forward<Args>(args)...);
    return *pointer_;
  }
  void reset() { pointer_.reset(); }

  bool operator==(const Boxed& other) const {
    if (has_value() != other.has_value()) return false;
    return !has_value() || *pointer_ == *other.pointer_;
  }
  bool operator==(const T& other) const { return has_value() && *pointer_ == other; }
  bool operator==(std::nullopt_t) const { return !has_value(); }

 private:
  std::unique_ptr<T> pointer_;
};

}  // namespace kueue
