// Reading, merging and writing kubeconfig files.
#include "cli/kubeconfig.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>

#include "base/base64.h"
#include "json/json.h"

namespace kueue::cli {
namespace {

struct Source {
  json::Value config;
  std::string path;
  std::string directory;
};

Error bad(const std::string& path, const std::string& why) {
  return make_error(ErrorCode::kInvalid, "kubeconfig " + path + ": " + why);
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The entry of that name in a list such as "clusters": the first file that has it wins.
struct Entry {
  const json::Value* value = nullptr;
  const Source* source = nullptr;
};
Entry find_entry(const std::vector<Source>& sources, std::string_view list, std::string_view member,
                 std::string_view name) {
  for (const Source& source : sources) {
    const json::Value* entries = source.config.find(list);
    if (entries == nullptr || !entries->is_array()) continue;
    for (const json::Value& entry : entries->as_array()) {
      if (entry.get_string({"name"}) != name) continue;
      const json::Value* value = entry.find(member);
      if (value != nullptr && value->is_object()) return {value, &source};
    }
  }
  return {};
}

// "x-data" (base64) wins over "x" (a path).
Result<std::string> pem_of(const Entry& entry, const std::string& field) {
  const std::string_view data = entry.value->get_string({field + "-data"});
  if (!data.empty()) {
    auto decoded = base64_decode(data);
    if (!decoded.ok()) return bad(entry.source->path, field + "-data: " + decoded.error().message);
    return decoded;
  }
  std::string path(entry.value->get_string({field}));
  if (path.empty()) return std::string();
  if (path[0] != '/') path = entry.source->directory + "/" + path;
  auto text = read_file(path);
  if (!text.ok()) return bad(entry.source->path, field + ": " + text.error().message);
  return text;
}

Result<void> read_exec(const Entry& user, ClusterAccess* access) {
  const json::Value* exec = user.value->find("exec");
  if (exec == nullptr || !exec->is_object()) {
    if (user.value->find("auth-provider") != nullptr) {
      return bad(user.source->path, "auth-provider is not supported any more; use an exec plug-in");
    }
    return {};
  }
  ExecSettings settings;
  settings.command = exec->get_string({"command"});
  if (settings.command.empty()) return bad(user.source->path, "exec.command is missing");
  if (settings.command.find('/') != std::string::npos && settings.command[0] != '/') {
    settings.command = user.source->directory + "/" + settings.command;
  }
  settings.api_version = exec->get_string({"apiVersion"});
  if (settings.api_version != "client.authentication.k8s.io/v1" &&
      settings.api_version != "client.authentication.k8s.io/v1beta1") {
    return bad(user.source->path, "exec.apiVersion '" + settings.api_version +
                                      "' is not supported; use client.authentication.k8s.io/v1");
  }
  settings.install_hint = exec->get_string({"installHint"});
  if (const json::Value* args = exec->find("args"); args != nullptr && args->is_array()) {
    for (const json::Value& arg : args->as_array()) settings.args.emplace_back(arg.string_or(""));
  }
  if (const json::Value* env = exec->find("env"); env != nullptr && env->is_array()) {
    for (const json::Value& one : env->as_array()) {
      settings.env.emplace_back(one.get_string({"name"}), one.get_string({"value"}));
    }
  }
  access->exec = std::move(settings);
  return {};
}

void read_impersonation(const json::Value& user, ClusterAccess* access) {
  const std::string as(user.get_string({"as"}));
  if (as.empty()) return;
  access->impersonate.emplace_back("Impersonate-User", as);
  if (const json::Value* groups = user.find("as-groups"); groups != nullptr && groups->is_array()) {
    for (const json::Value& group : groups->as_array()) {
      access->impersonate.emplace_back("Impersonate-Group", group.string_or(""));
    }
  }
}

Result<void> read_user(const Entry& user, ClusterAccess* access) {
  KUEUE_ASSIGN(access->client_cert_pem, pem_of(user, "client-certificate"));
  KUEUE_ASSIGN(access->client_key_pem, pem_of(user, "client-key"));
  if (access->client_cert_pem.empty() != access->client_key_pem.empty()) {
    return bad(user.source->path, "client-certificate and client-key come together");
  }
  access->token = user.value->get_string({"token"});
  access->token_file = user.value->get_string({"tokenFile"});
  if (!access->token_file.empty() && access->token_file[0] != '/') {
    access->token_file = user.source->directory + "/" + access->token_file;
  }
  access->username = user.value->get_string({"username"});
  access->password = user.value->get_string({"password"});
  read_impersonation(*user.value, access);
  return read_exec(user, access);
}

Result<ClusterAccess> resolve(const std::vector<Source>& sources, std::string context) {
  const std::string first = sources.front().path;
  for (const Source& source : sources) {
    if (context.empty()) context = source.config.get_string({"current-context"});
  }
  if (context.empty()) return bad(first, "current-context is not set; use --context");
  const Entry ctx = find_entry(sources, "contexts", "context", context);
  if (ctx.value == nullptr) return bad(first, "there is no context '" + context + "'");
  const std::string cluster_name(ctx.value->get_string({"cluster"}));
  const Entry cluster = find_entry(sources, "clusters", "cluster", cluster_name);
  if (cluster.value == nullptr) {
    return bad(ctx.source->path, "context '" + context + "' names cluster '" + cluster_name +
                                     "', which is not defined");
  }
  ClusterAccess access;
  access.source = cluster.source->path;
  access.server = cluster.value->get_string({"server"});
  if (access.server.empty()) {
    return bad(cluster.source->path, "cluster '" + cluster_name + "' has no server");
  }
  KUEUE_ASSIGN(access.ca_pem, pem_of(cluster, "certificate-authority"));
  access.insecure = cluster.value->get_bool({"insecure-skip-tls-verify"});
  access.server_name = cluster.value->get_string({"tls-server-name"});
  if (const auto ns = ctx.value->get_string({"namespace"}); !ns.empty()) access.namespace_ = ns;
  const std::string user_name(ctx.value->get_string({"user"}));
  if (user_name.empty()) return access;
  const Entry user = find_entry(sources, "users", "user", user_name);
  if (user.value == nullptr) {
    return bad(ctx.source->path,
               "context '" + context + "' names user '" + user_name + "', which is not defined");
  }
  KUEUE_TRY(read_user(user, &access));
  return access;
}

Result<Source> parse_source(const std::string& text, const std::string& path,
                            const std::string& directory) {
  auto config = json::parse_yaml(text);
  if (!config.ok()) return bad(path, config.error().message);
  if (!config->is_object()) return bad(path, "is no kubeconfig");
  return Source{*std::move(config), path, directory};
}

Result<std::vector<Source>> read_sources(const std::vector<std::string>& paths, bool must_exist) {
  std::vector<Source> sources;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    auto text = read_file(path);
    if (!text.ok()) {
      if (!must_exist && text.error().code == ErrorCode::kNotFound) continue;
      return bad(path, text.error().message);
    }
    KUEUE_ASSIGN(Source source, parse_source(*text, path, directory_of(path)));
    sources.push_back(std::move(source));
  }
  return sources;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end == std::string::npos ? end : end - start));
    if (end == std::string::npos) break;
    start = end + 1;
  }
  return parts;
}

}  // namespace

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

Result<std::string> read_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) {
    return make_error(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                      path + ": " + strerror(errno));
  }
  struct stat info{};
  if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
    std::fclose(file);
    return make_error(ErrorCode::kUnavailable, path + ": is a directory");
  }
  std::string text;
  char buffer[65536];
  size_t n = 0;
  while ((n = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, n);
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed) return make_error(ErrorCode::kUnavailable, path + ": cannot be read");
  return text;
}

Result<ClusterAccess> parse_kubeconfig(const std::string& text, const std::string& context,
                                       const std::string& directory) {
  KUEUE_ASSIGN(Source source, parse_source(text, directory + "/config", directory));
  std::vector<Source> sources;
  sources.push_back(std::move(source));
  return resolve(sources, context);
}

Result<ClusterAccess> load_kubeconfig(const KubeconfigQuery& query) {
  const auto env = query.environment ? query.environment : environment_variable;
  std::vector<Source> sources;
  if (!query.path.empty()) {
    KUEUE_ASSIGN(sources, read_sources({query.path}, true));
  } else if (const std::string list = env("KUBECONFIG"); !list.empty()) {
    KUEUE_ASSIGN(sources, read_sources(split(list, ':'), false));
    if (sources.empty()) {
      return make_error(ErrorCode::kNotFound, "KUBECONFIG=" + list + ": no such file");
    }
  } else {
    KUEUE_ASSIGN(sources, read_sources({env("HOME") + "/.kube/config"}, false));
    if (sources.empty()) {
      KUEUE_ASSIGN(sources, read_sources({query.playground_path}, false));
    }
  }
  if (sources.empty()) {
    return make_error(ErrorCode::kNotFound,
                      "no kubeconfig: start a playground with 'kueue up', or give --kubeconfig");
  }
  return resolve(sources, query.context);
}

Result<ClusterAccess> in_cluster_access(
    const std::function<std::string(const std::string&)>& environment, const std::string& folder) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return make_error(ErrorCode::kNotFound, "not in a cluster: KUBERNETES_SERVICE_HOST is not set");
  }
  ClusterAccess access;
  access.server =
      "https://" + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
  KUEUE_ASSIGN(access.ca_pem, read_file(folder + "/ca.crt"));
  access.token_file = folder + "/token";
  if (auto ns = read_file(folder + "/namespace"); ns.ok()) access.namespace_ = *ns;
  access.source = folder;
  return access;
}

std::string write_kubeconfig(const ClusterAccess& access) {
  json::Value cluster = json::Value::object({{"server", access.server}});
  if (!access.ca_pem.empty()) {
    cluster["certificate-authority-data"] = base64_encode(access.ca_pem);
  }
  json::Value user = json::Value::object();
  if (!access.client_cert_pem.empty()) {
    user["client-certificate-data"] = base64_encode(access.client_cert_pem);
    user["client-key-data"] = base64_encode(access.client_key_pem);
  }
  if (!access.token.empty()) user["token"] = access.token;
  json::Value context = json::Value::object({{"cluster", "kueue"}, {"user", "admin"}});
  if (access.namespace_ != "default") context["namespace"] = access.namespace_;
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
