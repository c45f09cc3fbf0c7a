// The objects every cluster has from its first moment.
#pragma once

#include "base/result.h"

namespace kueue::apiserver {

class Core;

// Creates those that are missing: namespaces, system priority classes. Kinds that are not served
// are left out.
Result<void> bootstrap_objects(Core& core);

}  // namespace kueue::apiserver
