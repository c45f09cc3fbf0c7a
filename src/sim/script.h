// Script: what happens in a simulated world from outside, step by step: users, admins, check
// controllers, machines, faults. Generated from a seed or read from a file; every step carries its
// own number, from which its chances follow, so that a script from which steps were taken away
// plays the rest as before.
//
// As text, one line each:
//   # comment
//   seed 17
//   config ready=60 leaders=2
//   12 job a/j1 queue=l0 cpu=1 pods=2
// docs of the verbs: test/sim/README.md
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kueue::sim {

using Arguments = std::map<std::string, std::string, std::less<>>;

struct Step {
  int64_t number = 0;
  std::string verb;
  std::string name;  // "" when the verb has none
  Arguments arguments;

  // Namespace and name of a name NAMESPACE/NAME; without a slash the first is "".
  std::pair<std::string, std::string> key() const;
  std::string get(std::string_view key, std::string_view fallback = "") const;
  int64_t number_of(std::string_view key, int64_t fallback) const;
};

struct Script {
  uint64_t seed = 0;
  Arguments config;
  std::vector<Step> steps;

  int64_t config_number(std::string_view key, int64_t fallback) const;
};

struct Generation {
  int64_t steps = 500;
  bool faults = true;     // false: only users, admins and restarts between steps
  bool topology = false;  // other worlds: with Topologies and Nodes
};

Script generate(uint64_t seed, const Generation& how);
std::string write_script(const Script& script);
std::string write_step(const Step& step);
// kBadRequest names the line.
Result<Script> parse_script(std::string_view text);

}  // namespace kueue::sim
