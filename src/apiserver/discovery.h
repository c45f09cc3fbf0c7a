// Discovery: which groups, versions and resources there are, plain and aggregated. Thread safe.
#pragma once

#include <string>
#include <vector>

#include "apiserver/call.h"

namespace kueue::apiserver {

// False when the path is none of discovery.
bool serve_discovery(Call& call);

struct SubresourceEntry {
  std::string name;   // "status"
  std::string kind;   // "Job"
  std::string group;  // of the kind where it differs, e.g. autoscaling of Scale
  std::string version;
  std::vector<std::string> verbs;
};
std::vector<SubresourceEntry> subresources_of(const Served& served);
std::vector<std::string> verbs_of(const Served& served);

}  // namespace kueue::apiserver
