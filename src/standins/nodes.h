// Nodes of a playground from a short text. Pure functions, thread safe.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"

namespace kueue::standins {

// Groups joined by '+', each "COUNTxCPUScpu,MEMORY[,NAME=QUANTITY...]": "4x8cpu,32Gi" is four nodes
// of 8 CPUs and 32Gi; "2x8cpu,32Gi,nvidia.com/gpu=8". At most 10,000 nodes, named node-1, node-2, …
// over all groups, Ready, with the labels that real nodes have. "" and "none" give none. kInvalid
// names the part that is wrong.
Result<std::vector<json::Value>> parse_nodes(std::string_view text, Instant now);

}  // namespace kueue::standins
