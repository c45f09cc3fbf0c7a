// REST paths of Kubernetes: /api/v1/namespaces/NS/pods/NAME/status and /apis/GROUP/VERSION/...
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/http.h"

namespace kueue::wire {

struct ResourcePath {
  std::string group;  // "" = core
  std::string version;
  std::string namespace_;     // "" = cluster scope or all namespaces
  std::string resource;       // plural
  std::string name;           // "" = collection
  std::string subresource;    // "" = none; may hold more than one segment
  bool watch_prefix = false;  // the deprecated /watch/ form
};

// nullopt when the path is no resource path (discovery, health, ...).
std::optional<ResourcePath> parse_resource_path(std::string_view path);
// The path of a collection or object, every segment percent-encoded.
std::string resource_path(const ResourcePath& path);

std::string percent_encode(std::string_view text);
// Invalid escapes are kept as they are.
std::string percent_decode(std::string_view text, bool plus_is_space);
// Splits "a=1&b=2".
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view text);
std::string format_query(const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace kueue::wire
