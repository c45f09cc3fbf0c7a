// What a pod of a pod set asks for (behaviour.md section 1), and whether that can be right.
// Internal to the bridge.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/core.h"
#include "bridge/to_engine.h"

namespace kueue::bridge {

using ResourceMap = std::map<std::string, api::Quantity, std::less<>>;

// LimitRanges of a namespace taken together: the largest min, the smallest max, the first defaults.
struct LimitSummary {
  struct Item {
    ResourceMap min, max, default_limit, default_request;
  };
  std::map<std::string, Item> by_type;  // Container, Pod
};
LimitSummary summarize(const std::vector<const api::core::LimitRange*>& ranges);

// The pod as it will be created: overhead, default limits and requests, limits as requests.
api::core::PodSpec adjusted(const api::core::PodSpec& spec, const LimitSummary& limits,
                            const Surroundings& around);
// Kubernetes' rule for what a pod requests.
ResourceMap pod_requests(const api::core::PodSpec& spec);
// Excluded prefixes and transformations.
ResourceMap quota_view(const ResourceMap& requests, const RequestRules& rules);
// After those: what devices take the place of goes, what they come to is added.
void add_devices(ResourceMap& requests, const DeviceRequests& devices);
// Fields whose requests exceed their limits, or the LimitRanges; "" when fine. `index` is the pod
// set's.
std::vector<std::string> limit_errors(const api::core::PodSpec& spec, size_t index);
std::vector<std::string> limit_range_errors(const api::core::PodSpec& spec,
                                            const LimitSummary& limits, size_t index);

}  // namespace kueue::bridge
