// Settings that are ours alone. They stand in a second YAML document of the Configuration's file,
//
//   apiVersion: config.kueue-cpp.dev/v1alpha1
//   kind: Extensions
//   boundedTermination: {after: 10m, conditions: true}
//
// because Kueue decodes the first document strictly and refuses unknown fields there, and reads no
// further: the same file starts either program. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace kueue::config {

struct Extensions {
  // A workload that was told to go and still holds its quota after this time is no longer waited
  // for: others are chosen in its place. Absent = it is waited for without end, as Kueue does.
  std::optional<Duration> termination_bound;
  // Name such workloads in conditions of our own, on themselves and on those that wait for them.
  bool termination_conditions = false;
};

struct LoadedExtensions {
  Extensions extensions;
  std::vector<std::string> warnings;  // documents that nobody reads
};
// Of the text of a Configuration file. kBadRequest with path and rule: unknown fields, wrong types,
// times that are not above zero, the same document twice.
Result<LoadedExtensions> load_extensions(std::string_view text);

}  // namespace kueue::config
