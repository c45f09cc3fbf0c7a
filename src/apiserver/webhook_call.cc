#include "apiserver/webhook_call.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "apiserver/core.h"
#include "apiserver/encoding.h"
#include "json/json.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::apiserver {

namespace {

// Keeps one answer until it is asked for; shared with the handler, which may answer after the
// caller gave up.
class WaitingSink : public wire::ResponseSink {
 public:
  void respond(wire::Response response) override {
    std::lock_guard lock(mutex_);
    if (!response_) response_ = std::move(response);
    ready_.notify_all();
  }
  void begin_stream(wire::Response head) override {
    std::lock_guard lock(mutex_);
    streamed_ = std::move(head);
    streamed_.body.clear();
  }
  bool write(std::string chunk) override {
    std::lock_guard lock(mutex_);
    streamed_.body += chunk;
    return true;
  }
  void end_stream() override { respond(std::move(streamed_)); }
  void on_close(std::function<void()>) override {}

  std::optional<wire::Response> wait(Duration timeout) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, std::chrono::nanoseconds(timeout.ns),
                    [&] { return response_.has_value(); });
    return std::move(response_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::optional<wire::Response> response_;
  wire::Response streamed_;
};

Result<Endpoint> endpoint_of(const json::Value& config) {
  Endpoint endpoint;
  if (const auto bundle = base64_decode(config.get_string({"caBundle"})))
    endpoint.ca_bundle = *bundle;
  if (const json::Value* service = config.find("service"); service && service->is_object()) {
    const std::string name(service->get_string({"name"}));
    const std::string namespace_(service->get_string({"namespace"}));
    endpoint.host = name + "." + namespace_ + ".svc";
    endpoint.server_name = endpoint.host;
    endpoint.port = static_cast<uint16_t>(service->get_int({"port"}, 443));
    endpoint.path = service->get_string({"path"}, "/");
    return endpoint;
  }
  std::string_view url = config.get_string({"url"});
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos)
    return make_error(ErrorCode::kInternal, "webhook without service and url");
  endpoint.scheme = url.substr(0, scheme);
  url.remove_prefix(scheme + 3);
  const size_t slash = url.find('/');
  std::string_view authority = url.substr(0, slash);
  endpoint.path = slash == std::string_view::npos ? "/" : std::string(url.substr(slash));
  endpoint.port = endpoint.scheme == "http" ? 80 : 443;
  const size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos) {
    const int64_t port =
        std::strtoll(std::string(authority.substr(colon + 1)).c_str(), nullptr, 10);
    if (port <= 0 || port > 65535)
      return make_error(ErrorCode::kInternal,
                        "bad port in " + std::string(config.get_string({"url"})));
    endpoint.port = static_cast<uint16_t>(port);
    authority = authority.substr(0, colon);
  }
  if (authority.starts_with("[") && authority.ends_with("]"))
    authority = authority.substr(1, authority.size() - 2);
  endpoint.host = authority;
  endpoint.server_name = authority;
  return endpoint;
}

}  // namespace

bool is_local(const Core& core, const json::Value& config) {
  return core.service(config.get_string({"service", "namespace"}),
                      config.get_string({"service", "name"})) != nullptr;
}

std::string webhook_url(const json::Value& config) {
  if (config.find("service") == nullptr) return std::string(config.get_string({"url"}));
  std::string path(config.get_string({"service", "path"}));
  if (!path.empty() && path.front() != '/') path.insert(path.begin(), '/');
  return "https://" + std::string(config.get_string({"service", "name"})) + "." +
         std::string(config.get_string({"service", "namespace"})) +
         ".svc:" + std::to_string(config.get_int({"service", "port"}, 443)) + path;
}

Result<wire::Response> call_handler(wire::Handler& handler, wire::Request request,
                                    Duration timeout) {
  auto sink = std::make_shared<WaitingSink>();
  handler.handle(std::move(request), sink);
  auto response = sink->wait(timeout);
  if (!response) return make_error(ErrorCode::kTimeout, "context deadline exceeded");
  return std::move(*response);
}

Result<wire::Response> send_request(Core& core, const json::Value& config, wire::Request request,
                                    Duration timeout) {
  if (wire::Handler* handler = core.service(config.get_string({"service", "namespace"}),
                                            config.get_string({"service", "name"})))
    return call_handler(*handler, std::move(request), timeout);
  KUEUE_ASSIGN(const Endpoint endpoint, endpoint_of(config));
  if (!core.options.transports)
    return make_error(ErrorCode::kUnavailable, "dial tcp " + endpoint.host + ":" +
                                                   std::to_string(endpoint.port) +
                                                   ": connect: connection refused");
  KUEUE_ASSIGN(const std::shared_ptr<wire::Transport> transport, core.options.transports(endpoint));
  return transport->round_trip(request, timeout);
}

Result<json::Value> call_webhook(Core& core, const json::Value& config, const json::Value& body,
                                 Duration timeout) {
  wire::Request request;
  request.method = "POST";
  request.body = json::write(body);
  request.headers.set("Content-Type", "application/json");
  request.headers.set("Accept", "application/json, */*");
  request.headers.set("User-Agent", "kube-apiserver-admission");
  KUEUE_ASSIGN(const Endpoint endpoint, endpoint_of(config));
  const size_t question = endpoint.path.find('?');
  request.path = endpoint.path.substr(0, question);
  if (!request.path.starts_with("/")) request.path.insert(request.path.begin(), '/');
  request.query = question == std::string::npos
                      ? wire::parse_query("")
                      : wire::parse_query(std::string_view(endpoint.path).substr(question + 1));
  request.query.emplace_back("timeout", std::to_string(timeout.ns / 1'000'000'000) + "s");
  const auto response = send_request(core, config, std::move(request), timeout);
  if (!response.ok())
    return make_error(response.error().code, "Post \"" + webhook_url(config) + "?timeout=" +
                                                 std::to_string(timeout.ns / 1'000'000'000) +
                                                 "s\": " + response.error().message);
  if (response->status != 200)
    return make_error(ErrorCode::kInternal, "the server responded with status " +
                                                std::to_string(response->status) + ": " +
                                                response->body.substr(0, 256));
  return json::parse(response->body);
}

}  // namespace kueue::apiserver
