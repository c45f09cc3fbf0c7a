// The CustomResourceDefinitions of kueue.x-k8s.io on the embedded server: real CRD objects, as on
// any cluster, with conversion in process. Called at every start; does nothing where they are up to
// date.
#pragma once

#include "apiserver/server.h"
#include "base/result.h"

namespace kueue::app {

// The field manager of what an installation would apply: kubectl's, as most are made with it.
inline constexpr const char* kInstaller = "kubectl";

// Creates or updates the eleven CRDs and waits until their kinds are served.
Result<void> install_kueue_definitions(apiserver::Server& server);

}  // namespace kueue::app
