// The parts of an installation, one function each. Strings may hold ${NAMESPACE} and ${IMAGE},
// which the caller replaces.
#pragma once

#include <vector>

#include "json/value.h"

namespace kueue::install {

std::vector<json::Value> namespace_objects();
std::vector<json::Value> rbac_objects();
std::vector<json::Value> config_objects();
std::vector<json::Value> service_objects();
std::vector<json::Value> deployment_objects();
std::vector<json::Value> visibility_objects();
std::vector<json::Value> flow_control_objects();

// app.kubernetes.io labels of everything.
json::Value common_labels();

}  // namespace kueue::install
