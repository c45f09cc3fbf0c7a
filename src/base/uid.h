// Uid: the uid of an object. A canonical UUID (lower case, RFC variant) takes its 16 bytes and no
// heap; any other text is kept as a Text.
#pragma once

#include <compare>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

#include "base/text.h"

namespace kueue {

class Uid {
 public:
  Uid() : other_() {}
  Uid(std::string_view text);                                    // NOLINT: implicit by intent
  Uid(const std::string& text) : Uid(std::string_view(text)) {}  // NOLINT
  Uid(const char* text) : Uid(std::string_view(text)) {}         // NOLINT
  Uid(const Text& text) : Uid(std::string_view(text.str())) {}   // NOLINT
  Uid(const Uid& other) : low_(other.low_) {
    if (low_ == 0)
      new (&other_) Text(other.other_);
    else
      high_ = other.high_;
  }
  Uid& operator=(const Uid& other) {
    if (this == &other) return *this;
    this->~Uid();
    return *new (this) Uid(other);
  }
  ~Uid() {
    if (low_ == 0) other_.~Text();
  }

  // The text as it was given.
  std::string str() const;
  operator std::string() const { return str(); }  // NOLINT: implicit by intent
  bool empty() const { return low_ == 0 && other_.empty(); }

  friend bool operator==(const Uid& a, const Uid& b) {
    return a.low_ == b.low_ && (a.low_ == 0 ? a.other_ == b.other_ : a.high_ == b.high_);
  }
  // As the texts.
  friend std::strong_ordering operator<=>(const Uid& a, const Uid& b) {
    if (a.low_ == 0 || b.low_ == 0) return a.str() <=> b.str();
    return a.high_ != b.high_ ? a.high_ <=> b.high_ : a.low_ <=> b.low_;
  }

 private:
  union {
    uint64_t high_;
    Text other_;  // while low_ is 0
  };
  uint64_t low_ = 0;
};

}  // namespace kueue
