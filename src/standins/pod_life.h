// How long a stand-in Pod runs and how it ends, as the Pod itself says. Pure functions, thread
// safe.
#pragma once

#include <optional>

#include "base/time.h"
#include "json/value.h"

namespace kueue::standins {

inline constexpr std::string_view kRunForAnnotation = "kueue-cpp.dev/run-for";
inline constexpr std::string_view kExitCodeAnnotation = "kueue-cpp.dev/exit-code";
// A Pod that ends by itself (restartPolicy Never or OnFailure) but does not say when, runs this
// long: a real program would end some time too.
inline constexpr Duration kDefaultRun = Duration::seconds(3);

struct PodLife {
  // nullopt: runs until it is deleted. That is so for restartPolicy Always, `sleep infinity`, and a
  // container called or told to `pause`.
  std::optional<Duration> run_for;
  int exit_code = 0;
};

// The annotation wins; else the longest `sleep N` (seconds, or with a suffix s, m, h, d) of the
// containers' commands and arguments; else the default. The exit code is the annotation's, else
// that of an `exit N` in a command, else 0. What does not parse counts as absent.
PodLife pod_life(const json::Value& pod);

}  // namespace kueue::standins
