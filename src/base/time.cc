#include "base/time.h"

#include <chrono>
#include <cstdio>
#include <limits>

namespace kueue {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMaxSeconds = std::numeric_limits<int64_t>::max() / kSecond - 1;

struct Civil {
  int64_t year;
  int month, day, hour, minute, second;
  int64_t nanos;
};

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

Civil to_civil(Instant t) {
  int64_t seconds = floor_div(t.ns, kSecond);
  int64_t days = floor_div(seconds, 86400);
  int64_t of_day = seconds - days * 86400;
  std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(of_day / 3600),
          static_cast<int>(of_day / 60 % 60),
          static_cast<int>(of_day % 60),
          t.ns - seconds * kSecond};
}

std::string date_and_time(const Civil& c) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%04lld-%02d-%02dT%02d:%02d:%02d",
                static_cast<long long>(c.year), c.month, c.day, c.hour, c.minute, c.second);
  return buffer;
}

// Reads fixed-width fields from the front of a text; remembers whether one failed.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  int number(size_t width, int low, int high) {
    int n = 0;
    if (rest_.size() < width) return failed();
    for (size_t i = 0; i < width; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return failed();
      n = n * 10 + (rest_[i] - '0');
    }
    if (n < low || n > high) return failed();
    rest_.remove_prefix(width);
    return n;
  }

  void expect(char c) {
    if (!take(c)) failed();
  }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Any number of digits after the decimal point, cut to nanoseconds.
  int64_t fraction() {
    int64_t nanos = 0, unit = kSecond / 10;
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return failed();
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      nanos += (rest_.front() - '0') * unit;
      unit /= 10;
      rest_.remove_prefix(1);
    }
    return nanos;
  }

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  int failed() {
    ok_ = false;
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::string format_time(Instant t) { return date_and_time(to_civil(t)) + "Z"; }

std::string format_micro_time(Instant t) {
  Civil c = to_civil(t);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06dZ", static_cast<int>(c.nanos / 1000));
  return date_and_time(c) + fraction;
}

std::string format_nano_time(Instant t) {
  Civil c = to_civil(t);
  std::string text = date_and_time(c);
  if (c.nanos != 0) {
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%09d", static_cast<int>(c.nanos));
    text += fraction;
    while (text.back() == '0') text.pop_back();
  }
  return text + "Z";
}

Result<Instant> parse_time(std::string_view text) {
  FieldReader in(text);
  int year = in.number(4, 0, 9999);
  in.expect('-');
  int month = in.number(2, 1, 12);
  in.expect('-');
  int day = in.number(2, 1, 31);
  in.expect('T');
  int hour = in.number(2, 0, 23);
  in.expect(':');
  int minute = in.number(2, 0, 59);
  in.expect(':');
  int second = in.number(2, 0, 59);
  int64_t nanos = in.take('.') || in.take(',') ? in.fraction() : 0;
  int64_t offset = 0;
  if (!in.take('Z')) {
    bool negative = in.take('-');
    if (!negative) in.expect('+');
    offset = in.number(2, 0, 23) * 3600;
    in.expect(':');
    offset += in.number(2, 0, 59) * 60;
    if (negative) offset = -offset;
  }
  using namespace std::chrono;
  year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                      std::chrono::day(static_cast<unsigned>(day))};
  if (!in.ok() || !in.at_end() || !date.ok()) {
    return make_error(ErrorCode::kBadRequest,
                      "parsing time \"" + std::string(text) +
                          "\": must be an RFC 3339 time such as 2006-01-02T15:04:05Z");
  }
  if (year == 1 && month == 1 && day == 1 && hour + minute + second == 0) return Instant{};
  int64_t seconds = int64_t{sys_days(date).time_since_epoch().count()} * 86400 + hour * 3600 +
                    minute * 60 + second - offset;
  // Beyond what int64 nanoseconds hold (1678 to 2262) the nearest instant stands in: "never" stays
  // far away.
  if (seconds > kMaxSeconds) return Instant{kMaxSeconds * kSecond};
  if (seconds < -kMaxSeconds) return Instant{-kMaxSeconds * kSecond};
  return Instant{seconds * kSecond + nanos};
}

Result<Duration> parse_duration(std::string_view text) {
  auto refuse = [&](const std::string& what) {
    return make_error(ErrorCode::kBadRequest,
                      "time: " + what + " duration \"" + std::string(text) + "\"");
  };
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return Duration{};
  if (rest.empty()) return refuse("invalid");
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"ns", 1},         {"us", 1000},   {"\xC2\xB5s", 1000}, {"\xCE\xBCs", 1000},
      {"ms", 1'000'000}, {"s", kSecond}, {"m", 60 * kSecond}, {"h", 3600 * kSecond},
  };
  // The extreme -2^63 needs one more than int64 holds.
  const __int128 limit = __int128{1} << 63;
  __int128 total = 0;
  while (!rest.empty()) {
    __int128 whole = 0, fraction = 0, scale = 1;
    bool any = false;
    auto digit = [&] { return !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; };
    for (; digit(); rest.remove_prefix(1), any = true) {
      whole = whole * 10 + (rest.front() - '0');
      if (whole > limit) return refuse("invalid");
    }
    if (!rest.empty() && rest.front() == '.') {
      rest.remove_prefix(1);
      for (; digit(); rest.remove_prefix(1), any = true) {
        if (scale > kSecond * kSecond) continue;  // digits below a nanosecond of any unit
        fraction = fraction * 10 + (rest.front() - '0');
        scale *= 10;
      }
    }
    if (!any) return refuse("invalid");
    size_t length = 0;
    while (length < rest.size() && rest[length] != '.' &&
           (rest[length] < '0' || rest[length] > '9'))
      ++length;
    std::string_view name = rest.substr(0, length);
    if (name.empty()) return refuse("missing unit in");
    int64_t unit = 0;
    for (const auto& [unit_name, ns] : kUnits) {
      if (unit_name == name) unit = ns;
    }
    if (unit == 0) return refuse("unknown unit \"" + std::string(name) + "\" in");
    rest.remove_prefix(length);
    total += whole * unit + fraction * unit / scale;
    if (total > limit) return refuse("invalid");
  }
  if (negative) total = -total;
  if (total > std::numeric_limits<int64_t>::max()) return refuse("invalid");
  return Duration{static_cast<int64_t>(total)};
}

std::string format_duration(Duration d) {
  if (d.ns == 0) return "0s";
  bool negative = d.ns < 0;
  uint64_t n = negative ? uint64_t{0} - static_cast<uint64_t>(d.ns) : static_cast<uint64_t>(d.ns);
  // `n` counts units of 1/scale; trailing zeros of the fraction are dropped.
  auto decimal = [](uint64_t value, uint64_t scale) {
    std::string text = std::to_string(value / scale);
    uint64_t fraction = value % scale;
    if (fraction == 0) return text;
    std::string digits = std::to_string(scale + fraction).substr(1);
    while (digits.back() == '0') digits.pop_back();
    return text + "." + digits;
  };
  std::string text;
  if (n < 1000) {
    text = std::to_string(n) + "ns";
  } else if (n < 1'000'000) {
    text = decimal(n, 1000) + "\xC2\xB5s";
  } else if (n < 1'000'000'000) {
    text = decimal(n, 1'000'000) + "ms";
  } else {
    uint64_t minutes = n / 60'000'000'000u;
    if (minutes >= 60) text = std::to_string(minutes / 60) + "h";
    if (minutes > 0) text += std::to_string(minutes % 60) + "m";
    text += decimal(n % 60'000'000'000u, 1'000'000'000) + "s";
  }
  return negative ? "-" + text : text;
}

const Clock& system_clock() {
  class SystemClock final : public Clock {
   public:
    Instant now() const override {
      auto t = std::chrono::system_clock::now().time_since_epoch();
      return {std::chrono::duration_cast<std::chrono::nanoseconds>(t).count()};
    }
  };
  static const SystemClock clock;
  return clock;
}

}  // namespace kueue
