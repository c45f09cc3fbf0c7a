// Deep equality that knows what values mean, and the list of paths in which two documents differ.
// Pure; thread safe.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// True when both documents mean the same: quantities by amount ("1" and "1000m"), times by instant,
// absent the same as null, and an empty map or list the same as none. Members the Type does not
// know are compared as JSON.
bool semantic_equal(const Type& type, const json::Value& a, const json::Value& b);

// Paths of what differs, in document order of `before` and then what `after` adds: "spec.replicas",
// "spec.template.spec.containers[name=a].image" for list maps, "[3]" for other lists. A struct that
// is on one side only is one path. At most `limit` paths.
std::vector<std::string> diff_paths(const Type& type, const json::Value& before,
                                    const json::Value& after, size_t limit = 100);

// True when two texts are quantities of the same amount. Exact; texts that are no quantities
// equal only themselves.
bool equal_quantities(std::string_view a, std::string_view b);

}  // namespace kueue::schema
