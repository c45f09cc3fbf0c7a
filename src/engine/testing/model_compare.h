// Plays lines on the engine and on the naive engine side by side. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kueue::engine::testing {

struct Comparison {
  // "" = both agree after every line; else the first line where they do not, and what each says.
  std::string difference;
  size_t events = 0;
};

// Compares plans after each cycle and the whole state after each line; checks the invariants of the
// engine. Cycles look at every head. Unknown verbs are errors.
Comparison compare_with_model(const std::vector<std::string>& lines);

// The line of a random world that the number stands for: settings when `first`, else an object or
// an event. Every number stands for one.
std::vector<std::string> random_settings(uint32_t code);
std::string random_line(uint32_t code);
// Flavors and queues that every random world begins with.
std::vector<std::string> random_prefix();
// What the naive engine does not know: places, amounts beyond counting, pods that are counted
// otherwise. With a prefix of its own.
std::vector<std::string> random_odd_prefix();
std::string random_odd_line(uint32_t code);
// How much of that a test plays: a number of the environment, or the ordinary one.
size_t number_from_environment(const char* name, size_t fallback);

}  // namespace kueue::engine::testing
