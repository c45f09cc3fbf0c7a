// What the contract tests share: a client of the server under test and a namespace for each test. A
// test says what any Kubernetes API server of version 1.36 does; the same program runs against ours
// and against a real one.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "kube/client.h"

namespace kueue::contract {

inline const kube::Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};
inline const kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline const kube::Resource kNodes{"", "v1", "nodes", "Node", false};
inline const kube::Resource kPods{"", "v1", "pods", "Pod", true};
inline const kube::Resource kServices{"", "v1", "services", "Service", true};
inline const kube::Resource kJobs{"batch", "v1", "jobs", "Job", true};
inline const kube::Resource kDeployments{"apps", "v1", "deployments", "Deployment", true};
inline const kube::Resource kCrds{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                  "CustomResourceDefinition", false};

// The client of the server under test, as administrator.
kube::Client& client();

// JSON with ' in place of ", for texts in the source.
json::Value doc(std::string_view text);

// Polls until the condition holds; false after 30 seconds.
template <typename Condition>
bool eventually(Condition condition) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    static std::mutex mutex;
    static std::condition_variable never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, std::chrono::milliseconds(20));
  }
  return true;
}

// Each test gets a namespace of its own, which goes with it.
class ContractTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  json::Value config_map(const std::string& name, std::string_view data = "{}") const;
  // A valid Job that never starts (suspended).
  json::Value job(const std::string& name) const;
  json::Value pod(const std::string& name) const;
  // Creates it in the test's namespace and returns what the server made of it; fails the test
  // otherwise.
  json::Value make(const kube::Resource& resource, const json::Value& object);
  json::Value get(const kube::Resource& resource, const std::string& name);

  std::string ns_;
};

// Collects watch events; take() waits for the next.
class Watch final {
 public:
  Watch(const kube::Resource& resource, const std::string& namespace_,
        const kube::WatchOptions& options);
  ~Watch();
  // "ADDED a 17", or "BOOKMARK", "END: why", "TIMEOUT" after 30 seconds.
  std::string take();
  const json::Value& last() const { return last_; }

 private:
  class Receiver;
  std::shared_ptr<Receiver> receiver_;
  std::unique_ptr<wire::StreamHandle> handle_;
  json::Value last_;
};

std::string text_of(const Error& error);

// An error's code, message and causes: "Invalid: message {FieldValueInvalid spec.x}".
#define EXPECT_REFUSED(expression, error_code, text)                                             \
  do {                                                                                           \
    auto refused_result = (expression);                                                          \
    ASSERT_FALSE(refused_result.ok()) << #expression;                                            \
    EXPECT_EQ(refused_result.error().code, error_code) << refused_result.error().message;        \
    EXPECT_THAT(::kueue::contract::text_of(refused_result.error()), ::testing::HasSubstr(text)); \
  } while (false)

#define ASSERT_OK(expression)                                 \
  do {                                                        \
    const auto& ok_result = (expression);                     \
    ASSERT_TRUE(ok_result.ok()) << ok_result.error().message; \
  } while (false)

}  // namespace kueue::contract
