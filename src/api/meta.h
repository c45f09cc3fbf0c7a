// Types of metadata and of what all objects share: kueue::api::meta.
#pragma once

#include "api/gen/meta_v1.h"
