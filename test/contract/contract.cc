#include "contract.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "api/registry.h"
#include "apiserver/server.h"
#include "app/in_process_transport.h"
#include "kube/kubeconfig.h"
#include "net/http_transport.h"

namespace kueue::contract {
namespace {

// A server of this process, in memory, with the kinds every cluster has.
std::shared_ptr<wire::Transport> embedded_transport() {
  apiserver::Options options;
  options.memory = true;
  auto resources = api::builtin_resources();
  options.resources.assign(resources.begin(), resources.end());
  auto opened = apiserver::Server::open(std::move(options));
  KUEUE_CHECK(opened.ok(), opened.error().message.c_str());
  static apiserver::Server* const server = opened->release();
  return app::make_in_process_transport(
      *server, {.user = "admin", .groups = {"system:masters"}, .extra = {}});
}

std::shared_ptr<wire::Transport> make_transport() {
  const char* path = std::getenv("KUEUE_CONTRACT_KUBECONFIG");
  if (!path) return embedded_transport();
  auto config = kube::load_kubeconfig({.path = path});
  KUEUE_CHECK(config.ok(), config.error().message.c_str());
  net::TransportOptions options;
  options.server = config->server;
  options.ca_pem = config->ca_data;
  options.client_cert_pem = config->client_cert_data;
  options.client_key_pem = config->client_key_data;
  options.token = config->token;
  options.token_file = config->token_file;
  options.insecure = config->insecure;
  options.server_name = config->tls_server_name;
  auto transport = net::make_transport(options);
  KUEUE_CHECK(transport.ok(), transport.error().message.c_str());
  return std::move(*transport);
}

}  // namespace

kube::Client& client() {
  static kube::Client* const instance = new kube::Client(make_transport(), "contract");
  return *instance;
}

json::Value doc(std::string_view text) {
  std::string copy(text);
  std::replace(copy.begin(), copy.end(), '\'', '"');
  auto value = json::parse(copy);
  KUEUE_CHECK(value.ok(), copy.c_str());
  return std::move(*value);
}

std::string text_of(const Error& error) {
  std::string text = error.message;
  for (const ErrorCause& cause : error.causes) {
    text += " {" + cause.reason + " " + cause.field + ": " + cause.message + "}";
  }
  return text;
}

void ContractTest::SetUp() {
  static std::atomic<int> counter{0};
  auto now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
  ns_ = "contract-" + std::to_string(now % 100'000'000) + "-" + std::to_string(++counter);
  json::Value object = doc("{'apiVersion':'v1','kind':'Namespace','metadata':{}}");
  object.at_path({"metadata", "name"}) = ns_;
  ASSERT_OK(client().create(kNamespaces, "", object));
  // Pods need it; a controller makes it after the namespace.
  const kube::Resource accounts{"", "v1", "serviceaccounts", "ServiceAccount", true};
  ASSERT_TRUE(eventually([&] { return client().get(accounts, {ns_, "default"}).ok(); }));
}

void ContractTest::TearDown() { (void)client().remove(kNamespaces, {"", ns_}).ok(); }

json::Value ContractTest::config_map(const std::string& name, std::string_view data) const {
  json::Value object = doc("{'apiVersion':'v1','kind':'ConfigMap','metadata':{}}");
  object.at_path({"metadata", "name"}) = name;
  object.at_path({"metadata", "namespace"}) = ns_;
  object["data"] = doc(data);
  return object;
}

json::Value ContractTest::job(const std::string& name) const {
  json::Value object =
      doc("{'apiVersion':'batch/"
          "v1','kind':'Job','metadata':{},'spec':{'suspend':true,'managedBy':'example.com/"
          "nobody','template':{'spec':"
          "{'restartPolicy':'Never','containers':[{'name':'c','image':'busybox'}]}}}}");
  object.at_path({"metadata", "name"}) = name;
  object.at_path({"metadata", "namespace"}) = ns_;
  return object;
}

json::Value ContractTest::pod(const std::string& name) const {
  json::Value object =
      doc("{'apiVersion':'v1','kind':'Pod','metadata':{},'spec':{'schedulingGates':[{'name':'"
          "example.com/hold'}],"
          "'containers':[{'name':'c','image':'busybox','resources':{'requests':{'cpu':'1000m','"
          "memory':'1024Mi'}}}]}}");
  object.at_path({"metadata", "name"}) = name;
  object.at_path({"metadata", "namespace"}) = ns_;
  return object;
}

json::Value ContractTest::make(const kube::Resource& resource, const json::Value& object) {
  auto made = client().create(resource, ns_, object);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : text_of(made.error()));
  return made.ok() ? std::move(*made) : json::Value();
}

json::Value ContractTest::get(const kube::Resource& resource, const std::string& name) {
  auto found = client().get(resource, {ns_, name});
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : text_of(found.error()));
  return found.ok() ? std::move(*found) : json::Value();
}

class Watch::Receiver final : public kube::WatchReceiver {
 public:
  void on_event(kube::WatchEvent event) override {
    static constexpr const char* kNames[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};
    std::string text = kNames[static_cast<size_t>(event.type)];
    if (event.type < kube::WatchEventType::kBookmark) {
      text += " " + std::string(event.object.get_string({"metadata", "name"}));
    }
    push(std::move(text), std::move(event.object));
  }
  void on_end(Result<void> result) override {
    push(result.ok() ? "END" : "END: " + result.error().message, json::Value());
  }
  std::pair<std::string, json::Value> take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(30), [&] { return !events_.empty(); }))
      return {"TIMEOUT", {}};
    auto event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  void push(std::string text, json::Value object) {
    std::lock_guard lock(mutex_);
    events_.emplace_back(std::move(text), std::move(object));
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, json::Value>> events_;
};

Watch::Watch(const kube::Resource& resource, const std::string& namespace_,
             const kube::WatchOptions& options)
    : receiver_(std::make_shared<Receiver>()),
      handle_(client().watch(resource, namespace_, options, receiver_)) {}

Watch::~Watch() = default;

std::string Watch::take() {
  auto [text, object] = receiver_->take();
  last_ = std::move(object);
  return text;
}

}  // namespace kueue::contract

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
