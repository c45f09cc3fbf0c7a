#include "schema/equal.h"

#include <fmt/format.h>

#include "base/time.h"
#include "json/json.h"
#include "schema/decode_check.h"
#include "schema/list_key.h"
#include "schema/walk.h"

namespace kueue::schema {
namespace {

constexpr Type kUnknown{.kind = Kind::kAny};

// Empty maps and lists are the same as none. An empty struct is not: emptyDir: {} says something.
bool is_nothing(const Type& type, const json::Value* value) {
  if (value == nullptr || value->is_null()) return true;
  if (value->is_object()) return type.kind == Kind::kMap && value->as_object().empty();
  return value->is_array() && type.kind == Kind::kList && value->as_array().empty();
}

// A quantity as digits * 2^binary * 10^decimal; digits without trailing zeros.
struct Amount {
  bool negative = false;
  std::string digits;
  int decimal = 0;
  int binary = 0;
};

Amount read_amount(std::string_view text) {
  Amount out;
  if (text.starts_with('+') || text.starts_with('-')) {
    out.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool fraction = false;
  while (!text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'))) {
    if (text[0] == '.') {
      fraction = true;
    } else {
      if (!out.digits.empty() || text[0] != '0') out.digits += text[0];
      if (fraction) --out.decimal;
    }
    text.remove_prefix(1);
  }
  if (text.size() == 2 && text[1] == 'i') {
    out.binary = 10 * (1 + static_cast<int>(std::string_view("KMGTPE").find(text[0])));
  } else if (text.size() == 1 && std::string_view("numkMGTPE").find(text[0]) != std::string::npos) {
    static constexpr int kPowers[] = {-9, -6, -3, 3, 6, 9, 12, 15, 18};
    out.decimal += kPowers[std::string_view("numkMGTPE").find(text[0])];
  } else if (text.size() > 1 && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    const bool minus = text.starts_with('-');
    if (text.starts_with('+') || minus) text.remove_prefix(1);
    int exponent = 0;
    for (char c : text) exponent = std::min(exponent * 10 + (c - '0'), 100'000);
    out.decimal += minus ? -exponent : exponent;
  }
  return out;
}

// Doubles decimal digits.
void twice(std::string& digits) {
  int carry = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    const int d = (digits[i] - '0') * 2 + carry;
    digits[i] = static_cast<char>('0' + d % 10);
    carry = d / 10;
  }
  if (carry != 0) digits.insert(digits.begin(), '1');
}

void normalize(Amount& amount) {
  for (; amount.binary > 0; --amount.binary) twice(amount.digits);
  while (!amount.digits.empty() && amount.digits.back() == '0') {
    amount.digits.pop_back();
    ++amount.decimal;
  }
  if (amount.digits.empty()) amount = Amount{};
}

std::string quantity_text(const json::Value& value) {
  return value.is_string() ? value.as_string() : json::write(value);
}

bool equal(const Type& type, const json::Value* a, const json::Value* b, int depth);

bool equal_members(const Type& type, const json::Object& a, const json::Object& b, int depth) {
  FieldCursor cursor(type);
  auto member_type = [&](std::string_view key) -> const Type& {
    if (type.kind == Kind::kMap) return type.element ? *type.element : kUnknown;
    const Field* field = cursor.find(key);
    return field != nullptr ? *field->type : kUnknown;
  };
  for (const auto& [key, value] : a)
    if (!equal(member_type(key), &value, b.find(key), depth + 1)) return false;
  for (const auto& [key, value] : b)
    if (!a.contains(key) && !is_nothing(member_type(key), &value)) return false;
  return true;
}

bool equal(const Type& type, const json::Value* a, const json::Value* b, int depth) {
  if (depth > kMaxDepth) return false;
  if (is_nothing(type, a) || is_nothing(type, b)) return is_nothing(type, a) && is_nothing(type, b);
  switch (type.kind) {
    case Kind::kStruct:
    case Kind::kMap:
      if (!a->is_object() || !b->is_object()) return *a == *b;
      return equal_members(type, a->as_object(), b->as_object(), depth);
    case Kind::kList: {
      if (!a->is_array() || !b->is_array()) return *a == *b;
      const json::Array& left = a->as_array();
      const json::Array& right = b->as_array();
      if (left.size() != right.size()) return false;
      const Type& element = type.element ? *type.element : kUnknown;
      for (size_t i = 0; i < left.size(); ++i)
        if (!equal(element, &left[i], &right[i], depth + 1)) return false;
      return true;
    }
    case Kind::kQuantity:
      return *a == *b || equal_quantities(quantity_text(*a), quantity_text(*b));
    case Kind::kTime:
    case Kind::kMicroTime: {
      if (*a == *b) return true;
      if (!a->is_string() || !b->is_string()) return false;
      auto left = parse_time(a->as_string());
      auto right = parse_time(b->as_string());
      return left.ok() && right.ok() && left.value() == right.value();
    }
    case Kind::kDuration: {
      if (*a == *b) return true;
      if (!a->is_string() || !b->is_string()) return false;
      auto left = parse_duration(a->as_string());
      auto right = parse_duration(b->as_string());
      return left.ok() && right.ok() && left.value() == right.value();
    }
    case Kind::kAny:
    case Kind::kBool:
    case Kind::kInt32:
    case Kind::kInt64:
    case Kind::kDouble:
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kIntOrString:
      return *a == *b;
  }
  return false;
}

class Differ {
 public:
  Differ(std::vector<std::string>& out, size_t limit) : out_(out), limit_(limit) {}

  void walk(const Type& type, const json::Value* a, const json::Value* b, const std::string& path,
            int depth) {
    if (out_.size() >= limit_ || equal(type, a, b, depth)) return;
    const bool both = a != nullptr && b != nullptr && depth < kMaxDepth;
    if (both && a->is_object() && b->is_object()) {
      walk_members(type, a->as_object(), b->as_object(), path, depth);
    } else if (both && a->is_array() && b->is_array()) {
      walk_items(type, *a, *b, path, depth);
    } else {
      out_.push_back(path);
    }
  }

 private:
  void walk_members(const Type& type, const json::Object& a, const json::Object& b,
                    const std::string& path, int depth) {
    FieldCursor cursor(type);
    auto member_type = [&](std::string_view key) -> const Type& {
      if (type.kind == Kind::kMap) return type.element ? *type.element : kUnknown;
      const Field* field = cursor.find(key);
      return field != nullptr ? *field->type : kUnknown;
    };
    for (const auto& [key, value] : a)
      walk(member_type(key), &value, b.find(key), below(path, key), depth + 1);
    for (const auto& [key, value] : b)
      if (!a.contains(key)) walk(member_type(key), nullptr, &value, below(path, key), depth + 1);
  }

  static std::string below(const std::string& path, const std::string& key) {
    return path.empty() ? key : fmt::format("{}.{}", path, key);
  }

  void walk_items(const Type& type, const json::Value& a, const json::Value& b,
                  const std::string& path, int depth) {
    const Type& element = type.element ? *type.element : kUnknown;
    if (type.kind == Kind::kList && type.list_type == ListType::kMap) {
      const ListMapIndex before(type, a);
      const ListMapIndex after(type, b);
      const size_t found = out_.size();
      for (const json::Value& item : a.as_array())
        walk(element, &item, after.find(item), keyed(type, item, path), depth + 1);
      for (const json::Value& item : b.as_array())
        if (before.find(item) == nullptr)
          walk(element, nullptr, &item, keyed(type, item, path), depth + 1);
      if (out_.size() == found) out_.push_back(path);  // only the order
      return;
    }
    const json::Array& left = a.as_array();
    const json::Array& right = b.as_array();
    for (size_t i = 0; i < std::max(left.size(), right.size()); ++i)
      walk(element, i < left.size() ? &left[i] : nullptr, i < right.size() ? &right[i] : nullptr,
           fmt::format("{}[{}]", path, i), depth + 1);
  }

  static std::string keyed(const Type& type, const json::Value& item, const std::string& path) {
    std::string keys;
    const json::Value key = list_map_key(type, item);
    for (const auto& [name, value] : key.as_object())
      keys += fmt::format("{}{}={}", keys.empty() ? "" : ",", name,
                          value.is_string() ? value.as_string() : json::write(value));
    return fmt::format("{}[{}]", path, keys);
  }

  std::vector<std::string>& out_;
  size_t limit_;
};

}  // namespace

bool semantic_equal(const Type& type, const json::Value& a, const json::Value& b) {
  return equal(type, &a, &b, 0);
}

std::vector<std::string> diff_paths(const Type& type, const json::Value& before,
                                    const json::Value& after, size_t limit) {
  std::vector<std::string> out;
  Differ(out, limit).walk(type, &before, &after, "", 0);
  return out;
}

bool equal_quantities(std::string_view a, std::string_view b) {
  if (a == b) return true;
  if (!quantity_problem(a).empty() || !quantity_problem(b).empty()) return false;
  Amount left = read_amount(a);
  Amount right = read_amount(b);
  normalize(left);
  normalize(right);
  return left.negative == right.negative && left.decimal == right.decimal &&
         left.digits == right.digits;
}

}  // namespace kueue::schema
