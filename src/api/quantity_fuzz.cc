// Quantity under arbitrary text: parsing never fails in other ways than an error, and canonical
// text is stable.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/quantity.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kueue::api::Quantity;
  auto parsed = Quantity::parse({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) return 0;
  const std::string text = parsed->to_string();
  auto again = Quantity::parse(text);
  KUEUE_CHECK(again.ok(), "canonical text parses");
  KUEUE_CHECK(*again == *parsed, "canonical text keeps the value");
  // "1.5Ki" is written "1536", which read again has no binary suffix: after that it stays as it is.
  const std::string settled = again->to_string();
  KUEUE_CHECK(Quantity::parse(settled)->to_string() == settled, "canonical text settles");
  Quantity sum = *parsed + *parsed;
  sum.sub(*parsed);
  sum.multiply(3);
  (void)sum.value();
  (void)parsed->milli_value();
  (void)parsed->scaled_value(-9);
  (void)parsed->as_double();
  return 0;
}
