// One connection of an HttpServer: reads requests, hands them over one by one, writes answers in
// order. Everything runs on the connection's loop; only Exchange is called from elsewhere.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "net/http_parser.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/socket.h"
#include "wire/http.h"

namespace kueue::net {

class ServerConnection;

// What connections of a server share. Immutable but for the counters.
struct ServerShared {
  ServerOptions options;
  wire::Handler* handler = nullptr;
  std::atomic<size_t> open{0};
  std::atomic<bool> draining{false};
  std::function<void(Loop*, ServerConnection*)> forget;  // on the connection's loop
};

// One request and its answer, thread safe. The connection and the handler's sink both hold it.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // `gzip_above` 0: never compressed.
  Exchange(Loop* loop, std::weak_ptr<ServerConnection> connection, size_t queue_limit,
           size_t gzip_above);

  void respond(wire::Response response);
  void begin_stream(wire::Response head);
  bool write(std::string chunk);
  void end_stream();
  void on_close(std::function<void()> callback);
  // The handler let go of its sink.
  void abandoned();

  // The connection's side, on its loop.
  // The chunks that wait, joined, and whether the stream has ended.
  bool take_pending(std::string* data);
  void set_unsent(size_t bytes) { unsent_.store(bytes, std::memory_order_relaxed); }
  // The peer is gone or the answer is complete: nothing more is taken. Runs the callbacks when it
  // is gone.
  void close(bool gone);

 private:
  enum class State : uint8_t { kOpen, kAnswered, kStreaming, kEnded, kClosed };
  void schedule_flush();  // with the lock held

  std::mutex mutex_;
  Loop* loop_;
  std::weak_ptr<ServerConnection> connection_;
  const size_t queue_limit_;
  const size_t gzip_above_;
  State state_ = State::kOpen;
  bool overflow_ = false;
  bool flush_scheduled_ = false;
  bool gone_ = false;
  std::string pending_;
  std::atomic<size_t> unsent_{0};
  std::vector<std::function<void()>> on_close_;
};

class ServerConnection final : public Loop::FdHandler,
                               public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(Loop& loop, std::shared_ptr<ServerShared> shared, int fd,
                   std::shared_ptr<TlsContext> tls);
  ~ServerConnection() override;

  void start();
  void on_ready(uint32_t events) override;
  // Closes what has waited too long. `now` is steady nanoseconds.
  void check_deadline(int64_t now);
  // The server is stopping: idle connections close, streams end, requests that run may still be
  // answered.
  void drain();
  void close(bool gone = true);

  // From the exchange.
  void finish_response(Exchange* from, const wire::Response& response);
  void start_stream(Exchange* from, wire::Response head);
  void flush_stream(Exchange* from);
  void abort(Exchange* from);

 private:
  enum class Phase : uint8_t { kHandshake, kOpen, kLingering, kClosed };

  void continue_handshake();
  bool answer_plain_text_on_tls_port();
  void read_some();
  void process();
  void dispatch();
  void send_continue();
  void refuse();
  std::string head_of(const wire::Response& response, bool stream);
  void answer_done();
  void queue(std::string data);
  void write_some();
  void finish_writing();
  void update_interest();
  void peer_closed();

  Loop& loop_;
  std::shared_ptr<ServerShared> shared_;
  Socket socket_;
  std::shared_ptr<TlsContext> tls_;
  Phase phase_ = Phase::kHandshake;
  uint32_t interest_ = 0;
  bool want_read_ = true;    // during the handshake
  bool want_write_ = false;  // the socket cannot take more now
  bool first_byte_seen_ = false;
  bool processing_ = false;
  bool read_eof_ = false;
  bool head_request_ = false;
  bool chunked_ = true;
  bool streaming_ = false;
  bool keep_alive_ = true;
  bool continue_sent_ = false;
  bool close_after_write_ = false;
  bool cut_short_ = false;  // the server ends the stream, not its handler
  bool linger_ = false;
  int64_t deadline_ = 0;  // steady ns; 0 = none
  int64_t write_deadline_ = 0;
  size_t lingered_ = 0;
  HttpParser parser_;
  std::string in_;  // bytes of following requests
  std::deque<std::string> out_;
  size_t out_offset_ = 0;  // sent bytes of out_.front()
  size_t out_bytes_ = 0;
  std::shared_ptr<Exchange> current_;
  wire::Identity identity_;
};

// gzip at a fast level; "" when zlib fails.
std::string gzip(std::string_view data);

}  // namespace kueue::net
