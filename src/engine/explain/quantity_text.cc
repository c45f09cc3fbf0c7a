#include "engine/explain/quantity_text.h"

namespace kueue::engine {
namespace {

// value * 10^exponent with the largest decimal suffix that loses nothing; exponent is -3 or 0.
std::string decimal_text(int64_t value, int exponent) {
  if (value == 0) return "0";
  while (exponent < 18 && value % 1000 == 0) {
    value /= 1000;
    exponent += 3;
  }
  constexpr const char* kSuffixes[] = {"m", "", "k", "M", "G", "T", "P", "E"};
  return std::to_string(value) + kSuffixes[(exponent + 3) / 3];
}

std::string binary_text(int64_t value) {
  if (value == 0 || value % 1024 != 0) return decimal_text(value, 0);
  constexpr const char* kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  int i = 0;
  while (i < 6 && value % 1024 == 0) {
    value /= 1024;
    ++i;
  }
  return std::to_string(value) + kSuffixes[i];
}

}  // namespace

std::string quantity_text(std::string_view resource, Amount amount) {
  if (amount.is_unlimited()) return "+Inf";
  if (resource == "cpu") return decimal_text(amount.value(), -3);
  if (resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-"))
    return binary_text(amount.value());
  return decimal_text(amount.value(), 0);
}

}  // namespace kueue::engine
