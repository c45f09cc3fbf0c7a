// Connecting, sending and receiving on the calling thread.
#include "net/client_core.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "net/loop.h"
#include "wire/path.h"

namespace kueue::net {
namespace {

constexpr int64_t kIdleNs = 60'000'000'000;

// Waits until the descriptor is ready. What is ready; 0 = the deadline has passed.
short wait_for(int fd, short events, int64_t deadline) {
  for (;;) {
    const int64_t left = deadline - steady_ns();
    if (left <= 0) return 0;
    pollfd one{fd, events, 0};
    const int64_t ms = std::min<int64_t>((left + 999'999) / 1'000'000, 1'000'000);
    const int n = poll(&one, 1, static_cast<int>(ms));
    if (n > 0) return one.revents;
    if (n < 0 && errno != EINTR) return POLLERR;
  }
}

void append_path(std::string* out, std::string_view path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : path) {
    const auto u = static_cast<unsigned char>(c);
    if (u <= 0x20 || u >= 0x7f || c == '?' || c == '#') {
      *out += '%';
      *out += kDigits[u >> 4];
      *out += kDigits[u & 15];
    } else {
      *out += c;
    }
  }
}

}  // namespace

Result<ServerUrl> parse_server_url(const std::string& text) {
  const auto bad = [&](const std::string& why) {
    return make_error(ErrorCode::kInvalid, "server address '" + text + "': " + why);
  };
  ServerUrl url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    url.tls = false;
    url.port = 80;
  } else if (text.find("://") != std::string::npos) {
    return bad("must begin with https:// or http://");
  }
  const size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) url.prefix = rest.substr(slash);
  url.prefix = url.prefix.substr(0, url.prefix.find_first_of("?#"));
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return bad("'[' without ']'");
    url.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    const size_t colon = authority.rfind(':');
    url.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (url.host.empty()) return bad("has no host");
  if (!is_safe_header_value(url.host) || url.host.find(' ') != std::string::npos) {
    return bad("the host is malformed");
  }
  if (!port.empty()) {
    port.remove_prefix(1);
    const auto [at, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc{} || at != port.data() + port.size() || url.port == 0) {
      return bad("the port must be a number from 1 to 65535");
    }
  }
  return url;
}

Result<std::shared_ptr<ClientCore>> ClientCore::make(TransportOptions options) {
  KUEUE_ASSIGN(ServerUrl url, parse_server_url(options.server));
  std::shared_ptr<ClientCore> core(new ClientCore(std::move(options), std::move(url)));
  // Unusable certificates show now, not at the first request.
  Credential credential;
  credential.cert_pem = core->options.client_cert_pem;
  credential.key_pem = core->options.client_key_pem;
  if (core->url.tls) KUEUE_TRY(core->tls_for(credential));
  return core;
}

Result<std::shared_ptr<TlsContext>> ClientCore::tls_for(const Credential& credential) {
  std::lock_guard lock(mutex_);
  if (tls_ && tls_generation_ == credential.generation) return tls_;
  KUEUE_ASSIGN(tls_, TlsContext::client({.cert_pem = credential.cert_pem,
                                         .key_pem = credential.key_pem,
                                         .ca_pem = options.ca_pem,
                                         .insecure = options.insecure}));
  tls_generation_ = credential.generation;
  return tls_;
}

Error ClientCore::lost(const std::string& why) const {
  return make_error(ErrorCode::kUnavailable,
                    "connection to " + host_port(url.host, url.port) + " lost: " + why);
}

Error ClientCore::timed_out(const std::string& what) const {
  return make_error(ErrorCode::kTimeout, host_port(url.host, url.port) + ": " + what);
}

Result<std::unique_ptr<ClientConnection>> ClientCore::dial(const Address& address,
                                                           const TlsContext* tls,
                                                           int64_t deadline) {
  KUEUE_ASSIGN(const int fd, start_connect(address));
  auto connection = std::make_unique<ClientConnection>(fd);
  const std::string where = host_port(url.host, url.port);
  if (wait_for(fd, POLLOUT, deadline) == 0) {
    return make_error(ErrorCode::kUnavailable, "cannot connect to " + where + ": no answer");
  }
  if (const int error = connect_error(fd); error != 0) {
    return make_error(ErrorCode::kUnavailable,
                      "cannot connect to " + where + ": " + errno_text(error));
  }
  if (tls == nullptr) return connection;
  connection->socket.start_client_tls(*tls,
                                      options.server_name.empty() ? url.host : options.server_name);
  for (;;) {
    const Io result = connection->socket.handshake();
    if (result == Io::kOk) return connection;
    if (result == Io::kClosed || result == Io::kFailed) {
      return make_error(ErrorCode::kUnavailable,
                        "cannot connect to " + where + ": " + connection->socket.error());
    }
    if (wait_for(fd, result == Io::kWantRead ? POLLIN : POLLOUT, deadline) == 0) {
      return make_error(ErrorCode::kUnavailable, "cannot connect to " + where + ": no TLS answer");
    }
  }
}

Result<std::unique_ptr<ClientConnection>> ClientCore::connect(const Credential& credential,
                                                              int64_t deadline, bool fresh) {
  while (!fresh) {
    std::unique_ptr<ClientConnection> connection;
    {
      std::lock_guard lock(mutex_);
      if (idle_.empty()) break;
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
    const bool usable = connection->generation == credential.generation &&
                        steady_ns() - connection->idle_since < kIdleNs &&
                        !connection->socket.stale();
    if (usable) return connection;
  }
  std::shared_ptr<TlsContext> tls;
  if (url.tls) {
    KUEUE_ASSIGN(tls, tls_for(credential));
  }
  KUEUE_ASSIGN(const std::vector<Address> addresses, resolve(url.host, url.port));
  const int64_t until = std::min(deadline, steady_ns() + options.connect_timeout.ns);
  Error last = make_error(ErrorCode::kUnavailable, "host '" + url.host + "' has no address");
  for (const Address& address : addresses) {
    auto connection = dial(address, tls.get(), until);
    if (connection.ok()) {
      (*connection)->generation = credential.generation;
      return connection;
    }
    last = std::move(connection).error();
  }
  if (steady_ns() >= deadline) last.code = ErrorCode::kTimeout;
  return last;
}

void ClientCore::keep(std::unique_ptr<ClientConnection> connection) {
  connection->idle_since = steady_ns();
  connection->reused = true;
  std::lock_guard lock(mutex_);
  if (idle_.size() >= options.max_idle_connections) return;
  idle_.push_back(std::move(connection));
}

Result<std::string> ClientCore::serialise(const wire::Request& request,
                                          const Credential& credential) const {
  std::string out;
  out.reserve(512 + request.body.size());
  out += request.method;
  out += ' ';
  append_path(&out, url.prefix + request.path);
  if (!request.query.empty()) {
    out += '?';
    out += wire::format_query(request.query);
  }
  out += " HTTP/1.1\r\nHost: ";
  const bool standard = url.port == (url.tls ? 443 : 80);
  out += standard && url.host.find(':') == std::string::npos ? url.host
                                                             : host_port(url.host, url.port);
  out += "\r\n";
  bool safe = is_safe_header_value(request.method) && request.method.find(' ') == std::string::npos;
  const auto add = [&](std::string_view name, std::string_view value) {
    safe = safe && !name.empty() && name.find_first_of(" :\r\n") == std::string_view::npos &&
           is_safe_header_value(value);
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  };
  for (const auto& [name, value] : request.headers.all()) {
    if (equal_fold(name, "Host") || equal_fold(name, "Content-Length") ||
        equal_fold(name, "Transfer-Encoding") || equal_fold(name, "Connection")) {
      continue;
    }
    add(name, value);
  }
  for (const auto& [name, value] : options.extra_headers) add(name, value);
  if (!request.headers.has("User-Agent") && !options.user_agent.empty()) {
    add("User-Agent", options.user_agent);
  }
  if (!request.headers.has("Authorization") && !credential.authorization.empty()) {
    add("Authorization", credential.authorization);
  }
  const bool has_body = !request.body.empty() || request.method == "POST" ||
                        request.method == "PUT" || request.method == "PATCH";
  if (has_body) add("Content-Length", std::to_string(request.body.size()));
  if (!safe) {
    return make_error(ErrorCode::kBadRequest, "request has a control character in its head");
  }
  out += "\r\n";
  out += request.body;
  return out;
}

Result<bool> ClientCore::write_all(ClientConnection& connection, std::string_view data,
                                   HttpParser* parser, int64_t deadline) {
  while (!data.empty()) {
    size_t n = 0;
    const Io result = connection.socket.write(data.data(), data.size(), &n);
    if (result == Io::kOk) {
      data.remove_prefix(n);
      continue;
    }
    if (result == Io::kClosed || result == Io::kFailed) {
      // The server may have refused the request and said why.
      const std::string why = connection.socket.error();
      if (read_all(connection, parser, deadline).ok()) return false;
      return lost(why);
    }
    const short ready = wait_for(connection.socket.fd(), POLLOUT | POLLIN, deadline);
    if (ready == 0) return timed_out("the request could not be sent in time");
    if ((ready & POLLOUT) != 0 || result == Io::kWantRead) continue;
    char buffer[4096];
    const Io early = connection.socket.read(buffer, sizeof buffer, &n);
    if (early == Io::kOk) {
      parser->feed({buffer, n});
      KUEUE_TRY(read_all(connection, parser, deadline));
      return false;
    }
    if (early != Io::kWantRead) return lost(connection.socket.error());
    if (wait_for(connection.socket.fd(), POLLOUT, deadline) == 0) {
      return timed_out("the request could not be sent in time");
    }
  }
  return true;
}

Result<void> ClientCore::read_all(ClientConnection& connection, HttpParser* parser,
                                  int64_t deadline) {
  thread_local std::vector<char> buffer(64u << 10);
  while (!parser->done()) {
    if (parser->failed()) {
      if (parser->failure() == HttpParser::Failure::kBodyTooLarge) {
        return make_error(
            ErrorCode::kTooLarge,
            host_port(url.host, url.port) + ": answer is too large: " + parser->failure_text());
      }
      return lost(parser->failure_text());
    }
    size_t n = 0;
    const Io result = connection.socket.read(buffer.data(), buffer.size(), &n);
    if (result == Io::kOk) {
      if (parser->feed({buffer.data(), n}) < n) connection.dirty = true;
      continue;
    }
    if (result == Io::kClosed || result == Io::kFailed) {
      if (result == Io::kClosed) parser->feed_eof();
      if (parser->done()) break;
      return lost(connection.socket.error());
    }
    if (wait_for(connection.socket.fd(), result == Io::kWantRead ? POLLIN : POLLOUT, deadline) ==
        0) {
      return timed_out("no answer within the time limit");
    }
  }
  return {};
}

void ClientCore::limit_rate(double qps, int burst) {
  std::lock_guard lock(mutex_);
  qps_ = qps;
  burst_ = burst;
  turns_at_ = 0;  // begins with a full burst
}

Result<void> ClientCore::take_turn(int64_t deadline) {
  int64_t wait_ns = 0;
  {
    std::lock_guard lock(mutex_);
    if (qps_ <= 0) return {};
    const int64_t now = steady_ns();
    const double burst = std::max(1, burst_);
    if (turns_at_ == 0) turns_ = burst;
    turns_ = std::min(burst, turns_ + static_cast<double>(now - turns_at_) / 1e9 * qps_);
    turns_at_ = now;
    turns_ -= 1;
    if (turns_ < 0) wait_ns = static_cast<int64_t>(-turns_ / qps_ * 1e9);
    if (now + wait_ns > deadline) {
      turns_ += 1;
      return make_error(ErrorCode::kTimeout,
                        "client-side rate limit: no turn within the time limit");
    }
  }
  if (wait_ns > 0) {
    timespec pause{wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
    }
  }
  return {};
}

}  // namespace kueue::net
