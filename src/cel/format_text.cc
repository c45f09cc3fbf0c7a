#include "cel/format_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cel/bodies.h"

namespace kueue::cel {
namespace {

bool plain_text(Context& context, const Value& v, bool nested, std::string* out);

bool list_text(Context& context, const Value& v, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < container_size(v); ++i) {
    if (i > 0) *out += ", ";
    if (!plain_text(context, list_item(v, i, context.arena), true, out)) return false;
  }
  *out += ']';
  return true;
}

// Members in the order of their texts.
bool map_text(Context& context, const Value& v, std::string* out) {
  std::vector<std::string> members;
  for (size_t i = 0; i < container_size(v); ++i) {
    Entry entry = map_entry(v, i, context.arena);
    std::string member;
    if (!plain_text(context, entry.key, true, &member)) return false;
    member += ':';
    if (!plain_text(context, entry.value, true, &member)) return false;
    members.push_back(std::move(member));
  }
  std::sort(members.begin(), members.end());
  *out += '{';
  for (size_t i = 0; i < members.size(); ++i) *out += (i > 0 ? ", " : "") + members[i];
  *out += '}';
  return true;
}

// The text of %s. Inside of lists and maps texts are quoted, times named and doubles have six
// places. False for values without a text.
bool plain_text(Context& context, const Value& v, bool nested, std::string* out) {
  if (!context.charge(1)) return false;
  auto around = [&](std::string_view before, std::string_view after) {
    if (nested) *out += before;
    *out += body_text(v);
    if (nested) *out += after;
    return true;
  };
  switch (v.kind) {
    case Kind::kString:
      return around("\"", "\"");
    case Kind::kBytes:
      return around("b\"", "\"");
    case Kind::kTimestamp:
      return around("timestamp(\"", "\")");
    case Kind::kDuration:
      return around("duration(\"", "\")");
    case Kind::kDouble:
      if (nested && std::isfinite(v.real)) {
        *out += fmt::format("{:.6f}", v.real);
        return true;
      }
      return around("", "");
    case Kind::kNull:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kType:
      return around("", "");
    case Kind::kList:
      return list_text(context, v, out);
    case Kind::kMap:
      return map_text(context, v, out);
    default:
      return false;
  }
}

std::string hex_of(std::string_view bytes, bool upper) {
  std::string out;
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    out += upper ? fmt::format("{:02X}", byte) : fmt::format("{:02x}", byte);
  }
  return out;
}

// Integers in base 2, 8 or 16.
bool in_base(const Value& v, char clause, std::string* out) {
  uint64_t magnitude = 0;
  if (v.kind == Kind::kInt) {
    magnitude =
        v.integer < 0 ? 0 - static_cast<uint64_t>(v.integer) : static_cast<uint64_t>(v.integer);
    if (v.integer < 0) *out += '-';
  } else if (v.kind == Kind::kUint) {
    magnitude = v.unsigned_;
  } else if (v.kind == Kind::kBool && clause == 'b') {
    magnitude = v.boolean ? 1 : 0;
  } else if ((v.kind == Kind::kString || v.kind == Kind::kBytes) &&
             (clause == 'x' || clause == 'X')) {
    *out += hex_of(v.str(), clause == 'X');
    return true;
  } else {
    return false;
  }
  switch (clause) {
    case 'b':
      *out += fmt::format("{:b}", magnitude);
      break;
    case 'o':
      *out += fmt::format("{:o}", magnitude);
      break;
    case 'x':
      *out += fmt::format("{:x}", magnitude);
      break;
    default:
      *out += fmt::format("{:X}", magnitude);
  }
  return true;
}

bool decimal(const Value& v, std::string* out) {
  if (v.kind != Kind::kInt && v.kind != Kind::kUint) return false;
  *out += body_text(v);
  return true;
}

// Thousands apart by commas.
std::string grouped(std::string text) {
  size_t end = std::min(text.find('.'), text.size());
  size_t first = text.starts_with('-') ? 1 : 0;
  for (size_t i = end; i > first + 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

// 1.234500e+03 is written 1.234500x10 with a raised 03.
std::string scientific(double d) {
  static constexpr std::string_view kRaised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                                 "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text = fmt::format("{:.6e}", d);
  size_t e = text.find('e');
  std::string out = text.substr(0, e) + "\u00d710";
  if (text[e + 1] == '-') out += "\u207b";
  for (char c : text.substr(e + 2)) out += kRaised[c - '0'];
  return out;
}

bool floating(const Value& v, char clause, int precision, std::string* out) {
  if (v.kind != Kind::kDouble) return false;
  if (std::isnan(v.real) || std::isinf(v.real)) {
    *out += std::isnan(v.real) ? "NaN" : v.real > 0 ? "\u221e" : "-\u221e";
  } else {
    *out += clause == 'f' ? grouped(fmt::format("{:.{}f}", v.real, precision)) : scientific(v.real);
  }
  return true;
}

std::string_view accepts(char clause) {
  switch (clause) {
    case 's':
      return "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
             "types, durations, and "
             "timestamps";
    case 'd':
      return "decimal clause can only be used on integers";
    case 'f':
      return "fixed-point clause can only be used on doubles";
    case 'e':
      return "scientific clause can only be used on doubles";
    case 'b':
      return "binary clause can only be used on integers and bools";
    case 'o':
      return "octal clause can only be used on integers";
    default:
      return "hex clause can only be used on integers, byte buffers, and strings";
  }
}

}  // namespace

Value format_text(Context& context, std::string_view pattern, const Value& arguments) {
  std::string out;
  size_t next = 0;
  size_t count = container_size(arguments);
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    if (++i >= pattern.size()) return Value::error("unexpected end of string");
    if (pattern[i] == '%') {
      out += '%';
      continue;
    }
    int precision = 6;
    if (pattern[i] == '.') {
      precision = 0;
      while (++i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9' && precision < 1000)
        precision = precision * 10 + (pattern[i] - '0');
      if (i >= pattern.size() || precision >= 1000)
        return Value::error("could not parse formatting clause");
    }
    if (next >= count)
      return make_error(context.arena, "index " + std::to_string(next) + " out of range");
    Value v = list_item(arguments, next++, context.arena);
    char clause = pattern[i];
    bool ok = false;
    if (clause == 's') {
      ok = plain_text(context, v, false, &out);
    } else if (clause == 'd') {
      ok = decimal(v, &out);
    } else if (clause == 'f' || clause == 'e') {
      ok = floating(v, clause, precision, &out);
    } else if (clause == 'b' || clause == 'x' || clause == 'X' || clause == 'o') {
      ok = in_base(v, clause, &out);
    } else {
      return make_error(
          context.arena,
          std::string("could not parse formatting clause: unrecognized formatting clause \"") +
              clause + "\"");
    }
    if (context.exceeded || !context.charge(out.size() / 100)) return Context::limit_error();
    if (!ok)
      return make_error(context.arena, "error during formatting: " + std::string(accepts(clause)) +
                                           ", was given " + std::string(type_name(v)));
  }
  return string_value(context, out);
}

}  // namespace kueue::cel
