// The finalizer that keeps queues and flavors while they are used.
#pragma once

#include "json/value.h"

namespace kueue::webhooks {

// Adds kueue.x-k8s.io/resource-in-use when it is not there.
void add_finalizer(json::Value& object);

}  // namespace kueue::webhooks
