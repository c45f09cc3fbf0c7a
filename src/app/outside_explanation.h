// The explanation of a Workload without its manager: a manager that takes no decision and writes
// nothing reads the objects and says what it sees. It knows no history.
#pragma once

#include <string>

#include "base/result.h"
#include "json/value.h"
#include "kube/kubeconfig.h"

namespace kueue::app {

// kNotFound when there is no such Workload, kTimeout when the objects could not be read in half a
// minute, and the server's own errors. Takes the default Configuration; blocks.
Result<json::Value> explain_from_outside(const kube::ClientConfig& cluster,
                                         const std::string& namespace_, const std::string& name);

}  // namespace kueue::app
