// Quantity: the number with suffix of Kubernetes (resource.Quantity): "100m", "1.5Gi", "12e6".
// Exact: every value is a whole number of nano-units in 128 bits. Plain value, not thread safe.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/bind.h"

namespace kueue::api {

// How the canonical text is written.
enum class QuantityFormat : uint8_t {
  kDecimalExponent,  // 12e6
  kBinarySI,         // 12Mi
  kDecimalSI,        // 12M
};

class Quantity {
 public:
  using Format = QuantityFormat;

  Quantity() = default;  // 0
  // `value` whole units, thousandths, or billionths.
  static Quantity of(int64_t value, Format format = Format::kDecimalSI);
  static Quantity of_milli(int64_t value, Format format = Format::kDecimalSI);
  static Quantity of_nano(int64_t value, Format format = Format::kDecimalSI);

  // sign? digits with at most one point, then n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or e/E with an
  // exponent. Fractions of a nano-unit round away from zero. Values beyond int64 with a binary
  // suffix become the largest int64, as Kubernetes does; 1e29 and more is out of range. Errors are
  // kInvalid with the texts of Kubernetes.
  static Result<Quantity> parse(std::string_view text);
  // A JSON string, integer or double; null is 0.
  static Result<Quantity> from_json(const json::Value& value);

  // Canonical: no fractional digits, the largest suffix without loss, as few digits as possible;
  // "0" for zero.
  std::string to_string() const;

  // Rounded away from zero; saturating at the limits of int64.
  int64_t value() const { return scaled_value(0); }
  int64_t milli_value() const { return scaled_value(-3); }
  // In units of 10^exponent, exponent from -9 to 18.
  int64_t scaled_value(int exponent) const;
  double as_double() const;
  // True when it is a whole number that fits int64.
  bool is_int64() const;

  int sign() const;
  bool is_zero() const { return sign() == 0; }
  Format format() const { return format_; }

  // Sums and products saturate at the limits of 128 bits of nano-units (about 1.7e29). A zero left
  // operand takes the right one's format.
  void add(const Quantity& other);
  void sub(const Quantity& other);
  void negate();
  void multiply(int64_t factor);
  friend Quantity operator+(Quantity a, const Quantity& b) {
    a.add(b);
    return a;
  }
  friend Quantity operator-(Quantity a, const Quantity& b) {
    a.sub(b);
    return a;
  }

  // By value: "1" == "1000m", "1Ki" == "1024".
  bool operator==(const Quantity& other) const {
    return high_ == other.high_ && low_ == other.low_;
  }
  std::weak_ordering operator<=>(const Quantity& other) const {
    if (high_ != other.high_) return high_ <=> other.high_;
    return low_ <=> other.low_;
  }

 private:
  __extension__ using Wide = __int128;
  Quantity(Wide nanos, Format format);
  Wide nanos() const;
  void set(Wide nanos);

  int64_t high_ = 0;  // two halves keep the alignment, and so API structs, small
  uint64_t low_ = 0;
  Format format_ = Format::kDecimalSI;
};

extern const schema::CustomOps kQuantityOps;

}  // namespace kueue::api

template <>
inline constexpr const kueue::schema::CustomOps* kueue::schema::custom_ops<kueue::api::Quantity> =
    &kueue::api::kQuantityOps;
