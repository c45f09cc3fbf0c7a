// What `kueue explain workload` shows, and why there may be nothing to show.
#pragma once

#include <string>

#include "cli/actions.h"
#include "json/value.h"

namespace kueue::cli {

// The document of the visibility API as text. Lines are broken at `width` columns; 0 = nowhere.
std::string explanation_text(const json::Value& explanation, bool colours, size_t width);

// Why this job has no Workload, as an error for its user: the job is not there, names no queue, is
// not managed, or nobody makes one.
Error why_no_workload(const Context& context, const ResourceType& type, const std::string& name);

}  // namespace kueue::cli
