// bench: net wire base
// What the HTTP server and the transport cost by themselves: a round trip on a kept connection, a
// new connection, an event to many open streams. Client and server share the machine and the
// process.
#include <benchmark/benchmark.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "net/certs.h"
#include "net/http_server.h"
#include "net/http_transport.h"

namespace kueue::net {
namespace {

struct Bench final : wire::Handler {
  explicit Bench(bool tls) {
    ServerOptions options;
    TransportOptions client_options;
    if (tls) {
      const Instant now = system_clock().now();
      const KeyPair ca = make_ca("bench-ca", now, Duration::seconds(3600)).value();
      const KeyPair leaf =
          make_leaf(ca, {.common_name = "bench", .ips = {"127.0.0.1"}, .server = true}, now)
              .value();
      options.tls = ServerTls{.cert_pem = leaf.cert_pem, .key_pem = leaf.key_pem};
      client_options.ca_pem = ca.cert_pem;
    }
    server = HttpServer::listen(loop, options, *this).value();
    loop.start("bench");
    client_options.server =
        std::string(tls ? "https" : "http") + "://127.0.0.1:" + std::to_string(server->port());
    transport = make_transport(client_options).value();
    fresh_options = client_options;
  }

  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override {
    if (request.path == "/watch") {
      sink->begin_stream({});
      std::lock_guard lock(mutex);
      streams.push_back(std::move(sink));
      return;
    }
    wire::Response response;
    response.headers.set("Content-Type", "application/json");
    response.body = body;
    sink->respond(std::move(response));
  }

  std::string body = std::string(3000, 'x');
  std::mutex mutex;
  std::vector<std::shared_ptr<wire::ResponseSink>> streams;
  Loop loop;
  std::unique_ptr<HttpServer> server;
  TransportOptions fresh_options;
  std::shared_ptr<wire::Transport> transport;
};

void round_trip(benchmark::State& state) {
  Bench bench(state.range(0) != 0);
  wire::Request request;
  for (auto _ : state) {
    const auto response = bench.transport->round_trip(request, Duration::seconds(10));
    if (!response.ok()) state.SkipWithError(response.error().message.c_str());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(round_trip)->ArgName("tls")->Arg(0)->Arg(1)->UseRealTime();

void new_connection(benchmark::State& state) {
  Bench bench(true);
  wire::Request request;
  for (auto _ : state) {
    const auto transport = make_transport(bench.fresh_options).value();
    const auto response = transport->round_trip(request, Duration::seconds(10));
    if (!response.ok()) state.SkipWithError(response.error().message.c_str());
  }
}
BENCHMARK(new_connection)->UseRealTime();

struct Counter final : wire::StreamReceiver {
  explicit Counter(std::atomic<size_t>& b) : bytes(b) {}
  void on_head(const wire::Response&) override {}
  void on_data(std::string_view chunk) override { bytes += chunk.size(); }
  void on_end(Result<void>) override {}
  std::atomic<size_t>& bytes;
};

// One event of 3 KB to every open stream, until the last has it.
void broadcast(benchmark::State& state) {
  Bench bench(true);
  const auto count = static_cast<size_t>(state.range(0));
  std::atomic<size_t> bytes{0};
  std::vector<std::unique_ptr<wire::StreamHandle>> handles;
  wire::Request request;
  request.path = "/watch";
  for (size_t i = 0; i < count; ++i) {
    handles.push_back(bench.transport->open_stream(request, std::make_shared<Counter>(bytes)));
  }
  for (bool all = false; !all; std::this_thread::yield()) {
    std::lock_guard lock(bench.mutex);
    all = bench.streams.size() == count;
  }
  for (auto _ : state) {
    const size_t target = bytes + count * bench.body.size();
    for (auto& stream : bench.streams) stream->write(bench.body);
    while (bytes < target) std::this_thread::yield();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(broadcast)->ArgName("streams")->Arg(100)->Arg(1000)->UseRealTime();

}  // namespace
}  // namespace kueue::net
