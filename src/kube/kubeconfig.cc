#include "kube/kubeconfig.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/files.h"
#include "json/json.h"

namespace kueue::kube {
namespace {

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

Error malformed(const std::string& what) {
  return make_error(ErrorCode::kBadRequest, "invalid kubeconfig: " + what);
}

Result<std::string> decode_base64(std::string_view text, const std::string& field) {
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '=') continue;
    int v = c >= 'A' && c <= 'Z'   ? c - 'A'
            : c >= 'a' && c <= 'z' ? c - 'a' + 26
            : c >= '0' && c <= '9' ? c - '0' + 52
            : c == '+'             ? 62
            : c == '/'             ? 63
                                   : -1;
    if (v < 0) return malformed(field + " is not base64");
    bits = (bits << 6 | static_cast<uint32_t>(v)) & 0xFFFFFF;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>(bits >> have & 0xFF);
    }
  }
  return out;
}

std::string absolute(std::string_view path, std::string_view directory) {
  if (path.empty() || path.front() == '/' || directory.empty()) return std::string(path);
  return std::string(directory) + "/" + std::string(path);
}

std::string text_at(const json::Value& value, std::string_view key) {
  return std::string(value.get_string({key}));
}

// The PEM text given by FIELD-data (base64) or by the file FIELD. Data wins, as in client-go.
Result<std::string> material(const json::Value& value, const std::string& field,
                             std::string_view directory) {
  std::string data = text_at(value, field + "-data");
  if (!data.empty()) return decode_base64(data, field + "-data");
  std::string path = text_at(value, field);
  if (path.empty()) return std::string();
  return read_file(absolute(path, directory));
}

// The value called `name` in one of the lists of a kubeconfig: [{name: ..., cluster: {...}}].
const json::Value* named(const json::Value& config, std::string_view list, std::string_view member,
                         std::string_view name) {
  const json::Value* items = config.find(list);
  if (!items || !items->is_array()) return nullptr;
  for (const json::Value& item : items->as_array()) {
    if (item.get_string({"name"}) == name) return item.find(member);
  }
  return nullptr;
}

// Where a member of the merged file came from, for its relative paths.
constexpr std::string_view kDirectoryKey =
    "\x01"
    "directory";

std::string_view directory_of(const json::Value& value) {
  return value.get_string({kDirectoryKey});
}

Result<ExecPlugin> read_exec(const json::Value& exec, std::string_view directory) {
  ExecPlugin plugin;
  plugin.command = text_at(exec, "command");
  if (plugin.command.empty()) return malformed("exec plugin has no command");
  // A path with a slash is relative to the file; a bare name is looked up in PATH.
  if (plugin.command.find('/') != std::string::npos)
    plugin.command = absolute(plugin.command, directory);
  plugin.api_version = text_at(exec, "apiVersion");
  plugin.provide_cluster_info = exec.get_bool({"provideClusterInfo"});
  plugin.install_hint = text_at(exec, "installHint");
  if (const json::Value* args = exec.find("args"); args && args->is_array()) {
    for (const json::Value& arg : args->as_array()) plugin.args.emplace_back(arg.string_or(""));
  }
  if (const json::Value* env = exec.find("env"); env && env->is_array()) {
    for (const json::Value& pair : env->as_array())
      plugin.env[text_at(pair, "name")] = text_at(pair, "value");
  }
  return plugin;
}

Result<void> read_user(const json::Value& user, ClientConfig& config) {
  std::string_view directory = directory_of(user);
  KUEUE_ASSIGN(config.client_cert_data, material(user, "client-certificate", directory));
  KUEUE_ASSIGN(config.client_key_data, material(user, "client-key", directory));
  if (config.client_cert_data.empty() != config.client_key_data.empty()) {
    return malformed("client-certificate and client-key must be given together");
  }
  config.token = text_at(user, "token");
  config.token_file = absolute(text_at(user, "tokenFile"), directory);
  config.username = text_at(user, "username");
  config.password = text_at(user, "password");
  config.impersonate_user = text_at(user, "as");
  if (const json::Value* groups = user.find("as-groups"); groups && groups->is_array()) {
    for (const json::Value& group : groups->as_array())
      config.impersonate_groups.emplace_back(group.string_or(""));
  }
  if (const json::Value* exec = user.find("exec"); exec && exec->is_object()) {
    KUEUE_ASSIGN(config.exec, read_exec(*exec, directory));
  }
  if (user.find("auth-provider")) {
    return malformed(
        "auth-provider is not supported any more, by client-go either; use an exec plugin");
  }
  return {};
}

Result<ClientConfig> resolve(const json::Value& merged, std::string_view wanted) {
  std::string context_name(wanted.empty() ? merged.get_string({"current-context"}) : wanted);
  if (context_name.empty()) return malformed("no context is chosen and current-context is not set");
  const json::Value* context = named(merged, "contexts", "context", context_name);
  if (!context) return malformed("context \"" + context_name + "\" does not exist");
  std::string cluster_name = text_at(*context, "cluster"), user_name = text_at(*context, "user");
  const json::Value* cluster = named(merged, "clusters", "cluster", cluster_name);
  if (!cluster) return malformed("cluster \"" + cluster_name + "\" does not exist");
  ClientConfig config;
  config.namespace_ = text_at(*context, "namespace");
  config.server = text_at(*cluster, "server");
  while (config.server.ends_with('/')) config.server.pop_back();
  if (config.server.empty()) return malformed("cluster \"" + cluster_name + "\" has no server");
  if (!config.server.starts_with("http://") && !config.server.starts_with("https://")) {
    config.server = "https://" + config.server;
  }
  config.tls_server_name = text_at(*cluster, "tls-server-name");
  config.proxy_url = text_at(*cluster, "proxy-url");
  config.insecure = cluster->get_bool({"insecure-skip-tls-verify"});
  KUEUE_ASSIGN(config.ca_data, material(*cluster, "certificate-authority", directory_of(*cluster)));
  if (config.insecure && !config.ca_data.empty()) {
    return malformed("cluster \"" + cluster_name +
                     "\": certificate-authority and insecure-skip-tls-verify exclude each other");
  }
  if (user_name.empty()) return config;
  const json::Value* user = named(merged, "users", "user", user_name);
  if (!user) return malformed("user \"" + user_name + "\" does not exist");
  if (user->is_object()) KUEUE_TRY(read_user(*user, config));
  return config;
}

// Adds what `merged` does not have yet: the first file wins.
void merge(json::Value& merged, const json::Value& file, const std::string& directory) {
  if (merged.get_string({"current-context"}).empty()) {
    merged["current-context"] = file.get_string({"current-context"});
  }
  const std::pair<const char*, const char*> lists[] = {
      {"clusters", "cluster"}, {"contexts", "context"}, {"users", "user"}};
  for (const auto& [list, member] : lists) {
    const json::Value* items = file.find(list);
    if (!items || !items->is_array()) continue;
    json::Value& target = merged[list];
    if (target.is_null()) target = json::Value(json::Array());
    for (const json::Value& item : items->as_array()) {
      if (named(merged, list, member, item.get_string({"name"}))) continue;
      json::Value copy = item;
      if (json::Value* inner = copy.find(member); inner && inner->is_object())
        (*inner)[kDirectoryKey] = directory;
      target.as_array().push_back(std::move(copy));
    }
  }
}

std::string directory_name(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : slash == 0 ? "/" : path.substr(0, slash);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split_paths(std::string_view text) {
  std::vector<std::string> paths;
  while (!text.empty()) {
    size_t colon = text.find(':');
    std::string path(text.substr(0, colon));
    if (!path.empty() && std::find(paths.begin(), paths.end(), path) == paths.end())
      paths.push_back(path);
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  return paths;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  return text;
}

}  // namespace

Result<ClientConfig> parse_kubeconfig(std::string_view text, std::string_view directory,
                                      std::string_view context) {
  auto file = json::parse_yaml(text);
  if (!file.ok()) return malformed(file.error().message);
  if (!file->is_object()) return malformed("not an object");
  json::Value merged;
  merge(merged, *file, std::string(directory));
  return resolve(merged, context);
}

Result<ClientConfig> load_kubeconfig(const KubeconfigOptions& options) {
  std::vector<std::string> paths;
  bool listed = false;  // files of $KUBECONFIG may be missing
  if (!options.path.empty()) {
    paths = {options.path};
  } else if (std::string several = environment("KUBECONFIG"); !several.empty()) {
    paths = split_paths(several);
    listed = paths.size() > 1;
  } else {
    paths = {environment("HOME") + "/.kube/config"};
  }
  json::Value merged;
  size_t found = 0;
  for (const std::string& path : paths) {
    auto text = read_file(path);
    if (!text.ok() && listed) continue;
    if (!text.ok()) return text.error();
    ++found;
    auto file = json::parse_yaml(*text);
    if (!file.ok()) return malformed(path + ": " + file.error().message);
    if (file->is_null()) continue;
    if (!file->is_object()) return malformed(path + ": not an object");
    merge(merged, *file, directory_name(path));
  }
  if (found == 0) return make_error(ErrorCode::kNotFound, "no file of KUBECONFIG can be read");
  auto config = resolve(merged, options.context);
  if (config.ok()) return config;
  Error error = config.error();
  error.message += " (" + paths.front() + (paths.size() > 1 ? " and others)" : ")");
  return error;
}

Result<ClientConfig> in_cluster_config(std::string_view root) {
  std::string host = environment("KUBERNETES_SERVICE_HOST"),
              port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return make_error(
        ErrorCode::kNotFound,
        "not inside a Pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  std::string directory = std::string(root) + std::string(kServiceAccount);
  ClientConfig config;
  bool v6 = host.find(':') != std::string::npos;
  config.server = "https://" + (v6 ? "[" + host + "]" : host) + ":" + port;
  config.token_file = directory + "/token";
  KUEUE_ASSIGN(config.token, read_file(config.token_file));
  config.token = trimmed(std::move(config.token));
  KUEUE_ASSIGN(config.ca_data, read_file(directory + "/ca.crt"));
  auto namespace_ = read_file(directory + "/namespace");
  if (namespace_.ok()) config.namespace_ = trimmed(std::move(*namespace_));
  return config;
}

Result<ClientConfig> default_client_config(const KubeconfigOptions& options) {
  bool inside =
      !environment("KUBERNETES_SERVICE_HOST").empty() && environment("KUBECONFIG").empty();
  if (options.path.empty() && options.context.empty() && inside) return in_cluster_config();
  return load_kubeconfig(options);
}

}  // namespace kueue::kube
