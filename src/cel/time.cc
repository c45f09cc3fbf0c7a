#include "cel/time.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace kueue::cel {
namespace {

constexpr int64_t kMinSeconds = -62135596800;  // 0001-01-01T00:00:00Z
constexpr int64_t kMaxSeconds = 253402300799;  // 9999-12-31T23:59:59Z

// Days since 1970-01-01; a year starts in March so that the leap day is its last.
int64_t days_from_civil(int64_t year, int month, int day) {
  year -= month <= 2;
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  int64_t year_of_era = year - era * 400;
  int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

bool leap(int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in_month(int64_t year, int month) {
  if (month == 2) return leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

bool digits(std::string_view& text, size_t n, int* out) {
  if (text.size() < n) return false;
  int value = 0;
  for (size_t i = 0; i < n; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(n);
  *out = value;
  return true;
}

bool skip(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool parse_fraction(std::string_view& text, int32_t* nanos) {
  int64_t value = 0;
  int count = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (count < 9) value = value * 10 + (text.front() - '0');
    ++count;
    text.remove_prefix(1);
  }
  for (int i = count; i < 9; ++i) value *= 10;
  *nanos = static_cast<int32_t>(value);
  return count > 0;
}

bool parse_offset(std::string_view& text, int64_t* offset) {
  if (skip(text, 'Z') || skip(text, 'z')) {
    *offset = 0;
    return true;
  }
  bool negative = !text.empty() && text.front() == '-';
  if (!negative && (text.empty() || text.front() != '+')) return false;
  text.remove_prefix(1);
  int hours = 0, minutes = 0;
  if (!digits(text, 2, &hours) || !skip(text, ':') || !digits(text, 2, &minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  *offset = (hours * 3600 + minutes * 60) * (negative ? -1 : 1);
  return true;
}

// The unit at the start of `text`, in nanoseconds; 0 when it is none.
int64_t take_unit(std::string_view& text) {
  struct Unit {
    std::string_view name;
    int64_t ns;
  };
  static constexpr Unit kUnits[] = {
      {"ns", 1},         {"us", 1000},         {"\xc2\xb5s", 1000},   {"\xce\xbcs", 1000},
      {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return unit.ns;
  }
  return 0;
}

}  // namespace

Civil civil_from_seconds(int64_t seconds) {
  int64_t days = seconds / 86400;
  int64_t rest = seconds % 86400;
  if (rest < 0) {
    rest += 86400;
    --days;
  }
  Civil c{};
  c.hour = static_cast<int>(rest / 3600);
  c.minute = static_cast<int>(rest / 60 % 60);
  c.second = static_cast<int>(rest % 60);
  c.weekday = static_cast<int>(((days + 4) % 7 + 7) % 7);
  int64_t z = days + 719468;
  int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  int64_t day_of_era = z - era * 146097;
  int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t shifted = (5 * day_of_year + 2) / 153;
  c.day = static_cast<int>(day_of_year - (153 * shifted + 2) / 5 + 1);
  c.month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  c.year = year_of_era + era * 400 + (c.month <= 2 ? 1 : 0);
  c.year_day = static_cast<int>(days - days_from_civil(c.year, 1, 1));
  return c;
}

int64_t seconds_from_civil(int64_t year, int month, int day, int hour, int minute, int second) {
  return days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

bool timestamp_in_range(int64_t seconds) {
  return seconds >= kMinSeconds && seconds <= kMaxSeconds;
}

bool parse_timestamp(std::string_view text, Value::Seconds* out) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!digits(text, 4, &year) || !skip(text, '-') || !digits(text, 2, &month) || !skip(text, '-') ||
      !digits(text, 2, &day))
    return false;
  if (!skip(text, 'T') && !skip(text, 't')) return false;
  if (!digits(text, 2, &hour) || !skip(text, ':') || !digits(text, 2, &minute) ||
      !skip(text, ':') || !digits(text, 2, &second))
    return false;
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 ||
      minute > 59 || second > 59)
    return false;
  int32_t nanos = 0;
  if (skip(text, '.') && !parse_fraction(text, &nanos)) return false;
  int64_t offset = 0;
  if (!parse_offset(text, &offset) || !text.empty()) return false;
  int64_t seconds = seconds_from_civil(year, month, day, hour, minute, second) - offset;
  if (!timestamp_in_range(seconds)) return false;
  *out = {seconds, nanos, static_cast<int32_t>(offset)};
  return true;
}

bool parse_go_duration(std::string_view text, int64_t* ns) {
  bool negative = skip(text, '-');
  if (!negative) skip(text, '+');
  if (text == "0") {
    *ns = 0;
    return true;
  }
  if (text.empty()) return false;
  __int128 total = 0;
  while (!text.empty()) {
    __int128 whole = 0;
    bool any = false;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      whole = whole * 10 + (text.front() - '0');
      if (whole > std::numeric_limits<int64_t>::max()) return false;
      any = true;
      text.remove_prefix(1);
    }
    double fraction = 0;
    if (skip(text, '.')) {
      double scale = 1;
      while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
        scale /= 10;
        fraction += scale * (text.front() - '0');
        any = true;
        text.remove_prefix(1);
      }
    }
    if (!any) return false;
    int64_t unit = take_unit(text);
    if (unit == 0) return false;
    total +=
        whole * unit + static_cast<int64_t>(std::llround(fraction * static_cast<double>(unit)));
    if (total > std::numeric_limits<int64_t>::max()) return false;
  }
  *ns = static_cast<int64_t>(negative ? -total : total);
  return true;
}

bool parse_zone(std::string_view text, int64_t* offset_seconds) {
  if (text == "UTC" || text == "Z" || text == "GMT" || text.empty()) {
    *offset_seconds = 0;
    return true;
  }
  bool negative = skip(text, '-');
  if (!negative) skip(text, '+');
  int hours = 0, minutes = 0;
  if (!digits(text, 2, &hours) || !skip(text, ':') || !digits(text, 2, &minutes) || !text.empty())
    return false;
  *offset_seconds = (hours * 3600 + minutes * 60) * (negative ? -1 : 1);
  return true;
}

std::string format_timestamp(int64_t seconds, int32_t nanos, int32_t offset) {
  Civil c = civil_from_seconds(seconds + offset);
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", c.year, c.month, c.day,
                                c.hour, c.minute, c.second);
  if (nanos != 0) {
    std::string fraction = fmt::format("{:09}", nanos);
    while (fraction.back() == '0') fraction.pop_back();
    out += '.' + fraction;
  }
  if (offset == 0) return out + 'Z';
  int minutes = (offset < 0 ? -offset : offset) / 60;
  return out + fmt::format("{}{:02}:{:02}", offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::string format_cel_duration(int64_t ns) {
  uint64_t magnitude = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  std::string out = ns < 0 ? "-" : "";
  out += std::to_string(magnitude / 1'000'000'000);
  uint64_t rest = magnitude % 1'000'000'000;
  if (rest != 0) {
    std::string fraction = fmt::format("{:09}", rest);
    while (fraction.back() == '0') fraction.pop_back();
    out += '.' + fraction;
  }
  return out + 's';
}

std::string format_double(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d > 0 ? "+Inf" : "-Inf";
  if (d == 0) return std::signbit(d) ? "-0" : "0";
  char buffer[64];
  auto scientific = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<size_t>(scientific.ptr - buffer));
  size_t e = text.find('e');
  int exponent = 0;
  std::string_view exponent_text = text.substr(e + 1);
  if (exponent_text.front() == '+') exponent_text.remove_prefix(1);
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  // strconv's 'g' with the shortest digits leaves the plain form outside of 1e-4 .. 1e6.
  if (exponent < -4 || exponent >= 6) return std::string(text);
  auto fixed = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed);
  return std::string(buffer, fixed.ptr);
}

}  // namespace kueue::cel
