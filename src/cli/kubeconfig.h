// Which API server a command talks to: a kubeconfig file as kubectl finds it, else the playground
// of `kueue up`; and the kubeconfig that a playground writes.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/kubeconfig.h"

namespace kueue::cli {

// Of a playground, in its data folder; of the newest one that keeps nothing.
inline constexpr const char* kKubeconfig = "/kubeconfig";
inline constexpr const char* kMemoryKubeconfig = "/kubeconfig-memory";

// `path` and `context` as given on the command line, "" when not. Without a path: $KUBECONFIG,
// ~/.kube/config, whichever is there first, else of the playgrounds in the default data folder the
// one that was started last. kNotFound says how to get one.
Result<kube::ClientConfig> find_cluster(const std::string& path, const std::string& context);

// Everything inline, one context named "kueue".
std::string write_kubeconfig(const kube::ClientConfig& config);

// A whole file; kNotFound, or kUnavailable with the reason.
Result<std::string> read_file(const std::string& path);
// The value of an environment variable, "" when unset.
std::string environment_variable(const std::string& name);
// Where `kueue up` keeps its data unless told otherwise: $KUEUE_DATA_DIR, $XDG_DATA_HOME/kueue,
// ~/.local/share/kueue.
std::string default_data_dir();

}  // namespace kueue::cli
