// Our own kinds, kueue.x-k8s.io/v1beta2 and visibility: kueue::api::{v1beta2,visibility}.
#pragma once

#include "api/gen/kueue_v1beta2.h"
#include "api/gen/visibility_v1beta2.h"
