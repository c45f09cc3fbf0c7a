// One connection of the server.
#include "net/server_connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "wire/path.h"
#include "wire/status.h"

namespace kueue::net {
namespace {

constexpr size_t kReadSize = 64u << 10;       // at least one TLS record
constexpr size_t kPipelineLimit = 64u << 10;  // bytes read ahead while a request runs
constexpr size_t kSmall = 16u << 10;          // pieces up to this are joined
constexpr size_t kLingerLimit = 16u << 20;
constexpr int64_t kLingerNs = 2'000'000'000;

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Request Entity Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

// The Date header, made once a second per thread.
const std::string& date_header() {
  thread_local time_t made = 0;
  thread_local std::string text;
  const time_t now = time(nullptr);
  if (now != made) {
    made = now;
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 64> buffer{};
    const size_t n =
        strftime(buffer.data(), buffer.size(), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    text.assign(buffer.data(), n);
  }
  return text;
}

bool bodiless(int status) { return status == 204 || status == 304 || status < 200; }

// What the handler holds; lets go of the exchange when the handler does.
class Sink final : public wire::ResponseSink {
 public:
  explicit Sink(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Sink() override { exchange_->abandoned(); }
  void respond(wire::Response response) override { exchange_->respond(std::move(response)); }
  void begin_stream(wire::Response head) override { exchange_->begin_stream(std::move(head)); }
  bool write(std::string chunk) override { return exchange_->write(std::move(chunk)); }
  void end_stream() override { exchange_->end_stream(); }
  void on_close(std::function<void()> callback) override {
    exchange_->on_close(std::move(callback));
  }

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace

std::string gzip(std::string_view data) {
  z_stream stream{};
  // Level 1: a large list shrinks to a tenth either way, at a third of the time.
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return result == Z_STREAM_END ? out : "";
}

// --- Exchange ---

Exchange::Exchange(Loop* loop, std::weak_ptr<ServerConnection> connection, size_t queue_limit,
                   size_t gzip_above)
    : loop_(loop),
      connection_(std::move(connection)),
      queue_limit_(queue_limit),
      gzip_above_(gzip_above) {}

void Exchange::respond(wire::Response response) {
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kOpen) return;
    state_ = State::kAnswered;
  }
  if (gzip_above_ > 0 && response.body.size() > gzip_above_ && response.body.size() < (1u << 31) &&
      !response.headers.has("Content-Encoding")) {
    std::string compressed = gzip(response.body);
    if (!compressed.empty()) {
      response.body = std::move(compressed);
      response.headers.set("Content-Encoding", "gzip");
      response.headers.set("Vary", "Accept-Encoding");
    }
  }
  std::unique_lock lock(mutex_);
  if (state_ != State::kAnswered) return;
  if (loop_->in_loop()) {
    lock.unlock();
    if (auto connection = connection_.lock()) connection->finish_response(this, response);
    return;
  }
  loop_->post([self = shared_from_this(), answer = std::move(response)] {
    if (auto connection = self->connection_.lock()) connection->finish_response(self.get(), answer);
  });
}

void Exchange::begin_stream(wire::Response head) {
  std::lock_guard lock(mutex_);
  if (state_ != State::kOpen) return;
  state_ = State::kStreaming;
  head.body.clear();
  loop_->post([self = shared_from_this(), answer = std::move(head)]() mutable {
    if (auto connection = self->connection_.lock()) {
      connection->start_stream(self.get(), std::move(answer));
    }
  });
}

void Exchange::schedule_flush() {
  if (flush_scheduled_) return;
  flush_scheduled_ = true;
  loop_->post([self = shared_from_this()] {
    if (auto connection = self->connection_.lock()) connection->flush_stream(self.get());
  });
}

bool Exchange::write(std::string chunk) {
  std::lock_guard lock(mutex_);
  if (state_ != State::kStreaming || overflow_) return false;
  if (pending_.size() + unsent_.load(std::memory_order_relaxed) + chunk.size() > queue_limit_) {
    overflow_ = true;
    loop_->post([self = shared_from_this()] {
      if (auto connection = self->connection_.lock()) connection->abort(self.get());
    });
    return false;
  }
  if (pending_.empty()) {
    pending_ = std::move(chunk);
  } else {
    pending_ += chunk;
  }
  schedule_flush();
  return true;
}

void Exchange::end_stream() {
  std::lock_guard lock(mutex_);
  if (state_ != State::kStreaming || overflow_) return;
  state_ = State::kEnded;
  schedule_flush();
}

void Exchange::on_close(std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kClosed) {
      on_close_.push_back(std::move(callback));
      return;
    }
    if (!gone_) return;
  }
  callback();
}

void Exchange::abandoned() {
  bool unanswered = false;
  {
    std::lock_guard lock(mutex_);
    unanswered = state_ == State::kOpen;
    if (state_ == State::kStreaming && !overflow_) {
      overflow_ = true;
      loop_->post([self = shared_from_this()] {
        if (auto connection = self->connection_.lock()) connection->abort(self.get());
      });
    }
  }
  if (unanswered) {
    respond(wire::error_response(make_error(ErrorCode::kInternal, "the request was not answered")));
  }
}

bool Exchange::take_pending(std::string* data) {
  std::lock_guard lock(mutex_);
  flush_scheduled_ = false;
  data->swap(pending_);
  pending_.clear();
  return state_ == State::kEnded;
}

void Exchange::close(bool gone) {
  std::vector<std::function<void()>> callbacks;
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::kClosed) return;
    state_ = State::kClosed;
    gone_ = gone;
    callbacks.swap(on_close_);
    pending_ = {};
  }
  if (!gone) return;
  for (auto& callback : callbacks) callback();
}

// --- ServerConnection ---

ServerConnection::ServerConnection(Loop& loop, std::shared_ptr<ServerShared> shared, int fd,
                                   std::shared_ptr<TlsContext> tls)
    : loop_(loop),
      shared_(std::move(shared)),
      socket_(fd),
      tls_(std::move(tls)),
      parser_(HttpParser::Kind::kRequest, shared_->options.header_limit,
              shared_->options.body_limit) {}

ServerConnection::~ServerConnection() = default;

void ServerConnection::start() {
  const ServerOptions& options = shared_->options;
  if (tls_) {
    socket_.start_server_tls(*tls_);
    deadline_ = steady_ns() + options.handshake_timeout.ns;
  } else {
    phase_ = Phase::kOpen;
    deadline_ = steady_ns() + options.request_timeout.ns;
  }
  interest_ = EPOLLIN;
  loop_.add(socket_.fd(), interest_, this);
}

void ServerConnection::on_ready(uint32_t events) {
  const auto self = shared_from_this();
  if (phase_ == Phase::kHandshake) continue_handshake();
  if (phase_ == Phase::kClosed || phase_ == Phase::kHandshake) return;
  if ((events & EPOLLOUT) != 0 && !out_.empty()) write_some();
  if (phase_ == Phase::kClosed) return;
  if ((events & (EPOLLHUP | EPOLLERR)) != 0 && (interest_ & EPOLLIN) == 0) return close();
  if ((interest_ & EPOLLIN) != 0) read_some();
}

bool ServerConnection::answer_plain_text_on_tls_port() {
  char byte = 0;
  const ssize_t n = recv(socket_.fd(), &byte, 1, MSG_PEEK);
  if (n != 1) return false;
  first_byte_seen_ = true;
  if (byte < 'A' || byte > 'Z') return false;
  static constexpr std::string_view kAnswer =
      "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
  [[maybe_unused]] const ssize_t sent =
      send(socket_.fd(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // The request must be read, or closing would reset the connection before the answer is seen.
  std::array<char, 8192> rest{};
  while (recv(socket_.fd(), rest.data(), rest.size(), MSG_DONTWAIT) > 0) {
  }
  close();
  return true;
}

void ServerConnection::continue_handshake() {
  if (!first_byte_seen_ && answer_plain_text_on_tls_port()) return;
  switch (socket_.handshake()) {
    case Io::kOk:
      phase_ = Phase::kOpen;
      identity_ = socket_.peer_identity().value_or(wire::Identity{});
      deadline_ = steady_ns() + shared_->options.request_timeout.ns;
      break;
    case Io::kWantRead:
      want_read_ = true;
      want_write_ = false;
      break;
    case Io::kWantWrite:
      want_read_ = false;
      want_write_ = true;
      break;
    case Io::kClosed:
    case Io::kFailed:
      return close();
  }
  if (phase_ == Phase::kOpen) want_write_ = false;
  update_interest();
}

void ServerConnection::update_interest() {
  if (phase_ == Phase::kClosed) return;
  uint32_t events = want_write_ ? EPOLLOUT : 0;
  const bool read = phase_ == Phase::kHandshake ? want_read_
                    : phase_ == Phase::kLingering
                        ? true
                        : !read_eof_ && (!current_ || in_.size() < kPipelineLimit);
  if (read) events |= EPOLLIN;
  if (events == interest_) return;
  interest_ = events;
  loop_.modify(socket_.fd(), events);
}

void ServerConnection::read_some() {
  thread_local std::vector<char> buffer(kReadSize);
  // Bounded, so that one fast sender does not keep the loop; epoll reports what is left.
  for (int round = 0; round < 4; ++round) {
    size_t n = 0;
    const Io result = socket_.read(buffer.data(), buffer.size(), &n);
    if (result == Io::kWantRead || result == Io::kWantWrite) break;
    if (result != Io::kOk) {
      if (phase_ == Phase::kOpen && result == Io::kClosed) {
        process();
        if (phase_ == Phase::kOpen) peer_closed();
      } else {
        close();
      }
      return;
    }
    if (phase_ == Phase::kLingering) {
      lingered_ += n;
      if (lingered_ > kLingerLimit) return close();
      continue;
    }
    in_.append(buffer.data(), n);
    if (!current_ && !parser_.started()) {
      deadline_ = steady_ns() + shared_->options.request_timeout.ns;
    }
    if (n < buffer.size() && !socket_.tls()) break;
    if (current_ && in_.size() >= kPipelineLimit) break;
    if (!current_) process();
    if (phase_ == Phase::kClosed) return;
  }
  process();
}

void ServerConnection::peer_closed() {
  read_eof_ = true;
  // Half-closed: the peer may still wait for the answer to what it has sent.
  if (current_ && !streaming_) {
    keep_alive_ = false;
    update_interest();
  } else if (!current_ && !out_.empty()) {
    close_after_write_ = true;
    update_interest();
  } else {
    close();
  }
}

void ServerConnection::process() {
  if (processing_ || phase_ != Phase::kOpen) return;
  const auto self = shared_from_this();
  processing_ = true;
  size_t used = 0;
  while (phase_ == Phase::kOpen && !current_ && !close_after_write_ && used < in_.size()) {
    used += parser_.feed(std::string_view(in_).substr(used));
    if (parser_.failed()) {
      refuse();
      break;
    }
    if (!parser_.done()) {
      if (parser_.head_done() && parser_.expects_continue() && !continue_sent_) send_continue();
      break;
    }
    dispatch();
  }
  in_.erase(0, used);
  if (in_.empty() && in_.capacity() > 4096) std::string().swap(in_);
  processing_ = false;
  if (phase_ == Phase::kOpen) write_some();
}

void ServerConnection::send_continue() {
  continue_sent_ = true;
  queue("HTTP/1.1 100 Continue\r\n\r\n");
}

void ServerConnection::dispatch() {
  const ServerOptions& options = shared_->options;
  wire::Request request;
  request.method = std::move(parser_.method());
  head_request_ = request.method == "HEAD";
  if (head_request_) request.method = "GET";
  std::string_view target = parser_.target();
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const size_t slash = target.find('/', target.find("//") + 2);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string_view::npos) {
    request.query = wire::parse_query(target.substr(question + 1));
  }
  request.headers = std::move(parser_.headers());
  request.body = std::move(parser_.body());
  request.identity = identity_;
  keep_alive_ = parser_.keep_alive() && !shared_->draining.load(std::memory_order_relaxed);
  chunked_ = parser_.minor_version() == 1;
  const bool gzip_wanted =
      !head_request_ && has_element(request.headers.get("Accept-Encoding"), "gzip");
  parser_.reset();
  continue_sent_ = false;
  deadline_ = 0;
  current_ = std::make_shared<Exchange>(&loop_, weak_from_this(), options.stream_queue_limit,
                                        gzip_wanted ? options.gzip_above : 0);
  auto sink = std::make_shared<Sink>(current_);
  if (request.path.empty() || (request.path[0] != '/' && request.path != "*")) {
    sink->respond(wire::error_response(
        make_error(ErrorCode::kBadRequest, "the request target is no absolute path")));
    return;
  }
  shared_->handler->handle(std::move(request), std::move(sink));
}

void ServerConnection::refuse() {
  wire::Response response;
  const std::string& text = parser_.failure_text();
  switch (parser_.failure()) {
    case HttpParser::Failure::kBodyTooLarge:
      response = wire::error_response(
          make_error(ErrorCode::kTooLarge, "Request entity too large: " + text));
      break;
    case HttpParser::Failure::kNone:
    case HttpParser::Failure::kMalformed:
      response = wire::error_response(make_error(ErrorCode::kBadRequest, text));
      break;
    case HttpParser::Failure::kHeadTooLarge:
      response.status = 431;
      break;
    case HttpParser::Failure::kNotImplemented:
      response.status = 501;
      break;
    case HttpParser::Failure::kVersion:
      response.status = 505;
      break;
  }
  if (response.body.empty()) {
    response.headers.set("Content-Type", "text/plain; charset=utf-8");
    response.body = text + "\n";
  }
  keep_alive_ = false;
  close_after_write_ = true;
  linger_ = true;  // so that a client that still sends gets to read the answer
  queue(head_of(response, false) + response.body);
}

std::string ServerConnection::head_of(const wire::Response& response, bool stream) {
  std::string out;
  out.reserve(256);
  out += "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\n";
  out += date_header();
  for (const auto& [name, value] : response.headers.all()) {
    if (equal_fold(name, "Content-Length") || equal_fold(name, "Transfer-Encoding") ||
        equal_fold(name, "Connection") || !is_safe_header_value(name) ||
        !is_safe_header_value(value)) {
      continue;
    }
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  if (stream) {
    if (chunked_) out += "Transfer-Encoding: chunked\r\n";
  } else if (!bodiless(response.status)) {
    out += "Content-Length: ";
    out += std::to_string(response.body.size());
    out += "\r\n";
  }
  if (!keep_alive_) {
    out += "Connection: close\r\n";
  } else if (!chunked_) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  return out;
}

void ServerConnection::queue(std::string data) {
  out_bytes_ += data.size();
  if (!out_.empty() && out_.back().size() + data.size() <= kSmall) {
    out_.back() += data;
  } else {
    out_.push_back(std::move(data));
  }
}

void ServerConnection::finish_response(Exchange* from, const wire::Response& response) {
  if (current_.get() != from || phase_ != Phase::kOpen) return;
  const auto self = shared_from_this();
  std::string head = head_of(response, false);
  if (head_request_ || bodiless(response.status)) {
    queue(std::move(head));
  } else if (head.size() + response.body.size() <= kSmall) {
    queue(head + response.body);
  } else {
    queue(std::move(head));
    queue(response.body);
  }
  answer_done();
  if (processing_) return;
  write_some();
  // Posted, not called: the handler may hold a lock while it answers.
  if (phase_ == Phase::kOpen && !in_.empty()) loop_.post([self] { self->process(); });
}

void ServerConnection::answer_done() {
  current_->close(cut_short_);
  current_.reset();
  streaming_ = false;
  deadline_ = steady_ns() + shared_->options.idle_timeout.ns;
  const bool draining = shared_->draining.load(std::memory_order_relaxed);
  if (!keep_alive_ || draining || (read_eof_ && in_.empty())) close_after_write_ = true;
}

void ServerConnection::start_stream(Exchange* from, wire::Response head) {
  if (current_.get() != from || phase_ != Phase::kOpen) return;
  if (read_eof_) return close();
  if (!chunked_) keep_alive_ = false;
  streaming_ = true;
  queue(head_of(head, true));
  if (head_request_) {
    current_->close(true);
    answer_done();
    return write_some();
  }
  if (shared_->draining.load(std::memory_order_relaxed)) return drain();
  flush_stream(from);
}

void ServerConnection::flush_stream(Exchange* from) {
  if (current_.get() != from || !streaming_ || phase_ != Phase::kOpen) return;
  const auto self = shared_from_this();
  std::string data;
  const bool ended = current_->take_pending(&data);
  if (!data.empty()) {
    if (chunked_) {
      std::array<char, 24> size{};
      char* end = std::to_chars(size.data(), size.data() + 16, data.size(), 16).ptr;
      *end++ = '\r';
      *end++ = '\n';
      std::string framed;
      framed.reserve(data.size() + 24);
      framed.append(size.data(), end);
      framed += data;
      framed += "\r\n";
      queue(std::move(framed));
    } else {
      queue(std::move(data));
    }
  }
  if (ended) {
    if (chunked_) queue("0\r\n\r\n");
    answer_done();
  }
  write_some();
  if (ended && phase_ == Phase::kOpen && !in_.empty()) process();
}

void ServerConnection::abort(Exchange* from) {
  if (current_.get() == from) close();
}

void ServerConnection::write_some() {
  if (phase_ == Phase::kClosed) return;
  bool progress = false;
  want_write_ = false;
  while (!out_.empty()) {
    const std::string& front = out_.front();
    size_t n = 0;
    const Io result = socket_.write(front.data() + out_offset_, front.size() - out_offset_, &n);
    if (result == Io::kWantWrite || result == Io::kWantRead) {
      want_write_ = true;
      break;
    }
    if (result != Io::kOk) return close();
    progress = true;
    out_offset_ += n;
    out_bytes_ -= n;
    if (out_offset_ == front.size()) {
      out_.pop_front();
      out_offset_ = 0;
    }
  }
  if (current_) current_->set_unsent(out_bytes_);
  if (out_.empty()) {
    write_deadline_ = 0;
    if (close_after_write_) return finish_writing();
  } else if (progress || write_deadline_ == 0) {
    write_deadline_ = steady_ns() + shared_->options.write_timeout.ns;
  }
  update_interest();
}

void ServerConnection::finish_writing() {
  if (!linger_ || read_eof_) return close();
  socket_.shutdown_write(/*complete=*/true);
  phase_ = Phase::kLingering;
  deadline_ = steady_ns() + kLingerNs;
  update_interest();
}

void ServerConnection::check_deadline(int64_t now) {
  if ((deadline_ != 0 && now > deadline_) || (write_deadline_ != 0 && now > write_deadline_))
    close();
}

void ServerConnection::drain() {
  const auto self = shared_from_this();
  if (phase_ != Phase::kOpen) return close();
  keep_alive_ = false;
  if (!current_) {
    // A request that is half read gets no answer; one that is queued unsent still does.
    if (out_.empty()) return close();
    close_after_write_ = true;
    return;
  }
  if (!streaming_) return;
  const std::shared_ptr<Exchange> stream = current_;
  cut_short_ = true;
  stream->end_stream();
  flush_stream(stream.get());
}

void ServerConnection::close(bool gone) {
  if (phase_ == Phase::kClosed) return;
  const auto self = shared_from_this();
  phase_ = Phase::kClosed;
  loop_.remove(socket_.fd());
  // Now, as the descriptor itself goes with the last reference to this object.
  socket_.shutdown_write(/*complete=*/out_.empty());
  const std::shared_ptr<Exchange> open = std::move(current_);
  current_.reset();
  if (open) open->close(gone);
  shared_->forget(&loop_, this);
}

}  // namespace kueue::net
