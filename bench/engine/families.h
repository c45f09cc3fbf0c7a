// The families of measurements, and what they report. Each file registers its own.
#pragma once

#include <benchmark/benchmark.h>

#include "lab.h"

namespace kueue::engine::bench {

void register_drains();
void register_topology();
void register_preemption();
void register_fair_sharing();
void register_memory();
void register_growth();

// Reports a drain: its time, admissions per second, heap per admission, time per cycle. Fails the
// benchmark when fewer than `expected` were admitted.
void report(benchmark::State& state, const Cost& cost, int64_t expected);

}  // namespace kueue::engine::bench
