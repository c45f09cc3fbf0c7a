#include "app/manager_endpoints.h"

#include "json/json.h"
#include "wire/status.h"

namespace kueue::app {
namespace {

wire::Response text_response(int status, std::string body,
                             const char* type = "text/plain; charset=utf-8") {
  wire::Response response;
  response.status = status;
  response.headers.set("Content-Type", type);
  response.body = std::move(body);
  return response;
}

// The answer of a review the API server keeps nowhere.
Result<json::Value> review(wire::Transport& transport, const std::string& path,
                           const json::Value& body) {
  wire::Request request;
  request.method = "POST";
  request.path = path;
  request.headers.set("Content-Type", "application/json");
  request.headers.set("Accept", "application/json");
  request.body = json::write(body);
  KUEUE_ASSIGN(const wire::Response response, transport.round_trip(request, Duration::seconds(10)));
  if (response.status < 200 || response.status > 299) return wire::error_from_response(response);
  return json::parse(response.body);
}

int judge(wire::Transport& transport, const std::string& path, const std::string& token) {
  const auto user =
      review(transport, "/apis/authentication.k8s.io/v1/tokenreviews",
             json::Value::object({{"apiVersion", "authentication.k8s.io/v1"},
                                  {"kind", "TokenReview"},
                                  {"spec", json::Value::object({{"token", token}})}}));
  if (!user.ok()) return 500;
  if (!user->get_bool({"status", "authenticated"})) return 401;
  json::Value spec = json::Value::object();
  spec["user"] = user->get_string({"status", "user", "username"});
  if (const json::Value* groups = user->find_path({"status", "user", "groups"}))
    spec["groups"] = *groups;
  if (const json::Value* extra = user->find_path({"status", "user", "extra"}))
    spec["extra"] = *extra;
  spec["nonResourceAttributes"] = json::Value::object({{"path", path}, {"verb", "get"}});
  const auto access = review(transport, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                             json::Value::object({{"apiVersion", "authorization.k8s.io/v1"},
                                                  {"kind", "SubjectAccessReview"},
                                                  {"spec", std::move(spec)}}));
  if (!access.ok()) return 500;
  return access->get_bool({"status", "allowed"}) ? 0 : 403;
}

}  // namespace

void HealthHandler::handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  if (request.path == live_) return sink->respond(text_response(200, "ok"));
  if (request.path == ready_) {
    return sink->respond(is_ready_() ? text_response(200, "ok") : text_response(500, "not ready"));
  }
  sink->respond(text_response(404, "404 page not found\n"));
}

bool MetricsHandler::refuse(const wire::Request& request, const Authorizer& authorizer,
                            wire::ResponseSink& sink) {
  const std::string_view header = request.headers.get("Authorization");
  const int refused =
      header.starts_with("Bearer ") ? authorizer(std::string(header.substr(7))) : 401;
  if (refused == 0) return false;
  sink.respond(text_response(refused, refused == 401   ? "Unauthorized\n"
                                      : refused == 403 ? "Authorization denied\n"
                                                       : "Authorization check failed\n"));
  return true;
}

void MetricsHandler::handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  if (request.path == "/debug/state" && dump_ && dump_authorizer_) {
    if (!refuse(request, dump_authorizer_, *sink))
      sink->respond(text_response(200, dump_(), "application/json"));
    return;
  }
  if (request.path != "/metrics") return sink->respond(text_response(404, "404 page not found\n"));
  if (authorizer_ && refuse(request, authorizer_, *sink)) return;
  sink->respond(text_response(200, text_(),
                              "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"));
}

MetricsHandler::Authorizer make_token_authorizer(std::shared_ptr<wire::Transport> transport,
                                                 std::string path) {
  struct Known {
    int verdict;
    Instant until;
  };
  struct Cache {
    std::mutex mutex;
    std::map<std::string, Known> known;
  };
  return [transport, path = std::move(path),
          cache = std::make_shared<Cache>()](const std::string& token) {
    const Instant now = system_clock().now();
    {
      std::lock_guard lock(cache->mutex);
      const auto it = cache->known.find(token);
      if (it != cache->known.end() && it->second.until > now) return it->second.verdict;
    }
    const int verdict = judge(*transport, path, token);
    std::lock_guard lock(cache->mutex);
    if (cache->known.size() > 1000) cache->known.clear();
    if (verdict != 500) cache->known[token] = {verdict, now + Duration::seconds(60)};
    return verdict;
  };
}

void OffLoopHandler::handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  // A task must be copyable, so the request travels by pointer.
  auto shared = std::make_shared<wire::Request>(std::move(request));
  executor_.run(
      [this, shared, sink = std::move(sink)] { inner_.handle(std::move(*shared), sink); });
}

}  // namespace kueue::app
