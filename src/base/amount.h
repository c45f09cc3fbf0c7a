// Amount: a quantity in internal units (cpu: millicores, everything else: base units) with
// saturating arithmetic. The largest int64 means Unlimited: Unlimited plus or minus a finite amount
// stays Unlimited, Unlimited - Unlimited = 0, and a finite amount - Unlimited is the smallest
// amount. Spec: behaviour.md, "Terms".
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace kueue {

class Amount {
 public:
  constexpr Amount() = default;
  constexpr explicit Amount(int64_t v) : value_(v) {}
  static constexpr Amount unlimited() { return Amount(std::numeric_limits<int64_t>::max()); }
  static constexpr Amount lowest() { return Amount(std::numeric_limits<int64_t>::min()); }

  constexpr int64_t value() const { return value_; }
  constexpr bool is_unlimited() const { return value_ == std::numeric_limits<int64_t>::max(); }
  constexpr bool is_zero() const { return value_ == 0; }

  constexpr Amount operator+(Amount o) const {
    if (is_unlimited() || o.is_unlimited()) return unlimited();
    int64_t r = 0;
    if (__builtin_add_overflow(value_, o.value_, &r)) return value_ > 0 ? unlimited() : lowest();
    return Amount(r);
  }
  constexpr Amount operator-(Amount o) const {
    if (is_unlimited()) return o.is_unlimited() ? Amount() : unlimited();
    if (o.is_unlimited()) return lowest();
    int64_t r = 0;
    if (__builtin_sub_overflow(value_, o.value_, &r)) return value_ >= 0 ? unlimited() : lowest();
    return Amount(r);
  }
  // Saturates at both ends.
  constexpr Amount operator*(int64_t k) const {
    if (is_unlimited()) return k == 0 ? Amount() : (k > 0 ? unlimited() : lowest());
    int64_t r = 0;
    if (__builtin_mul_overflow(value_, k, &r))
      return (value_ > 0) == (k > 0) ? unlimited() : lowest();
    return Amount(r);
  }
  constexpr Amount& operator+=(Amount o) { return *this = *this + o; }
  constexpr Amount& operator-=(Amount o) { return *this = *this - o; }

  auto operator<=>(const Amount&) const = default;

 private:
  int64_t value_ = 0;
};

constexpr Amount max(Amount a, Amount b) { return a < b ? b : a; }
constexpr Amount min(Amount a, Amount b) { return b < a ? b : a; }

}  // namespace kueue
