// What the manager answers over HTTP: health, metrics, and admission webhooks. Handlers without
// sockets.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kube/executor.h"
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
// /debug/state, a dump for `kueue replay`, only where there is an authorizer of its own.
class MetricsHandler final : public wire::Handler {
 public:
  // 0 when the token may read metrics, otherwise the HTTP status to answer with. May block.
  using Authorizer = std::function<int(const std::string& token)>;
  MetricsHandler(std::function<std::string()> text, Authorizer authorizer)
      : text_(std::move(text)), authorizer_(std::move(authorizer)) {}
  void serve_state(std::function<std::string()> dump, Authorizer authorizer) {
    dump_ = std::move(dump);
    dump_authorizer_ = std::move(authorizer);
  }
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override;

 private:
  // Answers and says true when the token may not read.
  static bool refuse(const wire::Request& request, const Authorizer& authorizer,
                     wire::ResponseSink& sink);
  std::function<std::string()> text_;
  Authorizer authorizer_;
  std::function<std::string()> dump_;
  Authorizer dump_authorizer_;
};

// Asks the API server (TokenReview, then SubjectAccessReview for "get PATH") and remembers the
// answer for a minute.
MetricsHandler::Authorizer make_token_authorizer(std::shared_ptr<wire::Transport> transport,
                                                 std::string path = "/metrics");

// Hands requests to `inner` on the executor's threads: it may ask the API server before it answers,
// and the loop must not wait for that.
class OffLoopHandler final : public wire::Handler {
 public:
  OffLoopHandler(wire::Handler& inner, kube::Executor& executor)
      : inner_(inner), executor_(executor) {}
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override;

 private:
  wire::Handler& inner_;
  kube::Executor& executor_;
};

}  // namespace kueue::app
