#include "bridge/quantities.h"

namespace kueue::bridge {
namespace {

bool binary(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

}  // namespace

int64_t internal_amount(std::string_view resource, const api::Quantity& quantity) {
  return resource == "cpu" ? quantity.milli_value() : quantity.value();
}

Amount quota_amount(std::string_view resource, const api::Quantity& quantity) {
  return Amount(internal_amount(resource, quantity));
}

api::Quantity quantity_of(std::string_view resource, int64_t amount) {
  if (resource == "cpu") return api::Quantity::of_milli(amount);
  const bool in_kibi = binary(resource) && amount % 1024 == 0;
  return api::Quantity::of(
      amount, in_kibi ? api::QuantityFormat::kBinarySI : api::QuantityFormat::kDecimalSI);
}

api::Quantity quantity_of_nanos(engine::Nanos amount) {
  constexpr engine::Nanos kBillion = 1'000'000'000;
  api::Quantity whole = api::Quantity::of(static_cast<int64_t>(amount / kBillion));
  whole.add(api::Quantity::of_nano(static_cast<int64_t>(amount % kBillion)));
  return whole;
}

engine::Nanos nanos_of(const api::Quantity& quantity) {
  int64_t whole = quantity.value();  // rounded away from zero
  api::Quantity rest = quantity;
  rest.sub(api::Quantity::of(whole));
  return static_cast<engine::Nanos>(whole) * 1'000'000'000 + rest.scaled_value(-9);
}

}  // namespace kueue::bridge
