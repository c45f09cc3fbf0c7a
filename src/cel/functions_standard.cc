// Functions of the language itself: sizes, conversions, text predicates, optional values.
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "cel/bodies.h"
#include "cel/functions.h"
#include "cel/time.h"

namespace kueue::cel {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

Value conversion_error(Context& context, const Value& v, std::string_view to) {
  return make_error(context.arena, "type conversion error from '" + std::string(type_name(v)) +
                                       "' to '" + std::string(to) + "'");
}

Value size(Context&, Arguments a) {
  if (a[0].kind == Kind::kString)
    return Value::of_int(static_cast<int64_t>(code_points(a[0].str())));
  if (a[0].kind == Kind::kBytes) return Value::of_int(static_cast<int64_t>(a[0].text.size));
  if (a[0].kind != Kind::kList && a[0].kind != Kind::kMap)
    return Value::error("no such overload: size");
  return Value::of_int(static_cast<int64_t>(container_size(a[0])));
}

Value to_dyn(Context&, Arguments a) { return a[0]; }
Value type_of(Context&, Arguments a) { return Value::of_type(type_name(a[0])); }

Value to_bool(Context& context, Arguments a) {
  if (a[0].kind == Kind::kBool) return a[0];
  if (a[0].kind != Kind::kString) return no_such_overload();
  std::string_view t = a[0].str();
  for (std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (t == yes) return Value::of_bool(true);
  for (std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (t == no) return Value::of_bool(false);
  return conversion_error(context, a[0], "bool");
}

Value to_int(Context& context, Arguments a) {
  const Value& v = a[0];
  switch (v.kind) {
    case Kind::kInt:
      return v;
    case Kind::kUint:
      if (v.unsigned_ > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return Value::error("integer overflow");
      return Value::of_int(static_cast<int64_t>(v.unsigned_));
    case Kind::kDouble:
      if (!(v.real > -kTwo63 && v.real < kTwo63)) return Value::error("integer overflow");
      return Value::of_int(static_cast<int64_t>(v.real));
    case Kind::kDuration:
      return Value::of_int(v.integer);
    case Kind::kTimestamp:
      return Value::of_int(v.time.seconds);
    case Kind::kString: {
      std::string_view t = v.str();
      if (t.starts_with('+')) t.remove_prefix(1);
      int64_t n = 0;
      auto r = std::from_chars(t.data(), t.data() + t.size(), n);
      if (r.ec == std::errc() && r.ptr == t.data() + t.size()) return Value::of_int(n);
      return conversion_error(context, v, "int");
    }
    default:
      return no_such_overload();
  }
}

Value to_uint(Context& context, Arguments a) {
  const Value& v = a[0];
  switch (v.kind) {
    case Kind::kUint:
      return v;
    case Kind::kInt:
      if (v.integer < 0) return Value::error("unsigned integer overflow");
      return Value::of_uint(static_cast<uint64_t>(v.integer));
    case Kind::kDouble:
      if (!(v.real >= 0 && v.real < kTwo64)) return Value::error("unsigned integer overflow");
      return Value::of_uint(static_cast<uint64_t>(v.real));
    case Kind::kString: {
      std::string_view t = v.str();
      uint64_t n = 0;
      auto r = std::from_chars(t.data(), t.data() + t.size(), n);
      if (r.ec == std::errc() && r.ptr == t.data() + t.size()) return Value::of_uint(n);
      return conversion_error(context, v, "uint");
    }
    default:
      return no_such_overload();
  }
}

Value to_double(Context& context, Arguments a) {
  const Value& v = a[0];
  switch (v.kind) {
    case Kind::kDouble:
      return v;
    case Kind::kInt:
      return Value::of_double(static_cast<double>(v.integer));
    case Kind::kUint:
      return Value::of_double(static_cast<double>(v.unsigned_));
    case Kind::kString: {
      std::string t(v.str());
      const char* first = t.c_str();
      if (*first == '+') ++first;
      double d = 0;
      auto r = std::from_chars(first, t.c_str() + t.size(), d);
      if (r.ec == std::errc() && r.ptr == t.c_str() + t.size() && !t.empty())
        return Value::of_double(d);
      if (t == "+Inf" || t == "Inf")
        return Value::of_double(std::numeric_limits<double>::infinity());
      if (t == "-Inf") return Value::of_double(-std::numeric_limits<double>::infinity());
      return conversion_error(context, v, "double");
    }
    default:
      return no_such_overload();
  }
}

// Whole sequences only, no surrogates, nothing beyond U+10FFFF, no overlong forms.
bool valid_utf8(std::string_view t) {
  for (size_t i = 0; i < t.size();) {
    auto c = static_cast<unsigned char>(t[i]);
    size_t n = c < 0x80             ? 1
               : (c & 0xe0) == 0xc0 ? 2
               : (c & 0xf0) == 0xe0 ? 3
               : (c & 0xf8) == 0xf0 ? 4
                                    : 0;
    if (n == 0 || i + n > t.size()) return false;
    uint32_t code = n == 1 ? c : c & (0xffu >> (n + 1));
    for (size_t k = 1; k < n; ++k) {
      auto next = static_cast<unsigned char>(t[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = (code << 6) | (next & 0x3fu);
    }
    static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (n > 1 && code < kLeast[n]) return false;
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += n;
  }
  return true;
}

Value to_string(Context& context, Arguments a) {
  const Value& v = a[0];
  switch (v.kind) {
    case Kind::kString:
      return v;
    case Kind::kBytes:
      if (!valid_utf8(v.str()))
        return Value::error("invalid UTF-8 in bytes, cannot convert to string");
      return Value::of_string(v.str());
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kTimestamp:
    case Kind::kDuration:
    case Kind::kIp:
    case Kind::kCidr:
      return string_value(context, body_text(v));
    default:
      return no_such_overload();
  }
}

Value to_bytes(Context&, Arguments a) {
  if (a[0].kind != Kind::kString && a[0].kind != Kind::kBytes) return no_such_overload();
  return Value::of_bytes(a[0].str());
}

bool texts(Arguments a) { return a[0].kind == Kind::kString && a[1].kind == Kind::kString; }

Value starts_with(Context&, Arguments a) {
  return texts(a) ? Value::of_bool(a[0].str().starts_with(a[1].str())) : no_such_overload();
}
Value ends_with(Context&, Arguments a) {
  return texts(a) ? Value::of_bool(a[0].str().ends_with(a[1].str())) : no_such_overload();
}
Value contains(Context&, Arguments a) {
  return texts(a) ? Value::of_bool(a[0].str().find(a[1].str()) != std::string_view::npos)
                  : no_such_overload();
}

Value optional_of(Context& context, Arguments a) {
  return Value::of_optional(context.arena.make<Value>(a[0]));
}
Value optional_none(Context&, Arguments) { return Value::of_optional(nullptr); }

bool is_zero(const Value& v) {
  switch (v.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !v.boolean;
    case Kind::kInt:
    case Kind::kDuration:
      return v.integer == 0;
    case Kind::kUint:
      return v.unsigned_ == 0;
    case Kind::kDouble:
      return v.real == 0;
    case Kind::kString:
    case Kind::kBytes:
      return v.text.size == 0;
    case Kind::kList:
    case Kind::kMap:
      return container_size(v) == 0;
    case Kind::kOptional:
      return v.inner == nullptr;
    default:
      return false;
  }
}

Value optional_of_non_zero(Context& context, Arguments a) {
  return is_zero(a[0]) ? Value::of_optional(nullptr) : optional_of(context, a);
}
Value has_value(Context&, Arguments a) {
  return a[0].kind == Kind::kOptional ? Value::of_bool(a[0].inner != nullptr) : no_such_overload();
}
Value optional_value(Context&, Arguments a) {
  if (a[0].kind != Kind::kOptional) return no_such_overload();
  return a[0].inner == nullptr ? Value::error("optional.none() dereference") : *a[0].inner;
}
Value optional_or(Context&, Arguments a) {
  if (a[0].kind != Kind::kOptional || a[1].kind != Kind::kOptional) return no_such_overload();
  return a[0].inner != nullptr ? a[0] : a[1];
}
Value optional_or_value(Context&, Arguments a) {
  if (a[0].kind != Kind::kOptional) return no_such_overload();
  return a[0].inner != nullptr ? *a[0].inner : a[1];
}

constexpr Function kFunctions[] = {
    {"size", false, 1, 1, size, "s:i|y:i|[A]:i|{AB}:i"},
    {"size", true, 1, 1, size, "s:i|y:i|[A]:i|{AB}:i"},
    {"dyn", false, 1, 1, to_dyn, "A:d"},
    {"type", false, 1, 1, type_of, "A:t"},
    {"bool", false, 1, 1, to_bool, "b:b|s:b"},
    {"int", false, 1, 1, to_int, "i:i|u:i|f:i|s:i|T:i|D:i"},
    {"uint", false, 1, 1, to_uint, "u:u|i:u|f:u|s:u"},
    {"double", false, 1, 1, to_double, "f:f|i:f|u:f|s:f"},
    {"string", false, 1, 1, to_string, "s:s|b:s|i:s|u:s|f:s|y:s|T:s|D:s|P:s|C:s"},
    {"bytes", false, 1, 1, to_bytes, "y:y|s:y"},
    {"startsWith", true, 2, 2, starts_with, "s,s:b"},
    {"endsWith", true, 2, 2, ends_with, "s,s:b"},
    {"contains", true, 2, 2, contains, "s,s:b"},
    {"optional.of", false, 1, 1, optional_of, "A:?A"},
    {"optional.ofNonZeroValue", false, 1, 1, optional_of_non_zero, "A:?A"},
    {"optional.none", false, 0, 0, optional_none, ":?d"},
    {"hasValue", true, 1, 1, has_value, "?A:b"},
    {"value", true, 1, 1, optional_value, "?A:A"},
    {"or", true, 2, 2, optional_or, "?A,?A:?A"},
    {"orValue", true, 2, 2, optional_or_value, "?A,A:A"},
};

}  // namespace

std::span<const Function> standard_functions() { return kFunctions; }

namespace {

// The list of a's items followed by b's; for list sets and maps of one schema as Kubernetes merges
// them: items of b that a has already are left out (sets) or replace a's (maps).
Value join_lists(Context& context, const Value& a, const Value& b) {
  size_t na = container_size(a), nb = container_size(b);
  if (!context.charge(na + nb)) return Context::limit_error();
  Value* items = context.arena.array<Value>(na + nb);
  size_t n = 0;
  for (size_t i = 0; i < na; ++i) items[n++] = list_item(a, i, context.arena);
  bool keyed = a.json && a.type != nullptr && a.type->list_type != schema::ListType::kAtomic;
  for (size_t i = 0; i < nb; ++i) {
    Value item = list_item(b, i, context.arena);
    bool placed = false;
    for (size_t k = 0; keyed && k < na && !placed; ++k) {
      if (!context.charge(1)) return Context::limit_error();
      bool same =
          a.type->list_type == schema::ListType::kSet && is_equal(items[k], item, context.arena);
      if (a.type->list_type == schema::ListType::kMap && item.kind == Kind::kMap &&
          items[k].kind == Kind::kMap) {
        same = true;
        for (std::string_view name : a.type->list_map_keys) {
          Value x, y;
          same = same && map_find(items[k], Value::of_string(name), context.arena, &x) &&
                 map_find(item, Value::of_string(name), context.arena, &y) &&
                 is_equal(x, y, context.arena);
        }
      }
      if (!same) continue;
      items[k] = item;
      placed = true;
    }
    if (!placed) items[n++] = item;
  }
  return Value::of_list({items, n});
}

Value join_texts(Context& context, const Value& a, const Value& b) {
  size_t n = a.text.size + b.text.size;
  if (!context.charge(n / 10 + 1)) return Context::limit_error();
  char* p = static_cast<char*>(context.arena.allocate(n, 1));
  a.str().copy(p, a.text.size);
  b.str().copy(p + a.text.size, b.text.size);
  return a.kind == Kind::kString ? Value::of_string({p, n}) : Value::of_bytes({p, n});
}

Value move_timestamp(const Value& stamp, int64_t ns) {
  int64_t seconds = stamp.time.seconds + ns / 1'000'000'000;
  int64_t nanos = stamp.time.nanos + ns % 1'000'000'000;
  if (nanos < 0) {
    nanos += 1'000'000'000;
    --seconds;
  } else if (nanos >= 1'000'000'000) {
    nanos -= 1'000'000'000;
    ++seconds;
  }
  if (!timestamp_in_range(seconds)) return Value::error("timestamp overflow");
  return Value::of_timestamp(seconds, static_cast<int32_t>(nanos));
}

}  // namespace

Value add(Context& context, const Value& a, const Value& b) {
  if (a.kind == Kind::kTimestamp && b.kind == Kind::kDuration) return move_timestamp(a, b.integer);
  if (a.kind == Kind::kDuration && b.kind == Kind::kTimestamp) return move_timestamp(b, a.integer);
  if (a.kind == Kind::kNull || a.kind == Kind::kMap || a.kind == Kind::kBool)
    return Value::error("no such overload: _+_");
  if (a.kind != b.kind) return no_such_overload();
  int64_t sum = 0;
  uint64_t unsigned_sum = 0;
  switch (a.kind) {
    case Kind::kInt:
      if (__builtin_add_overflow(a.integer, b.integer, &sum))
        return Value::error("integer overflow");
      return Value::of_int(sum);
    case Kind::kUint:
      if (__builtin_add_overflow(a.unsigned_, b.unsigned_, &unsigned_sum))
        return Value::error("unsigned integer overflow");
      return Value::of_uint(unsigned_sum);
    case Kind::kDouble:
      return Value::of_double(a.real + b.real);
    case Kind::kDuration:
      if (__builtin_add_overflow(a.integer, b.integer, &sum))
        return Value::error("duration overflow");
      return Value::of_duration(sum);
    case Kind::kString:
    case Kind::kBytes:
      return join_texts(context, a, b);
    case Kind::kList:
      return join_lists(context, a, b);
    default:
      return no_such_overload();
  }
}

}  // namespace kueue::cel
