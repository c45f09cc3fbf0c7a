// Kubeconfig files: which server to talk to and as whom. Reading follows kubectl: --kubeconfig,
// else the files of $KUBECONFIG merged, else ~/.kube/config. Pure but for reading files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kueue::cli {

struct ExecSettings {
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;
  std::string install_hint;
};

// Everything a connection needs; certificates are PEM.
struct ClusterAccess {
  std::string server;
  std::string ca_pem;
  std::string client_cert_pem;
  std::string client_key_pem;
  std::string token;
  std::string token_file;
  std::string username;
  std::string password;
  std::optional<ExecSettings> exec;
  bool insecure = false;
  std::string server_name;
  std::vector<std::pair<std::string, std::string>> impersonate;  // headers
  std::string namespace_ = "default";                            // of the context
  std::string source;                                            // for messages: the file
};

struct KubeconfigQuery {
  std::string path;     // --kubeconfig; "" = by environment
  std::string context;  // --context; "" = current-context
  // "" = no file of a local playground is tried after the others.
  std::string playground_path;
  // Replaces getenv in tests.
  std::function<std::string(const std::string& name)> environment;
};

// kNotFound when there is no kubeconfig at all, kInvalid with file and field for a broken one.
Result<ClusterAccess> load_kubeconfig(const KubeconfigQuery& query);
// From the text of one file; relative paths in it are relative to `directory`.
Result<ClusterAccess> parse_kubeconfig(const std::string& text, const std::string& context,
                                       const std::string& directory);
// The account of the Pod this process runs in; kNotFound outside of a cluster.
Result<ClusterAccess> in_cluster_access(
    const std::function<std::string(const std::string&)>& environment, const std::string& folder);

// A kubeconfig with everything inline and one context named "kueue".
std::string write_kubeconfig(const ClusterAccess& access);

// Reads a whole file; kNotFound, or kUnavailable with the reason.
Result<std::string> read_file(const std::string& path);
// The value of an environment variable, "" when unset.
std::string environment_variable(const std::string& name);
// Where `kueue up` keeps its data unless told otherwise: $KUEUE_DATA_DIR, $XDG_DATA_HOME/kueue,
// ~/.local/share/kueue.
std::string default_data_dir();

}  // namespace kueue::cli
