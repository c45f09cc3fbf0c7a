#include "app/connect.h"

#include "net/http_transport.h"

namespace kueue::app {

Result<std::shared_ptr<wire::Transport>> connect(const kube::ClientConfig& config, Rate rate) {
  if (!config.proxy_url.empty()) {
    return make_error(ErrorCode::kInvalid, "kubeconfig: proxy-url is not supported");
  }
  net::TransportOptions options;
  options.server = config.server;
  options.ca_pem = config.ca_data;
  options.client_cert_pem = config.client_cert_data;
  options.client_key_pem = config.client_key_data;
  options.token = config.token;
  options.token_file = config.token_file;
  options.username = config.username;
  options.password = config.password;
  options.insecure = config.insecure;
  options.server_name = config.tls_server_name;
  options.user_agent = "kueue/" KUEUE_VERSION;
  options.qps = rate.qps;
  options.burst = rate.burst;
  if (config.exec) {
    net::ExecPlugin plugin{.command = config.exec->command,
                           .args = config.exec->args,
                           .api_version = config.exec->api_version,
                           .install_hint = config.exec->install_hint};
    plugin.env.assign(config.exec->env.begin(), config.exec->env.end());
    options.exec = std::move(plugin);
  }
  if (!config.impersonate_user.empty()) {
    options.extra_headers.emplace_back("Impersonate-User", config.impersonate_user);
    for (const std::string& group : config.impersonate_groups) {
      options.extra_headers.emplace_back("Impersonate-Group", group);
    }
  }
  return net::make_transport(std::move(options));
}

void limit_rate(wire::Transport& transport, Rate rate) {
  net::limit_rate(transport, rate.qps, rate.burst);
}

}  // namespace kueue::app
