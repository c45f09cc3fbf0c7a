// A document as Go prints one of Kubernetes' structs in an error: members in the order of the
// struct, not of their names.
#pragma once

#include <string>

#include "json/value.h"

namespace kueue::webhooks {

// Compact JSON of a pod set or of a reservation (and what they contain); members whose place is not
// known follow by name.
std::string ordered_text(const json::Value& value);

}  // namespace kueue::webhooks
