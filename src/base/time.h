// Instants and durations of the project: signed nanoseconds, comparable, without a clock. Who needs
// the present asks a Clock, which tests and the simulation replace.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kueue {

struct Duration {
  int64_t ns = 0;
  static constexpr Duration seconds(int64_t n) { return {n * 1'000'000'000}; }
  static constexpr Duration millis(int64_t n) { return {n * 1'000'000}; }
  static constexpr Duration micros(int64_t n) { return {n * 1'000}; }
  constexpr double as_seconds() const { return static_cast<double>(ns) / 1e9; }
  auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return {ns + o.ns}; }
  constexpr Duration operator-(Duration o) const { return {ns - o.ns}; }
  constexpr Duration operator*(int64_t k) const { return {ns * k}; }
};

// Nanoseconds since 1970-01-01T00:00:00Z. The zero Instant stands for "no time", like Go's zero
// time in API objects.
struct Instant {
  int64_t ns = 0;
  constexpr bool is_zero() const { return ns == 0; }
  auto operator<=>(const Instant&) const = default;
  constexpr Instant operator+(Duration d) const { return {ns + d.ns}; }
  constexpr Instant operator-(Duration d) const { return {ns - d.ns}; }
  constexpr Duration operator-(Instant o) const { return {ns - o.ns}; }
};

// "2026-03-01T12:00:00Z", whole seconds (metav1.Time).
std::string format_time(Instant t);
// "2026-03-01T12:00:00.123456Z" (metav1.MicroTime).
std::string format_micro_time(Instant t);
// "2026-03-01T12:00:00.1Z", as many digits as needed (Go's RFC3339Nano; log lines).
std::string format_nano_time(Instant t);
// RFC 3339 with optional fraction and zone offset. Go's zero time (year 1) is the zero Instant;
// what lies outside 1678 to 2262 becomes the nearest instant inside.
Result<Instant> parse_time(std::string_view text);
// Go's duration syntax: "1h30m", "1.5s", "100ms", "-2m"; "0" is allowed.
Result<Duration> parse_duration(std::string_view text);
// As Go prints it: "1h30m0s", "1.5s", "100ms", "0s".
std::string format_duration(Duration d);

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

// The wall clock of the machine.
const Clock& system_clock();

}  // namespace kueue
