// Test fixtures of net/: a server with a programmable handler, throw-away certificates, a raw
// client.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/certs.h"
#include "net/http_server.h"
#include "net/http_transport.h"
#include "net/loop.h"
#include "wire/http.h"

namespace kueue::net::testing {

using HandleFunction = std::function<void(wire::Request, std::shared_ptr<wire::ResponseSink>)>;

// Certificates made once per process.
struct TestCerts {
  KeyPair ca;
  KeyPair server;
  KeyPair admin;     // CN admin, O system:masters, signed by ca
  KeyPair stranger;  // CN admin, signed by another authority
};
const TestCerts& test_certs();

class TestServer final : public wire::Handler {
 public:
  explicit TestServer(HandleFunction function, bool tls = false,
                      const std::function<void(ServerOptions&)>& adjust = {});
  ~TestServer() override;
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override {
    function_(std::move(request), std::move(sink));
  }
  HttpServer& server() { return *server_; }
  uint16_t port() const { return server_->port(); }
  std::string url() const;
  // Options that trust the server.
  TransportOptions client_options() const;
  std::shared_ptr<wire::Transport> client() const;
  Loop& loop() { return loop_; }

 private:
  HandleFunction function_;
  bool tls_;
  Loop loop_;
  std::unique_ptr<HttpServer> server_;
};

// A plain TCP client that sends what it is told.
class RawClient {
 public:
  explicit RawClient(uint16_t port);
  ~RawClient();
  // False when the peer has gone.
  bool send(const std::string& bytes);
  // Reads until `marker` has been seen (everything read so far is returned), the peer closes, or
  // ten seconds.
  std::string read_until(const std::string& marker);
  // Reads until the peer closes; ten seconds at most. `closed` says whether it did.
  std::string read_all(bool* closed = nullptr);
  void shutdown_write();
  void set_receive_buffer(int bytes);

 private:
  int fd_;
  std::string seen_;
};

// Collects a stream; wait_* give up after ten seconds.
class Collector final : public wire::StreamReceiver {
 public:
  void on_head(const wire::Response& head) override;
  void on_data(std::string_view chunk) override;
  void on_end(Result<void> result) override;
  bool wait_head();
  bool wait_data(const std::string& marker);
  bool wait_size(size_t bytes);
  bool wait_end();
  int status();
  std::string data();
  Result<void> result();
  bool ended();

 private:
  bool wait(const std::function<bool()>& condition);
  std::mutex mutex_;
  std::condition_variable changed_;
  bool head_ = false;
  bool ended_ = false;
  int status_ = 0;
  std::string data_;
  Result<void> result_;
};

// Waits for a condition that other threads make true; ten seconds at most.
class Flag {
 public:
  void raise();
  bool wait();
  bool raised();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;
};

wire::Request request_of(const std::string& method, const std::string& path,
                         const std::string& body = "");
wire::Response text_response(std::string body, int status = 200);

}  // namespace kueue::net::testing
