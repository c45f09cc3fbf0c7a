#include "net/http_transport.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "net/client_core.h"
#include "net/testing.h"

namespace kueue::net {
namespace {

using namespace testing;  // NOLINT: the fixtures

const Duration kPatience = Duration::seconds(10);

class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/kueue-net-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TempDir() {
    for (const auto& file : files_) unlink(file.c_str());
    rmdir(path_.c_str());
  }
  std::string write(const std::string& name, const std::string& text, bool executable = false) {
    const std::string file = path_ + "/" + name;
    std::ofstream(file) << text;
    if (executable) chmod(file.c_str(), 0700);
    files_.push_back(file);
    return file;
  }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

void say_authorization(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  sink->respond(text_response(std::string(request.headers.get("Authorization"))));
}

TEST(ServerUrl, Table) {
  struct {
    const char* text;
    const char* host;
    int port;
    bool tls;
    const char* prefix;
  } const good[] = {
      {"https://example.com", "example.com", 443, true, ""},
      {"http://example.com/", "example.com", 80, false, ""},
      {"https://127.0.0.1:6443", "127.0.0.1", 6443, true, ""},
      {"https://[::1]:8443/k8s/cluster/", "::1", 8443, true, "/k8s/cluster"},
      {"localhost:8080", "localhost", 8080, true, ""},
  };
  for (const auto& c : good) {
    const auto url = parse_server_url(c.text);
    ASSERT_TRUE(url.ok()) << c.text;
    EXPECT_EQ(url->host, c.host);
    EXPECT_EQ(url->port, c.port);
    EXPECT_EQ(url->tls, c.tls);
    EXPECT_EQ(url->prefix, c.prefix);
  }
  for (const char* bad : {"", "ftp://x", "https://", "https://a:0", "https://a:99999",
                          "https://a:b", "https://[::1", "https://a b"}) {
    EXPECT_FALSE(parse_server_url(bad).ok()) << bad;
  }
}

TEST(HttpTransport, TlsTrust) {
  TestServer server(say_authorization, true);
  const auto attempt = [&](const std::function<void(TransportOptions&)>& adjust) {
    TransportOptions options = server.client_options();
    adjust(options);
    return make_transport(options).value()->round_trip(request_of("GET", "/"), kPatience);
  };
  EXPECT_TRUE(attempt([](TransportOptions&) {}).ok());
  const auto untrusted =
      attempt([](TransportOptions& o) { o.ca_pem = test_certs().stranger.cert_pem; });
  ASSERT_FALSE(untrusted.ok());
  EXPECT_EQ(untrusted.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(untrusted.error().message.find("certificate is not trusted"), std::string::npos)
      << untrusted.error().message;
  EXPECT_TRUE(attempt([](TransportOptions& o) {
                o.ca_pem = "";
                o.insecure = true;
              }).ok());
  EXPECT_TRUE(attempt([](TransportOptions& o) { o.server_name = "kueue.test"; }).ok());
  const auto other = attempt([](TransportOptions& o) { o.server_name = "other.test"; });
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("hostname mismatch"), std::string::npos)
      << other.error().message;
  TransportOptions broken = server.client_options();
  broken.ca_pem = "nonsense";
  EXPECT_FALSE(make_transport(broken).ok());
}

TEST(HttpTransport, NobodyListens) {
  uint16_t port = 0;
  {
    port = TestServer(say_authorization).port();
  }
  TransportOptions options;
  options.server = "http://127.0.0.1:" + std::to_string(port);
  const auto client = make_transport(options).value();
  const auto response = client->round_trip(request_of("GET", "/"), kPatience);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(response.error().message,
            "cannot connect to 127.0.0.1:" + std::to_string(port) + ": Connection refused");
  auto collector = std::make_shared<Collector>();
  const auto handle = client->open_stream(request_of("GET", "/"), collector);
  ASSERT_TRUE(collector->wait_end());
  EXPECT_EQ(collector->result().error().code, ErrorCode::kUnavailable);
}

TEST(HttpTransport, Timeout) {
  std::mutex mutex;
  std::vector<std::shared_ptr<wire::ResponseSink>> kept;
  TestServer server([&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    std::lock_guard lock(mutex);
    kept.push_back(sink);
  });
  const auto response = server.client()->round_trip(request_of("GET", "/"), Duration::millis(50));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kTimeout);
}

TEST(HttpTransport, KeptConnectionThatTheServerClosedIsReplaced) {
  TestServer server(say_authorization, false,
                    [](ServerOptions& o) { o.idle_timeout = Duration::millis(20); });
  const auto client = server.client();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client->round_trip(request_of("POST", "/"), kPatience).ok());
    while (server.server().connections() > 0) std::this_thread::yield();
  }
}

TEST(HttpTransport, HeadersThatWouldSplitARequestAreRefused) {
  TestServer server(say_authorization);
  const auto client = server.client();
  wire::Request request = request_of("GET", "/");
  request.headers.set("X", "a\r\nEvil: b");
  EXPECT_EQ(client->round_trip(request, kPatience).error().code, ErrorCode::kBadRequest);
  EXPECT_TRUE(client->round_trip(request_of("GET", "/a\r\nEvil: b"), kPatience).ok());
}

TEST(HttpTransport, TokenFileIsReadAgainAfterUnauthorized) {
  TempDir dir;
  const std::string file = dir.write("token", "old\n");
  TestServer server([](wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
    const bool good = request.headers.get("Authorization") == "Bearer new";
    sink->respond(text_response("x", good ? 200 : 401));
  });
  TransportOptions options = server.client_options();
  options.token_file = file;
  const auto client = make_transport(options).value();
  EXPECT_EQ(client->round_trip(request_of("GET", "/"), kPatience)->status, 401);
  dir.write("token", "new");
  EXPECT_EQ(client->round_trip(request_of("GET", "/"), kPatience)->status, 200);
}

TEST(HttpTransport, BasicAuthentication) {
  TestServer server(say_authorization);
  TransportOptions options = server.client_options();
  options.username = "u";
  options.password = "p";
  EXPECT_EQ(make_transport(options).value()->round_trip(request_of("GET", "/"), kPatience)->body,
            "Basic dTpw");
}

TEST(HttpTransport, ExecPluginIsAskedOnceWhileItsTokenLives) {
  TempDir dir;
  const std::string count = dir.write("count", "");
  const std::string plugin = dir.write(
      "plugin",
      "#!/bin/sh\necho x >>" + count +
          "\ncase \"$KUBERNETES_EXEC_INFO\" in *ExecCredential*) ;; *) exit 3;; esac\n"
          "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
          "\"status\":{\"token\":\"'$1$EXTRA'\",\"expirationTimestamp\":\"2999-01-01T00:00:00Z\"}}'"
          "\n",
      true);
  TestServer server(say_authorization);
  TransportOptions options = server.client_options();
  options.exec = ExecPlugin{.command = plugin, .args = {"tok"}, .env = {{"EXTRA", "-42"}}};
  const auto client = make_transport(options).value();
  for (int i = 0; i < 3; ++i) {
    const auto response = client->round_trip(request_of("GET", "/"), kPatience);
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->body, "Bearer tok-42");
  }
  std::ifstream in(count);
  std::string lines((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(lines, "x\n");
}

TEST(HttpTransport, BrokenExecPluginsAreExplained) {
  TempDir dir;
  TestServer server(say_authorization);
  const auto error_of = [&](const ExecPlugin& plugin) {
    TransportOptions options = server.client_options();
    options.exec = plugin;
    const auto response =
        make_transport(options).value()->round_trip(request_of("GET", "/"), kPatience);
    EXPECT_FALSE(response.ok());
    return response.ok() ? "" : response.error().message;
  };
  EXPECT_NE(
      error_of({.command = "/nowhere/plugin", .install_hint = "get it here"}).find("get it here"),
      std::string::npos);
  EXPECT_NE(error_of({.command = "false"}).find("exit code 1"), std::string::npos);
  EXPECT_NE(error_of({.command = "echo", .args = {"nonsense"}}).find("not usable"),
            std::string::npos);
  EXPECT_NE(error_of({.command = "echo", .args = {R"({"kind":"ExecCredential","status":{}})"}})
                .find("neither token"),
            std::string::npos);
  EXPECT_NE(error_of({.command = "sleep", .args = {"60"}, .timeout = Duration::millis(50)})
                .find("did not end"),
            std::string::npos);
}

TEST(HttpTransport, RateLimit) {
  TestServer server(say_authorization);
  TransportOptions options = server.client_options();
  options.qps = 100;
  options.burst = 5;
  const auto client = make_transport(options).value();
  const int64_t begin = steady_ns();
  for (int i = 0; i < 15; ++i)
    ASSERT_TRUE(client->round_trip(request_of("GET", "/"), kPatience).ok());
  EXPECT_GE(steady_ns() - begin, 90'000'000);
  options.qps = 0.001;
  options.burst = 1;
  const auto slow = make_transport(options).value();
  EXPECT_TRUE(slow->round_trip(request_of("GET", "/"), kPatience).ok());
  EXPECT_EQ(slow->round_trip(request_of("GET", "/"), Duration::millis(20)).error().code,
            ErrorCode::kTimeout);
  limit_rate(*slow, 0, 0);
  EXPECT_TRUE(slow->round_trip(request_of("GET", "/"), kPatience).ok());
  limit_rate(*slow, 0.001, 1);
  EXPECT_TRUE(slow->round_trip(request_of("GET", "/"), kPatience).ok());
  EXPECT_FALSE(slow->round_trip(request_of("GET", "/"), Duration::millis(20)).ok());
}

TEST(HttpTransport, ErrorAnswerOfAStream) {
  TestServer server([](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    sink->respond(text_response("gone", 410));
  });
  const auto client = server.client();
  auto collector = std::make_shared<Collector>();
  const auto handle = client->open_stream(request_of("GET", "/"), collector);
  ASSERT_TRUE(collector->wait_end());
  EXPECT_EQ(collector->status(), 410);
  EXPECT_EQ(collector->data(), "gone");
  EXPECT_TRUE(collector->result().ok());
}

TEST(HttpTransport, LostConnectionEndsStreamWithAnError) {
  std::shared_ptr<wire::ResponseSink> stream;
  Flag begun;
  TestServer server([&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    sink->begin_stream({});
    sink->write("x");
    stream = sink;
    begun.raise();
  });
  const auto client = server.client();
  auto collector = std::make_shared<Collector>();
  const auto handle = client->open_stream(request_of("GET", "/"), collector);
  ASSERT_TRUE(begun.wait());
  ASSERT_TRUE(collector->wait_data("x"));
  stream.reset();  // given up without an end
  ASSERT_TRUE(collector->wait_end());
  ASSERT_FALSE(collector->result().ok());
  EXPECT_EQ(collector->result().error().code, ErrorCode::kUnavailable);
}

// No call to a receiver starts after its handle is gone, whatever the stream does meanwhile.
TEST(HttpTransport, NoCallAfterTheHandleIsGone) {
  TestServer server([](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    sink->begin_stream({});
    std::thread([sink] {
      for (int i = 0; i < 1000 && sink->write("data\n"); ++i) {
      }
      sink->end_stream();
    }).detach();
  });
  struct Guarded final : wire::StreamReceiver {
    std::atomic<bool> dead{false};
    std::atomic<int> late{0};
    void on_head(const wire::Response&) override { late += dead; }
    void on_data(std::string_view) override { late += dead; }
    void on_end(Result<void>) override { late += dead; }
  };
  const auto client = server.client();
  std::vector<std::shared_ptr<Guarded>> receivers;
  for (int i = 0; i < 200; ++i) {
    auto receiver = std::make_shared<Guarded>();
    auto handle = client->open_stream(request_of("GET", "/"), receiver);
    for (int j = 0; j < i * 50; ++j) std::this_thread::yield();
    handle.reset();
    receiver->dead = true;
    receivers.push_back(receiver);
  }
  for (const auto& one : receivers) EXPECT_EQ(one->late, 0);
}

// Handles that go while a worker still connects or sends.
TEST(HttpTransport, StreamsMayBeCancelledWhileTheyOpen) {
  TestServer server(
      [](wire::Request, std::shared_ptr<wire::ResponseSink> sink) { sink->begin_stream({}); },
      /*tls=*/true);
  const auto client = server.client();
  for (int i = 0; i < 300; ++i) {
    auto handle = client->open_stream(request_of("GET", "/"), std::make_shared<Collector>());
    for (int j = 0; j < i * 20; ++j) std::this_thread::yield();
    handle.reset();
  }
  auto collector = std::make_shared<Collector>();
  const auto last = client->open_stream(request_of("GET", "/"), collector);
  EXPECT_TRUE(collector->wait_head());
}

TEST(HttpTransport, ReceiverMayCloseItsOwnStreamAndDropTheTransport) {
  struct Holder final : wire::StreamReceiver {
    std::mutex mutex;
    std::unique_ptr<wire::StreamHandle> handle;
    std::shared_ptr<wire::Transport> transport;
    Flag done;
    void on_head(const wire::Response&) override {}
    void on_data(std::string_view) override {
      std::lock_guard lock(mutex);
      handle.reset();
      transport.reset();
      done.raise();
    }
    void on_end(Result<void>) override { ADD_FAILURE() << "called after close"; }
  };
  TestServer server([](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    sink->begin_stream({});
    sink->write("x");
    sink->end_stream();
  });
  auto receiver = std::make_shared<Holder>();
  {
    std::lock_guard lock(receiver->mutex);
    receiver->transport = server.client();
    receiver->handle = receiver->transport->open_stream(request_of("GET", "/"), receiver);
  }
  EXPECT_TRUE(receiver->done.wait());
}

}  // namespace
}  // namespace kueue::net
