// Conversion of kueue.x-k8s.io objects between v1beta1 and v1beta2 (api.md, "v1beta1 differences").
// Pure functions.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace kueue::api {

// `object` as an object of `version` ("v1beta1" or "v1beta2"); itself when it is one already. Works
// on documents, so fields that neither version knows stay. What only one version can say is left
// out: v1beta1 status.flavors of a LocalQueue, preemption gates of a v1beta2 Workload, and so on.
// Lists of kueue kinds are converted item by item. kBadRequest for another group, kind or version;
// kInvalid for a topology assignment that contradicts itself.
Result<json::Value> convert_kueue(json::Value object, std::string_view version);

}  // namespace kueue::api
