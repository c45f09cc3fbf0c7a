// Defaults of Pods and pod templates as Kubernetes applies them. Pure; thread safe.
#pragma once

#include "json/value.h"

namespace kueue::apiserver {

// Sets a member that is absent or null.
void set_default(json::Value& object, std::string_view key, json::Value value);
// For a PodSpec inside a template or a Pod.
void default_pod_spec(json::Value& spec);
// What a Pod gets beyond that: requests from limits, enableServiceLinks.
void default_pod(json::Value& pod);
// "Guaranteed", "Burstable" or "BestEffort".
std::string_view qos_class(const json::Value& pod_spec);

}  // namespace kueue::apiserver
