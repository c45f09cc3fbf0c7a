// Runs: each script is played in a child process of its own, forked from one that has opened the
// cluster, so that a crash or a hang is a result like any other.
#pragma once

#include <string>

#include "sim/cluster.h"
#include "sim/scheduler.h"
#include "sim/script.h"
#include "sim/world.h"

namespace kueue::sim {

struct Report {
  bool failed = false;
  std::string what;  // equal for equal faults
  std::string details;
  int64_t step = 0;
  uint64_t trace = 0;
  int64_t writes = 0;
  int64_t tasks = 0;
};

class Runner {
 public:
  Runner();
  // Plays the script in a child; ends it after `seconds` of its processor time. `elsewhere` shifts
  // its heap, so that what depends on addresses shows.
  Report play(const Script& script, bool elsewhere = false, int seconds = 120);
  // In this process, with everything printed. Once only.
  Report play_here(const Script& script);
  // Steps are taken away as long as it fails in the same way; at most `tries` runs.
  Script shrink(const Script& script, const Report& failure, int tries);

 private:
  Scheduler scheduler_;
  Cluster cluster_;
};

}  // namespace kueue::sim
