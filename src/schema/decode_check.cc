#include "schema/decode_check.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "json/json.h"
#include "schema/errors.h"
#include "schema/path.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

constexpr std::string_view kQuantityProblem =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

constexpr std::string_view kQuantityRange =
    "quantities must be below 1e29 and may have at most 512 characters";
constexpr int64_t kQuantityDigits = 29;  // before the point
constexpr size_t kQuantityText = 512;

// "v1.JobSpec" of "io.k8s.api.batch.v1.JobSpec".
std::string go_struct(const Type& type) {
  const size_t last = type.name.rfind('.');
  if (last == std::string_view::npos) return std::string(type.name);
  const size_t before = type.name.rfind('.', last - 1);
  return std::string(type.name.substr(before == std::string_view::npos ? 0 : before + 1));
}

std::string go_type(const Type& type) {
  switch (type.kind) {
    case Kind::kAny:
      return "runtime.RawExtension";
    case Kind::kBool:
      return "bool";
    case Kind::kInt32:
    case Kind::kIntOrString:
      return "int32";
    case Kind::kInt64:
      return "int64";
    case Kind::kDouble:
      return "float64";
    case Kind::kString:
    case Kind::kTime:
    case Kind::kMicroTime:
    case Kind::kDuration:
      return "string";
    case Kind::kQuantity:
      return "resource.Quantity";
    case Kind::kBytes:
      return "[]uint8";
    case Kind::kStruct:
      return go_struct(type);
    case Kind::kMap:
      if (type.element && type.element->kind == Kind::kQuantity) return "v1.ResourceList";
      return "map[string]" + (type.element ? go_type(*type.element) : "string");
    case Kind::kList:
      return "[]" + (type.element ? go_type(*type.element) : "string");
  }
  return {};
}

std::string json_kind(const json::Value& value, bool wants_integer) {
  switch (value.type()) {
    case json::Type::kNull:
      return "null";
    case json::Type::kBool:
      return "bool";
    case json::Type::kInt:
    case json::Type::kUint:
    case json::Type::kDouble: {
      if (!wants_integer) return "number";
      std::string text = json::write(value);
      if (value.type() == json::Type::kDouble && text.find_first_of(".eE") == std::string::npos)
        text += ".0";
      return "number " + text;
    }
    case json::Type::kString:
      return "string";
    case json::Type::kArray:
      return "array";
    case json::Type::kObject:
      return "object";
  }
  return {};
}

size_t base64_problem(std::string_view text) {
  size_t digits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\r' || c == '\n') continue;
    const bool digit = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '+' || c == '/';
    if (digit) {
      ++digits;
      continue;
    }
    if (c != '=') return i;
    // Padding: only the third and fourth place of the last group of four.
    if (digits % 4 < 2) return i;
    const std::string_view rest = text.substr(i);
    const size_t wanted = 4 - digits % 4;
    size_t found = 0;
    for (size_t k = 0; k < rest.size(); ++k) {
      if (rest[k] == '\r' || rest[k] == '\n') continue;
      if (rest[k] != '=' || ++found > wanted) return i + k;
    }
    return found == wanted ? std::string_view::npos : text.size();
  }
  return digits % 4 == 0 ? std::string_view::npos : text.size();
}

class Checker {
 public:
  // The complaint about the first misfit, without the part about the kind.
  std::optional<std::string> check(const Type& type, const json::Value& value, int depth) {
    if (depth > kMaxDepth) return "exceeded max depth";
    if (value.is_null()) return std::nullopt;
    switch (type.kind) {
      case Kind::kAny:
        return std::nullopt;
      case Kind::kBool:
        return value.is_bool() ? std::nullopt : misfit(type, value);
      case Kind::kInt32:
      case Kind::kInt64:
        return check_integer(type, value);
      case Kind::kDouble:
        return value.is_number() ? std::nullopt : misfit(type, value);
      case Kind::kString:
      case Kind::kDuration:
        return value.is_string() ? std::nullopt : misfit(type, value);
      case Kind::kBytes:
        return check_bytes(type, value);
      case Kind::kStruct:
        return check_struct(type, value, depth);
      case Kind::kMap:
        if (!value.is_object()) return misfit(type, value);
        for (const auto& [key, item] : value.as_object())
          if (auto problem = check_element(type, item, depth)) {
            prepend("[" + key + "]");
            return problem;
          }
        return std::nullopt;
      case Kind::kList:
        if (!value.is_array()) return misfit(type, value);
        for (size_t i = 0; i < value.as_array().size(); ++i)
          if (auto problem = check_element(type, value.as_array()[i], depth)) {
            prepend("[" + std::to_string(i) + "]");
            return problem;
          }
        return std::nullopt;
      case Kind::kIntOrString:
        if (value.is_string()) return std::nullopt;
        return check_integer(type, value);
      case Kind::kQuantity:
        return check_quantity(value);
      case Kind::kTime:
      case Kind::kMicroTime: {
        if (!value.is_string()) return misfit(type, value);
        std::string problem = time_problem(value.as_string(), type.kind == Kind::kMicroTime);
        if (problem.empty()) return std::nullopt;
        return unnamed(std::move(problem));
      }
    }
    return std::nullopt;
  }

  // Where the misfit is, when the complaint does not say so itself; "" otherwise.
  std::string where() const { return unnamed_ ? where_ : ""; }

 private:
  // Called on the way up from a misfit only, so that what fits costs nothing.
  void prepend(std::string step) {
    if (!where_.empty() && where_.front() != '[') step += '.';
    where_.insert(0, step);
  }

  std::string unnamed(std::string problem) {
    unnamed_ = true;
    return problem;
  }

  std::optional<std::string> check_element(const Type& type, const json::Value& item, int depth) {
    return type.element ? check(*type.element, item, depth + 1) : std::nullopt;
  }

  std::optional<std::string> check_struct(const Type& type, const json::Value& value, int depth) {
    if (!value.is_object()) return misfit(type, value);
    const Type* outer = owner_;
    owner_ = &type;
    FieldCursor cursor(type);
    for (const auto& [key, member] : value.as_object()) {
      const Field* field = cursor.find(key);
      if (field == nullptr) continue;
      const size_t length = path_.size();
      if (!path_.empty()) path_ += '.';
      // Go names the embedded struct that holds the field.
      if (const std::string_view part = embedded_part(type, *field); !part.empty()) {
        path_ += part;
        path_ += '.';
      }
      path_ += key;
      if (auto problem = check(*field->type, member, depth + 1)) {
        prepend(key);
        return problem;
      }
      path_.resize(length);
    }
    owner_ = outer;
    return std::nullopt;
  }

  // "" when the field is none of an embedded struct, or that struct's name is not known.
  static std::string_view embedded_part(const Type& type, const Field& field) {
    if (field.proto_number != 0) return {};
    for (const ProtoInline& part : type.proto_inlines) {
      if (part.type->field(field.name) == nullptr) continue;
      if (!part.type->name.empty()) return short_name(*part.type);
      if (type.name.ends_with(".Probe")) return "ProbeHandler";
      if (type.name.ends_with(".Volume")) return "VolumeSource";
      if (type.name.ends_with(".PersistentVolumeSpec")) return "PersistentVolumeSource";
      if (type.name.ends_with(".EphemeralContainer")) return "EphemeralContainerCommon";
    }
    return {};
  }

  std::optional<std::string> check_integer(const Type& type, const json::Value& value) {
    if (value.is_int()) {
      if (type.kind == Kind::kInt64) return std::nullopt;
      const int64_t n = value.as_int();
      if (n >= INT32_MIN && n <= INT32_MAX) return std::nullopt;
    }
    return misfit(type, value, true);
  }

  std::optional<std::string> check_bytes(const Type& type, const json::Value& value) {
    if (!value.is_string()) return misfit(type, value);
    const size_t at = base64_problem(value.as_string());
    if (at == std::string_view::npos) return std::nullopt;
    return unnamed(fmt::format("illegal base64 data at input byte {}", at));
  }

  std::optional<std::string> check_quantity(const json::Value& value) {
    if (value.is_number() && std::abs(value.as_double()) < 1e29) return std::nullopt;
    if (value.is_number()) return unnamed(std::string(kQuantityRange));
    if (!value.is_string()) return unnamed(std::string(kQuantityProblem));
    const std::string_view problem = quantity_problem(value.as_string());
    if (problem.empty()) return std::nullopt;
    return unnamed(std::string(problem));
  }

  std::optional<std::string> misfit(const Type& type, const json::Value& value,
                                    bool wants_integer = false) {
    const std::string what = json_kind(value, wants_integer);
    if (owner_ == nullptr)
      return fmt::format("json: cannot unmarshal {} into Go value of type {}", what, go_type(type));
    return fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", what,
                       short_name(*owner_), path_, go_type(type));
  }

  const Type* owner_ = nullptr;  // the innermost struct
  std::string path_;             // member names from the root; indices and map keys are not told
  bool unnamed_ = false;
  std::string where_;  // with indices and map keys
};

// Kubernetes does not say where a quantity, time or base64 text stands that it cannot read; we do,
// after its words.
Result<void> verdict(const Checker& checker, const std::optional<std::string>& problem,
                     std::string_view root, std::string_view kind, std::string_view version) {
  if (!problem) return {};
  std::string text = fmt::format("{} in version {} cannot be handled as a {}: {}", kind,
                                 go_quote(version), kind, *problem);
  if (const std::string where = checker.where(); !where.empty())
    text += fmt::format(" (at {}{})", root, where);
  return make_error(ErrorCode::kBadRequest, std::move(text));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Result<void> check_types(const Type& type, const json::Value& document, std::string_view kind,
                         std::string_view version) {
  Checker checker;
  const auto problem = checker.check(type, document, 0);
  return verdict(checker, problem, "", kind, version);
}

Result<void> check_metadata_types(const Type& object_meta, const json::Value& metadata,
                                  std::string_view kind, std::string_view version) {
  Checker checker;
  const auto problem = checker.check(object_meta, metadata, 0);
  return verdict(checker, problem, "metadata.", kind, version);
}

namespace {

// How far the suffix moves the point; nullopt when it is none. Binary ones do not matter: their
// quantities end at the largest int64.
std::optional<int64_t> decimal_exponent(std::string_view suffix) {
  static constexpr std::pair<std::string_view, int> kSuffixes[] = {
      {"", 0},     {"n", -9},   {"u", -6},   {"m", -3},  {"k", 3},    {"M", 6},
      {"G", 9},    {"T", 12},   {"P", 15},   {"E", 18},  {"Ki", -99}, {"Mi", -99},
      {"Gi", -99}, {"Ti", -99}, {"Pi", -99}, {"Ei", -99}};
  for (const auto& [text, exponent] : kSuffixes)
    if (suffix == text) return exponent;
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  suffix.remove_prefix(1);
  const bool negative = suffix.starts_with('-');
  if (negative || suffix.starts_with('+')) suffix.remove_prefix(1);
  if (suffix.empty()) return std::nullopt;
  int64_t exponent = 0;
  for (const char c : suffix) {
    if (!is_digit(c)) return std::nullopt;
    exponent = std::min<int64_t>(exponent * 10 + (c - '0'), 1'000'000'000'000);
  }
  return negative ? -exponent : exponent;
}

}  // namespace

bool is_quantity_range_problem(std::string_view problem) { return problem == kQuantityRange; }

std::string_view quantity_problem(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with('+') || rest.starts_with('-')) rest.remove_prefix(1);
  size_t digits = 0;
  bool point = false;
  // Of the number's first digit that is no zero: 1 for units, 2 for tens, 0 for tenths.
  int64_t place = 0;
  bool zero = true;
  while (!rest.empty() && (is_digit(rest[0]) || (rest[0] == '.' && !point))) {
    if (rest[0] == '.') {
      point = true;
    } else {
      ++digits;
      zero = zero && rest[0] == '0';
      if (!point && !zero) ++place;
      if (point && zero) --place;
    }
    rest.remove_prefix(1);
  }
  if (digits == 0) return kQuantityProblem;
  const std::optional<int64_t> exponent = decimal_exponent(rest);
  if (!exponent) return kQuantityProblem;
  if (text.size() > kQuantityText || *exponent < -1'000'000'000) return kQuantityRange;
  if (!zero && place + *exponent > kQuantityDigits) return kQuantityRange;
  if (*exponent > 1'000'000'000) return kQuantityRange;
  return {};
}

std::string time_problem(std::string_view text, bool micro) {
  const std::string_view layout =
      micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00";
  std::string_view rest = text;
  auto fail = [&](std::string_view element) {
    return fmt::format("parsing time {} as {}: cannot parse {} as {}", go_quote(text),
                       go_quote(layout), go_quote(rest), go_quote(element));
  };
  auto out_of_range = [&](std::string_view what) {
    return fmt::format("parsing time {}: {} out of range", go_quote(text), what);
  };
  int parts[6] = {};
  static constexpr std::string_view kElements[] = {"2006", "01", "02", "15", "04", "05"};
  static constexpr std::string_view kSeparators[] = {"", "-", "-", "T", ":", ":"};
  for (int i = 0; i < 6; ++i) {
    if (!rest.starts_with(kSeparators[i])) return fail(kSeparators[i]);
    rest.remove_prefix(kSeparators[i].size());
    const size_t n = kElements[i].size();
    if (rest.size() < n) return fail(kElements[i]);
    for (size_t k = 0; k < n; ++k)
      if (!is_digit(rest[k])) return fail(kElements[i]);
    for (size_t k = 0; k < n; ++k) parts[i] = parts[i] * 10 + (rest[k] - '0');
    rest.remove_prefix(n);
  }
  if (parts[1] < 1 || parts[1] > 12) return out_of_range("month");
  if (parts[3] > 23) return out_of_range("hour");
  if (parts[4] > 59) return out_of_range("minute");
  if (parts[5] > 59) return out_of_range("second");
  if (micro) {
    size_t n = 1;
    while (n < 7 && n < rest.size() && is_digit(rest[n])) ++n;
    if (!rest.starts_with('.') || n != 7) return fail(".000000");
    rest.remove_prefix(7);
  } else if (rest.size() > 1 && (rest[0] == '.' || rest[0] == ',') && is_digit(rest[1])) {
    size_t n = 1;
    while (n < rest.size() && is_digit(rest[n])) ++n;
    rest.remove_prefix(n);
  }
  if (rest.starts_with('Z')) {
    rest.remove_prefix(1);
  } else {
    const bool shaped = rest.size() >= 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':' &&
                        is_digit(rest[1]) && is_digit(rest[2]) && is_digit(rest[4]) &&
                        is_digit(rest[5]);
    if (!shaped) return fail("Z07:00");
    rest.remove_prefix(6);
  }
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = parts[0] % 4 == 0 && (parts[0] % 100 != 0 || parts[0] % 400 == 0);
  const int days = kDays[parts[1] - 1] + (leap && parts[1] == 2 ? 1 : 0);
  if (parts[2] < 1 || parts[2] > days) return out_of_range("day");
  if (!rest.empty())
    return fmt::format("parsing time {}: extra text: {}", go_quote(text), go_quote(rest));
  return {};
}

}  // namespace kueue::schema
