#include "json/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "json/json.h"
#include "json/utf8.h"

namespace kueue::json {
namespace {

constexpr std::string_view kTrue[] = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                      "True", "TRUE", "on",  "On",  "ON"};
constexpr std::string_view kFalse[] = {"n",     "N",     "no",  "No",  "NO", "false",
                                       "False", "FALSE", "off", "Off", "OFF"};
constexpr std::string_view kNull[] = {"", "~", "null", "Null", "NULL"};
constexpr std::string_view kNan[] = {".nan", ".NaN", ".NAN"};
constexpr std::string_view kInf[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"};
constexpr std::string_view kMinusInf[] = {"-.inf", "-.Inf", "-.INF"};

template <size_t N>
bool one_of(const std::string_view (&words)[N], std::string_view text) {
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

bool digit(char c) { return c >= '0' && c <= '9'; }

// Takes between low and high digits from the front.
bool take_digits(std::string_view& text, size_t low, size_t high) {
  size_t n = 0;
  while (n < text.size() && n < high && digit(text[n])) ++n;
  text.remove_prefix(n);
  return n >= low;
}

bool take_char(std::string_view& text, std::string_view any) {
  if (text.empty() || any.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Dates and times as YAML writes them: 2001-12-14, 2001-12-14t21:59:43.10-05:00, 2001-12-14
// 21:59:43.1.
bool timestamp(std::string_view text) {
  if (!take_digits(text, 4, 4) || !take_char(text, "-") || !take_digits(text, 1, 2) ||
      !take_char(text, "-") || !take_digits(text, 1, 2)) {
    return false;
  }
  if (text.empty()) return true;
  bool zone = take_char(text, "Tt");
  if (!zone && !take_char(text, " ")) return false;
  if (!take_digits(text, 1, 2) || !take_char(text, ":") || !take_digits(text, 1, 2) ||
      !take_char(text, ":") || !take_digits(text, 1, 2)) {
    return false;
  }
  if (take_char(text, ".") && !take_digits(text, 1, 64)) return false;
  if (!zone || take_char(text, "Z")) return text.empty();
  return take_char(text, "+-") && take_digits(text, 2, 2) && take_char(text, ":") &&
         take_digits(text, 2, 2) && text.empty();
}

// Numbers to base 60 are text to us, yet other readers of YAML 1.1 see numbers: they are quoted
// when written.
bool base_60(std::string_view text) {
  if (text.find(':') == std::string_view::npos || text.empty()) return false;
  take_char(text, "+-");
  if (text.empty() || !digit(text.front())) return false;
  while (!text.empty() && (digit(text.front()) || text.front() == '_')) text.remove_prefix(1);
  size_t groups = 0;
  while (take_char(text, ":")) {
    if (text.size() >= 2 && text[0] >= '0' && text[0] <= '5' && digit(text[1]))
      text.remove_prefix(1);
    if (!take_digits(text, 1, 1)) return false;
    ++groups;
  }
  if (groups == 0) return false;
  if (take_char(text, ".")) {
    while (!text.empty() && (digit(text.front()) || text.front() == '_')) text.remove_prefix(1);
  }
  return text.empty();
}

// Integers with the prefixes 0x, 0o, 0b and 0 (octal). The sign is apart.
std::optional<uint64_t> magnitude(std::string_view text) {
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    text.remove_prefix(base == 0 ? 1 : 2);
    if (base == 0) base = 8;
  }
  uint64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

bool float_form(std::string_view text) {
  take_char(text, "+-");
  bool before = take_digits(text, 1, text.size());
  if (take_char(text, ".")) {
    bool after = take_digits(text, 1, text.size());
    if (!before && !after) return false;
  } else if (!before) {
    return false;
  }
  if (!take_char(text, "eE")) return text.empty();
  take_char(text, "+-");
  return take_digits(text, 1, text.size()) && text.empty();
}

// A number, or nullopt. Underscores may stand between digits.
std::optional<Value> number(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '_');
  if (plain.empty()) return std::nullopt;
  bool sign = plain[0] == '-' || plain[0] == '+';
  if (auto n = magnitude(std::string_view(plain).substr(sign ? 1 : 0))) {
    constexpr uint64_t kLimit = uint64_t{1} << 63;
    if (plain[0] != '-') return Value(*n);
    if (*n < kLimit) return Value(-static_cast<int64_t>(*n));
    if (*n == kLimit) return Value(std::numeric_limits<int64_t>::min());
  }
  if (!float_form(plain)) return std::nullopt;
  std::string_view digits = plain;
  if (digits.front() == '+') digits.remove_prefix(1);
  double d = std::strtod(std::string(digits).c_str(), nullptr);
  if (std::isinf(d)) return std::nullopt;
  return Value(d);
}

struct Resolved {
  enum Kind { kText, kTime, kMerge, kOther } kind = kText;
  Value value;
};

Resolved resolve_plain(std::string_view text) {
  if (one_of(kNull, text)) return {Resolved::kOther, Value()};
  char first = text[0];
  if (digit(first) || first == '+' || first == '-' || first == '.') {
    if (one_of(kNan, text)) return {Resolved::kOther, std::numeric_limits<double>::quiet_NaN()};
    if (one_of(kInf, text)) return {Resolved::kOther, std::numeric_limits<double>::infinity()};
    if (one_of(kMinusInf, text))
      return {Resolved::kOther, -std::numeric_limits<double>::infinity()};
    if (timestamp(text)) return {Resolved::kTime, text};
    if (auto n = number(text)) return {Resolved::kOther, std::move(*n)};
    return {Resolved::kText, text};
  }
  if (one_of(kTrue, text)) return {Resolved::kOther, true};
  if (one_of(kFalse, text)) return {Resolved::kOther, false};
  if (text == "<<") return {Resolved::kMerge, text};
  return {Resolved::kText, text};
}

// 1e3 is written as 1000 in JSON and so read as an integer again.
Value as_json_number(Value value) {
  if (value.type() != Type::kDouble) return value;
  double d = value.as_double();
  if (std::trunc(d) != d || std::fabs(d) >= 9.2e18 || (d == 0 && std::signbit(d))) return value;
  return Value(static_cast<int64_t>(d));
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  size_t padding = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    int v = c >= 'A' && c <= 'Z'   ? c - 'A'
            : c >= 'a' && c <= 'z' ? c - 'a' + 26
            : digit(c)             ? c - '0' + 52
            : c == '+'             ? 62
            : c == '/'             ? 63
                                   : -1;
    if (v < 0 || padding > 0) return std::nullopt;
    bits = (bits << 6 | static_cast<uint32_t>(v)) & 0xFFFFFF;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>(bits >> have & 0xFF);
    }
  }
  return padding > 2 || have == 6 ? std::nullopt : std::optional(out);
}

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

}  // namespace

Result<Value> resolve_yaml_scalar(std::string_view text, std::string_view tag, bool plain) {
  auto refuse = [&](std::string_view what) {
    return make_error(ErrorCode::kBadRequest, "cannot decode `" + std::string(text.substr(0, 64)) +
                                                  "` as a " + std::string(what));
  };
  if (tag.empty() || tag == "!") {
    if (!plain || tag == "!") return Value(text);
    return as_json_number(resolve_plain(text).value);
  }
  if (!tag.starts_with(kTagPrefix))
    return Value(text);  // tags of applications mean nothing to JSON
  std::string_view type = tag.substr(kTagPrefix.size());
  if (type == "binary") {
    auto bytes = decode_base64(text);
    if (!bytes)
      return make_error(ErrorCode::kBadRequest, "!!binary value contains invalid base64 data");
    return Value(valid_utf8(*bytes) ? std::move(*bytes) : repair_utf8(*bytes));
  }
  Resolved resolved = resolve_plain(text);
  const Value& value = resolved.value;
  if (type == "int" || type == "float") {
    bool fits = type == "int" ? value.is_int() || value.type() == Type::kUint : value.is_number();
    if (!fits) return refuse("!!" + std::string(type));
    return as_json_number(value);
  }
  if (type == "bool" && !value.is_bool()) return refuse("!!bool");
  if (type == "null" && !value.is_null()) return refuse("!!null");
  if (type == "bool" || type == "null") return value;
  return Value(text);
}

bool yaml_reads_as_text(std::string_view text) {
  Resolved::Kind kind = resolve_plain(text).kind;
  return (kind == Resolved::kText || kind == Resolved::kMerge) && !base_60(text);
}

std::string yaml_double(double d) {
  if (std::isnan(d)) return ".nan";
  if (std::isinf(d)) return d > 0 ? ".inf" : "-.inf";
  char buffer[64];
  char* end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 6) return text;
  return std::string(
      buffer, std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed).ptr);
}

bool valid_utf8(std::string_view text) {
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end) {
    size_t n = utf8_length(p, end);
    if (n == 0) return false;
    p += n;
  }
  return true;
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end) {
    size_t n = utf8_length(p, end);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      ++p;
    } else {
      out.append(p, n);
      p += n;
    }
  }
  return out;
}

}  // namespace kueue::json
