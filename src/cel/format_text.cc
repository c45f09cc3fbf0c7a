#include "cel/format_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cel/bodies.h"

namespace kueue::cel {
namespace {

// The text of %s. Inside of lists and maps texts are quoted. False for values without a text.
bool plain_text(Context& context, const Value& v, bool nested, std::string* out) {
  if (!context.charge(1)) return false;
  switch (v.kind) {
    case Kind::kString:
    case Kind::kBytes:
      if (nested) {
        *out += '"';
        *out += v.str();
        *out += '"';
      } else {
        *out += v.str();
      }
      return true;
    case Kind::kTimestamp:
    case Kind::kDuration:
      *out += body_text(v);
      return true;
    case Kind::kType:
      *out += v.str();
      return true;
    case Kind::kNull:
      *out += "null";
      return true;
    case Kind::kList: {
      *out += '[';
      for (size_t i = 0; i < container_size(v); ++i) {
        if (i > 0) *out += ", ";
        if (!plain_text(context, list_item(v, i, context.arena), true, out)) return false;
      }
      *out += ']';
      return true;
    }
    case Kind::kMap: {
      std::vector<std::string> members;
      for (size_t i = 0; i < container_size(v); ++i) {
        Entry entry = map_entry(v, i, context.arena);
        std::string member;
        if (!plain_text(context, entry.key, true, &member)) return false;
        member += ": ";
        if (!plain_text(context, entry.value, true, &member)) return false;
        members.push_back(std::move(member));
      }
      std::sort(members.begin(), members.end());
      *out += '{';
      for (size_t i = 0; i < members.size(); ++i) *out += (i > 0 ? ", " : "") + members[i];
      *out += '}';
      return true;
    }
    case Kind::kOptional:
    case Kind::kError:
      return false;
    default:
      *out += body_text(v);
      return true;
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

bool as_real(const Value& v, double* out) {
  if (v.kind == Kind::kDouble) *out = v.real;
  if (v.kind == Kind::kInt) *out = static_cast<double>(v.integer);
  if (v.kind == Kind::kUint) *out = static_cast<double>(v.unsigned_);
  return v.is_number();
}

bool decimal(const Value& v, std::string* out) {
  if (!v.is_number()) return false;
  if (v.kind == Kind::kDouble && std::isfinite(v.real)) {
    *out += fmt::format("{:.6f}", v.real);
  } else {
    *out += body_text(v);
  }
  return true;
}

bool floating(const Value& v, char clause, int precision, std::string* out) {
  double d = 0;
  if (!as_real(v, &d)) return false;
  if (std::isnan(d) || std::isinf(d)) {
    *out += std::isnan(d) ? "NaN" : d > 0 ? "Infinity" : "-Infinity";
  } else {
    *out +=
        clause == 'f' ? fmt::format("{:.{}f}", d, precision) : fmt::format("{:.{}e}", d, precision);
  }
  return true;
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
      return make_error(context.arena, std::string("error during formatting: %") + clause +
                                           " clause does not accept type " +
                                           std::string(type_name(v)));
  }
  return string_value(context, out);
}

}  // namespace kueue::cel
