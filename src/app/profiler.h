// Profiler: where the process spends its CPU time, sampled a hundred times per second of it. One
// profile at a time per process. Thread safe.
#pragma once

#include <string>

#include "base/result.h"

namespace kueue::app {

// kAlreadyExists while another profile is taken.
Result<void> start_cpu_profile();
// The samples since start_cpu_profile(), in the legacy format of CPU profiles that pprof reads:
// words of 64 bits, then the memory map. Empty when none is taken.
std::string stop_cpu_profile();

// Threads with their names and the CPU seconds they have used, as JSON; and process metrics in the
// Prometheus text format, as every Prometheus client library has them.
std::string threads_json();
std::string process_metrics_text();

}  // namespace kueue::app
