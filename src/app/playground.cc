// Wiring of the playground.
#include "app/playground.h"

#include <poll.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "api/registry.h"
#include "apiserver/server.h"
#include "app/data_dir.h"
#include "app/in_process_transport.h"
#include "app/kueue_definitions.h"
#include "app/manager_endpoints.h"
#include "app/manager_setup.h"
#include "app/own_lease.h"
#include "app/visibility_source.h"
#include "app/webhook_lookup.h"
#include "cli/kubeconfig.h"
#include "controllers/manager.h"
#include "install/manifests.h"
#include "kube/client.h"
#include "kube/executor.h"
#include "net/http_server.h"
#include "net/http_transport.h"
#include "standins/standins.h"
#include "webhooks/handler.h"

namespace kueue::app {
namespace {

constexpr int kPreferredPort = 6443;

// Connections to webhooks by URL, kept for the next call.
class WebhookTransports {
 public:
  Result<std::shared_ptr<wire::Transport>> get(const apiserver::Endpoint& endpoint) {
    const std::string server =
        endpoint.scheme + "://" +
        (endpoint.host.find(':') == std::string::npos ? endpoint.host : "[" + endpoint.host + "]") +
        ":" + std::to_string(endpoint.port);
    const std::string key = server + "\n" + endpoint.server_name + "\n" + endpoint.ca_bundle;
    std::lock_guard lock(mutex_);
    auto& transport = transports_[key];
    if (transport == nullptr) {
      KUEUE_ASSIGN(transport, net::make_transport({.server = server,
                                                   .ca_pem = endpoint.ca_bundle,
                                                   .server_name = endpoint.server_name,
                                                   .user_agent = "kueue/" KUEUE_VERSION}));
    }
    return transport;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<wire::Transport>> transports_;
};

// Polls a condition that other threads make true.
Result<void> wait_until(const std::function<bool()>& condition, const std::string& what) {
  for (int i = 0; i < 30'000; ++i) {
    if (condition()) return {};
    poll(nullptr, 0, 1);
  }
  return make_error(ErrorCode::kTimeout, what + " did not become ready within 30 seconds");
}

}  // namespace

// In the order in which they are made; destroyed the other way round.
struct Playground::Parts {
  PlaygroundOptions options;
  std::string url;
  bool stopped = false;
  bool kubeconfig_written = false;
  std::vector<std::string> warnings;
  std::unique_ptr<FolderLock> lock;
  Credentials credentials;
  std::shared_ptr<WebhookTransports> webhooks = std::make_shared<WebhookTransports>();
  net::Loop loop;
  net::Loop second_loop;
  std::unique_ptr<apiserver::Server> server;
  std::shared_ptr<wire::Transport> stand_in_transport;
  std::shared_ptr<wire::Transport> manager_transport;
  std::unique_ptr<kube::ThreadExecutor> executor;
  std::unique_ptr<standins::StandIns> stand_ins;
  std::shared_ptr<kube::Client> manager_client;
  std::unique_ptr<controllers::Manager> manager;
  std::unique_ptr<webhooks::Handler> webhook_handler;
  std::unique_ptr<visibility::Source> visibility_source;
  std::unique_ptr<visibility::Access> visibility_access;
  std::unique_ptr<visibility::Handler> visibility_inner;
  std::unique_ptr<OffLoopHandler> visibility_handler;
  std::unique_ptr<OwnLease> lease;
  std::unique_ptr<net::HttpServer> http;

  Result<void> open_folder();
  Result<void> open_server();
  Result<void> listen();
  Result<void> start_stand_ins();
  Result<void> make_manager();
  void make_visibility();
  Result<void> take_lease();
  Result<void> start_manager();
  Result<void> install_webhooks();
  // Of the core group.
  Result<void> apply_own(const json::Value& object);
  Result<void> write_kubeconfig();
  void stop();
};

Result<void> Playground::Parts::open_folder() {
  KUEUE_TRY(check_kubeconfig(options.kubeconfig));
  // In memory the folder is not used: somebody else may.
  if (!options.memory) {
    KUEUE_ASSIGN(lock, FolderLock::take(options.data_dir));
  }
  KUEUE_ASSIGN(credentials,
               load_or_make_credentials(options.memory ? "" : options.data_dir,
                                        server_names(options.address), system_clock().now()));
  return {};
}

Result<void> Playground::Parts::open_server() {
  apiserver::Options server_options;
  server_options.data_dir = options.memory ? "" : options.data_dir;
  server_options.memory = options.memory;
  const auto builtin = api::builtin_resources();
  server_options.resources = {builtin.begin(), builtin.end()};
  server_options.tokens[credentials.token] = {
      .user = "kubernetes-admin", .groups = {"system:masters"}, .extra = {}};
  server_options.transports = [hooks = webhooks](const apiserver::Endpoint& endpoint) {
    return hooks->get(endpoint);
  };
  server_options.ca_pem = credentials.ca.cert_pem;
  KUEUE_ASSIGN(server, apiserver::Server::open(std::move(server_options)));
  return {};
}

Result<void> Playground::Parts::listen() {
  net::ServerOptions http_options;
  http_options.address = options.address;
  http_options.port = static_cast<uint16_t>(options.port < 0 ? kPreferredPort : options.port);
  http_options.tls = net::ServerTls{.cert_pem = credentials.server.cert_pem,
                                    .key_pem = credentials.server.key_pem,
                                    .client_ca_pem = credentials.ca.cert_pem};
  http_options.extra_loops = {&second_loop};
  http_options.log = options.log;
  loop.start("kueue-net");
  second_loop.start("kueue-net-2");
  auto result = net::HttpServer::listen(loop, http_options, *server);
  if (!result.ok() && options.port < 0) {
    http_options.port = 0;
    result = net::HttpServer::listen(loop, http_options, *server);
  }
  if (!result.ok()) {
    Error error = std::move(result).error();
    if (options.port > 0)
      error.message += " (--port " + std::to_string(options.port) +
                       "); give another --port, --port 0 takes any free one";
    return error;
  }
  http = *std::move(result);
  std::string host = options.address;
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  url = "https://" + host + ":" + std::to_string(http->port());
  return {};
}

Result<void> Playground::Parts::start_stand_ins() {
  standins::Options stand_in_options;
  KUEUE_TRY(standins::choose(options.stand_ins, stand_in_options));
  stand_in_options.nodes = options.nodes;
  stand_in_transport = make_in_process_transport(
      *server, {.user = "system:kueue-stand-ins", .groups = {"system:masters"}, .extra = {}});
  stand_ins = std::make_unique<standins::StandIns>(stand_in_transport, *executor, stand_in_options);
  KUEUE_TRY(stand_ins->start());
  return wait_until([this] { return stand_ins->ready(); }, "the stand-ins");
}

Result<void> Playground::Parts::make_manager() {
  executor = std::make_unique<kube::ThreadExecutor>(4);
  manager_transport = make_in_process_transport(
      *server, {.user = "system:serviceaccount:kueue-system:kueue-controller-manager",
                .groups = {"system:masters", "system:serviceaccounts",
                           "system:serviceaccounts:kueue-system"},
                .extra = {}});
  manager_client = std::make_shared<kube::Client>(manager_transport, "kueue");
  if (!options.manager) return {};
  config::ManagerOptions flags;
  flags.config = options.config_path;
  auto setup = load_manager_setup(flags);
  if (!setup.ok()) return make_error(setup.error().code, describe_error(setup.error()));
  warnings = setup->warnings;
  for (const ErrorCause& one : setup->not_built) warnings.push_back(one.field + ": " + one.message);
  controllers::ManagerDeps deps;
  deps.options = setup->options;
  deps.client = manager_client;
  deps.executor = executor.get();
  if (options.log) deps.log = options.log;
  manager = std::make_unique<controllers::Manager>(std::move(deps));
  webhook_handler = std::make_unique<webhooks::Handler>(webhooks::HandlerOptions{
      .settings = webhook_settings(setup->options),
      .lookup = make_webhook_lookup(*manager, manager_client, setup->options)});
  server->register_service("kueue-system", "kueue-webhook-service", webhook_handler.get());
  if (setup->options.gates.on(Gate::kVisibilityOnDemand)) make_visibility();
  return {};
}

void Playground::Parts::make_visibility() {
  visibility_source = make_visibility_source(*manager);
  visibility_access = std::make_unique<visibility::Access>(manager_transport, system_clock());
  visibility_inner =
      std::make_unique<visibility::Handler>(*visibility_source, *visibility_access, ":443");
  visibility_handler = std::make_unique<OffLoopHandler>(*visibility_inner, *executor);
  server->register_service("kueue-system", "kueue-visibility-server", visibility_handler.get());
}

Result<void> Playground::Parts::start_manager() {
  if (!manager) return install_webhooks();
  manager->start();
  KUEUE_TRY(wait_until([this] { return manager->ready(); }, "the manager"));
  return install_webhooks();
}

// What leads requests to the manager, or without manager its removal: nobody would answer.
Result<void> Playground::Parts::install_webhooks() {
  KUEUE_ASSIGN(std::vector<json::Value> routes, install::objects({}, "webhooks"));
  KUEUE_ASSIGN(std::vector<json::Value> visible, install::objects({}, "visibility"));
  for (json::Value& one : visible)
    if (one.get_string({"kind"}) == "APIService") routes.push_back(std::move(one));
  for (const json::Value& one : routes) {
    const std::string kind(one.get_string({"kind"}));
    const schema::ResourceInfo* info = api::find_kind(one.get_string({"apiVersion"}), kind);
    KUEUE_CHECK(info != nullptr, "webhook configurations are built-in kinds");
    const auto resource = kube::Resource::of(*info);
    const kube::ObjectKey key{"", std::string(one.get_string({"metadata", "name"}))};
    if (manager && (kind != "APIService" || visibility_handler)) {
      const auto applied = manager_client->patch(resource, key, kube::PatchType::kApply, one,
                                                 {.field_manager = kInstaller, .force = true});
      if (!applied.ok()) return applied.error();
    } else if (auto removed = manager_client->remove(resource, key);
               !removed.ok() && removed.error().code != ErrorCode::kNotFound) {
      return removed.error();
    }
  }
  // Managers that run elsewhere learn here whose client certificates are good.
  return apply_own(json::Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", json::Value::object({{"name", "extension-apiserver-authentication"},
                                         {"namespace", "kube-system"}})},
       {"data", json::Value::object({{"client-ca-file", credentials.ca.cert_pem}})}}));
}

Result<void> Playground::Parts::apply_own(const json::Value& object) {
  const auto applied = manager_client->patch(
      kube::Resource::of(*api::find_kind("v1", object.get_string({"kind"}))),
      {std::string(object.get_string({"metadata", "namespace"})),
       std::string(object.get_string({"metadata", "name"}))},
      kube::PatchType::kApply, object, {.field_manager = "kueue-up", .force = true});
  if (!applied.ok()) return applied.error();
  return {};
}

// Before anybody can connect.
Result<void> Playground::Parts::take_lease() {
  lease = std::make_unique<OwnLease>(manager_client, *executor);
  if (!manager) return lease->clear();
  KUEUE_TRY(apply_own(
      json::Value::object({{"apiVersion", "v1"},
                           {"kind", "Namespace"},
                           {"metadata", json::Value::object({{"name", "kueue-system"}})}})));
  return lease->take();
}

Result<void> Playground::Parts::write_kubeconfig() {
  kube::ClientConfig config;
  config.server = url;
  config.ca_data = credentials.ca.cert_pem;
  config.client_cert_data = credentials.admin.cert_pem;
  config.client_key_data = credentials.admin.key_pem;
  const size_t slash = options.kubeconfig.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    KUEUE_TRY(make_folders(options.kubeconfig.substr(0, slash)));
  }
  KUEUE_TRY(write_file_atomically(options.kubeconfig, cli::write_kubeconfig(config)));
  kubeconfig_written = true;
  return {};
}

void Playground::Parts::stop() {
  if (stopped) return;
  stopped = true;
  int64_t since = net::steady_ns();
  const auto note = [&](const char* what) {
    const int64_t now = net::steady_ns();
    if (options.log) {
      options.log(std::string(what) + " stopped in " + format_duration({now - since}));
    }
    since = now;
  };
  // Clients first: they see their watches end in good order while everything still answers.
  if (http) http->stop(Duration::millis(200));
  note("HTTP server");
  if (manager) manager->stop();
  if (lease) lease->give_back();
  note("manager");
  if (stand_ins) stand_ins->stop();
  note("stand-ins");
  if (webhook_handler) {
    server->register_service("kueue-system", "kueue-webhook-service", nullptr);
    server->register_service("kueue-system", "kueue-visibility-server", nullptr);
  }
  if (executor) executor->stop();
  note("executor");
  if (server) server->stop();
  note("API server");
  loop.stop();
  second_loop.stop();
  // It leads nowhere now, and another start makes another one.
  if (options.memory && kubeconfig_written) (void)remove_kubeconfig(options.kubeconfig).ok();
}

Playground::Playground(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Playground::~Playground() { stop(); }

void Playground::stop() { parts_->stop(); }

const std::string& Playground::url() const { return parts_->url; }

const PlaygroundOptions& Playground::options() const { return parts_->options; }

const std::vector<std::string>& Playground::warnings() const { return parts_->warnings; }

Result<std::unique_ptr<Playground>> Playground::start(PlaygroundOptions options) {
  auto parts = std::make_unique<Parts>();
  parts->options = std::move(options);
  std::unique_ptr<Playground> playground(new Playground(std::move(parts)));
  Parts& p = *playground->parts_;
  KUEUE_TRY(p.open_folder());
  KUEUE_TRY(p.open_server());
  KUEUE_TRY(install_kueue_definitions(*p.server));
  KUEUE_TRY(p.make_manager());
  KUEUE_TRY(p.take_lease());
  KUEUE_TRY(p.listen());
  KUEUE_TRY(remove_kubeconfig(p.options.kubeconfig));
  KUEUE_TRY(p.start_stand_ins());
  KUEUE_TRY(p.start_manager());
  KUEUE_TRY(p.write_kubeconfig());
  return playground;
}

}  // namespace kueue::app
