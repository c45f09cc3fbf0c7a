#include "base/age.h"

namespace kueue {
namespace {

std::string number(int64_t n) { return std::to_string(n); }

std::string two(int64_t a, char unit_a, int64_t b, char unit_b) {
  std::string text = number(a) + unit_a;
  return b == 0 ? text : text + number(b) + unit_b;
}

}  // namespace

std::string human_duration(Duration d) {
  int64_t s = d.ns / 1'000'000'000;
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  if (s < 120) return number(s) + "s";
  int64_t m = s / 60;
  if (m < 10) return two(m, 'm', s % 60, 's');
  if (m < 180) return number(m) + "m";
  int64_t h = s / 3600;
  if (h < 8) return two(h, 'h', m % 60, 'm');
  if (h < 48) return number(h) + "h";
  int64_t days = h / 24;
  if (h < 192) return two(days, 'd', h % 24, 'h');
  if (h < 24 * 365 * 2) return number(days) + "d";
  int64_t years = days / 365;
  if (h < 24 * 365 * 8) return two(years, 'y', days % 365, 'd');
  return number(years) + "y";
}

}  // namespace kueue
