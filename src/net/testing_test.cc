// The fixtures of testing.h.
#include "net/testing.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

namespace kueue::net::testing {

namespace {
constexpr std::chrono::seconds kPatience{10};
}

const TestCerts& test_certs() {
  static const TestCerts certs = [] {
    const Instant now = system_clock().now();
    const Duration day = Duration::seconds(86400);
    TestCerts c;
    c.ca = make_ca("test-ca", now, day).value();
    c.server = make_leaf(c.ca,
                         {.common_name = "test-server",
                          .dns_names = {"localhost", "kueue.test"},
                          .ips = {"127.0.0.1", "::1"},
                          .server = true,
                          .validity = day},
                         now)
                   .value();
    const LeafRequest admin{.common_name = "admin",
                            .organizations = {"system:masters", "ops"},
                            .client = true,
                            .validity = day};
    c.admin = make_leaf(c.ca, admin, now).value();
    c.stranger = make_leaf(make_ca("other-ca", now, day).value(), admin, now).value();
    return c;
  }();
  return certs;
}

TestServer::TestServer(HandleFunction function, bool tls,
                       const std::function<void(ServerOptions&)>& adjust)
    : function_(std::move(function)), tls_(tls) {
  ServerOptions options;
  if (tls) {
    options.tls = ServerTls{.cert_pem = test_certs().server.cert_pem,
                            .key_pem = test_certs().server.key_pem,
                            .client_ca_pem = test_certs().ca.cert_pem};
  }
  if (adjust) adjust(options);
  server_ = HttpServer::listen(loop_, std::move(options), *this).value();
  loop_.start("test-server");
}

TestServer::~TestServer() { server_.reset(); }

std::string TestServer::url() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port());
}

TransportOptions TestServer::client_options() const {
  TransportOptions options;
  options.server = url();
  options.ca_pem = tls_ ? test_certs().ca.cert_pem : "";
  return options;
}

std::shared_ptr<wire::Transport> TestServer::client() const {
  return make_transport(client_options()).value();
}

RawClient::RawClient(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

RawClient::~RawClient() { close(fd_); }

bool RawClient::send(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

std::string RawClient::read_until(const std::string& marker) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (seen_.find(marker) == std::string::npos && std::chrono::steady_clock::now() < give_up) {
    pollfd one{fd_, POLLIN, 0};
    if (poll(&one, 1, 1000) <= 0) continue;
    char buffer[65536];
    const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    seen_.append(buffer, static_cast<size_t>(n));
  }
  const size_t at = seen_.find(marker);
  if (at == std::string::npos) return std::move(seen_);
  std::string result = seen_.substr(0, at + marker.size());
  seen_.erase(0, at + marker.size());
  return result;
}

std::string RawClient::read_all(bool* closed) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  if (closed != nullptr) *closed = false;
  while (std::chrono::steady_clock::now() < give_up) {
    pollfd one{fd_, POLLIN, 0};
    if (poll(&one, 1, 1000) <= 0) continue;
    char buffer[65536];
    const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) {
      if (closed != nullptr) *closed = true;
      break;
    }
    seen_.append(buffer, static_cast<size_t>(n));
  }
  return std::move(seen_);
}

void RawClient::shutdown_write() { shutdown(fd_, SHUT_WR); }

void RawClient::set_receive_buffer(int bytes) {
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

void Collector::on_head(const wire::Response& head) {
  std::lock_guard lock(mutex_);
  EXPECT_FALSE(head_);
  head_ = true;
  status_ = head.status;
  changed_.notify_all();
}

void Collector::on_data(std::string_view chunk) {
  std::lock_guard lock(mutex_);
  EXPECT_TRUE(head_);
  EXPECT_FALSE(ended_);
  data_ += chunk;
  changed_.notify_all();
}

void Collector::on_end(Result<void> result) {
  std::lock_guard lock(mutex_);
  EXPECT_FALSE(ended_);
  ended_ = true;
  result_ = std::move(result);
  changed_.notify_all();
}

bool Collector::wait(const std::function<bool()>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, condition);
}

bool Collector::wait_head() {
  return wait([this] { return head_; });
}
bool Collector::wait_data(const std::string& marker) {
  return wait([&] { return data_.find(marker) != std::string::npos; });
}
bool Collector::wait_size(size_t bytes) {
  return wait([&] { return data_.size() >= bytes; });
}
bool Collector::wait_end() {
  return wait([this] { return ended_; });
}
int Collector::status() {
  std::lock_guard lock(mutex_);
  return status_;
}
std::string Collector::data() {
  std::lock_guard lock(mutex_);
  return data_;
}
Result<void> Collector::result() {
  std::lock_guard lock(mutex_);
  return result_;
}
bool Collector::ended() {
  std::lock_guard lock(mutex_);
  return ended_;
}

void Flag::raise() {
  std::lock_guard lock(mutex_);
  raised_ = true;
  changed_.notify_all();
}
bool Flag::wait() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [this] { return raised_; });
}
bool Flag::raised() {
  std::lock_guard lock(mutex_);
  return raised_;
}

wire::Request request_of(const std::string& method, const std::string& path,
                         const std::string& body) {
  wire::Request request;
  request.method = method;
  const size_t question = path.find('?');
  request.path = path.substr(0, question);
  if (question != std::string::npos) {
    const std::string query = path.substr(question + 1);
    const size_t equal = query.find('=');
    request.query.emplace_back(query.substr(0, equal), query.substr(equal + 1));
  }
  request.body = body;
  return request;
}

wire::Response text_response(std::string body, int status) {
  wire::Response response;
  response.status = status;
  response.headers.set("Content-Type", "text/plain");
  response.body = std::move(body);
  return response;
}

}  // namespace kueue::net::testing
