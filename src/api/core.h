// Pods, Nodes, Namespaces and the small kinds around them:
// kueue::api::{core,node,scheduling,coordination,events}.
#pragma once

#include "api/gen/coordination_v1.h"
#include "api/gen/core_v1.h"
#include "api/gen/events_v1.h"
#include "api/gen/node_v1.h"
#include "api/gen/scheduling_v1.h"
