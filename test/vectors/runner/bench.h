// The manager's parts over the objects of a case, without anything that runs by itself. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "controllers/context.h"
#include "controllers/jobs/job.h"
#include "json/value.h"

namespace kueue::vectors {

// What one pass of a controller leaves.
struct Pass {
  std::map<std::string, json::Value> objects;  // by "Kind/namespace/name"
  std::vector<std::string> events;             // "Type Reason: note"
  Result<void> result;
};

// input.controller looks once at input.request.
Pass run_pass(const json::Value& test);
// For questions to parts of a controller; `kind` is that of batch Jobs.
void with_manager(const json::Value& test,
                  const std::function<void(controllers::Context& context,
                                           controllers::jobs::JobKind& kind)>& use);

}  // namespace kueue::vectors
