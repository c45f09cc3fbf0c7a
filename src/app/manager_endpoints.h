// What the manager answers over HTTP: health, metrics, and admission webhooks. Handlers without
// sockets.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "wire/http.h"

namespace kueue::app {

// /healthz and /readyz (or the names configured).
class HealthHandler final : public wire::Handler {
 public:
  HealthHandler(std::string live, std::string ready, std::function<bool()> is_ready)
      : live_(std::move(live)), ready_(std::move(ready)), is_ready_(std::move(is_ready)) {}
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override;

 private:
  std::string live_;
  std::string ready_;
  std::function<bool()> is_ready_;
};

// /metrics in the Prometheus text format. With an authorizer, only for bearer tokens it accepts.
class MetricsHandler final : public wire::Handler {
 public:
  // 0 when the token may read metrics, otherwise the HTTP status to answer with. May block.
  using Authorizer = std::function<int(const std::string& token)>;
  MetricsHandler(std::function<std::string()> text, Authorizer authorizer)
      : text_(std::move(text)), authorizer_(std::move(authorizer)) {}
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override;

 private:
  std::function<std::string()> text_;
  Authorizer authorizer_;
};

// Asks the API server (TokenReview, then SubjectAccessReview for "get /metrics") and remembers the
// answer for a minute.
MetricsHandler::Authorizer make_token_authorizer(std::shared_ptr<wire::Transport> transport);

// Lets through what may be served: paths of `served` (absent = all) to `inner`, `allow_all` paths
// are answered with "allowed", everything else with 404. `inner` may be nullptr: then only
// `allow_all` exists.
class WebhookHandler final : public wire::Handler {
 public:
  WebhookHandler(wire::Handler* inner, std::optional<std::set<std::string>> served,
                 std::set<std::string> allow_all)
      : inner_(inner), served_(std::move(served)), allow_all_(std::move(allow_all)) {}
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override;

 private:
  wire::Handler* inner_;
  std::optional<std::set<std::string>> served_;
  std::set<std::string> allow_all_;
};

}  // namespace kueue::app
