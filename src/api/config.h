// The manager's configuration file: kueue::api::config.
#pragma once

#include "api/gen/config_v1beta2.h"
