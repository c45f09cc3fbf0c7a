// Topology assignments of v1beta2: domains packed into slices, and back (behaviour.md 13.8). Pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/kueue.h"
#include "base/result.h"

namespace kueue::api {

// One domain of an assignment: its value at each level (outermost first) and how many pods it
// takes.
struct TopologyDomain {
  std::vector<std::string> values;
  int32_t count = 0;
  bool operator==(const TopologyDomain&) const = default;
};

inline constexpr size_t kMaxSlices = 1000;
inline constexpr size_t kMaxDomainsPerSlice = 100'000;

// Packs domains in their order. With `by_hostname_prefix` (gate
// TASAssignmentsEncodingByHostnamePrefix) and hostnames as lowest level, runs of hosts that share a
// hyphen-terminated prefix may become slices of their own, where that is shorter as JSON or a
// single slice would be too long.
v1beta2::TopologyAssignment pack_topology(const std::vector<std::string>& levels,
                                          const std::vector<TopologyDomain>& domains,
                                          bool by_hostname_prefix = true);

// All domains in order. kInvalid, with the slice's index, when counts do not match the lists or
// more than a million domains are named.
Result<std::vector<TopologyDomain>> unpack_topology(const v1beta2::TopologyAssignment& assignment);

}  // namespace kueue::api
