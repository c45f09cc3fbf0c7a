// How to reach an API server, as plain data: from a kubeconfig file or from inside a Pod. Nothing
// here opens a connection; net/ turns a ClientConfig into a transport.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kueue::kube {

// A credential plug-in (client.authentication.k8s.io). Whoever runs it passes `env` on top of the
// own environment and reads an ExecCredential from its standard output.
struct ExecPlugin {
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::string api_version;
  bool provide_cluster_info = false;
  std::string install_hint;

  bool operator==(const ExecPlugin&) const = default;
};

struct ClientConfig {
  std::string server;  // https://host:port[/prefix]
  std::string
      tls_server_name;    // name expected in the certificate instead of the host; "" = the host
  bool insecure = false;  // do not verify the server's certificate
  // PEM text; what a kubeconfig names by file is read when it is loaded, except the token file. ""
  // = the system's authorities.
  std::string ca_data;
  std::string client_cert_data;  // "" = none
  std::string client_key_data;
  std::string token;       // "" = none
  std::string token_file;  // its content is replaced now and then
  std::string username;    // basic authentication
  std::string password;
  std::optional<ExecPlugin> exec = {};
  std::string proxy_url;
  std::string impersonate_user;
  std::vector<std::string> impersonate_groups;
  std::string namespace_;  // of the context; "" = default

  bool operator==(const ClientConfig&) const = default;
};

struct KubeconfigOptions {
  // "" = $KUBECONFIG (several files joined by ':', merged as kubectl does), else
  // $HOME/.kube/config.
  std::string path = {};
  std::string context = {};  // "" = the current context
};

// kNotFound: a file is missing. kBadRequest: it is malformed, or context, cluster or user is
// missing; names the file.
Result<ClientConfig> load_kubeconfig(const KubeconfigOptions& options = {});
// The same from the file's text. Relative paths in it are relative to `directory`.
Result<ClientConfig> parse_kubeconfig(std::string_view text, std::string_view directory,
                                      std::string_view context = {});
// From the service account of the Pod this process runs in. kNotFound when it runs in none. `root`
// is for tests.
Result<ClientConfig> in_cluster_config(std::string_view root = "");
// An explicit path, else in-cluster when KUBERNETES_SERVICE_HOST is set and no KUBECONFIG is, else
// the kubeconfig.
Result<ClientConfig> default_client_config(const KubeconfigOptions& options = {});

}  // namespace kueue::kube
