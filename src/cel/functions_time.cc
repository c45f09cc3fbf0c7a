// Timestamps and durations: construction and getters.
#include <cmath>

#include "cel/functions.h"
#include "cel/time.h"

namespace kueue::cel {
namespace {

Value timestamp(Context& context, Arguments a) {
  if (a[0].kind == Kind::kTimestamp) return a[0];
  if (a[0].kind == Kind::kInt) {
    if (!timestamp_in_range(a[0].integer)) return Value::error("timestamp overflow");
    return Value::of_timestamp(a[0].integer, 0);
  }
  if (a[0].kind != Kind::kString) return no_such_overload();
  Value::Seconds t{};
  if (!parse_timestamp(a[0].str(), &t))
    return make_error(context.arena,
                      "type conversion error from 'string' to 'google.protobuf.Timestamp'");
  return Value::of_timestamp(t.seconds, t.nanos, t.offset);
}

Value duration(Context& context, Arguments a) {
  if (a[0].kind == Kind::kDuration) return a[0];
  if (a[0].kind == Kind::kInt) return Value::of_duration(a[0].integer);
  if (a[0].kind != Kind::kString) return no_such_overload();
  int64_t ns = 0;
  if (!parse_go_duration(a[0].str(), &ns))
    return make_error(context.arena,
                      "type conversion error from 'string' to 'google.protobuf.Duration'");
  return Value::of_duration(ns);
}

enum class Part {
  kYear,
  kMonth,
  kDate,
  kDayOfMonth,
  kDayOfWeek,
  kDayOfYear,
  kHours,
  kMinutes,
  kSeconds,
  kMillis
};

Value part_of_duration(int64_t ns, Part part) {
  switch (part) {
    case Part::kHours:
      return Value::of_int(ns / 3'600'000'000'000);
    case Part::kMinutes:
      return Value::of_int(ns / 60'000'000'000);
    case Part::kSeconds:
      return Value::of_int(ns / 1'000'000'000);
    case Part::kMillis:
      return Value::of_int(ns / 1'000'000);
    default:
      return no_such_overload();
  }
}

template <Part part>
Value get(Context& context, Arguments a) {
  if (a[0].kind == Kind::kDuration && a.size() == 1) return part_of_duration(a[0].integer, part);
  if (a[0].kind != Kind::kTimestamp) return no_such_overload();
  int64_t offset = 0;
  if (a.size() == 2) {
    if (a[1].kind != Kind::kString) return no_such_overload();
    if (!parse_zone(a[1].str(), &offset))
      return make_error(context.arena, "unknown time zone " + std::string(a[1].str()));
  }
  Civil c = civil_from_seconds(a[0].time.seconds + offset);
  switch (part) {
    case Part::kYear:
      return Value::of_int(c.year);
    case Part::kMonth:
      return Value::of_int(c.month - 1);
    case Part::kDate:
      return Value::of_int(c.day);
    case Part::kDayOfMonth:
      return Value::of_int(c.day - 1);
    case Part::kDayOfWeek:
      return Value::of_int(c.weekday);
    case Part::kDayOfYear:
      return Value::of_int(c.year_day);
    case Part::kHours:
      return Value::of_int(c.hour);
    case Part::kMinutes:
      return Value::of_int(c.minute);
    case Part::kSeconds:
      return Value::of_int(c.second);
    case Part::kMillis:
      return Value::of_int(a[0].time.nanos / 1'000'000);
  }
  return no_such_overload();
}

constexpr std::string_view kDateSignature = "T:i|T,s:i";
constexpr std::string_view kTimeSignature = "T:i|T,s:i|D:i";

constexpr Function kFunctions[] = {
    {"timestamp", false, 1, 1, timestamp, "T:T|s:T|i:T"},
    {"duration", false, 1, 1, duration, "D:D|s:D|i:D"},
    {"getFullYear", true, 1, 2, get<Part::kYear>, kDateSignature},
    {"getMonth", true, 1, 2, get<Part::kMonth>, kDateSignature},
    {"getDate", true, 1, 2, get<Part::kDate>, kDateSignature},
    {"getDayOfMonth", true, 1, 2, get<Part::kDayOfMonth>, kDateSignature},
    {"getDayOfWeek", true, 1, 2, get<Part::kDayOfWeek>, kDateSignature},
    {"getDayOfYear", true, 1, 2, get<Part::kDayOfYear>, kDateSignature},
    {"getHours", true, 1, 2, get<Part::kHours>, kTimeSignature},
    {"getMinutes", true, 1, 2, get<Part::kMinutes>, kTimeSignature},
    {"getSeconds", true, 1, 2, get<Part::kSeconds>, kTimeSignature},
    {"getMilliseconds", true, 1, 2, get<Part::kMillis>, kTimeSignature},
};

}  // namespace

std::span<const Function> time_functions() { return kFunctions; }

}  // namespace kueue::cel
