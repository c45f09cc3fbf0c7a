// bench: apiserver net api wire base
// The embedded API server over real HTTPS: durable creates, gets, and one kind with 2,000 watchers
// of which every one must get every event, in order. Client and server share the machine's cores,
// so the client's part of TLS and HTTP is in every figure. The same creates and gets once more
// called in process, without sockets. Ends with one line that says which aims were met.
//
// Usage: bench_apiserver [--creates N] [--gets N] [--watchers N] [--events N]
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/registry.h"
#include "apiserver/server.h"
#include "process.h"

namespace kueue::bench {
namespace {

constexpr double kCreatesAim = 8000;
constexpr double kGetsAim = 20000;
constexpr size_t kWatchersAim = 2000;
constexpr const char* kCollection = "/api/v1/namespaces/default/configmaps";

using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

struct Sizes {
  size_t creates = 40'000;
  size_t gets = 100'000;
  size_t watchers = kWatchersAim;
  size_t events = 100;
};

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kueue-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::exit(1);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

// A ConfigMap of about 400 bytes as sent.
std::string config_map(const std::string& name) {
  std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
                     R"(","labels":{"app":"bench"}},"data":{)";
  for (int i = 0; i < 6; ++i)
    body += (i == 0 ? "" : ",") + ("\"setting-" + std::to_string(i)) +
            "\":\"a value of ordinary length, number " + std::to_string(i) + "\"";
  return body + "}}";
}

wire::Request request(const char* method, std::string path, std::string body = {}) {
  wire::Request made;
  made.method = method;
  made.path = std::move(path);
  if (!body.empty()) made.headers.set("Content-Type", "application/json");
  made.body = std::move(body);
  return made;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "apiserver bench: %s\n", what.c_str());
  std::exit(1);
}

// Runs work(thread, number) for all numbers below `count` on `threads` threads; per second.
double rate(size_t count, size_t threads, const std::function<void(size_t, size_t)>& work) {
  std::atomic<size_t> next = 0;
  const auto start = Clock::now();
  std::vector<std::thread> all;
  for (size_t t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (size_t n = next++; n < count; n = next++) work(t, n);
    });
  for (std::thread& thread : all) thread.join();
  return static_cast<double>(count) / Seconds(Clock::now() - start).count();
}

wire::Response expect(wire::Transport& transport, const wire::Request& what, int status) {
  auto response = transport.round_trip(what, Duration::seconds(60));
  if (!response.ok()) fail(what.method + " " + what.path + ": " + response.error().message);
  if (response->status != status)
    fail(what.method + " " + what.path + ": " + std::to_string(response->status) + " " +
         response->body.substr(0, 200));
  return std::move(response).value();
}

double megabytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// Creates by many clients at once: what waits at one moment becomes one transaction.
double https_creates(const ServerProcess& server, size_t count) {
  constexpr size_t kClients = 64;
  const auto transport = server.connect();
  const double cpu = server.cpu_seconds();
  const double result = rate(count, kClients, [&](size_t, size_t n) {
    const std::string name = "object-" + std::to_string(n);
    expect(*transport, request("POST", kCollection, config_map(name)), 201);
  });
  const double used = server.cpu_seconds() - cpu;
  std::printf("%-44s %10.0f /s   server %5.0f us CPU each\n", "durable creates, HTTPS, 64 clients",
              result, used * 1e6 / static_cast<double>(count));
  return result;
}

double https_gets(const ServerProcess& server, size_t count, size_t objects) {
  constexpr size_t kClients = 8;
  const auto transport = server.connect();
  const double cpu = server.cpu_seconds();
  const double result = rate(count, kClients, [&](size_t, size_t n) {
    expect(
        *transport,
        request("GET", std::string(kCollection) + "/object-" + std::to_string(n * 7919 % objects)),
        200);
  });
  const double used = server.cpu_seconds() - cpu;
  std::printf("%-44s %10.0f /s   server %5.0f us CPU each\n", "gets, HTTPS, 8 clients", result,
              used * 1e6 / static_cast<double>(count));
  return result;
}

// All watchers together: who has got how much of what.
struct Audience {
  std::mutex mutex;
  std::condition_variable changed;
  size_t open = 0;
  size_t ended = 0;
  size_t disorder = 0;
  std::vector<size_t> seen_by;          // watchers that have event number i
  std::vector<Clock::time_point> last;  // when the last of them had it
};

// Reads its stream and notes each event; names are "event-N" with N counting up.
class Watcher final : public wire::StreamReceiver {
 public:
  explicit Watcher(Audience& audience) : audience_(audience) {}
  void on_head(const wire::Response& head) override {
    if (head.status != 200) fail("watch: " + std::to_string(head.status));
    std::lock_guard lock(audience_.mutex);
    ++audience_.open;
    audience_.changed.notify_all();
  }
  void on_data(std::string_view chunk) override {
    text_.append(chunk);
    size_t start = 0;
    for (size_t end; (end = text_.find('\n', start)) != std::string::npos; start = end + 1)
      note(std::string_view(text_).substr(start, end - start));
    text_.erase(0, start);
  }
  void on_end(Result<void>) override {
    std::lock_guard lock(audience_.mutex);
    ++audience_.ended;
    audience_.changed.notify_all();
  }

 private:
  void note(std::string_view line) {
    constexpr std::string_view kName = "\"name\":\"event-";
    const size_t at = line.find(kName);
    if (at == std::string_view::npos) return;  // a bookmark
    const size_t number = std::strtoul(line.data() + at + kName.size(), nullptr, 10);
    std::lock_guard lock(audience_.mutex);
    if (number != next_ || number >= audience_.seen_by.size()) {
      ++audience_.disorder;
      return;
    }
    ++next_;
    ++audience_.seen_by[number];
    audience_.last[number] = Clock::now();
    audience_.changed.notify_all();
  }

  Audience& audience_;
  std::string text_;
  size_t next_ = 0;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<size_t>(q * static_cast<double>(values.size())))];
}

// True when every watcher has got every event, in order.
bool https_watchers(const ServerProcess& server, const Sizes& sizes) {
  const int64_t before = server.resident();
  const auto writer = server.connect();
  // Each transport serves its streams with one thread.
  std::vector<std::shared_ptr<wire::Transport>> transports = {server.connect(), server.connect()};
  Audience audience;
  // The first half comes one by one, the second as fast as it can be written.
  const size_t paced = sizes.events / 2;
  audience.seen_by.resize(sizes.events);
  audience.last.resize(sizes.events);
  wire::Request watch = request("GET", "/api/v1/configmaps");
  wire::Request first = watch;
  first.query = {{"limit", "1"}};
  const auto list = expect(*writer, first, 200);
  constexpr std::string_view kVersion = "\"resourceVersion\":\"";
  const size_t at = list.body.find(kVersion) + kVersion.size();
  watch.query = {{"watch", "true"},
                 {"resourceVersion", list.body.substr(at, list.body.find('"', at) - at)}};
  std::vector<std::unique_ptr<wire::StreamHandle>> handles;
  const auto opening = Clock::now();
  for (size_t i = 0; i < sizes.watchers; ++i)
    handles.push_back(transports[i % 2]->open_stream(watch, std::make_shared<Watcher>(audience)));
  std::unique_lock lock(audience.mutex);
  const auto wait = [&](const std::function<bool()>& condition) {
    return audience.changed.wait_for(lock, std::chrono::seconds(60), condition);
  };
  if (!wait([&] { return audience.open == sizes.watchers; }))
    fail("only " + std::to_string(audience.open) + " watches opened");
  std::printf("%-44s %10.2f s\n", "opening the watches", Seconds(Clock::now() - opening).count());
  std::printf(
      "%-44s %10.1f KiB each, server\n", "memory of an open watch",
      static_cast<double>(server.resident() - before) / 1024 / static_cast<double>(sizes.watchers));
  const auto create = [&](size_t n) {
    expect(*writer, request("POST", kCollection, config_map("event-" + std::to_string(n))), 201);
  };
  std::vector<double> latencies;
  bool complete = true;
  for (size_t n = 0; n < paced && complete; ++n) {
    lock.unlock();
    const auto start = Clock::now();
    create(n);
    lock.lock();
    complete = wait([&] { return audience.seen_by[n] == sizes.watchers; });
    latencies.push_back(Seconds(audience.last[n] - start).count() * 1000);
  }
  lock.unlock();
  const auto start = Clock::now();
  for (size_t n = paced; n < sizes.events && complete; ++n) create(n);
  lock.lock();
  complete = complete && wait([&] { return audience.seen_by.back() == sizes.watchers; });
  const double seconds = Seconds(audience.last.back() - start).count();
  for (const size_t seen : audience.seen_by) complete = complete && seen == sizes.watchers;
  complete = complete && audience.disorder == 0 && audience.ended == 0;
  lock.unlock();
  std::printf("%-44s %10.1f ms   median; %.1f ms at most\n", "from create to the last watcher",
              quantile(latencies, 0.5), quantile(latencies, 1));
  std::printf("%-44s %10.0f events/s to watchers\n", "creates without a pause",
              static_cast<double>((sizes.events - paced) * sizes.watchers) / seconds);
  for (auto& handle : handles) handle.reset();
  return complete;
}

// Answers of calls in process.
class Sink final : public wire::ResponseSink {
 public:
  explicit Sink(std::function<void(int)> done) : done_(std::move(done)) {}
  void respond(wire::Response response) override { done_(response.status); }
  void begin_stream(wire::Response) override {}
  bool write(std::string) override { return false; }
  void end_stream() override {}
  void on_close(std::function<void()>) override {}

 private:
  std::function<void(int)> done_;
};

// The same without HTTP and TLS: two threads keep 256 requests going.
void in_process(const Sizes& sizes) {
  Folder folder;
  apiserver::Options options;
  options.data_dir = folder.path;
  const auto resources = api::builtin_resources();
  options.resources = {resources.begin(), resources.end()};
  auto opened = apiserver::Server::open(std::move(options));
  if (!opened.ok()) fail(opened.error().message);
  apiserver::Server& server = **opened;
  const auto run = [&](const char* what, size_t count, int status,
                       const std::function<wire::Request(size_t)>& make) {
    std::mutex mutex;
    std::condition_variable changed;
    size_t running = 0;
    const auto start = Clock::now();
    rate(count, 2, [&](size_t, size_t n) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return running < 256; });
        ++running;
      }
      wire::Request one = make(n);
      one.identity = {.user = "bench", .groups = {"system:masters"}, .extra = {}};
      server.handle(std::move(one), std::make_shared<Sink>([&](int got) {
                      if (got != status) fail("in process: " + std::to_string(got));
                      std::lock_guard lock(mutex);
                      --running;
                      changed.notify_all();
                    }));
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return running == 0; });
    std::printf("%-44s %10.0f /s\n", what,
                static_cast<double>(count) / Seconds(Clock::now() - start).count());
  };
  run("durable creates, in process", sizes.creates, 201, [](size_t n) {
    return request("POST", kCollection, config_map("object-" + std::to_string(n)));
  });
  run("gets, in process", sizes.gets, 200, [&](size_t n) {
    return request(
        "GET", std::string(kCollection) + "/object-" + std::to_string(n * 7919 % sizes.creates));
  });
  server.stop();
}

std::string verdict(const char* what, double got, double aim) {
  char text[160];
  std::snprintf(text, sizeof text, "%s at least %.0f/s: %s (%.0f/s); ", what, aim,
                got >= aim ? "met" : "MISSED", got);
  return text;
}

int run(const Sizes& sizes) {
  Folder folder;
  ServerProcess server = ServerProcess::start(folder.path);
  const int64_t empty = server.resident();
  std::printf("%-44s %10.1f MiB\n", "server, empty", megabytes(empty));
  const double creates = https_creates(server, sizes.creates);
  std::printf("%-44s %10.0f bytes\n", "memory of a ConfigMap of 400 bytes",
              static_cast<double>(server.resident() - empty) / static_cast<double>(sizes.creates));
  const double gets = https_gets(server, sizes.gets, sizes.creates);
  const bool complete = https_watchers(server, sizes);
  std::printf("%-44s %10.1f MiB  at most %.1f MiB\n", "server, at the end",
              megabytes(server.resident()), megabytes(server.peak_resident()));
  in_process(sizes);
  std::printf("%-44s %10.1f MiB\n", "this program at most",
              megabytes(memory_of(getpid(), "VmHWM")));
  std::printf("aims: %s%s%zu watchers get every event in order: %s\n",
              verdict("durable creates", creates, kCreatesAim).c_str(),
              verdict("gets", gets, kGetsAim).c_str(), sizes.watchers,
              complete && sizes.watchers >= kWatchersAim ? "met" : "MISSED");
  return complete ? 0 : 1;
}

}  // namespace
}  // namespace kueue::bench

int main(int argc, char** argv) {
  kueue::bench::Sizes sizes;
  for (int i = 1; i < argc; ++i) {
    const auto number = [&](const char* flag, size_t& value) {
      if (std::strcmp(argv[i], flag) != 0 || i + 1 >= argc) return false;
      value = std::strtoul(argv[++i], nullptr, 10);
      return true;
    };
    if (number("--creates", sizes.creates) || number("--gets", sizes.gets) ||
        number("--watchers", sizes.watchers) || number("--events", sizes.events))
      continue;
    if (std::strncmp(argv[i], "--benchmark_out=", 16) == 0) continue;  // this one prints text only
    std::fprintf(stderr, "unknown flag %s\n", argv[i]);
    return 2;
  }
  if (sizes.creates == 0 || sizes.events < 2) return 2;
  return kueue::bench::run(sizes);
}
