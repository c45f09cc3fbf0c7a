// ValidatingAdmissionPolicies with their bindings and parameters. Thread safe.
#pragma once

#include "apiserver/admission.h"

namespace kueue::apiserver {

// The first denial of a policy that is bound with action Deny; Warn adds warnings to the call.
Result<void> run_policies(Call& call, const Attempt& attempt);

}  // namespace kueue::apiserver
