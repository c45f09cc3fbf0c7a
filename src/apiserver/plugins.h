// Admission plug-ins that are built in: pod priority, service account, default tolerations,
// LimitRange. Thread safe.
#pragma once

#include "apiserver/admission.h"

namespace kueue::apiserver {

Result<void> run_plugins(Call& call, const Attempt& attempt);

}  // namespace kueue::apiserver
