// What is known about one Workload, for people and programs: its state in a sentence, what it waits
// for with numbers, which change would let it in, when it will start or why nobody can say, and its
// journal. docs/design/journal.md names the fields. Nothing of it stands in objects.
#pragma once

#include <optional>

#include "controllers/context.h"
#include "json/value.h"
#include "kube/client.h"

namespace kueue::controllers {

// A document of kind WorkloadExplanation; nullopt when there is no such Workload. Costs a pass over
// the pending workloads of its ClusterQueue.
std::optional<json::Value> explain_workload(Context& context, const kube::ObjectKey& key);

}  // namespace kueue::controllers
