// Jobs: kueue::api::batch.
#pragma once

#include "api/gen/batch_v1.h"
