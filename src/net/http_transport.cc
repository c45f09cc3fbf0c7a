// Round trips on the calling thread, streams on the transport's loop.
#include "net/http_transport.h"

#include <sys/epoll.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "net/client_core.h"
#include "net/loop.h"

namespace kueue::net {
namespace {

constexpr size_t kMaxOpeners = 4;
constexpr int64_t kForeverNs = int64_t{1} << 61;

int64_t deadline_of(Duration timeout) {
  return steady_ns() + (timeout.ns > 0 ? std::min(timeout.ns, kForeverNs) : kForeverNs);
}

// One streamed request. Opened by a worker, then read on the loop.
class ClientStream final : public Loop::FdHandler,
                           public std::enable_shared_from_this<ClientStream> {
 public:
  ClientStream(std::shared_ptr<ClientCore> core, Loop& loop,
               std::shared_ptr<wire::StreamReceiver> receiver)
      : core_(std::move(core)),
        loop_(loop),
        receiver_(std::move(receiver)),
        parser_(HttpParser::Kind::kResponse, 256u << 10, SIZE_MAX) {}

  // Worker thread: connects and sends; the loop takes over.
  void open(const wire::Request& request);
  void on_ready(uint32_t events) override;
  // From the owner of the handle, any thread.
  void cancel();
  bool cancelled() const { return cancelled_.load(); }

 private:
  Result<std::unique_ptr<ClientConnection>> connect(const wire::Request& request);
  void begin();
  void deliver();
  void finish(Result<void> result);
  void release();

  std::shared_ptr<ClientCore> core_;
  Loop& loop_;
  std::shared_ptr<wire::StreamReceiver> receiver_;
  HttpParser parser_;
  Credential credential_;
  std::unique_ptr<ClientConnection> connection_;  // the loop's
  bool watched_ = false;
  bool head_delivered_ = false;
  bool ended_ = false;
  Loop::TimerId head_timer_ = 0;
  std::shared_ptr<ClientStream> self_;  // while the loop watches it
  std::atomic<bool> cancelled_{false};
  std::mutex call_mutex_;  // held while the receiver is called
};

Result<std::unique_ptr<ClientConnection>> ClientStream::connect(const wire::Request& request) {
  const int64_t deadline = steady_ns() + core_->options.head_timeout.ns;
  KUEUE_TRY(core_->take_turn(deadline));
  KUEUE_ASSIGN(credential_, core_->credentials.get());
  KUEUE_ASSIGN(const std::string bytes, core_->serialise(request, credential_));
  KUEUE_ASSIGN(auto connection, core_->connect(credential_, deadline, false));
  Result<bool> written = core_->write_all(*connection, bytes, &parser_, deadline);
  if (!written.ok() && connection->reused) {
    // The kept connection had just gone. Streams are reads, so once more is safe.
    parser_.reset();
    KUEUE_ASSIGN(connection, core_->connect(credential_, deadline, true));
    written = core_->write_all(*connection, bytes, &parser_, deadline);
  }
  if (!written.ok()) return std::move(written).error();
  return connection;
}

void ClientStream::open(const wire::Request& request) {
  if (cancelled()) return;
  // The connection is the stream's only once the loop has it: until then a cancellation on the loop
  // must find nothing to release. (Shared, as a task must be copyable.)
  auto outcome = std::make_shared<Result<std::unique_ptr<ClientConnection>>>(connect(request));
  if (cancelled()) return;
  loop_.post([self = shared_from_this(), outcome] {
    if (self->cancelled()) return;
    if (!outcome->ok()) return self->finish(outcome->error());
    self->connection_ = std::move(*outcome).value();
    self->begin();
  });
}

void ClientStream::begin() {
  self_ = shared_from_this();
  watched_ = true;
  loop_.add(connection_->socket.fd(), EPOLLIN, this);
  head_timer_ = loop_.after(core_->options.head_timeout, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (self && !self->head_delivered_) {
      self->finish(
          make_error(ErrorCode::kTimeout, "the stream did not begin within the time limit"));
    }
  });
  on_ready(EPOLLIN);  // TLS may hold bytes already
}

void ClientStream::on_ready(uint32_t) {
  const auto self = shared_from_this();
  thread_local std::vector<char> buffer(64u << 10);
  for (int round = 0; round < 16 && !ended_; ++round) {
    if (cancelled()) return;
    deliver();
    if (ended_) return;
    size_t n = 0;
    const Io result = connection_->socket.read(buffer.data(), buffer.size(), &n);
    if (result == Io::kWantRead || result == Io::kWantWrite) return;
    if (result == Io::kOk) {
      parser_.feed({buffer.data(), n});
      if (n < buffer.size() && !connection_->socket.tls()) round = 16;
      continue;
    }
    if (result == Io::kClosed) parser_.feed_eof();
    deliver();
    if (!ended_) finish(core_->lost(connection_->socket.error()));
    return;
  }
  if (!ended_) deliver();
}

void ClientStream::deliver() {
  if (!head_delivered_ && parser_.head_done()) {
    head_delivered_ = true;
    loop_.cancel(head_timer_);
    wire::Response head;
    head.status = parser_.status();
    head.headers = std::move(parser_.headers());
    if (head.status == 401) core_->credentials.refuse(credential_);
    std::lock_guard lock(call_mutex_);
    if (!cancelled()) receiver_->on_head(head);
  }
  if (head_delivered_ && !parser_.body().empty()) {
    std::lock_guard lock(call_mutex_);
    if (!cancelled()) receiver_->on_data(parser_.body());
    parser_.body().clear();
  }
  if (parser_.done()) {
    finish({});
  } else if (parser_.failed()) {
    finish(core_->lost(parser_.failure_text()));
  }
}

void ClientStream::finish(Result<void> result) {
  if (ended_) return;
  const auto self = shared_from_this();
  ended_ = true;
  release();
  std::lock_guard lock(call_mutex_);
  if (!cancelled()) receiver_->on_end(std::move(result));
}

void ClientStream::release() {
  loop_.cancel(head_timer_);
  if (watched_) loop_.remove(connection_->socket.fd());
  watched_ = false;
  connection_.reset();
  self_.reset();
}

void ClientStream::cancel() {
  cancelled_.store(true);
  if (!loop_.in_loop()) std::lock_guard wait(call_mutex_);
  loop_.post([self = shared_from_this()] {
    self->ended_ = true;
    self->release();
  });
}

// Threads that open streams, started when needed; and the loop that reads them.
class StreamEngine {
 public:
  StreamEngine() { loop_.start("kueue-streams"); }
  ~StreamEngine() { stop(); }

  Loop& loop() { return loop_; }
  bool on_own_thread() {
    if (loop_.in_loop()) return true;
    std::lock_guard lock(mutex_);
    return std::any_of(openers_.begin(), openers_.end(), [](const std::thread& t) {
      return t.get_id() == std::this_thread::get_id();
    });
  }

  void open(std::shared_ptr<ClientStream> stream, wire::Request request) {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    all_.push_back(stream);
    std::erase_if(all_, [](const auto& one) { return one.expired(); });
    waiting_.emplace_back(std::move(stream), std::move(request));
    if (free_ == 0 && openers_.size() < kMaxOpeners) openers_.emplace_back([this] { work(); });
    changed_.notify_one();
  }

  void stop() {
    std::vector<std::weak_ptr<ClientStream>> streams;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
      waiting_.clear();
      streams.swap(all_);
      changed_.notify_all();
    }
    for (const auto& weak : streams) {
      if (auto stream = weak.lock()) stream->cancel();
    }
    for (std::thread& opener : openers_) opener.join();
    loop_.call([] {});  // the cancellations posted above have run
    loop_.stop();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (waiting_.empty()) {
        ++free_;
        changed_.wait(lock);
        --free_;
        continue;
      }
      auto [stream, request] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      stream->open(request);
      stream.reset();
      lock.lock();
    }
  }

  Loop loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  size_t free_ = 0;
  std::deque<std::pair<std::shared_ptr<ClientStream>, wire::Request>> waiting_;
  std::vector<std::weak_ptr<ClientStream>> all_;
  std::vector<std::thread> openers_;
};

class Handle final : public wire::StreamHandle {
 public:
  Handle(std::shared_ptr<StreamEngine> engine, std::shared_ptr<ClientStream> stream)
      : engine_(std::move(engine)), stream_(std::move(stream)) {}
  ~Handle() override { stream_->cancel(); }

 private:
  std::shared_ptr<StreamEngine> engine_;  // the loop must outlive the stream
  std::shared_ptr<ClientStream> stream_;
};

class HttpTransport final : public wire::Transport {
 public:
  explicit HttpTransport(std::shared_ptr<ClientCore> core) : core_(std::move(core)) {}

  ~HttpTransport() override {
    std::unique_lock lock(mutex_);
    if (!engine_) return;
    if (engine_->on_own_thread()) {
      // A receiver dropped the transport: the threads cannot join themselves.
      std::thread([engine = engine_] { engine->stop(); }).detach();
      return;
    }
    engine_->stop();
  }

  Result<wire::Response> round_trip(const wire::Request& request, Duration timeout) override {
    const int64_t deadline = deadline_of(timeout);
    KUEUE_TRY(core_->take_turn(deadline));
    for (int attempt = 0;; ++attempt) {
      KUEUE_ASSIGN(const Credential credential, core_->credentials.get());
      KUEUE_ASSIGN(wire::Response response, send(request, credential, deadline));
      const bool again = response.status == 401 && attempt == 0 &&
                         !request.headers.has("Authorization") &&
                         core_->credentials.refuse(credential);
      if (!again) return response;
    }
  }

  void limit_rate(double qps, int burst) { core_->limit_rate(qps, burst); }

  std::unique_ptr<wire::StreamHandle> open_stream(
      const wire::Request& request, std::shared_ptr<wire::StreamReceiver> receiver) override {
    std::lock_guard lock(mutex_);
    if (!engine_) engine_ = std::make_shared<StreamEngine>();
    auto stream = std::make_shared<ClientStream>(core_, engine_->loop(), std::move(receiver));
    engine_->open(stream, request);
    return std::make_unique<Handle>(engine_, std::move(stream));
  }

 private:
  Result<wire::Response> send(const wire::Request& request, const Credential& credential,
                              int64_t deadline) {
    KUEUE_ASSIGN(const std::string bytes, core_->serialise(request, credential));
    const bool safe =
        request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS";
    for (bool fresh = false;; fresh = true) {
      KUEUE_ASSIGN(auto connection, core_->connect(credential, deadline, fresh));
      const bool reused = connection->reused;
      HttpParser parser(HttpParser::Kind::kResponse, 256u << 10, core_->options.response_limit);
      if (request.method == "HEAD") parser.expect_no_body();
      Result<bool> written = core_->write_all(*connection, bytes, &parser, deadline);
      Result<void> read;
      if (written.ok()) read = core_->read_all(*connection, &parser, deadline);
      if (!written.ok() || !read.ok()) {
        const Error& error = written.ok() ? read.error() : written.error();
        const bool again =
            reused && !fresh && safe && !parser.started() && error.code == ErrorCode::kUnavailable;
        if (again) continue;
        return error;
      }
      wire::Response response;
      response.status = parser.status();
      response.headers = std::move(parser.headers());
      response.body = std::move(parser.body());
      if (*written && parser.keep_alive() && !connection->dirty) core_->keep(std::move(connection));
      return response;
    }
  }

  std::shared_ptr<ClientCore> core_;
  std::mutex mutex_;
  std::shared_ptr<StreamEngine> engine_;
};

}  // namespace

Result<std::shared_ptr<wire::Transport>> make_transport(TransportOptions options) {
  ignore_sigpipe();
  KUEUE_ASSIGN(auto core, ClientCore::make(std::move(options)));
  return std::shared_ptr<wire::Transport>(std::make_shared<HttpTransport>(std::move(core)));
}

void limit_rate(wire::Transport& transport, double qps, int burst) {
  if (auto* ours = dynamic_cast<HttpTransport*>(&transport)) ours->limit_rate(qps, burst);
}

}  // namespace kueue::net
