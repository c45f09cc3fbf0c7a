// Text: a name or short text that many objects repeat, in the size of a pointer. Equal texts share
// one string, which lives while any of them does, so that copying and comparing cost no more than
// that. Made for texts with few different values; making one costs a look into a table. Distinct
// Text values may be used from different threads; the empty one costs nothing.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>

namespace kueue {

class Text {
 public:
  Text() = default;
  Text(std::string_view text) : shared_(text.empty() ? nullptr : take(text)) {}  // NOLINT
  Text(const std::string& text) : Text(std::string_view(text)) {}                // NOLINT
  Text(const char* text) : Text(std::string_view(text)) {}                       // NOLINT
  Text(const Text& other) : shared_(other.shared_) {
    if (shared_ != nullptr) hold(shared_);
  }
  Text(Text&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  Text& operator=(const Text& other) {
    Text copy(other);
    std::swap(shared_, copy.shared_);
    return *this;
  }
  Text& operator=(Text&& other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~Text() {
    if (shared_ != nullptr) drop(shared_);
  }

  const std::string& str() const { return shared_ == nullptr ? kEmpty : string_of(shared_); }
  operator const std::string&() const { return str(); }  // NOLINT: implicit by intent
  operator std::string_view() const { return str(); }    // NOLINT
  const char* data() const { return str().data(); }
  const char* c_str() const { return str().c_str(); }
  bool empty() const { return shared_ == nullptr; }
  size_t size() const { return str().size(); }
  size_t find(std::string_view what) const { return str().find(what); }
  bool starts_with(std::string_view what) const { return str().starts_with(what); }
  void clear() { *this = Text(); }

  friend bool operator==(const Text& a, const Text& b) { return a.shared_ == b.shared_; }
  friend bool operator==(const Text& a, const std::string& b) { return a.str() == b; }
  friend bool operator==(const Text& a, std::string_view b) { return a.str() == b; }
  friend bool operator==(const Text& a, const char* b) { return a.str() == b; }
  // As the strings.
  friend std::strong_ordering operator<=>(const Text& a, const Text& b) {
    return a.shared_ == b.shared_ ? std::strong_ordering::equal : a.str() <=> b.str();
  }
  friend std::strong_ordering operator<=>(const Text& a, const std::string& b) {
    return a.str() <=> b;
  }
  friend std::string operator+(const Text& a, const Text& b) { return a.str() + b.str(); }
  friend std::string operator+(const Text& a, const std::string& b) { return a.str() + b; }
  friend std::string operator+(const std::string& a, const Text& b) { return a + b.str(); }
  friend std::string operator+(std::string&& a, const Text& b) { return std::move(a) + b.str(); }
  friend std::string operator+(const Text& a, const char* b) { return a.str() + b; }
  friend std::string operator+(const char* a, const Text& b) { return a + b.str(); }

 private:
  struct Shared;
  struct Table;
  static const std::string kEmpty;
  static Table& table();
  static Shared* take(std::string_view text);
  static void hold(Shared* shared);
  static void drop(Shared* shared);
  static const std::string& string_of(const Shared* shared);

  Shared* shared_ = nullptr;  // null = ""
};

}  // namespace kueue
