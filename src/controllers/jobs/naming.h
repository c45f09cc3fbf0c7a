// Names of Workloads made for jobs. Pure. behaviour 15.
#pragma once

#include <string>
#include <string_view>

namespace kueue::controllers::jobs {

struct OwnerName {
  std::string_view kind;
  std::string_view group;
  std::string_view name;
  std::string_view uid;
};

// "<kind in lower case>-<owner name>", cut so that the result has at most 253 characters (63 with
// `short_names`), then "-" and the first five hex digits of a SHA-1 over kind, group, name, uid
// and, when not empty, `extra`, each on a line.
std::string workload_name(const OwnerName& owner, std::string_view extra = {},
                          bool short_names = false);

}  // namespace kueue::controllers::jobs
