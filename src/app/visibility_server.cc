#include "app/visibility_server.h"

namespace kueue::app {
namespace {

constexpr Duration kLearnInterval = Duration::seconds(60);
const kube::Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};

}  // namespace

VisibilityServer::VisibilityServer(std::shared_ptr<kube::Client> client, kube::Executor& executor,
                                   visibility::Source& source, std::string address,
                                   std::function<void(const std::string&)> log)
    : client_(std::move(client)),
      log_(std::move(log)),
      access_(std::shared_ptr<wire::Transport>(client_, &client_->transport()), executor.clock()),
      handler_(source, access_, std::move(address)),
      off_loop_(handler_, executor),
      learner_(executor,
               {.name = "visibility",
                .rate_limit = {.base = Duration::seconds(1), .max = kLearnInterval},
                .on_error = [this](const std::string&, const kube::ObjectKey&,
                                   const Error& error) { log_("visibility: " + error.message); }},
               [this](const kube::ObjectKey&) { return learn(); }) {}

VisibilityServer::~VisibilityServer() { stop(); }

Result<void> VisibilityServer::listen(net::Loop& loop, net::ServerOptions options) {
  if (options.tls_reload) {
    options.tls_reload = [this, read = std::move(options.tls_reload)]() -> Result<net::ServerTls> {
      KUEUE_ASSIGN(net::ServerTls tls, read());
      {
        std::lock_guard lock(mutex_);
        tls_ = tls;
      }
      return with_authorities(std::move(tls));
    };
  }
  tls_ = options.tls.value_or(net::ServerTls{});
  KUEUE_ASSIGN(server_, net::HttpServer::listen(loop, std::move(options), off_loop_));
  learner_.enqueue({});
  learner_.start();
  return {};
}

net::ServerTls VisibilityServer::with_authorities(net::ServerTls tls) const {
  const visibility::ProxyRules rules = access_.rules();
  tls.client_ca_pem = rules.client_ca_pem;
  tls.proxy_ca_pem = rules.proxy_ca_pem;
  return tls;
}

void VisibilityServer::set_certificate(const net::ServerTls& certificate) {
  std::lock_guard lock(mutex_);
  tls_ = certificate;
  const auto used = server_->set_tls(with_authorities(certificate));
  if (!used.ok()) log_("visibility: " + used.error().message);
}

Result<kube::ReconcileResult> VisibilityServer::learn() {
  KUEUE_ASSIGN(const json::Value config_map,
               client_->get(kConfigMaps, {"kube-system", "extension-apiserver-authentication"}));
  visibility::ProxyRules rules = visibility::proxy_rules_of(config_map);
  if (rules != access_.rules()) {
    access_.set_rules(std::move(rules));
    std::lock_guard lock(mutex_);
    KUEUE_TRY(server_->set_tls(with_authorities(tls_)));
  }
  return kube::ReconcileResult{kLearnInterval};
}

void VisibilityServer::stop() {
  learner_.stop();
  if (server_) server_->stop(Duration::millis(500));
}

}  // namespace kueue::app
