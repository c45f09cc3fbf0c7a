#include "base/uid.h"

namespace kueue {
namespace {

constexpr size_t kLength = 36;
constexpr uint64_t kVariant = uint64_t{2} << 62;  // the two bits that every low_ of a UUID has

bool is_dash(size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

// -1 when it is no lower-case hexadecimal digit.
int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool parse(std::string_view text, uint64_t& high, uint64_t& low) {
  if (text.size() != kLength) return false;
  size_t digits = 0;
  for (size_t i = 0; i < kLength; ++i) {
    if (is_dash(i) != (text[i] == '-')) return false;
    if (is_dash(i)) continue;
    int digit = digit_of(text[i]);
    if (digit < 0) return false;
    uint64_t& half = digits++ < 16 ? high : low;
    half = half << 4 | static_cast<uint64_t>(digit);
  }
  return low >> 62 == kVariant >> 62;
}

}  // namespace

Uid::Uid(std::string_view text) : other_() {
  uint64_t high = 0, low = 0;
  if (parse(text, high, low)) {
    high_ = high;
    low_ = low;
  } else {
    other_ = Text(text);
  }
}

std::string Uid::str() const {
  if (low_ == 0) return other_.str();
  std::string out(kLength, '-');
  size_t digits = 0;
  for (size_t i = 0; i < kLength; ++i) {
    if (is_dash(i)) continue;
    uint64_t half = digits < 16 ? high_ : low_;
    out[i] = "0123456789abcdef"[half >> (60 - 4 * (digits % 16)) & 15];
    ++digits;
  }
  return out;
}

}  // namespace kueue
