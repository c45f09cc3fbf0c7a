// Snapshots and plans of the engine as JSON: what a state dump holds, and what a replay prints.
// Pure functions.
#pragma once

#include "base/result.h"
#include "engine/explain/why.h"
#include "engine/explanation.h"
#include "engine/snapshot.h"
#include "json/value.h"

namespace kueue::bridge {

inline constexpr const char* kDumpFormat = "kueue-state/v1";

// {"format", "cycle": {"now", "everyHead"}, "state": …}
json::Value dump(const engine::Snapshot& snapshot, const engine::CycleInput& input);

struct Dump {
  engine::Snapshot snapshot;
  engine::CycleInput input;
};
// kInvalid with the path of the first field that is not as it must be.
Result<Dump> read_dump(const json::Value& document);

// Everything a plan says: commands, decisions with their reasons, counters.
json::Value plan_json(const engine::Plan& plan);
// The same for people: one paragraph per workload that was looked at.
std::string plan_text(const engine::Plan& plan);
// Why a workload waits.
json::Value why_json(const engine::Why& why);
std::string why_text(const engine::Why& why);

}  // namespace kueue::bridge
