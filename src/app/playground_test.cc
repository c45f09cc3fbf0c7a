// The whole playground in one process, over real sockets.
#include "app/playground.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/registry.h"
#include "app/connect.h"
#include "app/data_dir.h"
#include "app/manager_endpoints.h"
#include "cli/kubeconfig.h"
#include "install/manifests.h"
#include "json/json.h"
#include "kube/client.h"
#include "net/certs.h"
#include "wire/testing.h"

namespace kueue::app {
namespace {

class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/kueue-app-XXXXXX";
    path = mkdtemp(name);
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

PlaygroundOptions quiet(const TempFolder& folder) {
  PlaygroundOptions options;
  options.data_dir = folder.path + "/data";
  options.kubeconfig = folder.path + "/kubeconfig";
  options.port = 0;
  options.nodes = "2x4cpu,8Gi";
  options.manager = false;
  return options;
}

// With a manager, in memory.
PlaygroundOptions managed(const TempFolder& folder) {
  PlaygroundOptions options = quiet(folder);
  options.memory = true;
  options.manager = true;
  return options;
}

kube::Client client_of(const PlaygroundOptions& options) {
  const auto config = kube::load_kubeconfig({.path = options.kubeconfig});
  EXPECT_TRUE(config.ok());
  return {connect(*config).value(), "test"};
}

const kube::Resource kNodes{"", "v1", "nodes", "Node", false};
const kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};

TEST(Playground, WritesAKubeconfigThatWorksAndKeepsWhatWasStored) {
  const TempFolder folder;
  const PlaygroundOptions options = quiet(folder);
  std::string ca;
  {
    auto playground = Playground::start(options);
    ASSERT_TRUE(playground.ok()) << playground.error().message;
    kube::Client client = client_of(options);
    const auto nodes = client.list(kNodes, "");
    ASSERT_TRUE(nodes.ok()) << nodes.error().message;
    EXPECT_EQ(nodes->items.size(), 2u);
    ASSERT_TRUE(
        client
            .create(kNamespaces, "",
                    json::Value::object({{"apiVersion", "v1"},
                                         {"kind", "Namespace"},
                                         {"metadata", json::Value::object({{"name", "kept"}})}}))
            .ok());
    ca = kube::load_kubeconfig({.path = options.kubeconfig})->ca_data;
    (*playground)->stop();
    EXPECT_EQ(client.list(kNodes, "").error().code, ErrorCode::kUnavailable);
  }
  auto again = Playground::start(options);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(client_of(options).get(kNamespaces, {"", "kept"}).ok());
  EXPECT_EQ(kube::load_kubeconfig({.path = options.kubeconfig})->ca_data, ca);
}

TEST(Playground, WithManagerAndInMemory) {
  const TempFolder folder;
  PlaygroundOptions options = managed(folder);
  options.data_dir = "";
  auto playground = Playground::start(options);
  ASSERT_TRUE(playground.ok()) << playground.error().message;
  kube::Client client = client_of(options);
  const kube::Resource hooks{"admissionregistration.k8s.io", "v1",
                             "validatingwebhookconfigurations", "ValidatingWebhookConfiguration",
                             false};
  EXPECT_TRUE(client.get(hooks, {"", "kueue-validating-webhook-configuration"}).ok());
  const kube::Resource queues{"kueue.x-k8s.io", "v1beta1", "clusterqueues", "ClusterQueue", false};
  EXPECT_TRUE(client.list(queues, "").ok());
}

// What a user applies over it, with kubectl's name or another, meets no conflict.
TEST(Playground, AnInstallationAppliesOverIt) {
  const TempFolder folder;
  const PlaygroundOptions options = managed(folder);
  auto playground = Playground::start(options);
  ASSERT_TRUE(playground.ok()) << playground.error().message;
  kube::Client client = client_of(options);
  const std::vector<json::Value> objects = install::objects({}).value();
  for (const char* manager : {"kubectl", "helm", "kubectl"}) {
    for (const json::Value& object : objects) {
      const auto* info =
          api::find_kind(object.get_string({"apiVersion"}), object.get_string({"kind"}));
      ASSERT_NE(info, nullptr);
      // Their rules get a default, so that a second manager conflicts on any server.
      if (std::string_view(manager) == "helm" && info->kind.ends_with("WebhookConfiguration"))
        continue;
      const kube::ObjectKey key{std::string(object.get_string({"metadata", "namespace"})),
                                std::string(object.get_string({"metadata", "name"}))};
      const auto applied = client.patch(kube::Resource::of(*info), key, kube::PatchType::kApply,
                                        object, {.field_manager = manager, .force = false});
      EXPECT_TRUE(applied.ok()) << manager << ": " << info->kind << " " << key.to_string() << ": "
                                << applied.error().message;
    }
  }
  const kube::Resource queues{"kueue.x-k8s.io", "v1beta1", "clusterqueues", "ClusterQueue", false};
  EXPECT_TRUE(client.list(queues, "").ok());
}

// In memory the folder is free for others, and nothing is left in it.
TEST(Playground, InMemoryItLocksNoFolder) {
  const TempFolder folder;
  const PlaygroundOptions kept = quiet(folder);
  auto first = Playground::start(kept);
  ASSERT_TRUE(first.ok()) << first.error().message;
  PlaygroundOptions options = kept;
  options.memory = true;
  options.kubeconfig = folder.path + "/data/kubeconfig-memory";
  {
    auto second = Playground::start(options);
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_TRUE(client_of(options).list(kNodes, "").ok());
    EXPECT_TRUE(client_of(kept).list(kNodes, "").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(options.kubeconfig));
  EXPECT_TRUE(std::filesystem::exists(kept.kubeconfig));
}

TEST(Playground, PendingWorkloadsThroughTheAggregator) {
  const TempFolder folder;
  const PlaygroundOptions options = managed(folder);
  auto playground = Playground::start(options);
  ASSERT_TRUE(playground.ok()) << playground.error().message;
  kube::Client client = client_of(options);
  const auto create = [&](const char* version, const char* plural, const char* text) {
    const auto made = client.create({"kueue.x-k8s.io", version, plural, "", false}, "",
                                    json::parse(text).value());
    ASSERT_TRUE(made.ok()) << made.error().message;
  };
  create("v1beta2", "clusterqueues",
         R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
             "metadata":{"name":"cq"},"spec":{"namespaceSelector":{}}})");
  const std::string path =
      "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq/pendingworkloads";
  // The manager hears of the queue by watch.
  Result<json::Value> list = client.raw("GET", path);
  for (int i = 0; i < 5'000 && !list.ok() && list.error().code == ErrorCode::kNotFound; ++i) {
    poll(nullptr, 0, 1);
    list = client.raw("GET", path);
  }
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->get_string({"kind"}), "PendingWorkloadsSummary");
  const auto groups = client.raw("GET", "/apis/visibility.kueue.x-k8s.io/v1beta1");
  ASSERT_TRUE(groups.ok()) << groups.error().message;
  EXPECT_EQ(groups->find("resources")->as_array().size(), 4u);
}

TEST(Playground, Refusals) {
  const TempFolder folder;
  const PlaygroundOptions first = quiet(folder);
  auto playground = Playground::start(first);
  ASSERT_TRUE(playground.ok()) << playground.error().message;

  const auto error_of = [&](const std::function<void(PlaygroundOptions&)>& adjust) {
    PlaygroundOptions options = quiet(folder);
    options.data_dir = folder.path + "/other";
    options.kubeconfig = folder.path + "/other-kubeconfig";
    adjust(options);
    const auto result = Playground::start(options);
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : result.error().message;
  };
  // A failing second start must not take the first one's kubeconfig away.
  EXPECT_NE(error_of([&](PlaygroundOptions& o) {
              o.data_dir = first.data_dir;
              o.kubeconfig = first.kubeconfig;
            }).find("in use by another kueue (process " + std::to_string(getpid()) + ")"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(first.kubeconfig));
  EXPECT_TRUE(client_of(first).list(kNodes, "").ok());

  const std::string& url = (*playground)->url();
  const int port = std::stoi(url.substr(url.rfind(':') + 1));
  EXPECT_NE(
      error_of([&](PlaygroundOptions& o) { o.port = port; }).find("another process uses this port"),
      std::string::npos);
  EXPECT_NE(error_of([](PlaygroundOptions& o) { o.nodes = "4yz"; }).find("--nodes"),
            std::string::npos);
  EXPECT_NE(error_of([](PlaygroundOptions& o) { o.stand_ins = "butler"; }).find("butler"),
            std::string::npos);
  EXPECT_NE(error_of([&](PlaygroundOptions& o) {
              o.kubeconfig = folder.path + "/precious";
              std::ofstream(o.kubeconfig) << "clusters: []\n";
            }).find("left alone"),
            std::string::npos);
  EXPECT_EQ(cli::read_file(folder.path + "/precious").value(), "clusters: []\n");
  EXPECT_NE(
      error_of([](PlaygroundOptions& o) { o.data_dir = "/proc/nothing"; }).find("/proc/nothing"),
      std::string::npos);
  EXPECT_NE(error_of([&](PlaygroundOptions& o) {
              o.manager = true;
              o.config_path = folder.path + "/config.yaml";
              std::ofstream(o.config_path)
                  << "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwebhok: {}\n";
            }).find("webhok"),
            std::string::npos);
}

TEST(DataDir, CertificatesAreKeptWhileTheyFit) {
  const TempFolder folder;
  const Instant now = system_clock().now();
  const auto first = load_or_make_credentials(folder.path, {"localhost", "127.0.0.1"}, now).value();
  const auto same = load_or_make_credentials(folder.path, {"localhost"}, now).value();
  EXPECT_EQ(same.server.cert_pem, first.server.cert_pem);
  EXPECT_EQ(same.token, first.token);
  const auto wider = load_or_make_credentials(folder.path, {"localhost", "10.0.0.9"}, now).value();
  EXPECT_NE(wider.server.cert_pem, first.server.cert_pem);
  EXPECT_EQ(wider.ca.cert_pem, first.ca.cert_pem);
  const auto later =
      load_or_make_credentials(folder.path, {"localhost"}, now + Duration::seconds(340LL * 86400))
          .value();
  EXPECT_NE(later.admin.cert_pem, first.admin.cert_pem);
  EXPECT_EQ(later.ca.cert_pem, first.ca.cert_pem);
  const auto ancient =
      load_or_make_credentials(folder.path, {"localhost"}, now + Duration::seconds(3651LL * 86400))
          .value();
  EXPECT_NE(ancient.ca.cert_pem, first.ca.cert_pem);
}

wire::Response ask(wire::Handler& handler, const std::string& path,
                   const std::string& authorization = "") {
  auto sink = std::make_shared<wire::Answer>();
  wire::Request request;
  request.path = path;
  if (!authorization.empty()) request.headers.set("Authorization", authorization);
  handler.handle(std::move(request), sink);
  return sink->response;
}

TEST(ManagerEndpoints, HealthAndMetrics) {
  bool ready = false;
  HealthHandler health("/healthz", "/readyz", [&] { return ready; });
  EXPECT_EQ(ask(health, "/healthz").status, 200);
  EXPECT_EQ(ask(health, "/readyz").status, 500);
  ready = true;
  EXPECT_EQ(ask(health, "/readyz").status, 200);
  EXPECT_EQ(ask(health, "/else").status, 404);

  MetricsHandler open([] { return "m 1\n"; }, {});
  EXPECT_EQ(ask(open, "/metrics").body, "m 1\n");
  MetricsHandler guarded([] { return "m 1\n"; },
                         [](const std::string& token) { return token == "good" ? 0 : 403; });
  EXPECT_EQ(ask(guarded, "/metrics").status, 401);
  EXPECT_EQ(ask(guarded, "/metrics", "Bearer bad").status, 403);
  EXPECT_EQ(ask(guarded, "/metrics", "Bearer good").status, 200);
}

}  // namespace
}  // namespace kueue::app
