// APIServices: groups that another server answers. Their requests are passed on, to a handler in
// process or over a transport, and discovery lists them. Thread safe; the calls that wait run on
// the core's workers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/call.h"

namespace kueue::apiserver {

struct ApiService {
  std::string name;  // "v1beta2.visibility.kueue.x-k8s.io"
  std::string group;
  std::string version;
  json::Value client_config;  // service and caBundle, as webhooks have them
};

// Those that name a service and whose group-version this server does not serve itself, by name.
std::vector<ApiService> api_services(const Core& core);

// Passes the call on when its path belongs to an APIService; false otherwise.
bool pass_on(const CallPtr& call);

// The APIResourceList of an APIService; nullopt when it does not answer. Blocks.
std::optional<json::Value> remote_resources(Core& core, const ApiService& service);

}  // namespace kueue::apiserver
