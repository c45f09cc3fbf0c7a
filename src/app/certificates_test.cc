// The keeper of certificates against the embedded API server, under virtual time.
#include <gtest/gtest.h>
#include <poll.h>

#include "api/crd_manifest.h"
#include "api/registry.h"
#include "apiserver/server.h"
#include "app/in_process_transport.h"
#include "base/base64.h"
#include "certificates/keeper.h"
#include "json/json.h"
#include "kube/executor.h"
#include "webhooks/manifests.h"

namespace kueue::app {
namespace {

using certificates::CertificateKeeper;
using certificates::ServingSet;

const kube::Resource kSecrets{"", "v1", "secrets", "Secret", true};
const kube::Resource kMutating{"admissionregistration.k8s.io", "v1",
                               "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
                               false};
const kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                  "CustomResourceDefinition", false};
const kube::Resource kApiServices{"apiregistration.k8s.io", "v1", "apiservices", "APIService",
                                  false};
const Instant kStart = parse_time("2026-03-01T12:00:00Z").value();
constexpr const char* kWorkloads = "workloads.kueue.x-k8s.io";

class CertificatesTest : public testing::Test {
 protected:
  // One replica; its executor is virtual, the server's threads are real.
  struct Replica {
    explicit Replica(CertificatesTest& test, Instant start = kStart)
        : executor(start),
          client(std::make_shared<kube::Client>(
              make_in_process_transport(
                  *test.server_, {.user = "kueue", .groups = {"system:masters"}, .extra = {}}),
              "kueue")),
          keeper(
              client, executor, {.definitions = {kWorkloads}},
              [this](const ServingSet& set) { sets.push_back(set); },
              [this](const std::string& line) { log += line + "\n"; }) {}
    ~Replica() { keeper.stop(); }
    kube::VirtualExecutor executor;
    std::shared_ptr<kube::Client> client;
    std::vector<ServingSet> sets;
    std::string log;
    CertificateKeeper keeper;
  };

  void SetUp() override {
    apiserver::Options options;
    options.memory = true;
    const auto builtin = api::builtin_resources();
    options.resources = {builtin.begin(), builtin.end()};
    auto opened = apiserver::Server::open(std::move(options));
    ASSERT_TRUE(opened.ok());
    server_ = *std::move(opened);
    client_ = std::make_unique<kube::Client>(
        make_in_process_transport(*server_,
                                  {.user = "admin", .groups = {"system:masters"}, .extra = {}}),
        "test");
    create({"", "v1", "namespaces", "Namespace", false},
           R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kueue-system"}})");
    ASSERT_TRUE(client_->create(kMutating, "", webhooks::mutating_configuration({})).ok());
    create(kMutating, R"({"apiVersion":"admissionregistration.k8s.io/v1",
        "kind":"MutatingWebhookConfiguration","metadata":{"name":"another"},"webhooks":[{
        "name":"a.b.c","admissionReviewVersions":["v1"],"sideEffects":"None",
        "clientConfig":{"service":{"name":"theirs","namespace":"kueue-system"}}}]})");
    create(kApiServices, R"({"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService",
        "metadata":{"name":"v1beta2.visibility.kueue.x-k8s.io"},"spec":{
        "group":"visibility.kueue.x-k8s.io","version":"v1beta2","groupPriorityMinimum":100,
        "versionPriority":100,"insecureSkipTLSVerify":true,
        "service":{"name":"kueue-visibility-server","namespace":"kueue-system"}}})");
    for (json::Value definition : api::crd_manifests()) {
      if (definition.get_string({"metadata", "name"}) != kWorkloads) continue;
      definition["spec"]["conversion"] = webhooks::conversion_block({});
      ASSERT_TRUE(client_->create(kDefinitions, "", definition).ok());
    }
  }
  void create(const kube::Resource& resource, const char* text) {
    const auto made = client_->create(resource, "", json::parse(text).value());
    ASSERT_TRUE(made.ok()) << made.error().message;
  }
  json::Value get(const kube::Resource& resource, const std::string& name) {
    auto got = client_->get(resource, {resource.namespaced ? "kueue-system" : "", name});
    return got.ok() ? *got : json::Value();
  }
  ServingSet secret() {
    auto set = certificates::from_secret(get(kSecrets, "kueue-webhook-server-cert"));
    return set.ok() ? *set : ServingSet();
  }
  std::vector<std::string> bundles() {
    return {
        std::string(get(kMutating, "kueue-mutating-webhook-configuration")
                        .find("webhooks")
                        ->as_array()[0]
                        .get_string({"clientConfig", "caBundle"})),
        std::string(get(kDefinitions, kWorkloads)
                        .get_string({"spec", "conversion", "webhook", "clientConfig", "caBundle"})),
        std::string(get(kApiServices, "v1beta2.visibility.kueue.x-k8s.io")
                        .get_string({"spec", "caBundle"})),
    };
  }
  bool everywhere(const std::string& bundle) {
    return bundles() == std::vector<std::string>(3, base64_encode(bundle));
  }
  // Runs the replicas until the condition holds; watch events come from the server's threads.
  bool await(const std::vector<Replica*>& replicas, const std::function<bool()>& condition) {
    for (int i = 0; i < 5'000; ++i) {
      for (Replica* replica : replicas) replica->executor.advance(Duration::millis(10));
      if (condition()) return true;
      poll(nullptr, 0, 1);
    }
    return false;
  }

  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<kube::Client> client_;
};

TEST_F(CertificatesTest, MadeAndMadeKnown) {
  Replica replica(*this);
  replica.keeper.start();
  ASSERT_TRUE(await({&replica}, [&] { return replica.keeper.has_certificate(); })) << replica.log;
  ASSERT_EQ(replica.sets.size(), 1u);
  EXPECT_TRUE(replica.sets[0] == secret());
  EXPECT_TRUE(everywhere(secret().bundle));
  EXPECT_FALSE(get(kApiServices, "v1beta2.visibility.kueue.x-k8s.io")
                   .get_bool({"spec", "insecureSkipTLSVerify"}));
  EXPECT_EQ(get(kMutating, "another")
                .find("webhooks")
                ->as_array()[0]
                .get_string({"clientConfig", "caBundle"}),
            "");
}

TEST_F(CertificatesTest, ReplicasAgree) {
  Replica a(*this), b(*this);
  a.keeper.start();
  b.keeper.start();
  ASSERT_TRUE(
      await({&a, &b}, [&] { return a.keeper.has_certificate() && b.keeper.has_certificate(); }))
      << a.log << b.log;
  EXPECT_TRUE(a.sets.back() == b.sets.back());
  EXPECT_TRUE(a.sets.back() == secret());
}

// Somebody else writes between this transport's first look and its first write.
struct Overtaken final : wire::Transport {
  std::shared_ptr<wire::Transport> inner;
  std::function<void()> first;
  Result<wire::Response> round_trip(const wire::Request& request, Duration timeout) override {
    if (request.method != "GET" && first) std::exchange(first, nullptr)();
    return inner->round_trip(request, timeout);
  }
  std::unique_ptr<wire::StreamHandle> open_stream(
      const wire::Request& request, std::shared_ptr<wire::StreamReceiver> receiver) override {
    return inner->open_stream(request, std::move(receiver));
  }
};

TEST_F(CertificatesTest, TheSecondToWriteTakesWhatTheFirstWrote) {
  for (const bool present : {false, true}) {
    json::Value other = json::parse(R"({"apiVersion":"v1","kind":"Secret",
        "metadata":{"name":"kueue-webhook-server-cert","namespace":"kueue-system"}})")
                            .value();
    if (present) ASSERT_TRUE(client_->create(kSecrets, "kueue-system", other).ok());
    const ServingSet first =
        certificates::renew(
            nullptr,
            certificates::service_names({"kueue-webhook-service", "kueue-visibility-server"},
                                        "kueue-system"),
            kStart)
            .value();
    certificates::into_secret(first, other);
    auto transport = std::make_shared<Overtaken>();
    transport->inner = make_in_process_transport(
        *server_, {.user = "kueue", .groups = {"system:masters"}, .extra = {}});
    transport->first = [&] {
      const auto written = present ? client_->update(kSecrets, other)
                                   : client_->create(kSecrets, "kueue-system", other);
      EXPECT_TRUE(written.ok());
    };
    kube::VirtualExecutor executor{kStart};
    std::vector<ServingSet> sets;
    CertificateKeeper keeper(std::make_shared<kube::Client>(transport, "kueue"), executor, {},
                             [&](const ServingSet& set) { sets.push_back(set); }, {});
    keeper.start();
    executor.run_until_idle();
    keeper.stop();
    ASSERT_EQ(sets.size(), 1u);
    EXPECT_TRUE(sets[0] == first);
    EXPECT_TRUE(secret() == first);
    ASSERT_TRUE(client_->remove(kSecrets, {"kueue-system", "kueue-webhook-server-cert"}).ok());
  }
}

TEST_F(CertificatesTest, AnEmptySecretIsFilled) {
  ASSERT_TRUE(client_
                  ->create(kSecrets, "kueue-system",
                           json::parse(R"({"apiVersion":"v1",
      "kind":"Secret","metadata":{"name":"kueue-webhook-server-cert",
      "namespace":"kueue-system","labels":{"mine":"yes"}}})")
                               .value())
                  .ok());
  Replica replica(*this);
  replica.keeper.start();
  ASSERT_TRUE(await({&replica}, [&] { return replica.keeper.has_certificate(); }));
  EXPECT_EQ(get(kSecrets, "kueue-webhook-server-cert").get_string({"metadata", "labels", "mine"}),
            "yes");
}

TEST_F(CertificatesTest, RotatesBeforeTheEnd) {
  auto first_start = std::make_unique<Replica>(*this);
  first_start->keeper.start();
  ASSERT_TRUE(await({first_start.get()}, [&] { return first_start->keeper.has_certificate(); }));
  const ServingSet first = secret();
  first_start.reset();

  const Instant due = certificates::renewal_time(first);
  Replica replica(*this, due - Duration::seconds(3600));
  replica.keeper.start();
  ASSERT_TRUE(await({&replica}, [&] { return replica.keeper.has_certificate(); }));
  replica.executor.advance(Duration::seconds(3500));
  EXPECT_EQ(replica.sets.size(), 1u);
  EXPECT_TRUE(replica.sets[0] == first);
  replica.executor.advance(Duration::seconds(200));
  ASSERT_EQ(replica.sets.size(), 2u) << replica.log;
  EXPECT_EQ(secret().bundle, first.bundle);
  EXPECT_NE(secret().serving.cert_pem, first.serving.cert_pem);

  // Nine years on the authority goes, too; both are trusted, everywhere.
  Replica later(*this, kStart + certificates::kAuthorityValidity - certificates::kRenewBefore +
                           Duration::seconds(60));
  later.keeper.start();
  ASSERT_TRUE(await({&later}, [&] { return later.keeper.has_certificate(); }));
  const ServingSet last = secret();
  EXPECT_NE(last.bundle.find(first.authority.cert_pem), std::string::npos);
  EXPECT_NE(last.authority.cert_pem, first.authority.cert_pem);
  EXPECT_TRUE(everywhere(last.bundle));
  EXPECT_TRUE(later.sets.back() == last);
}

TEST_F(CertificatesTest, RepairsWhatOthersOverwrote) {
  Replica replica(*this);
  replica.keeper.start();
  ASSERT_TRUE(await({&replica}, [&] { return replica.keeper.has_certificate(); }));
  const std::string bundle = secret().bundle;
  ASSERT_TRUE(everywhere(bundle));
  json::Value held = get(kMutating, "kueue-mutating-webhook-configuration");
  held["webhooks"].as_array()[0]["clientConfig"].erase_path({"caBundle"});
  ASSERT_TRUE(client_->update(kMutating, held).ok());
  EXPECT_TRUE(await({&replica}, [&] { return everywhere(bundle); })) << replica.log;
  ASSERT_TRUE(client_->remove(kSecrets, {"kueue-system", "kueue-webhook-server-cert"}).ok());
  EXPECT_TRUE(await({&replica}, [&] {
    return !secret().bundle.empty() && secret().bundle != bundle && everywhere(secret().bundle);
  })) << replica.log;
  EXPECT_TRUE(replica.sets.back() == secret());
}

}  // namespace
}  // namespace kueue::app
