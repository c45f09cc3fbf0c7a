// Quantity: parsing, canonical text and arithmetic, all on whole nano-units in 128 bits.
#include "api/quantity.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "json/value.h"
#include "schema/decode_check.h"

namespace kueue::api {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr Wide kWideMax = static_cast<Wide>(~UnsignedWide{0} >> 1);
constexpr Wide kNanosPerUnit = 1'000'000'000;
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
constexpr size_t kMaxTextBytes = 512;
constexpr int kMaxWideDigits = 38;  // every number of that many digits fits

constexpr const char* kWrongFormat =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr const char* kWrongSuffix = "unable to parse quantity's suffix";

struct Suffix {
  std::string_view text;
  int exponent;  // of 10, or of 1024
};
constexpr Suffix kDecimalSuffixes[] = {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0},   {"k", 3},
                                       {"M", 6},  {"G", 9},  {"T", 12}, {"P", 15}, {"E", 18}};
constexpr Suffix kBinarySuffixes[] = {{"Ki", 1}, {"Mi", 2}, {"Gi", 3},
                                      {"Ti", 4}, {"Pi", 5}, {"Ei", 6}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The text split at its grammar: sign, digits without the point, digits after it, suffix.
struct Parts {
  bool negative = false;
  std::string digits;
  int fraction = 0;
  std::string_view suffix;
};

Result<Parts> split(std::string_view text) {
  const Error wrong = make_error(ErrorCode::kInvalid, kWrongFormat);
  Parts parts;
  size_t i = 0;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) parts.negative = text[i++] == '-';
  for (; i < text.size() && is_digit(text[i]); ++i) parts.digits += text[i];
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && is_digit(text[i]); ++i, ++parts.fraction) parts.digits += text[i];
  }
  if (parts.digits.empty()) return wrong;
  parts.suffix = text.substr(i);
  while (i < text.size() &&
         std::string_view("eEinumkKMGTP").find(text[i]) != std::string_view::npos)
    ++i;
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  while (i < text.size() && is_digit(text[i])) ++i;
  if (i != text.size()) return wrong;
  return parts;
}

struct Scale {
  QuantityFormat format = QuantityFormat::kDecimalSI;
  int exponent = 0;
};

Result<Scale> parse_suffix(std::string_view suffix) {
  for (const Suffix& s : kDecimalSuffixes)
    if (s.text == suffix) return Scale{QuantityFormat::kDecimalSI, s.exponent};
  for (const Suffix& s : kBinarySuffixes)
    if (s.text == suffix) return Scale{QuantityFormat::kBinarySI, s.exponent};
  if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
    std::string_view digits = suffix.substr(suffix[1] == '+' ? 2 : 1);
    int exponent = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    const bool whole = end == digits.data() + digits.size() && error == std::errc() &&
                       (suffix[1] != '+' || is_digit(digits.empty() ? 'x' : digits[0]));
    if (whole) return Scale{QuantityFormat::kDecimalExponent, exponent};
  }
  return make_error(ErrorCode::kInvalid, kWrongSuffix);
}

// digits *= 1024, in decimal.
void multiply_1024(std::string& digits) {
  unsigned carry = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    const unsigned n = static_cast<unsigned>(digits[i] - '0') * 1024 + carry;
    digits[i] = static_cast<char>('0' + n % 10);
    carry = n / 10;
  }
  if (carry > 0) digits.insert(0, std::to_string(carry));
}

Wide to_wide(std::string_view digits) {
  Wide n = 0;
  for (char c : digits) n = n * 10 + (c - '0');
  return n;
}

Wide power_of_ten(int exponent) {
  Wide n = 1;
  for (; exponent > 0; --exponent) n *= 10;
  return n;
}

// digits * 10^exponent, away from zero; kWideMax + "false" when it does not fit.
struct Nanos {
  Wide value = 0;
  bool fits = true;
};
Nanos scale_digits(std::string_view digits, int64_t exponent) {
  while (!digits.empty() && digits.front() == '0') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == '0') {
    digits.remove_suffix(1);
    ++exponent;
  }
  if (digits.empty()) return {};
  const int64_t total = static_cast<int64_t>(digits.size()) + exponent;
  if (total > kMaxWideDigits) return {kWideMax, false};
  if (exponent >= 0) return {to_wide(digits) * power_of_ten(static_cast<int>(exponent)), true};
  if (total <= 0) return {1, true};
  return {to_wide(digits.substr(0, static_cast<size_t>(total))) + 1, true};
}

std::string wide_text(Wide value) {
  UnsignedWide rest =
      value < 0 ? -static_cast<UnsignedWide>(value) : static_cast<UnsignedWide>(value);
  std::string text;
  do {
    text += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (value < 0) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

Wide saturating_add(Wide a, Wide b) {
  if (b > 0 && a > kWideMax - b) return kWideMax;
  if (b < 0 && a < -kWideMax - b) return -kWideMax;
  return a + b;
}

std::string trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

Quantity::Quantity(Wide nanos, Format format) : format_(format) { set(nanos); }

Wide Quantity::nanos() const {
  return static_cast<Wide>((static_cast<UnsignedWide>(static_cast<uint64_t>(high_)) << 64) | low_);
}

void Quantity::set(Wide nanos) {
  high_ = static_cast<int64_t>(nanos >> 64);
  low_ = static_cast<uint64_t>(nanos);
}

Quantity Quantity::of(int64_t value, Format format) {
  return Quantity(value * kNanosPerUnit, format);
}
Quantity Quantity::of_milli(int64_t value, Format format) {
  return Quantity(static_cast<Wide>(value) * 1'000'000, format);
}
Quantity Quantity::of_nano(int64_t value, Format format) { return Quantity(value, format); }

Result<Quantity> Quantity::parse(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return make_error(ErrorCode::kInvalid, "a quantity may have at most 512 characters");
  }
  KUEUE_ASSIGN(Parts parts, split(text));
  KUEUE_ASSIGN(const Scale scale, parse_suffix(parts.suffix));
  const bool binary = scale.format == Format::kBinarySI;
  if (binary)
    for (int i = 0; i < scale.exponent; ++i) multiply_1024(parts.digits);
  Nanos nanos = scale_digits(
      parts.digits, static_cast<int64_t>(binary ? 0 : scale.exponent) - parts.fraction + 9);
  // Kubernetes caps binary quantities, and only those, at the largest int64.
  if (binary) nanos = {std::min(nanos.value, kInt64Max * kNanosPerUnit), true};
  if (!nanos.fits) {
    return make_error(ErrorCode::kInvalid, "quantity \"" + std::string(text) +
                                               "\" is out of range: it must be below 1e29");
  }
  Quantity quantity(parts.negative ? -nanos.value : nanos.value, scale.format);
  // A binary suffix cannot say less than one.
  if (binary && nanos.value > 0 && nanos.value < kNanosPerUnit)
    quantity.format_ = Format::kDecimalSI;
  return quantity;
}

Result<Quantity> Quantity::from_json(const json::Value& value) {
  switch (value.type()) {
    case json::Type::kNull:
      return Quantity();
    case json::Type::kInt:
      return of(value.as_int());
    case json::Type::kUint:
      return parse(std::to_string(value.as_uint()));
    case json::Type::kDouble: {
      char text[64];
      auto end = std::to_chars(text, text + sizeof text, value.as_double()).ptr;
      return parse(std::string_view(text, static_cast<size_t>(end - text)));
    }
    case json::Type::kString:
      return parse(trim(value.as_string()));
    case json::Type::kBool:
    case json::Type::kArray:
    case json::Type::kObject:
      break;
  }
  return make_error(ErrorCode::kInvalid, "a quantity must be a string or a number");
}

std::string Quantity::to_string() const {
  Wide value = nanos();
  if (value == 0) return "0";
  if (format_ == Format::kBinarySI && value % kNanosPerUnit == 0) {
    Wide units = value / kNanosPerUnit;
    if (units <= -1024 || units >= 1024) {
      int power = 0;
      for (; power < 6 && units % 1024 == 0; ++power) units /= 1024;
      return wide_text(units) + (power == 0 ? "" : std::string(kBinarySuffixes[power - 1].text));
    }
  }
  int exponent = -9;
  for (; value % 10 == 0; ++exponent) value /= 10;
  // Exponents are multiples of three; 18 is the last one with a letter.
  int target = exponent - ((exponent % 3) + 3) % 3;
  if (format_ != Format::kDecimalExponent) target = std::min(target, 18);
  value *= power_of_ten(exponent - target);
  if (format_ == Format::kDecimalExponent) {
    return wide_text(value) + (target == 0 ? "" : "e" + std::to_string(target));
  }
  return wide_text(value) + std::string(kDecimalSuffixes[target / 3 + 3].text);
}

int64_t Quantity::scaled_value(int exponent) const {
  const Wide unit = power_of_ten(exponent + 9);
  const Wide value = nanos();
  Wide scaled = value / unit;
  if (value % unit != 0) scaled += value > 0 ? 1 : -1;
  return static_cast<int64_t>(std::clamp<Wide>(scaled, kInt64Min, kInt64Max));
}

double Quantity::as_double() const {
  Wide value = nanos();
  int exponent = 9;
  for (; exponent > 0 && value % 10 == 0; --exponent) value /= 10;
  return static_cast<double>(value) / static_cast<double>(power_of_ten(exponent));
}

bool Quantity::is_int64() const {
  const Wide value = nanos();
  return value % kNanosPerUnit == 0 && value / kNanosPerUnit <= kInt64Max &&
         value / kNanosPerUnit >= kInt64Min;
}

int Quantity::sign() const {
  if (high_ != 0) return high_ > 0 ? 1 : -1;
  return low_ == 0 ? 0 : 1;
}

void Quantity::add(const Quantity& other) {
  if (is_zero()) format_ = other.format_;
  set(saturating_add(nanos(), other.nanos()));
}

void Quantity::sub(const Quantity& other) {
  if (is_zero()) format_ = other.format_;
  set(saturating_add(nanos(), -other.nanos()));
}

void Quantity::negate() { set(-nanos()); }

void Quantity::multiply(int64_t factor) {
  const Wide value = nanos();
  if (factor == 0 || value == 0) return set(0);
  const Wide size = value < 0 ? -value : value;
  const Wide factor_size = factor < 0 ? -static_cast<Wide>(factor) : static_cast<Wide>(factor);
  if (size > kWideMax / factor_size) return set((value < 0) == (factor < 0) ? kWideMax : -kWideMax);
  set(value * factor);
}

namespace {

Quantity largest(bool negative) {
  Quantity quantity = Quantity::of(negative ? -1 : 1);
  while (quantity.as_double() < 1e29 && quantity.as_double() > -1e29)
    quantity.multiply(kInt64Max);  // saturates
  return quantity;
}

// An API server may hold quantities beyond what we count with. An object must not be lost to the
// manager for that, so they become the largest.
bool beyond_range(const json::Value& value, Quantity* quantity) {
  if (value.is_number()) {
    *quantity = largest(value.as_double() < 0);
    return true;
  }
  if (!value.is_string()) return false;
  const std::string text = trim(value.as_string());
  if (!schema::is_quantity_range_problem(schema::quantity_problem(text))) return false;
  *quantity = largest(text.starts_with('-'));
  return true;
}

}  // namespace

const schema::CustomOps kQuantityOps{
    .name = "resource.Quantity",
    .decode = [](const json::Value& value, void* object) -> std::string {
      Result<Quantity> quantity = Quantity::from_json(value);
      if (!quantity.ok()) {
        if (beyond_range(value, static_cast<Quantity*>(object))) return "";
        return quantity.error().message;
      }
      *static_cast<Quantity*>(object) = *quantity;
      return "";
    },
    .encode = [](const void* object) -> json::Value {
      return static_cast<const Quantity*>(object)->to_string();
    },
    .is_zero = [](const void* object) { return static_cast<const Quantity*>(object)->is_zero(); },
};

}  // namespace kueue::api
