// Amounts in internal units <-> Quantity. cpu counts in millicores, everything else in base units;
// memory-like resources are written with binary suffixes where that loses nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/quantity.h"
#include "base/amount.h"
#include "engine/model/nanos.h"

namespace kueue::bridge {

// Rounded up to the internal unit, saturating.
int64_t internal_amount(std::string_view resource, const api::Quantity& quantity);
// A quota: as internal_amount, where the largest value means Unlimited.
Amount quota_amount(std::string_view resource, const api::Quantity& quantity);
// In the unit that Kubernetes shows (cores for cpu).
api::Quantity quantity_of_nanos(engine::Nanos amount);
engine::Nanos nanos_of(const api::Quantity& quantity);
api::Quantity quantity_of(std::string_view resource, int64_t amount);

}  // namespace kueue::bridge
