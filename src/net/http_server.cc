// Accepting, spreading connections over loops, sweeping deadlines, and stopping.
#include "net/http_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

#include "net/server_connection.h"
#include "net/socket.h"

namespace kueue::net {

struct HttpServer::Core final : Loop::FdHandler, std::enable_shared_from_this<HttpServer::Core> {
  struct Lane {
    Loop* loop = nullptr;
    std::unordered_map<ServerConnection*, std::shared_ptr<ServerConnection>> connections;
    Loop::TimerId sweep_timer = 0;
  };

  std::shared_ptr<ServerShared> shared = std::make_shared<ServerShared>();
  std::vector<std::unique_ptr<Lane>> lanes;  // each touched on its loop only
  size_t next_lane = 0;
  int listener = -1;
  uint16_t port = 0;
  bool stopped = false;
  Duration sweep_interval = Duration::seconds(1);

  std::mutex tls_mutex;
  std::shared_ptr<TlsContext> tls;
  ServerTls tls_files;

  std::mutex idle_mutex;
  std::condition_variable idle;

  void log(const std::string& line) const {
    if (shared->options.log) shared->options.log(line);
  }

  Lane& lane_of(Loop* loop) {
    for (auto& lane : lanes) {
      if (lane->loop == loop) return *lane;
    }
    return *lanes.front();
  }

  void begin();
  void on_ready(uint32_t events) override;
  void adopt(Lane& lane, int fd);
  void forget(Loop* loop, ServerConnection* connection);
  void sweep(Lane& lane);
  void schedule_sweep(Lane& lane);
  void schedule_reload();
  void reload();
  Result<void> set_tls(const ServerTls& files);
  void stop(Duration grace);
};

namespace {

// Errors of accept() that tell of the connection that was to be taken, not of the listener.
bool is_of_one_connection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

}  // namespace

void HttpServer::Core::begin() {
  std::weak_ptr<Core> weak = weak_from_this();
  shared->forget = [weak](Loop* loop, ServerConnection* connection) {
    if (auto self = weak.lock()) self->forget(loop, connection);
  };
  lanes.front()->loop->call([this] { lanes.front()->loop->add(listener, EPOLLIN, this); });
  const ServerOptions& o = shared->options;
  const Duration shortest =
      std::min({o.handshake_timeout, o.request_timeout, o.idle_timeout, o.write_timeout});
  sweep_interval = std::clamp(Duration{shortest.ns / 4}, Duration::millis(5), Duration::seconds(1));
  for (auto& lane : lanes) schedule_sweep(*lane);
  if (o.tls_reload) schedule_reload();
}

void HttpServer::Core::on_ready(uint32_t) {
  for (int i = 0; i < 64; ++i) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      const int error = errno;
      if (error == EAGAIN || error == EWOULDBLOCK) return;
      if (is_of_one_connection(error)) continue;
      // No descriptors, no memory, or the socket is broken: look again later instead of spinning. A
      // broken socket reports itself whatever is asked for, so the loop must not see it meanwhile.
      log(error == EMFILE || error == ENFILE
              ? std::string("out of file descriptors: new connections wait")
              : std::string("cannot take a new connection: ") + strerror(error));
      Loop* loop = lanes.front()->loop;
      loop->remove(listener);
      loop->after(Duration::millis(100), [self = shared_from_this(), loop] {
        if (self->stopped) return;
        loop->add(self->listener, EPOLLIN, self.get());
      });
      return;
    }
    if (shared->open.load() >= shared->options.max_connections) {
      close(fd);
      continue;
    }
    shared->open.fetch_add(1);
    Lane& lane = *lanes[next_lane++ % lanes.size()];
    if (lane.loop->in_loop()) {
      adopt(lane, fd);
    } else {
      lane.loop->post([self = shared_from_this(), &lane, fd] { self->adopt(lane, fd); });
    }
  }
}

void HttpServer::Core::adopt(Lane& lane, int fd) {
  std::shared_ptr<TlsContext> context;
  {
    std::lock_guard lock(tls_mutex);
    context = tls;
  }
  auto connection = std::make_shared<ServerConnection>(*lane.loop, shared, fd, std::move(context));
  lane.connections.emplace(connection.get(), connection);
  connection->start();
  if (shared->draining.load()) connection->close();
}

void HttpServer::Core::forget(Loop* loop, ServerConnection* connection) {
  lane_of(loop).connections.erase(connection);
  if (shared->open.fetch_sub(1) == 1) {
    std::lock_guard lock(idle_mutex);
    idle.notify_all();
  }
}

void HttpServer::Core::schedule_sweep(Lane& lane) {
  std::weak_ptr<Core> weak = weak_from_this();
  lane.sweep_timer = lane.loop->after(sweep_interval, [weak, &lane] {
    if (auto self = weak.lock()) self->sweep(lane);
  });
}

void HttpServer::Core::sweep(Lane& lane) {
  const int64_t now = steady_ns();
  std::vector<std::shared_ptr<ServerConnection>> all;
  all.reserve(lane.connections.size());
  for (auto& [key, connection] : lane.connections) all.push_back(connection);
  for (auto& connection : all) connection->check_deadline(now);
  if (!stopped) schedule_sweep(lane);
}

void HttpServer::Core::schedule_reload() {
  std::weak_ptr<Core> weak = weak_from_this();
  lanes.front()->loop->after(shared->options.tls_reload_interval, [weak] {
    if (auto self = weak.lock(); self && !self->stopped) self->reload();
  });
}

void HttpServer::Core::reload() {
  Result<ServerTls> files = shared->options.tls_reload();
  if (!files.ok()) {
    log("certificates were not reloaded: " + files.error().message);
  } else if (*files != tls_files) {
    if (auto result = set_tls(*files); !result.ok()) {
      log("certificates were not reloaded: " + result.error().message);
    }
  }
  schedule_reload();
}

Result<void> HttpServer::Core::set_tls(const ServerTls& files) {
  KUEUE_ASSIGN(auto context, TlsContext::server({.cert_pem = files.cert_pem,
                                                 .key_pem = files.key_pem,
                                                 .ca_pem = files.client_ca_pem,
                                                 .proxy_ca_pem = files.proxy_ca_pem,
                                                 .tls13_only = files.policy.tls13_only,
                                                 .cipher_suites = files.policy.cipher_suites,
                                                 .groups = files.policy.groups}));
  std::lock_guard lock(tls_mutex);
  tls = std::move(context);
  tls_files = files;
  return {};
}

void HttpServer::Core::stop(Duration grace) {
  if (stopped) return;
  Loop* first = lanes.front()->loop;
  first->call([&] {
    stopped = true;
    first->remove(listener);
    close(listener);
    listener = -1;
  });
  shared->draining.store(true);
  const auto each = [&](auto action) {
    for (auto& lane : lanes) {
      lane->loop->call([&] {
        std::vector<std::shared_ptr<ServerConnection>> all;
        for (auto& [key, connection] : lane->connections) all.push_back(connection);
        for (auto& connection : all) action(*connection);
      });
    }
  };
  each([](ServerConnection& connection) { connection.drain(); });
  {
    std::unique_lock lock(idle_mutex);
    idle.wait_for(lock, std::chrono::nanoseconds(grace.ns),
                  [&] { return shared->open.load() == 0; });
  }
  each([](ServerConnection& connection) { connection.close(); });
  for (auto& lane : lanes) lane->loop->cancel(lane->sweep_timer);
}

HttpServer::HttpServer(std::shared_ptr<Core> core) : core_(std::move(core)) {}

HttpServer::~HttpServer() { stop(Duration{}); }

Result<std::unique_ptr<HttpServer>> HttpServer::listen(Loop& loop, ServerOptions options,
                                                       wire::Handler& handler) {
  auto core = std::make_shared<Core>();
  if (options.tls) KUEUE_TRY(core->set_tls(*options.tls));
  KUEUE_ASSIGN(core->listener, listen_on(options.address, options.port));
  core->port = local_port(core->listener);
  core->lanes.push_back(std::make_unique<Core::Lane>());
  core->lanes.back()->loop = &loop;
  for (Loop* extra : options.extra_loops) {
    core->lanes.push_back(std::make_unique<Core::Lane>());
    core->lanes.back()->loop = extra;
  }
  core->shared->options = std::move(options);
  core->shared->handler = &handler;
  core->begin();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(core)));
}

uint16_t HttpServer::port() const { return core_->port; }
size_t HttpServer::connections() const { return core_->shared->open.load(); }
Result<void> HttpServer::set_tls(const ServerTls& tls) { return core_->set_tls(tls); }
void HttpServer::stop(Duration grace) { core_->stop(grace); }

}  // namespace kueue::net
