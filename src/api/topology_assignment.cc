// Packing of topology domains.
#include "api/topology_assignment.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

#include "json/json.h"
#include "schema/codec.h"

namespace kueue::api {
namespace {

using v1beta2::TopologyAssignment;
using v1beta2::TopologyAssignmentSlice;
using v1beta2::TopologyAssignmentSliceLevelValues;

constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr size_t kMaxDomains = 1'000'000;

size_t common_prefix(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

size_t common_suffix(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return n;
}

TopologyAssignmentSliceLevelValues pack_level(std::span<const TopologyDomain> domains,
                                              size_t level) {
  const std::string& first = domains[0].values[level];
  size_t prefix = first.size(), suffix = first.size(), shortest = first.size();
  bool equal = true;
  for (const TopologyDomain& domain : domains) {
    const std::string& value = domain.values[level];
    equal = equal && value == first;
    prefix = std::min(prefix, common_prefix(first, value));
    suffix = std::min(suffix, common_suffix(first, value));
    shortest = std::min(shortest, value.size());
  }
  TopologyAssignmentSliceLevelValues packed;
  if (equal) {
    packed.universal = first;
    return packed;
  }
  // The two must not overlap in the shortest value; the suffix goes first.
  prefix = std::min(prefix, shortest - suffix);
  auto& individual = packed.individual.emplace();
  individual.prefix = first.substr(0, prefix);
  individual.suffix = first.substr(first.size() - suffix);
  individual.roots.reserve(domains.size());
  for (const TopologyDomain& domain : domains) {
    const std::string& value = domain.values[level];
    individual.roots.push_back(value.substr(prefix, value.size() - prefix - suffix));
  }
  return packed;
}

TopologyAssignmentSlice pack_slice(std::span<const TopologyDomain> domains, size_t levels) {
  TopologyAssignmentSlice slice;
  slice.domain_count = static_cast<int32_t>(domains.size());
  for (size_t level = 0; level < levels; ++level)
    slice.values_per_level.push_back(pack_level(domains, level));
  const bool equal = std::all_of(domains.begin(), domains.end(), [&](const TopologyDomain& d) {
    return d.count == domains[0].count;
  });
  if (equal) {
    slice.pod_counts.universal = domains[0].count;
  } else {
    for (const TopologyDomain& domain : domains)
      slice.pod_counts.individual.push_back(domain.count);
  }
  return slice;
}

// The part of a host's name up to and with its n-th hyphen; "" when it has fewer.
std::string_view prefix_at(std::string_view host, size_t depth) {
  size_t end = 0;
  for (; depth > 0; --depth) {
    const size_t hyphen = host.find('-', end);
    if (hyphen == std::string_view::npos) return {};
    end = hyphen + 1;
  }
  return host.substr(0, end);
}

// One key per host: its longest hyphen-terminated prefix of at most `depth` hyphens that another
// host has too.
std::vector<std::string_view> prefix_keys(std::span<const TopologyDomain> domains, size_t depth) {
  std::vector<std::string_view> keys(domains.size());
  for (size_t d = 1; d <= depth; ++d) {
    std::map<std::string_view, size_t> users;
    for (const TopologyDomain& domain : domains) {
      std::string_view prefix = prefix_at(domain.values.back(), d);
      if (!prefix.empty()) ++users[prefix];
    }
    for (size_t i = 0; i < domains.size(); ++i) {
      std::string_view prefix = prefix_at(domains[i].values.back(), d);
      if (!prefix.empty() && users[prefix] > 1) keys[i] = prefix;
    }
  }
  return keys;
}

using Run = std::span<const TopologyDomain>;

// Consecutive domains of equal key, in chunks that fit one slice.
std::vector<Run> runs_of(Run domains, const std::vector<std::string_view>& keys) {
  std::vector<Run> runs;
  for (size_t start = 0; start < domains.size();) {
    size_t end = start + 1;
    while (end < domains.size() && end - start < kMaxDomainsPerSlice && keys[end] == keys[start])
      ++end;
    runs.push_back(domains.subspan(start, end - start));
    start = end;
  }
  return runs;
}

// The finest split by prefix that stays within the number of slices; without any, plain chunks.
std::vector<Run> prefix_runs(Run domains, bool hostnames) {
  size_t depth = 0;
  if (hostnames) {
    for (const TopologyDomain& domain : domains) {
      const std::string& host = domain.values.back();
      depth = std::max(depth, static_cast<size_t>(std::count(host.begin(), host.end(), '-')));
    }
  }
  for (; depth > 0; --depth) {
    std::vector<Run> runs = runs_of(domains, prefix_keys(domains, depth));
    if (runs.size() <= kMaxSlices) return runs;
  }
  return runs_of(domains, std::vector<std::string_view>(domains.size()));
}

TopologyAssignment pack_runs(const std::vector<std::string>& levels, const std::vector<Run>& runs) {
  TopologyAssignment assignment;
  assignment.levels = levels;
  for (Run run : runs) assignment.slices.push_back(pack_slice(run, levels.size()));
  return assignment;
}

Error slice_error(size_t index, const std::string& detail) {
  const std::string field = "slices[" + std::to_string(index) + "]";
  Error error = make_error(ErrorCode::kInvalid, field + ": " + detail);
  error.causes.push_back({.reason = "FieldValueInvalid", .message = detail, .field = field});
  return error;
}

}  // namespace

TopologyAssignment pack_topology(const std::vector<std::string>& levels,
                                 const std::vector<TopologyDomain>& domains,
                                 bool by_hostname_prefix) {
  if (domains.empty()) return pack_runs(levels, {});
  const Run all(domains);
  const bool too_long = domains.size() > kMaxDomainsPerSlice;
  if (!by_hostname_prefix && !too_long) return pack_runs(levels, {all});
  TopologyAssignment split = pack_runs(
      levels,
      prefix_runs(all, by_hostname_prefix && !levels.empty() && levels.back() == kHostname));
  if (too_long || split.slices.size() == 1) return split;
  TopologyAssignment single = pack_runs(levels, {all});
  const size_t split_bytes = json::write(schema::encode(split)).size();
  const size_t single_bytes = json::write(schema::encode(single)).size();
  return split_bytes <= single_bytes ? split : single;
}

Result<std::vector<TopologyDomain>> unpack_topology(const TopologyAssignment& assignment) {
  std::vector<TopologyDomain> domains;
  for (size_t i = 0; i < assignment.slices.size(); ++i) {
    const TopologyAssignmentSlice& slice = assignment.slices[i];
    if (slice.domain_count < 0) return slice_error(i, "domainCount must not be negative");
    const auto count = static_cast<size_t>(slice.domain_count);
    if (domains.size() + count > kMaxDomains) return slice_error(i, "more than 1000000 domains");
    if (slice.values_per_level.size() != assignment.levels.size()) {
      return slice_error(i, "valuesPerLevel must have one entry for each level");
    }
    for (const auto& level : slice.values_per_level) {
      if (level.individual && level.individual->roots.size() != count)
        return slice_error(i, "roots must have domainCount entries");
    }
    const auto& pods = slice.pod_counts;
    if (!pods.universal && pods.individual.size() != count) {
      return slice_error(i, "podCounts must have domainCount entries");
    }
    for (size_t d = 0; d < count; ++d) {
      TopologyDomain& domain = domains.emplace_back();
      for (const auto& level : slice.values_per_level) {
        domain.values.push_back(level.individual
                                    ? level.individual->prefix + level.individual->roots[d] +
                                          level.individual->suffix
                                    : level.universal);
      }
      domain.count = pods.universal ? *pods.universal : pods.individual[d];
    }
  }
  return domains;
}

}  // namespace kueue::api
