// Wiring of a manager on its own.
#include "app/manager_command.h"

#include <signal.h>

#include <atomic>
#include <memory>

#include "api/crd_manifest.h"
#include "api/registry.h"
#include "app/debug_endpoints.h"
#include "app/manager_endpoints.h"
#include "app/manager_setup.h"
#include "app/profiler.h"
#include "app/visibility_server.h"
#include "app/visibility_source.h"
#include "app/webhook_lookup.h"
#include "base/log.h"
#include "certificates/keeper.h"
#include "cli/commands.h"
#include "cli/kubeconfig.h"
#include "kube/executor.h"
#include "net/certs.h"
#include "net/http_server.h"
#include "webhooks/handler.h"

namespace kueue::app {
namespace {

constexpr int kThreads = 4;
constexpr int kLeaseThreads = 2;  // one may hang in a request
constexpr const char* kDefaultCertDir = "/tmp/k8s-webhook-server/serving-certs";

void set_up_logging(const config::ManagerOptions& flags) {
  LogOptions options;
  options.encoding =
      flags.zap_encoder == "console" || (flags.zap_encoder.empty() && flags.zap_devel)
          ? LogEncoding::kText
          : LogEncoding::kJson;
  const std::string& level = flags.zap_log_level;
  if (level == "debug" || (level.empty() && flags.zap_devel)) {
    options.verbosity = 1;
  } else if (level == "error" || level == "panic") {
    options.verbosity = -1;
  } else if (!level.empty() && level[0] >= '0' && level[0] <= '9') {
    options.verbosity = std::stoi(level.substr(0, 3));
  }
  configure_logging(options);
}

struct BindAddress {
  std::string host;
  uint16_t port = 0;
};

// ":8081", "127.0.0.1:8081", "[::1]:8081"; "0" and "" are off.
Result<std::optional<BindAddress>> parse_bind_address(const char* field, std::string_view text) {
  if (text.empty() || text == "0") return std::optional<BindAddress>();
  const size_t colon = text.rfind(':');
  const auto bad = [&] {
    return make_error(ErrorCode::kInvalid,
                      std::string(field) + ": \"" + std::string(text) + "\" is not HOST:PORT");
  };
  if (colon == std::string_view::npos) return bad();
  BindAddress address;
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (address.host.empty()) address.host = "0.0.0.0";
  int port = 0;
  for (const char c : text.substr(colon + 1)) {
    if (c < '0' || c > '9' || port > 65535) return bad();
    port = port * 10 + (c - '0');
  }
  if (port > 65535 || colon + 1 == text.size()) return bad();
  address.port = static_cast<uint16_t>(port);
  return std::optional(address);
}

// A certificate nobody has to trust: metrics are scraped with insecure_skip_verify, as with Kueue.
Result<net::ServerTls> self_signed(const std::string& name) {
  const Instant now = system_clock().now();
  const Duration year = Duration::seconds(365LL * 86400);
  KUEUE_ASSIGN(const net::KeyPair ca, net::make_ca("kueue", now, year));
  KUEUE_ASSIGN(
      const net::KeyPair leaf,
      net::make_leaf(
          ca,
          {.common_name = name, .dns_names = {name, "localhost"}, .server = true, .validity = year},
          now));
  return net::ServerTls{.cert_pem = leaf.cert_pem, .key_pem = leaf.key_pem};
}

Result<net::ServerTls> read_cert_dir(const std::string& folder, const net::TlsPolicy& policy) {
  net::ServerTls tls;
  tls.policy = policy;
  KUEUE_ASSIGN(tls.cert_pem, cli::read_file(folder + "/tls.crt"));
  KUEUE_ASSIGN(tls.key_pem, cli::read_file(folder + "/tls.key"));
  return tls;
}

// The CRDs whose conversion calls us.
std::vector<std::string> converted_definitions() {
  std::vector<std::string> names;
  for (const schema::ResourceInfo* info : api::kueue_resources())
    if (info->storage && api::needs_conversion(info->kind))
      names.push_back(std::string(info->plural) + "." + std::string(info->group));
  return names;
}

// Everything that lives as long as the process; destroyed in reverse.
class ManagerProcess {
 public:
  explicit ManagerProcess(ManagerSetup setup) : setup_(std::move(setup)) {}
  ~ManagerProcess() { stop(); }

  Result<void> start(const config::ManagerOptions& flags, std::function<void()> on_lost_lease);
  void stop();
  // Reads the Configuration again and says what of it is in force now (SIGHUP).
  void reload(const config::ManagerOptions& flags);

 private:
  Result<void> listen_health();
  Result<void> listen_metrics(const config::ManagerOptions& flags);
  Result<void> listen_webhooks(const config::ManagerOptions& flags);
  Result<void> listen_visibility();
  Result<void> listen_debug();
  void add_build_info();
  net::TlsPolicy policy() {
    std::lock_guard lock(policy_mutex_);
    return policy_;
  }
  void use_certificate();  // the own one, with the policy of now
  bool own_certificates() const {
    return setup_.document.get_bool({"internalCertManagement", "enable"}, true);
  }
  // From now on the servers use what the Secret holds.
  void keep_certificates();
  // `setting` decides the address; errors name it.
  Result<std::unique_ptr<net::HttpServer>> listen(
      const char* setting, const BindAddress& address, std::optional<net::ServerTls> tls,
      wire::Handler& handler, std::function<Result<net::ServerTls>()> reload = {});

  ManagerSetup setup_;
  std::mutex policy_mutex_;
  net::TlsPolicy policy_ = tls_policy_of(setup_.document);
  std::optional<certificates::ServingSet> own_certificate_;  // guarded by policy_mutex_
  Logger log_{"setup"};
  net::Loop loop_;
  net::Loop slow_loop_;  // metrics: their authorization waits for the API server
  std::shared_ptr<wire::Transport> transport_;
  std::shared_ptr<kube::Client> client_;
  std::unique_ptr<kube::ThreadExecutor> executor_;
  std::unique_ptr<kube::ThreadExecutor> webhook_executor_;
  std::unique_ptr<kube::ThreadExecutor> lease_executor_;
  std::unique_ptr<controllers::Manager> manager_;
  std::unique_ptr<HealthHandler> health_handler_;
  std::unique_ptr<MetricsHandler> metrics_handler_;
  std::unique_ptr<webhooks::Handler> webhooks_inner_;
  std::unique_ptr<OffLoopHandler> webhook_handler_;
  std::unique_ptr<net::HttpServer> health_;
  std::unique_ptr<net::HttpServer> metrics_;
  bool metrics_tls_ = false;
  std::unique_ptr<net::HttpServer> webhooks_;
  std::unique_ptr<DebugHandler> debug_handler_;
  std::unique_ptr<net::HttpServer> debug_;
  std::unique_ptr<visibility::Source> visibility_source_;
  std::unique_ptr<VisibilityServer> visibility_;
  std::unique_ptr<certificates::CertificateKeeper> keeper_;
};

Result<std::unique_ptr<net::HttpServer>> ManagerProcess::listen(
    const char* setting, const BindAddress& address, std::optional<net::ServerTls> tls,
    wire::Handler& handler, std::function<Result<net::ServerTls>()> reload) {
  net::ServerOptions options;
  options.address = address.host;
  options.port = address.port;
  if (tls) tls->policy = policy();
  options.tls = std::move(tls);
  options.tls_reload = std::move(reload);
  options.body_limit = 16u << 20;  // an AdmissionReview holds old and new object
  options.log = [log = log_](const std::string& line) { log.info(line); };
  auto server = net::HttpServer::listen(&handler == metrics_handler_.get() ? slow_loop_ : loop_,
                                        std::move(options), handler);
  if (server.ok()) return server;
  Error error = std::move(server).error();
  error.message = std::string(setting) + " of the Configuration: " + error.message;
  return error;
}

Result<void> ManagerProcess::listen_health() {
  const json::Value& document = setup_.document;
  KUEUE_ASSIGN(const auto address,
               parse_bind_address("health.healthProbeBindAddress",
                                  document.get_string({"health", "healthProbeBindAddress"})));
  if (!address) return {};
  const auto path = [&](const char* member, const char* fallback) {
    const std::string name(document.get_string({"health", member}, fallback));
    return name.starts_with('/') ? name : "/" + name;
  };
  health_handler_ = std::make_unique<HealthHandler>(path("livenessEndpointName", "/healthz"),
                                                    path("readinessEndpointName", "/readyz"),
                                                    [this] { return manager_->ready(); });
  KUEUE_ASSIGN(health_,
               listen("health.healthProbeBindAddress", *address, std::nullopt, *health_handler_));
  return {};
}

Result<void> ManagerProcess::listen_metrics(const config::ManagerOptions& flags) {
  KUEUE_ASSIGN(const auto address,
               parse_bind_address("metrics.bindAddress",
                                  setup_.document.get_string({"metrics", "bindAddress"})));
  if (!address) return {};
  std::optional<net::ServerTls> tls;
  MetricsHandler::Authorizer authorizer;
  if (!flags.metrics_plain_http) {
    KUEUE_ASSIGN(tls, self_signed("kueue-metrics"));
    metrics_tls_ = true;
    authorizer = make_token_authorizer(transport_);
  }
  metrics_handler_ = std::make_unique<MetricsHandler>(
      [this] { return manager_->metrics_text() + process_metrics_text(); }, std::move(authorizer));
  metrics_handler_->serve_state([this] { return manager_->state_dump(); },
                                make_token_authorizer(transport_, "/debug/state"));
  KUEUE_ASSIGN(metrics_,
               listen("metrics.bindAddress", *address, std::move(tls), *metrics_handler_));
  return {};
}

Result<void> ManagerProcess::listen_webhooks(const config::ManagerOptions& flags) {
  BindAddress address;
  address.host = setup_.document.get_string({"webhook", "host"});
  if (address.host.empty()) address.host = "0.0.0.0";
  address.port = static_cast<uint16_t>(setup_.document.get_int({"webhook", "port"}, 9443));
  std::string folder(setup_.document.get_string({"webhook", "certDir"}));
  if (folder.empty()) folder = kDefaultCertDir;
  webhooks::HandlerOptions hooks{.settings = webhook_settings(setup_.options),
                                 .lookup = make_webhook_lookup(*manager_, client_, setup_.options)};
  if (flags.webhooks) hooks.served.emplace(flags.webhooks->begin(), flags.webhooks->end());
  hooks.noop.insert(flags.noop_webhooks.begin(), flags.noop_webhooks.end());
  webhooks_inner_ = std::make_unique<webhooks::Handler>(std::move(hooks));
  webhook_handler_ = std::make_unique<OffLoopHandler>(*webhooks_inner_, *webhook_executor_);
  if (own_certificates()) {
    // Until the Secret is read; nobody trusts it.
    KUEUE_ASSIGN(net::ServerTls first, self_signed("kueue-webhook-service"));
    own_certificate_.emplace().serving = {.cert_pem = first.cert_pem, .key_pem = first.key_pem};
    KUEUE_ASSIGN(webhooks_, listen("webhook.port", address, std::move(first), *webhook_handler_));
    return {};
  }
  auto tls = read_cert_dir(folder, policy());
  if (!tls.ok())
    return make_error(ErrorCode::kUnavailable, "webhook.certDir: " + tls.error().message);
  auto reload = [this, folder] { return read_cert_dir(folder, policy()); };
  KUEUE_ASSIGN(webhooks_, listen("webhook.port", address, *std::move(tls), *webhook_handler_,
                                 std::move(reload)));
  return {};
}

Result<void> ManagerProcess::listen_visibility() {
  if (!setup_.options.gates.on(Gate::kVisibilityOnDemand)) return {};
  const json::Value& document = setup_.document;
  net::ServerOptions options;
  options.address = document.get_string({"visibilityServer", "bindAddress"}, "0.0.0.0");
  options.port = static_cast<uint16_t>(document.get_int({"visibilityServer", "bindPort"}, 8082));
  options.log = [log = log_](const std::string& line) { log.info(line); };
  if (own_certificates()) {
    KUEUE_ASSIGN(options.tls, self_signed("kueue-visibility-server"));
    options.tls->policy = policy();
  } else {
    // A folder of its own, where Kueue has it; otherwise that of the webhooks.
    std::string folder = "/visibility";
    auto tls = read_cert_dir(folder, policy());
    if (!tls.ok()) {
      folder = document.get_string({"webhook", "certDir"}, kDefaultCertDir);
      tls = read_cert_dir(folder, policy());
    }
    if (!tls.ok()) return std::move(tls).error();
    options.tls = *std::move(tls);
    options.tls_reload = [this, folder] { return read_cert_dir(folder, policy()); };
  }
  visibility_source_ = make_visibility_source(*manager_);
  visibility_ = std::make_unique<VisibilityServer>(
      client_, *webhook_executor_, *visibility_source_, ":" + std::to_string(options.port),
      [log = log_](const std::string& line) { log.info(line); });
  const auto listening = visibility_->listen(loop_, std::move(options));
  if (listening.ok()) return {};
  Error error = listening.error();
  error.message = "visibilityServer.bindPort of the Configuration: " + error.message;
  return error;
}

void ManagerProcess::keep_certificates() {
  const json::Value& document = setup_.document;
  if (!own_certificates()) return;
  certificates::KeeperOptions options;
  options.namespace_ = setup_.options.namespace_;
  options.secret = document.get_string({"internalCertManagement", "webhookSecretName"},
                                       "kueue-webhook-server-cert");
  const std::string service(document.get_string({"internalCertManagement", "webhookServiceName"},
                                                "kueue-webhook-service"));
  // An installation under another name has all its services under that name.
  static constexpr std::string_view kSuffix = "-webhook-service";
  const std::string name =
      service.ends_with(kSuffix) ? service.substr(0, service.size() - kSuffix.size()) : "kueue";
  options.services = {service, name + "-visibility-server",
                      name + "-controller-manager-metrics-service"};
  options.definitions = converted_definitions();
  keeper_ = std::make_unique<certificates::CertificateKeeper>(
      client_, *webhook_executor_, std::move(options),
      [this](const certificates::ServingSet& set) {
        {
          std::lock_guard lock(policy_mutex_);
          own_certificate_ = set;
        }
        use_certificate();
      },
      [log = log_](const std::string& line) { log.info(line); });
  keeper_->start();
}

void ManagerProcess::use_certificate() {
  net::ServerTls tls;
  {
    std::lock_guard lock(policy_mutex_);
    if (!own_certificate_) return;
    tls = {.cert_pem = own_certificate_->serving.cert_pem,
           .key_pem = own_certificate_->serving.key_pem,
           .policy = policy_};
  }
  if (visibility_) visibility_->set_certificate(tls);
  for (auto* server : {&webhooks_, &metrics_}) {
    if (!*server || (server == &metrics_ && !metrics_tls_)) continue;
    const auto used = (*server)->set_tls(tls);
    if (!used.ok()) log_.info("certificates: " + used.error().message);
  }
}

void ManagerProcess::reload(const config::ManagerOptions& flags) {
  const auto read = load_manager_setup(flags);
  if (!read.ok()) {
    log_.info("The Configuration was not read again, the one of before stays in force: " +
              describe_error(read.error()));
    return;
  }
  Reload plan = plan_reload(setup_.document, read->document);
  if (setup_.options.bounded_termination != read->options.bounded_termination)
    plan.lines.push_back(
        "boundedTermination: changed; takes effect when the manager is started anew");
  if (plan.lines.empty()) log_.info("The Configuration has not changed");
  for (const std::string& line : plan.lines) log_.info(line);
  setup_.document = std::move(plan.in_force);
  {
    std::lock_guard lock(policy_mutex_);
    policy_ = tls_policy_of(setup_.document);
  }
  use_certificate();
  limit_rate(*transport_, read->rate);
  manager_->reload(read->options);
  webhooks::Settings settings = webhook_settings(setup_.options);
  const webhooks::Settings given = webhook_settings(read->options);
  settings.manage_jobs_without_queue_name = given.manage_jobs_without_queue_name;
  settings.managed_jobs_namespace_selector = given.managed_jobs_namespace_selector;
  webhooks_inner_->use(std::move(settings));
}

Result<void> ManagerProcess::listen_debug() {
  KUEUE_ASSIGN(
      const auto address,
      parse_bind_address("pprofBindAddress", setup_.document.get_string({"pprofBindAddress"})));
  if (!address) return {};
  debug_handler_ = std::make_unique<DebugHandler>(*manager_, *webhook_executor_);
  KUEUE_ASSIGN(debug_, listen("pprofBindAddress", *address, std::nullopt, *debug_handler_));
  return {};
}

void ManagerProcess::add_build_info() {
  auto& family = manager_->metrics().registry.add(
      {.name = "kueue_build_info",
       .type = controllers::metrics::Type::kGauge,
       .help = "Kueue build information. 1 labeled by git version, git commit, build date, go "
               "version, compiler, platform",
       .labels = {"git_version", "git_commit", "build_date", "go_version", "compiler",
                  "platform"}});
  family.set({"v" KUEUE_VERSION, "", "", "", "clang " __clang_version__, "linux/amd64"}, 1);
}

Result<void> ManagerProcess::start(const config::ManagerOptions& flags,
                                   std::function<void()> on_lost_lease) {
  KUEUE_ASSIGN(const kube::ClientConfig cluster,
               kube::default_client_config({.path = flags.kubeconfig}));
  KUEUE_ASSIGN(transport_, connect(cluster, setup_.rate));
  client_ = std::make_shared<kube::Client>(transport_, "kueue");
  executor_ = std::make_unique<kube::ThreadExecutor>(kThreads);
  webhook_executor_ = std::make_unique<kube::ThreadExecutor>(kThreads);
  controllers::ManagerDeps deps;
  deps.client = client_;
  deps.executor = executor_.get();
  deps.options = setup_.options;
  deps.leader_election = setup_.leader_election;
  if (setup_.leader_election) {
    KUEUE_ASSIGN(auto transport, connect(cluster));
    deps.lease_client = std::make_shared<kube::Client>(
        std::move(transport), "kueue", Duration{setup_.leader_election->renew_deadline.ns / 2});
    lease_executor_ = std::make_unique<kube::ThreadExecutor>(kLeaseThreads);
    deps.lease_executor = lease_executor_.get();
  }
  deps.on_lost_lease = std::move(on_lost_lease);
  deps.log = [log = Logger("controllers")](const std::string& line) { log.info(line); };
  manager_ = std::make_unique<controllers::Manager>(std::move(deps));
  add_build_info();
  loop_.start("kueue-net");
  slow_loop_.start("kueue-metrics");
  KUEUE_TRY(listen_webhooks(flags));
  KUEUE_TRY(listen_metrics(flags));
  KUEUE_TRY(listen_health());
  KUEUE_TRY(listen_visibility());
  KUEUE_TRY(listen_debug());
  keep_certificates();
  manager_->start();
  log_.info("Started", {{"version", KUEUE_VERSION}, {"server", cluster.server}});
  return {};
}

void ManagerProcess::stop() {
  for (auto* server : {&health_, &webhooks_, &metrics_, &debug_}) {
    if (*server) (*server)->stop(Duration::millis(500));
  }
  if (keeper_) keeper_->stop();
  if (visibility_) visibility_->stop();
  if (webhook_executor_) webhook_executor_->stop();
  if (manager_) manager_->stop();
  if (lease_executor_) lease_executor_->stop();
  if (executor_) executor_->stop();
  loop_.stop();
  slow_loop_.stop();
}

}  // namespace

int run_manager(std::span<const std::string> arguments, cli::Terminal& terminal) {
  auto flags = config::parse_manager_flags(arguments);
  if (!flags.ok()) {
    terminal.err("error: " + flags.error().message + "\n'kueue manager --help' lists the flags.\n");
    return cli::kUsage;
  }
  if (flags->help) {
    terminal.out(
        "Run the manager against any Kubernetes API server\n\nUsage:\n  kueue manager "
        "[flags]\n\nFlags:\n" +
        config::manager_flags_help());
    return cli::kOk;
  }
  set_up_logging(*flags);
  auto setup = load_manager_setup(*flags);
  if (!setup.ok()) {
    terminal.err("error: " + describe_error(setup.error()) + "\n");
    return cli::kFailed;
  }
  const Logger log("setup");
  for (const std::string& warning : setup->warnings) log.info(warning);
  // On the level that no setting hides: whoever counts on it has to know.
  for (const ErrorCause& one : setup->not_built)
    log.error("What is asked for is not there yet; the rest runs without it", one.message,
              {{"field", one.field}});

  net::Loop signals;
  std::atomic<bool> lost_lease{false};
  ManagerProcess process(*std::move(setup));
  net::SignalWatch watch(signals, {SIGINT, SIGTERM, SIGHUP}, [&](int signal) {
    if (signal != SIGHUP) return signals.stop();
    process.reload(*flags);
  });
  const auto started = process.start(*flags, [&] {
    lost_lease.store(true);
    signals.stop();
  });
  if (!started.ok()) {
    terminal.err("error: " + describe_error(started.error()) + "\n");
    return cli::kFailed;
  }
  signals.run();
  const bool lost = lost_lease.load();  // stop() gives the lease up as well
  process.stop();
  if (lost) {
    terminal.err(
        "error: the lease was lost: another manager took it, or it could not be renewed\n");
    return cli::kFailed;
  }
  return cli::kOk;
}

}  // namespace kueue::app
