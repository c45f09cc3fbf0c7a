// Plays a case on an engine and writes down what it decides, as golden cases show it. One thread.
#pragma once

#include <string>
#include <vector>

#include "engine/testing/case_script.h"

namespace kueue::engine::testing {

struct CaseResult {
  std::string text;                 // below the dashes
  std::vector<std::string> errors;  // lines that make no sense
};

// Checks the invariants after each line.
CaseResult run_case(const std::string& world);

// One plan as text. `details` adds complete messages, priorities and requests.
std::string plan_text(const Plan& plan, bool details);
// All that can be asked of the state about queues, workloads and usage: equal states give equal
// texts.
std::string state_text(const State& state);

}  // namespace kueue::engine::testing
