// Amounts as the texts of conditions show them: canonical Kubernetes quantities.
#pragma once

#include <string>
#include <string_view>

#include "base/amount.h"

namespace kueue::engine {

// cpu counts in millicores ("1500m", "2"); memory, ephemeral-storage and hugepages-* use binary
// suffixes where they lose nothing; the rest decimal ones. Unlimited is "+Inf".
std::string quantity_text(std::string_view resource, Amount amount);

}  // namespace kueue::engine
