#include "net/http_server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "net/testing.h"

namespace kueue::net {
namespace {

using namespace testing;  // NOLINT: the fixtures

const Duration kPatience = Duration::seconds(10);

// Says back what it understood.
void echo(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  std::string text = request.method + " " + request.path;
  for (const auto& [key, value] : request.query) text += " " + key + "=" + value;
  text += " [" + request.body + "]";
  if (!request.identity.user.empty()) {
    text += " user=" + request.identity.user;
    for (const auto& group : request.identity.groups) text += " group=" + group;
  }
  sink->respond(text_response(text));
}

class BothTransports : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Net, BothTransports, ::testing::Bool(),
                         [](const auto& i) { return i.param ? "Tls" : "Plain"; });

TEST_P(BothTransports, RequestAndAnswer) {
  TestServer server(echo, GetParam());
  const auto client = server.client();
  const auto response = client->round_trip(request_of("POST", "/a/b?x=1 2", "body"), kPatience);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "POST /a/b x=1 2 [body]");
  EXPECT_EQ(response->headers.get("content-type"), "text/plain");
}

TEST_P(BothTransports, ThousandsOfSmallRequestsUseFewConnections) {
  std::atomic<int> count{0};
  TestServer server(
      [&](wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
        ++count;
        sink->respond(text_response(request.body));
      },
      GetParam());
  const auto client = server.client();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        const std::string body = std::to_string(t * 10000 + i);
        const auto response = client->round_trip(request_of("PUT", "/", body), kPatience);
        if (response.ok() && response->body == body) ++good;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 4000);
  EXPECT_EQ(count, 4000);
  EXPECT_LE(server.server().connections(), 4u);
}

TEST_P(BothTransports, LargeBodiesBothWays) {
  TestServer server(
      [](wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
        std::thread([body = std::move(request.body), sink] {
          sink->respond(text_response(body + body));
        }).detach();
      },
      GetParam());
  const auto client = server.client();
  std::string body(3u << 20, 'x');
  for (size_t i = 0; i < body.size(); i += 997) body[i] = static_cast<char>('a' + i % 26);
  for (int i = 0; i < 3; ++i) {
    const auto response = client->round_trip(request_of("POST", "/", body), kPatience);
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_TRUE(response->body == body + body);
  }
}

TEST_P(BothTransports, OversizeIsRefusedWithStatus) {
  TestServer server(echo, GetParam(), [](ServerOptions& o) { o.body_limit = 1000; });
  const auto client = server.client();
  for (const size_t size : {size_t{1001}, size_t{4} << 20}) {
    const auto response =
        client->round_trip(request_of("POST", "/", std::string(size, 'x')), kPatience);
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->status, 413);
    EXPECT_NE(response->body.find("\"kind\":\"Status\""), std::string::npos) << response->body;
    EXPECT_NE(response->body.find("limit is 1000"), std::string::npos) << response->body;
  }
  EXPECT_EQ(client->round_trip(request_of("GET", "/"), kPatience)->status, 200);
}

TEST_P(BothTransports, StreamIsDeliveredChunkByChunk) {
  std::mutex mutex;
  std::shared_ptr<wire::ResponseSink> stream;
  Flag begun;
  TestServer server(
      [&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
        sink->begin_stream({});
        std::lock_guard lock(mutex);
        stream = sink;
        begun.raise();
      },
      GetParam());
  const auto client = server.client();
  auto collector = std::make_shared<Collector>();
  const auto handle = client->open_stream(request_of("GET", "/watch"), collector);
  ASSERT_TRUE(begun.wait());
  ASSERT_TRUE(collector->wait_head());
  EXPECT_EQ(collector->status(), 200);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(stream->write("event " + std::to_string(i) + "\n"));
    if (i % 10 == 0) ASSERT_TRUE(collector->wait_data("event " + std::to_string(i) + "\n"));
  }
  stream->end_stream();
  ASSERT_TRUE(collector->wait_end());
  EXPECT_TRUE(collector->result().ok());
  EXPECT_TRUE(collector->data().ends_with("event 99\n"));
  EXPECT_FALSE(stream->write("late"));
}

TEST_P(BothTransports, ClosingAStreamTellsTheHandler) {
  Flag closed;
  TestServer server(
      [&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
        sink->begin_stream({});
        sink->write("first\n");
        sink->on_close([&closed, sink]() mutable {
          EXPECT_FALSE(sink->write("x"));
          closed.raise();
        });
      },
      GetParam());
  const auto client = server.client();
  auto collector = std::make_shared<Collector>();
  auto handle = client->open_stream(request_of("GET", "/watch"), collector);
  ASSERT_TRUE(collector->wait_data("first\n"));
  handle.reset();
  EXPECT_TRUE(closed.wait());
  EXPECT_FALSE(collector->ended());
}

TEST_P(BothTransports, StoppingTheServerEndsStreamsInGoodOrder) {
  auto collector = std::make_shared<Collector>();
  std::unique_ptr<wire::StreamHandle> handle;
  std::shared_ptr<wire::Transport> client;
  Flag closed;
  TestServer server(
      [&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
        sink->begin_stream({});
        sink->write("first\n");
        sink->on_close([&closed] { closed.raise(); });
        std::thread([sink] {
          while (sink->write("more\n")) std::this_thread::yield();
        }).detach();
      },
      GetParam());
  client = server.client();
  handle = client->open_stream(request_of("GET", "/watch"), collector);
  ASSERT_TRUE(collector->wait_data("more\n"));
  server.server().stop(kPatience);
  ASSERT_TRUE(collector->wait_end());
  EXPECT_TRUE(collector->result().ok()) << collector->result().error().message;
  EXPECT_TRUE(closed.wait());
  EXPECT_EQ(server.server().connections(), 0u);
  const auto refused = client->round_trip(request_of("GET", "/"), kPatience);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
}

TEST_P(BothTransports, ManyStreams) {
  std::mutex mutex;
  std::vector<std::shared_ptr<wire::ResponseSink>> streams;
  TestServer server(
      [&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
        sink->begin_stream({});
        sink->write("hello\n");
        std::lock_guard lock(mutex);
        streams.push_back(sink);
      },
      GetParam());
  const auto client = server.client();
  std::vector<std::shared_ptr<Collector>> collectors;
  std::vector<std::unique_ptr<wire::StreamHandle>> handles;
  for (int i = 0; i < 300; ++i) {
    collectors.push_back(std::make_shared<Collector>());
    handles.push_back(client->open_stream(request_of("GET", "/watch"), collectors.back()));
  }
  for (auto& one : collectors) ASSERT_TRUE(one->wait_data("hello\n"));
  ASSERT_EQ(streams.size(), 300u);
  for (int round = 0; round < 5; ++round) {
    for (auto& stream : streams)
      EXPECT_TRUE(stream->write("round " + std::to_string(round) + "\n"));
  }
  for (auto& one : collectors) EXPECT_TRUE(one->wait_data("round 4\n"));
  for (auto& stream : streams) stream->end_stream();
  for (auto& one : collectors) EXPECT_TRUE(one->wait_end());
}

// The descriptor of this process that listens on the port; -1 when there is none.
int listening_socket(uint16_t port) {
  for (int fd = 3; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    sockaddr_in address{};
    size = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
        address.sin_family == AF_INET && ntohs(address.sin_port) == port)
      return fd;
  }
  return -1;
}

TEST(HttpServer, ABrokenListenerIsToldAndDoesNotSpin) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> told;
  TestServer server(echo, false, [&](ServerOptions& options) {
    options.log = [&](const std::string& line) {
      std::lock_guard lock(mutex);
      told.push_back(line);
      changed.notify_all();
    };
  });
  const int listener = listening_socket(server.port());
  ASSERT_GE(listener, 0);
  const auto cpu_ms = [] {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1'000'000;
  };
  const auto before = cpu_ms();
  shutdown(listener, SHUT_RD);
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(10), [&] { return told.size() >= 5; }));
    EXPECT_EQ(told[0], "cannot take a new connection: Invalid argument");
  }
  EXPECT_LT(cpu_ms() - before, 200) << "five looks, 100 ms apart";
}

TEST(HttpServer, SlowReaderLosesItsStream) {
  std::thread writer;  // ends when the stream takes no more
  Flag closed;
  TestServer server(
      [&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
        sink->begin_stream({});
        sink->on_close([&] { closed.raise(); });
        writer = std::thread([sink] {
          while (sink->write(std::string(10'000, 'x'))) {
          }
        });
      },
      false, [](ServerOptions& o) { o.stream_queue_limit = 1u << 20; });
  RawClient raw(server.port());
  raw.send("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(closed.wait());
  writer.join();
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  std::atomic<int> running{0};
  TestServer server([&](wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
    EXPECT_EQ(++running, 1);
    if (request.path == "/later") {
      std::thread([&, sink] {
        --running;
        sink->respond(text_response("later;"));
      }).detach();
      return;
    }
    --running;
    sink->respond(text_response(request.path + ";"));
  });
  RawClient raw(server.port());
  std::string text;
  for (int i = 0; i < 50; ++i) {
    text += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    text += "GET /later HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  text += "GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  raw.send(text);
  const std::string answer = raw.read_all();
  size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    at = answer.find("/" + std::to_string(i) + ";", at);
    ASSERT_NE(at, std::string::npos) << i;
    at = answer.find("later;", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_TRUE(answer.ends_with("/end;"));
}

TEST(HttpServer, RefusesMalformedRequests) {
  TestServer server(echo);
  struct {
    const char* text;
    const char* status;
  } const cases[] = {
      {"GARBAGE\r\n\r\n", "HTTP/1.1 400 "},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
      {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", "HTTP/1.1 505 "},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: br\r\n\r\n", "HTTP/1.1 501 "},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       "HTTP/1.1 400 "},
      {"GET nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 "},
  };
  for (const auto& c : cases) {
    RawClient raw(server.port());
    raw.send(c.text);
    raw.shutdown_write();
    bool closed = false;
    const std::string answer = raw.read_all(&closed);
    EXPECT_TRUE(answer.starts_with(c.status)) << c.text << "\n" << answer;
    EXPECT_TRUE(closed);
  }
  RawClient large(server.port());
  large.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100'000, 'x'));
  EXPECT_TRUE(large.read_all().starts_with("HTTP/1.1 431 "));
  EXPECT_EQ(server.client()->round_trip(request_of("GET", "/"), kPatience)->status, 200);
}

TEST(HttpServer, ContinueHeadChunkedAndOldVersion) {
  TestServer server(echo);
  RawClient raw(server.port());
  raw.send("POST /c HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(raw.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  raw.send("hi");
  EXPECT_NE(raw.read_until("[hi]").find("HTTP/1.1 200 OK"), std::string::npos);
  raw.send(
      "POST /d HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
  EXPECT_NE(raw.read_until("[abc]").find("POST /d [abc]"), std::string::npos);
  raw.send("HEAD /h HTTP/1.1\r\nHost: a\r\n\r\nGET /n HTTP/1.0\r\n\r\n");
  const std::string rest = raw.read_all();
  EXPECT_EQ(rest.find("GET /h []"), std::string::npos) << rest;
  EXPECT_NE(rest.find("Content-Length: 9\r\n"), std::string::npos) << rest;
  EXPECT_TRUE(rest.ends_with("GET /n []")) << rest;
}

TEST(HttpServer, HalfClosedClientStillGetsItsAnswer) {
  TestServer server([](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    std::thread([sink] { sink->respond(text_response("answer")); }).detach();
  });
  RawClient raw(server.port());
  raw.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  raw.shutdown_write();
  EXPECT_TRUE(raw.read_all().ends_with("answer"));
}

TEST(HttpServer, SlowClientsAreDropped) {
  TestServer server(echo, false, [](ServerOptions& o) {
    o.request_timeout = Duration::millis(50);
    o.idle_timeout = Duration::millis(50);
  });
  RawClient silent(server.port());
  RawClient slow(server.port());
  slow.send("GET / HTTP/1.1\r\nHo");
  RawClient idle(server.port());
  idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  for (RawClient* one : {&silent, &slow, &idle}) {
    bool closed = false;
    one->read_all(&closed);
    EXPECT_TRUE(closed);
  }
}

TEST(HttpServer, ConnectionLimit) {
  TestServer server(echo, false, [](ServerOptions& o) { o.max_connections = 2; });
  RawClient a(server.port());
  RawClient b(server.port());
  a.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  b.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  a.read_until("[]");
  b.read_until("[]");
  RawClient c(server.port());
  bool closed = false;
  c.read_all(&closed);
  EXPECT_TRUE(closed);
}

TEST(HttpServer, UnansweredRequestsAndStreamsEnd) {
  TestServer server([](wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
    if (request.path == "/stream") sink->begin_stream({});
    sink.reset();
  });
  const auto client = server.client();
  EXPECT_EQ(client->round_trip(request_of("GET", "/"), kPatience)->status, 500);
  auto collector = std::make_shared<Collector>();
  const auto handle = client->open_stream(request_of("GET", "/stream"), collector);
  ASSERT_TRUE(collector->wait_end());
  EXPECT_FALSE(collector->result().ok());
}

TEST(HttpServer, GzipOnlyWhenAskedAndLarge) {
  TestServer server([](wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
    sink->respond(text_response(std::string(request.path == "/large" ? 200'000 : 1000, 'x')));
  });
  const auto client = server.client();
  wire::Request large = request_of("GET", "/large");
  EXPECT_FALSE(client->round_trip(large, kPatience)->headers.has("Content-Encoding"));
  large.headers.set("Accept-Encoding", "deflate, gzip;q=0.5");
  const auto packed = client->round_trip(large, kPatience);
  EXPECT_EQ(packed->headers.get("Content-Encoding"), "gzip");
  EXPECT_LT(packed->body.size(), 10'000u);
  EXPECT_TRUE(packed->body.starts_with("\x1f\x8b"));
  wire::Request small = request_of("GET", "/small");
  small.headers.set("Accept-Encoding", "gzip");
  EXPECT_FALSE(client->round_trip(small, kPatience)->headers.has("Content-Encoding"));
}

TEST(HttpServer, PortInUse) {
  TestServer server(echo);
  Loop loop;
  const auto second = HttpServer::listen(loop, {.port = server.port()}, server);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("in use"), std::string::npos) << second.error().message;
}

TEST(HttpServer, PortIsFreeAgainAtOnce) {
  uint16_t port = 0;
  for (int i = 0; i < 5; ++i) {
    TestServer server(echo, true, [&](ServerOptions& o) { o.port = port; });
    port = server.port();
    EXPECT_EQ(server.client()->round_trip(request_of("GET", "/"), kPatience)->status, 200);
  }
}

TEST(HttpServer, ExtraLoopsServeToo) {
  Loop second;
  second.start("second");
  std::mutex mutex;
  std::vector<std::thread::id> seen;
  {
    TestServer server(
        [&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
          {
            std::lock_guard lock(mutex);
            seen.push_back(std::this_thread::get_id());
          }
          sink->respond(text_response("x"));
        },
        true, [&](ServerOptions& o) { o.extra_loops = {&second}; });
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(server.client()->round_trip(request_of("GET", "/"), kPatience)->status, 200);
    }
  }
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_NE(seen[0], seen[1]);
}

TEST(HttpServerTls, ClientCertificatesBecomeIdentities) {
  TestServer server(echo, true);
  const auto who = [&](const KeyPair* pair) {
    TransportOptions options = server.client_options();
    if (pair != nullptr) {
      options.client_cert_pem = pair->cert_pem;
      options.client_key_pem = pair->key_pem;
    }
    return make_transport(options).value()->round_trip(request_of("GET", "/"), kPatience)->body;
  };
  EXPECT_EQ(who(&test_certs().admin), "GET / [] user=admin group=system:masters group=ops");
  EXPECT_EQ(who(nullptr), "GET / []");
  EXPECT_EQ(who(&test_certs().stranger), "GET / []");
}

TEST(HttpServerTls, FrontProxiesAreKeptApartFromClients) {
  const Instant now = system_clock().now();
  const Duration hour = Duration::seconds(3600);
  const KeyPair proxy_ca = make_ca("proxies", now, hour).value();
  const KeyPair proxy =
      make_leaf(proxy_ca, {.common_name = "front-proxy", .client = true, .validity = hour}, now)
          .value();
  std::string seen;
  TestServer server(
      [&](wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
        seen = request.identity.user + "/" + request.identity.proxy;
        sink->respond(text_response(""));
      },
      true, [&](ServerOptions& options) { options.tls->proxy_ca_pem = proxy_ca.cert_pem; });
  const auto who = [&](const KeyPair& pair) {
    TransportOptions options = server.client_options();
    options.client_cert_pem = pair.cert_pem;
    options.client_key_pem = pair.key_pem;
    EXPECT_TRUE(
        make_transport(options).value()->round_trip(request_of("GET", "/"), kPatience).ok());
    return seen;
  };
  EXPECT_EQ(who(proxy), "/front-proxy");
  EXPECT_EQ(who(test_certs().admin), "admin/");
  EXPECT_EQ(who(test_certs().stranger), "/");
}

TEST(HttpServerTls, PlainTextOnTlsPortIsExplained) {
  TestServer server(echo, true);
  RawClient raw(server.port());
  raw.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(raw.read_all().find("Client sent an HTTP request to an HTTPS server"),
            std::string::npos);
}

TEST(HttpServerTls, CertificatesCanBeReplaced) {
  std::mutex mutex;
  ServerTls files{.cert_pem = test_certs().server.cert_pem, .key_pem = test_certs().server.key_pem};
  std::atomic<int> asked{0};
  TestServer server(echo, true, [&](ServerOptions& o) {
    o.tls_reload_interval = Duration::millis(5);
    o.tls_reload = [&]() -> Result<ServerTls> {
      ++asked;
      std::lock_guard lock(mutex);
      return files;
    };
  });
  const Instant now = system_clock().now();
  const KeyPair other_ca = make_ca("next", now, Duration::seconds(3600)).value();
  const KeyPair next =
      make_leaf(other_ca, {.common_name = "n", .ips = {"127.0.0.1"}, .server = true}, now).value();
  {
    std::lock_guard lock(mutex);
    files = {.cert_pem = next.cert_pem, .key_pem = next.key_pem};
  }
  const int before = asked;
  while (asked < before + 2) std::this_thread::yield();
  TransportOptions options = server.client_options();
  options.ca_pem = other_ca.cert_pem;
  EXPECT_TRUE(make_transport(options).value()->round_trip(request_of("GET", "/"), kPatience).ok());
}

TEST(HttpServerTls, UnusableCertificatesAreAnError) {
  Loop loop;
  struct None final : wire::Handler {
    void handle(wire::Request, std::shared_ptr<wire::ResponseSink>) override {}
  } none;
  ServerOptions options;
  options.tls = ServerTls{.cert_pem = "nonsense", .key_pem = "nonsense"};
  EXPECT_FALSE(HttpServer::listen(loop, options, none).ok());
  options.tls =
      ServerTls{.cert_pem = test_certs().server.cert_pem, .key_pem = test_certs().admin.key_pem};
  const auto result = HttpServer::listen(loop, options, none);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("private key does not belong"), std::string::npos);
}

}  // namespace
}  // namespace kueue::net
