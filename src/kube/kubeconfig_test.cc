#include "kube/kubeconfig.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kueue::kube {
namespace {

namespace fs = std::filesystem;

class KubeconfigTest : public testing::Test {
 protected:
  KubeconfigTest() {
    std::string pattern = testing::TempDir() + "kubeconfig-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    ::unsetenv("KUBECONFIG");
    ::unsetenv("KUBERNETES_SERVICE_HOST");
    ::unsetenv("KUBERNETES_SERVICE_PORT");
  }
  ~KubeconfigTest() override { fs::remove_all(dir_); }

  std::string write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(dir_ + "/" + name).parent_path());
    std::ofstream(dir_ + "/" + name) << text;
    return dir_ + "/" + name;
  }

  std::string dir_;
};

constexpr char kConfig[] = R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c1
  cluster: {server: "https://example.test:6443/", certificate-authority: pki/ca.crt, tls-server-name: api}
- name: c2
  cluster: {server: "http://127.0.0.1:8080", insecure-skip-tls-verify: true}
contexts:
- name: one
  context: {cluster: c1, user: u1, namespace: team}
- name: two
  context: {cluster: c2, user: u2}
- name: three
  context: {cluster: c2}
- name: bad-cluster
  context: {cluster: gone, user: u1}
- name: bad-user
  context: {cluster: c2, user: gone}
users:
- name: u1
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}
- name: u2
  user:
    tokenFile: token
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [--now]
      env: [{name: A, value: b}]
)";

TEST_F(KubeconfigTest, Contexts) {
  write("pki/ca.crt", "CA");
  std::string path = write("config", kConfig);
  auto one = load_kubeconfig({.path = path});
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_EQ(one->server, "https://example.test:6443");
  EXPECT_EQ(one->ca_data, "CA");
  EXPECT_EQ(one->tls_server_name, "api");
  EXPECT_EQ(one->client_cert_data, "cert");
  EXPECT_EQ(one->client_key_data, "key");
  EXPECT_EQ(one->namespace_, "team");
  auto two = load_kubeconfig({.path = path, .context = "two"});
  ASSERT_TRUE(two.ok());
  EXPECT_TRUE(two->insecure);
  EXPECT_EQ(two->token_file, dir_ + "/token");
  ASSERT_TRUE(two->exec.has_value());
  EXPECT_EQ(two->exec->command, dir_ + "/./bin/login");
  EXPECT_EQ(two->exec->args, std::vector<std::string>{"--now"});
  EXPECT_EQ(two->exec->env.at("A"), "b");
  EXPECT_TRUE(load_kubeconfig({.path = path, .context = "three"}).ok());
  const std::pair<const char*, const char*> bad[] = {
      {"four", "invalid kubeconfig: context \"four\" does not exist"},
      {"bad-cluster", "invalid kubeconfig: cluster \"gone\" does not exist"},
      {"bad-user", "invalid kubeconfig: user \"gone\" does not exist"},
  };
  for (const auto& [context, want] : bad) {
    auto config = load_kubeconfig({.path = path, .context = context});
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(config.error().message, want + (" (" + path + ")"));
  }
}

TEST_F(KubeconfigTest, Malformed) {
  const std::pair<const char*, const char*> cases[] = {
      {"a: [", "invalid kubeconfig: yaml: line 1"},
      {"[]", "invalid kubeconfig: not an object"},
      {"{}", "invalid kubeconfig: no context is chosen"},
      {"{current-context: a, contexts: [{name: a, context: {cluster: b}}], clusters: [{name: b, "
       "cluster: {x: y}}]}",
       "invalid kubeconfig: cluster \"b\" has no server"},
      {"{current-context: a, contexts: [{name: a, context: {cluster: b}}], clusters: [{name: b, "
       "cluster: {server: s, "
       "certificate-authority-data: '?'}}]}",
       "invalid kubeconfig: certificate-authority-data is not base64"},
  };
  for (const auto& [text, want] : cases) {
    auto config = parse_kubeconfig(text, "");
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_TRUE(config.error().message.starts_with(want)) << config.error().message;
  }
  EXPECT_EQ(load_kubeconfig({.path = dir_ + "/none"}).error().code, ErrorCode::kNotFound);
}

TEST_F(KubeconfigTest, SeveralFilesTheFirstWins) {
  write("pki/ca.crt", "CA");
  std::string first = write("first", "current-context: three\nusers: []\n"),
              second = write("config", kConfig);
  ::setenv("KUBECONFIG", (dir_ + "/none:" + first + ":" + second).c_str(), 1);
  auto config = load_kubeconfig();
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "http://127.0.0.1:8080");
  ::unsetenv("KUBECONFIG");
}

TEST_F(KubeconfigTest, InCluster) {
  EXPECT_EQ(in_cluster_config(dir_).error().code, ErrorCode::kNotFound);
  ::setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  ::setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  const std::string base = "var/run/secrets/kubernetes.io/serviceaccount/";
  write(base + "token", "tok\n");
  write(base + "ca.crt", "CA");
  write(base + "namespace", "kueue-system");
  auto config = in_cluster_config(dir_);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->token, "tok");
  EXPECT_EQ(config->namespace_, "kueue-system");
}

}  // namespace
}  // namespace kueue::kube
