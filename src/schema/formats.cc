#include "schema/formats.h"

#include <re2/re2.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/time.h"
#include "schema/decode_check.h"

namespace kueue::schema {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool all_digits(std::string_view text, size_t min, size_t max) {
  if (text.size() < min || text.size() > max) return false;
  for (char c : text)
    if (!is_digit(c)) return false;
  return true;
}

int to_int(std::string_view digits) {
  int n = 0;
  for (char c : digits) n = n * 10 + (c - '0');
  return n;
}

bool is_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    const size_t end = part == 3 ? text.size() : text.find('.');
    if (end == std::string_view::npos) return false;
    const std::string_view number = text.substr(0, end);
    if (!all_digits(number, 1, 3) || to_int(number) > 255) return false;
    text.remove_prefix(part == 3 ? end : end + 1);
  }
  return true;
}

bool is_ipv6(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return false;
  int groups = 0;
  bool gap = false;
  if (text.starts_with("::")) {
    gap = true;
    text.remove_prefix(2);
    if (text.empty()) return true;
  } else if (text.starts_with(':')) {
    return false;
  }
  while (true) {
    const size_t end = text.find(':');
    const std::string_view group = text.substr(0, end);
    if (end == std::string_view::npos && group.find('.') != std::string_view::npos) {
      if (!is_ipv4(group)) return false;
      groups += 2;
      break;
    }
    if (group.empty() || group.size() > 4) return false;
    for (char c : group)
      if (!is_hex(c)) return false;
    ++groups;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.starts_with(':')) {
      if (gap) return false;
      gap = true;
      text.remove_prefix(1);
      if (text.empty()) break;
    } else if (text.empty()) {
      return false;
    }
  }
  return gap ? groups < 8 : groups == 8;
}

bool is_cidr(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view address = text.substr(0, slash);
  const std::string_view bits = text.substr(slash + 1);
  if (!all_digits(bits, 1, 3) || (bits.size() > 1 && bits[0] == '0')) return false;
  if (is_ipv4(address)) return to_int(bits) <= 32;
  return is_ipv6(address) && to_int(bits) <= 128;
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  return time_problem(std::string(text) + "T00:00:00Z", false).empty();
}

bool is_date_time(std::string_view text) {
  // RFC 3339 lets the T and Z be small letters, and Kubernetes' format checker does too.
  std::string upper(text);
  for (char& c : upper) {
    if (c == 't') c = 'T';
    if (c == 'z') c = 'Z';
  }
  return time_problem(upper, false).empty();
}

// 0, or Go's duration syntax, or a number with a unit in words ("3 days").
bool is_duration(std::string_view text) {
  if (parse_duration(text).ok()) return true;
  static const RE2 words(
      R"((?:\s*[0-9]+\s*(?:ns|nano|nanosecond|us|µs|micro|microsecond|ms|milli|millis|millisecond|)"
      R"(s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week)s?)+)");
  return RE2::FullMatch({text.data(), text.size()}, words);
}

bool is_base64(std::string_view text) {
  size_t n = 0;
  size_t padding = 0;
  for (char c : text) {
    if (c == '\r' || c == '\n') continue;
    ++n;
    if (c == '=') {
      ++padding;
      continue;
    }
    const bool digit =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || is_digit(c) || c == '+' || c == '/';
    if (!digit || padding != 0) return false;
  }
  return n > 0 && n % 4 == 0 && padding <= 2;
}

// version 0: any.
bool is_uuid(std::string_view text, char version) {
  std::string hex;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '-') {
      if (hex.size() != 8 && hex.size() != 12 && hex.size() != 16 && hex.size() != 20) return false;
      continue;
    }
    if (!is_hex(text[i])) return false;
    hex += text[i];
  }
  if (hex.size() != 32) return false;
  if (version == '\0') return true;
  if (hex[12] != version) return false;
  if (version == '3') return true;
  const char variant = hex[16];
  return variant == '8' || variant == '9' || variant == 'a' || variant == 'b' || variant == 'A' ||
         variant == 'B';
}

bool is_dns_label(std::string_view text, bool allow_upper) {
  if (text.empty() || text.size() > 63) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (allow_upper && c >= 'A' && c <= 'Z');
    if (!letter && !is_digit(c) && !(c == '-' && i > 0 && i + 1 < text.size())) return false;
  }
  return true;
}

bool is_dns_name(std::string_view text, bool allow_upper, size_t max) {
  if (text.empty() || text.size() > max) return false;
  while (true) {
    const size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot), allow_upper)) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_host_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

// One label with at most one hyphen, after its first character; or labels ending in a top level
// domain of letters.
bool is_hostname(std::string_view text) {
  const size_t last_dot = text.rfind('.');
  if (last_dot == std::string_view::npos) {
    if (text.empty() || text.size() > 64) return false;
    for (size_t i = 0; i < text.size(); ++i)
      if (!is_host_letter(text[i]) && !is_digit(text[i]) && !(i == 1 && text[i] == '-'))
        return false;
    return true;
  }
  const std::string_view top = text.substr(last_dot + 1);
  if (top.size() < 2 || top.size() > 63) return false;
  for (char c : top)
    if (!is_host_letter(c)) return false;
  return is_dns_name(text.substr(0, last_dot), true, 255);
}

bool is_mac(std::string_view text) {
  static const RE2 pattern(R"((?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}[:-]){4,18}[0-9a-fA-F]{2}|)"
                           R"((?:[0-9a-fA-F]{4}\.){2,9}[0-9a-fA-F]{4})");
  if (!RE2::FullMatch({text.data(), text.size()}, pattern)) return false;
  size_t digits = 0;
  for (char c : text) digits += is_hex(c) ? 1 : 0;
  return digits == 12 || digits == 16 || digits == 40;
}

bool is_email(std::string_view text) {
  static const RE2 pattern(R"((?:[^<>@\s]+|"[^"]*")@[^<>@\s]+|.*<[^<>@\s]+@[^<>@\s]+>)");
  return RE2::FullMatch({text.data(), text.size()}, pattern);
}

// A URI that can stand as a request target: absolute, or a path from the root.
bool is_uri(std::string_view text) {
  for (char c : text)
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return false;
  if (text.starts_with('/')) return true;
  static const RE2 pattern(R"([A-Za-z][A-Za-z0-9+.-]*:.+)");
  return RE2::FullMatch({text.data(), text.size()}, pattern);
}

bool matches(std::string_view text, const RE2& pattern) {
  return RE2::FullMatch({text.data(), text.size()}, pattern);
}

bool is_hexcolor(std::string_view text) {
  static const RE2 pattern("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})");
  return matches(text, pattern);
}
bool is_rgbcolor(std::string_view text) {
  static const RE2 pattern(
      R"(rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\))");
  return matches(text, pattern);
}
bool is_ssn(std::string_view text) {
  static const RE2 pattern(R"(\d{3}[- ]?\d{2}[- ]?\d{4})");
  return matches(text, pattern);
}
bool is_bsonobjectid(std::string_view text) {
  static const RE2 pattern("[0-9a-fA-F]{24}");
  return matches(text, pattern);
}

std::string only(std::string_view text, bool (*keep)(char)) {
  std::string out;
  for (char c : text)
    if (keep(c)) out += c;
  return out;
}

bool is_isbn10(std::string_view text) {
  const std::string digits = only(text, [](char c) { return c != '-' && c != ' '; });
  if (digits.size() != 10) return false;
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    const char c = digits[static_cast<size_t>(i)];
    if (!is_digit(c) && !(i == 9 && c == 'X')) return false;
    sum += (10 - i) * (c == 'X' ? 10 : c - '0');
  }
  return sum % 11 == 0;
}

bool is_isbn13(std::string_view text) {
  const std::string digits = only(text, [](char c) { return c != '-' && c != ' '; });
  if (!all_digits(digits, 13, 13)) return false;
  int sum = 0;
  for (size_t i = 0; i < 13; ++i) sum += (digits[i] - '0') * (i % 2 == 0 ? 1 : 3);
  return sum % 10 == 0;
}

bool is_creditcard(std::string_view text) {
  const std::string digits = only(text, is_digit);
  if (digits.size() < 13 || digits.size() > 19) return false;
  int sum = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    int d = digits[digits.size() - 1 - i] - '0';
    if (i % 2 == 1) d = d * 2 > 9 ? d * 2 - 9 : d * 2;
    sum += d;
  }
  return sum % 10 == 0;
}

struct Format {
  std::string_view name;
  bool (*check)(std::string_view text);  // nullptr: recognised, accepts every text
};

constexpr Format kFormats[] = {
    {"bsonobjectid", is_bsonobjectid},
    {"uri", is_uri},
    {"email", is_email},
    {"hostname", is_hostname},
    {"ipv4", is_ipv4},
    {"ipv6", is_ipv6},
    {"cidr", is_cidr},
    {"mac", is_mac},
    {"uuid", [](std::string_view t) { return is_uuid(t, '\0'); }},
    {"uuid3", [](std::string_view t) { return is_uuid(t, '3'); }},
    {"uuid4", [](std::string_view t) { return is_uuid(t, '4'); }},
    {"uuid5", [](std::string_view t) { return is_uuid(t, '5'); }},
    {"isbn", [](std::string_view t) { return is_isbn10(t) || is_isbn13(t); }},
    {"isbn10", is_isbn10},
    {"isbn13", is_isbn13},
    {"creditcard", is_creditcard},
    {"ssn", is_ssn},
    {"hexcolor", is_hexcolor},
    {"rgbcolor", is_rgbcolor},
    {"byte", is_base64},
    {"password", nullptr},
    {"date", is_date},
    {"duration", is_duration},
    {"datetime", is_date_time},
    {"date-time", is_date_time},
    {"k8s-short-name", [](std::string_view t) { return is_dns_label(t, false); }},
    {"k8s-long-name", [](std::string_view t) { return is_dns_name(t, false, 253); }},
    {"int32", nullptr},
    {"int64", nullptr},
    {"float", nullptr},
    {"double", nullptr},
};

const Format* find_format(std::string_view name) {
  for (const Format& format : kFormats)
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace

bool has_format(std::string_view format, std::string_view text) {
  const Format* found = find_format(format);
  return found == nullptr || found->check == nullptr || found->check(text);
}

bool known_format(std::string_view format) { return find_format(format) != nullptr; }

}  // namespace kueue::schema
