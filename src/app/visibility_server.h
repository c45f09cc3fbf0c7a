// VisibilityServer: the visibility API on its own port, behind the API server's aggregator. Learns
// from kube-system/extension-apiserver-authentication whose certificates to believe, and looks
// again every minute. Thread safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "app/manager_endpoints.h"
#include "kube/client.h"
#include "kube/controller.h"
#include "kube/executor.h"
#include "net/http_server.h"
#include "visibility/handler.h"

namespace kueue::app {

class VisibilityServer {
 public:
  // `executor` runs what waits for the API server. All references must outlive this.
  VisibilityServer(std::shared_ptr<kube::Client> client, kube::Executor& executor,
                   visibility::Source& source, std::string address,
                   std::function<void(const std::string&)> log);
  ~VisibilityServer();

  // `options` holds address, port and TLS, which set_certificate() replaces later; `tls_reload`
  // gives certificate and key only.
  Result<void> listen(net::Loop& loop, net::ServerOptions options);
  void set_certificate(const net::ServerTls& certificate);
  void stop();

 private:
  Result<kube::ReconcileResult> learn();
  net::ServerTls with_authorities(net::ServerTls tls) const;

  std::shared_ptr<kube::Client> client_;
  std::function<void(const std::string&)> log_;
  visibility::Access access_;
  visibility::Handler handler_;
  OffLoopHandler off_loop_;
  kube::Controller learner_;
  std::mutex mutex_;
  net::ServerTls tls_;  // as last given, without authorities
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace kueue::app
