#include "process.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "api/registry.h"
#include "apiserver/server.h"
#include "net/certs.h"
#include "net/http_server.h"
#include "net/http_transport.h"

namespace kueue::bench {
namespace {

constexpr const char* kToken = "bench";

template <typename T>
T need(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "apiserver bench: %s\n", result.error().message.c_str());
  std::exit(1);
}

void write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n <= 0) std::exit(1);
    at += static_cast<size_t>(n);
  }
}

// The child: serves until the other end of `stop` is closed.
[[noreturn]] void serve(const std::string& folder, int report, int stop) {
  const Instant now = system_clock().now();
  const net::KeyPair ca = need(net::make_ca("bench-ca", now, Duration::seconds(86400)));
  const net::KeyPair leaf =
      need(net::make_leaf(ca, {.common_name = "bench", .ips = {"127.0.0.1"}, .server = true}, now));
  apiserver::Options options;
  options.data_dir = folder;
  const auto resources = api::builtin_resources();
  options.resources = {resources.begin(), resources.end()};
  options.tokens[kToken] = {.user = "bench", .groups = {"system:masters"}, .extra = {}};
  const auto server = need(apiserver::Server::open(std::move(options)));
  net::Loop first, second;
  net::ServerOptions http_options;
  http_options.tls = net::ServerTls{.cert_pem = leaf.cert_pem, .key_pem = leaf.key_pem};
  http_options.extra_loops = {&second};
  first.start("net");
  second.start("net-2");
  const auto http = need(net::HttpServer::listen(first, std::move(http_options), *server));
  write_all(report, std::to_string(http->port()) + "\n" + ca.cert_pem);
  ::close(report);
  char byte = 0;
  while (::read(stop, &byte, 1) < 0) continue;
  http->stop(Duration::millis(200));
  server->stop();
  first.stop();
  second.stop();
  std::_Exit(0);
}

}  // namespace

ServerProcess ServerProcess::start(const std::string& folder) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  int report[2], stop[2];
  if (::pipe(report) != 0 || ::pipe(stop) != 0) std::exit(1);
  ServerProcess process;
  std::fflush(stdout);
  process.pid_ = ::fork();
  if (process.pid_ < 0) std::exit(1);
  if (process.pid_ == 0) {
    ::close(report[0]);
    ::close(stop[1]);
    serve(folder, report[1], stop[0]);
  }
  ::close(report[1]);
  ::close(stop[0]);
  process.stop_ = stop[1];
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(report[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  ::close(report[0]);
  const size_t line = text.find('\n');
  if (line == std::string::npos) {
    std::fprintf(stderr, "apiserver bench: the server did not start\n");
    std::exit(1);
  }
  process.port_ = static_cast<uint16_t>(std::atoi(text.c_str()));
  process.ca_pem_ = text.substr(line + 1);
  return process;
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      stop_(std::exchange(other.stop_, -1)),
      port_(other.port_),
      ca_pem_(std::move(other.ca_pem_)) {}

ServerProcess::~ServerProcess() {
  if (pid_ < 0) return;
  ::close(stop_);
  ::waitpid(pid_, nullptr, 0);
}

std::shared_ptr<wire::Transport> ServerProcess::connect() const {
  net::TransportOptions options;
  options.server = "https://127.0.0.1:" + std::to_string(port_);
  options.ca_pem = ca_pem_;
  options.token = kToken;
  return need(net::make_transport(std::move(options)));
}

int64_t ServerProcess::resident() const { return memory_of(pid_, "VmRSS"); }
int64_t ServerProcess::peak_resident() const { return memory_of(pid_, "VmHWM"); }

double ServerProcess::cpu_seconds() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

int64_t memory_of(pid_t pid, const std::string& field) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(field + ":", 0) == 0) return std::atoll(line.c_str() + field.size() + 1) * 1024;
  return 0;
}

}  // namespace kueue::bench
