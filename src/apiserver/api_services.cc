#include "apiserver/api_services.h"

#include "apiserver/core.h"
#include "apiserver/webhook_call.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

constexpr std::string_view kCollection = "apiregistration.k8s.io/apiservices";

Error unavailable() {
  return make_error(ErrorCode::kUnavailable,
                    "the server is currently unable to handle the request");
}

// "/apis/GROUP/VERSION" and below.
bool below(std::string_view path, const ApiService& service) {
  const std::string root = "/apis/" + service.group + "/" + service.version;
  return path == root || (path.starts_with(root) && path[root.size()] == '/');
}

}  // namespace

std::vector<ApiService> api_services(const Core& core) {
  std::vector<ApiService> services;
  const auto catalog = core.catalog();
  for (const auto& [name, stored] : core.store->snapshot(kCollection, "").items) {
    const auto object = json::parse(stored->bytes);
    if (!object.ok()) continue;
    const json::Value* target = object->find_path({"spec", "service"});
    if (target == nullptr || !target->is_object()) continue;
    ApiService service;
    service.name = name;
    service.group = object->get_string({"spec", "group"});
    service.version = object->get_string({"spec", "version"});
    if (catalog->version(service.group, service.version) != nullptr) continue;
    service.client_config["service"] = *target;
    if (const json::Value* bundle = object->find_path({"spec", "caBundle"}))
      service.client_config["caBundle"] = *bundle;
    services.push_back(std::move(service));
  }
  return services;
}

bool pass_on(const CallPtr& call) {
  const std::string& path = call->request.path;
  if (!path.starts_with("/apis/")) return false;
  const size_t slash = path.find('/', 6);
  if (slash == std::string::npos ||
      call->catalog->version(path.substr(6, slash - 6),
                             path.substr(slash + 1, path.find('/', slash + 1) - slash - 1)) !=
          nullptr)
    return false;
  for (const ApiService& service : api_services(*call->core)) {
    if (!below(path, service)) continue;
    wire::Request request = std::move(call->request);
    // The other server learns who asks as it does from a real aggregator; credentials stay here.
    wire::Headers headers;
    for (const auto& [name, value] : request.headers.all())
      if (name != "Authorization" && name != "authorization" && !name.starts_with("X-Remote-"))
        headers.add(name, value);
    headers.set("X-Remote-User", request.identity.user);
    for (const std::string& group : request.identity.groups) headers.add("X-Remote-Group", group);
    request.headers = std::move(headers);
    if (wire::Handler* handler =
            call->core->service(service.client_config.get_string({"service", "namespace"}),
                                service.client_config.get_string({"service", "name"}))) {
      handler->handle(std::move(request), call->sink);
      return true;
    }
    call->core->workers.run([call, service, request = std::move(request)] {
      auto response =
          send_request(*call->core, service.client_config, request, Duration::seconds(30));
      if (!response.ok()) return reply_error(*call, unavailable());
      reply(*call, std::move(response).value());
    });
    return true;
  }
  return false;
}

std::optional<json::Value> remote_resources(Core& core, const ApiService& service) {
  wire::Request request;
  request.path = "/apis/" + service.group + "/" + service.version;
  request.headers.set("Accept", "application/json");
  request.identity = {.user = "system:aggregator", .groups = {"system:masters"}, .extra = {}};
  auto response = send_request(core, service.client_config, request, Duration::seconds(5));
  if (!response.ok() || response->status != 200) return std::nullopt;
  auto parsed = json::parse(response->body);
  if (!parsed.ok() || parsed->find("resources") == nullptr) return std::nullopt;
  return std::move(parsed).value();
}

}  // namespace kueue::apiserver
