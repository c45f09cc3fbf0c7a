// Pending workloads for the visibility API, from the manager's caches and engine. Thread safe.
#pragma once

#include <memory>

#include "controllers/manager.h"
#include "visibility/handler.h"

namespace kueue::app {

// The manager must outlive it.
std::unique_ptr<visibility::Source> make_visibility_source(controllers::Manager& manager);

}  // namespace kueue::app
