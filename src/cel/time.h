// Calendar and text forms of CEL's timestamps and durations: years 1 to 9999, nanoseconds, UTC or a
// fixed offset. Pure; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace kueue::cel {

struct Civil {
  int64_t year;
  int month;  // 1..12
  int day;    // 1..31
  int hour, minute, second;
  int weekday;   // 0 = Sunday
  int year_day;  // 0..365
};

Civil civil_from_seconds(int64_t seconds);
// Seconds since 1970 of a date of the proleptic Gregorian calendar.
int64_t seconds_from_civil(int64_t year, int month, int day, int hour, int minute, int second);

// RFC 3339. False when the text is none or lies outside of the years 1 to 9999.
bool parse_timestamp(std::string_view text, Value::Seconds* out);
// Go's duration text ("1h30m", "-1.5s", "0"). False when it is none or overflows.
bool parse_go_duration(std::string_view text, int64_t* ns);
// Seconds east of UTC of "UTC", "Z", "+02:00", "-08:30", "02:00". False for names that need a time
// zone database.
bool parse_zone(std::string_view text, int64_t* offset_seconds);
// Within the years 1 to 9999.
bool timestamp_in_range(int64_t seconds);

}  // namespace kueue::cel
