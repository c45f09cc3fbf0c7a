// Finding and writing kubeconfig files.
#include "cli/kubeconfig.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/base64.h"
#include "base/files.h"
#include "json/json.h"

namespace kueue::cli {

std::string environment_variable(const std::string& name) {
  const char* value = getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::string default_data_dir() {
  if (auto dir = environment_variable("KUEUE_DATA_DIR"); !dir.empty()) return dir;
  if (auto dir = environment_variable("XDG_DATA_HOME"); !dir.empty()) return dir + "/kueue";
  if (auto home = environment_variable("HOME"); !home.empty()) return home + "/.local/share/kueue";
  return "/var/lib/kueue";
}

Result<std::string> read_file(const std::string& path) { return kueue::read_file(path); }

Result<kube::ClientConfig> find_cluster(const std::string& path, const std::string& context) {
  if (!path.empty() || !environment_variable("KUBECONFIG").empty()) {
    return kube::load_kubeconfig({.path = path, .context = context});
  }
  const std::string home = environment_variable("HOME") + "/.kube/config";
  if (access(home.c_str(), F_OK) == 0)
    return kube::load_kubeconfig({.path = home, .context = context});
  std::string newest;
  timespec written{};
  for (const char* name : {kKubeconfig, kMemoryKubeconfig}) {
    const std::string candidate = default_data_dir() + name;
    struct stat info{};
    if (stat(candidate.c_str(), &info) != 0) continue;
    const bool newer = std::pair(info.st_mtim.tv_sec, info.st_mtim.tv_nsec) >
                       std::pair(written.tv_sec, written.tv_nsec);
    if (!newest.empty() && !newer) continue;
    newest = candidate;
    written = info.st_mtim;
  }
  if (!newest.empty()) return kube::load_kubeconfig({.path = newest, .context = context});
  return make_error(ErrorCode::kNotFound,
                    "no kubeconfig: start a playground with 'kueue up', or give --kubeconfig");
}

std::string write_kubeconfig(const kube::ClientConfig& config) {
  json::Value cluster = json::Value::object({{"server", config.server}});
  if (!config.ca_data.empty()) {
    cluster["certificate-authority-data"] = base64_encode(config.ca_data);
  }
  json::Value user = json::Value::object();
  if (!config.client_cert_data.empty()) {
    user["client-certificate-data"] = base64_encode(config.client_cert_data);
    user["client-key-data"] = base64_encode(config.client_key_data);
  }
  if (!config.token.empty()) user["token"] = config.token;
  json::Value context = json::Value::object({{"cluster", "kueue"}, {"user", "admin"}});
  if (!config.namespace_.empty()) context["namespace"] = config.namespace_;
  const auto named = [](const char* name, const char* member, json::Value value) {
    return json::Value::array({json::Value::object({{"name", name}, {member, std::move(value)}})});
  };
  return json::write_yaml(
      json::Value::object({{"apiVersion", "v1"},
                           {"kind", "Config"},
                           {"clusters", named("kueue", "cluster", std::move(cluster))},
                           {"users", named("admin", "user", std::move(user))},
                           {"contexts", named("kueue", "context", std::move(context))},
                           {"current-context", "kueue"},
                           {"preferences", json::Value::object()}}));
}

}  // namespace kueue::cli
