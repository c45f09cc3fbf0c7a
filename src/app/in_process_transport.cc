// Requests as calls; streams through a queue.
#include "app/in_process_transport.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "wire/status.h"

namespace kueue::app {
namespace {

constexpr size_t kQueueLimit = 64u << 20;

// A sink that is told when the handler lets go of it.
class ClientSink : public wire::ResponseSink {
 public:
  virtual void abandoned() = 0;
};

// What the handler holds.
class HandlerSink final : public wire::ResponseSink {
 public:
  explicit HandlerSink(std::shared_ptr<ClientSink> sink) : sink_(std::move(sink)) {}
  ~HandlerSink() override { sink_->abandoned(); }
  void respond(wire::Response response) override { sink_->respond(std::move(response)); }
  void begin_stream(wire::Response head) override { sink_->begin_stream(std::move(head)); }
  bool write(std::string chunk) override { return sink_->write(std::move(chunk)); }
  void end_stream() override { sink_->end_stream(); }
  void on_close(std::function<void()> callback) override { sink_->on_close(std::move(callback)); }

 private:
  std::shared_ptr<ClientSink> sink_;
};

// The answer to a round trip. A handler that streams is collected until its end.
class WaitingSink final : public ClientSink {
 public:
  void abandoned() override {
    std::lock_guard lock(mutex_);
    if (done_) return;
    response_ =
        wire::error_response(make_error(ErrorCode::kInternal, "the request was not answered"));
    done_ = true;
    changed_.notify_all();
  }
  void respond(wire::Response response) override {
    std::lock_guard lock(mutex_);
    response_ = std::move(response);
    done_ = true;
    changed_.notify_all();
  }
  void begin_stream(wire::Response head) override {
    std::lock_guard lock(mutex_);
    response_ = std::move(head);
    response_.body.clear();
  }
  bool write(std::string chunk) override {
    std::lock_guard lock(mutex_);
    if (gone_ || response_.body.size() + chunk.size() > kQueueLimit) return false;
    response_.body += chunk;
    return true;
  }
  void end_stream() override {
    std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  void on_close(std::function<void()> callback) override {
    {
      std::lock_guard lock(mutex_);
      if (!gone_) {
        on_close_.push_back(std::move(callback));
        return;
      }
    }
    callback();
  }

  Result<wire::Response> wait(Duration timeout) {
    std::vector<std::function<void()>> callbacks;
    {
      std::unique_lock lock(mutex_);
      const bool in_time = timeout.ns <= 0
                               ? (changed_.wait(lock, [this] { return done_; }), true)
                               : changed_.wait_for(lock, std::chrono::nanoseconds(timeout.ns),
                                                   [this] { return done_; });
      if (in_time) return std::move(response_);
      gone_ = true;
      callbacks.swap(on_close_);
    }
    for (auto& callback : callbacks) callback();
    return make_error(ErrorCode::kTimeout, "no answer within " + format_duration(timeout));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  bool gone_ = false;
  wire::Response response_;
  std::vector<std::function<void()>> on_close_;
};

class Dispatcher;

// One stream: the handler's sink on one side, the receiver on the other.
class Stream final : public ClientSink, public std::enable_shared_from_this<Stream> {
 public:
  Stream(std::weak_ptr<Dispatcher> dispatcher, std::shared_ptr<wire::StreamReceiver> receiver)
      : dispatcher_(std::move(dispatcher)), receiver_(std::move(receiver)) {}

  void respond(wire::Response response) override;
  void begin_stream(wire::Response head) override;
  bool write(std::string chunk) override;
  void end_stream() override;
  void on_close(std::function<void()> callback) override;
  void abandoned() override;

  // The dispatcher's thread.
  void deliver();
  void run_close_callbacks();
  void cancel();

 private:
  void schedule();  // with the lock held

  std::weak_ptr<Dispatcher> dispatcher_;
  std::mutex mutex_;
  std::shared_ptr<wire::StreamReceiver> receiver_;
  std::optional<wire::Response> head_;
  std::string data_;
  bool begun_ = false;
  bool ended_ = false;
  Result<void> result_;
  bool end_delivered_ = false;
  bool cancelled_ = false;
  bool scheduled_ = false;
  std::vector<std::function<void()>> on_close_;
  std::mutex call_mutex_;  // held while the receiver is called
};

class Dispatcher final : public std::enable_shared_from_this<Dispatcher> {
 public:
  void start() {
    thread_ = std::thread([self = shared_from_this()] { self->run(); });
  }
  ~Dispatcher() { stop(); }

  bool on_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

  void post(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_one();
    }
    if (!thread_.joinable()) return;
    if (on_thread()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (tasks_.empty()) {
        changed_.wait(lock);
        continue;
      }
      std::deque<std::function<void()>> batch;
      batch.swap(tasks_);
      lock.unlock();
      for (auto& task : batch) {
        task();
        task = nullptr;
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

void Stream::schedule() {
  if (scheduled_ || cancelled_) return;
  scheduled_ = true;
  if (auto dispatcher = dispatcher_.lock()) {
    dispatcher->post([self = shared_from_this()] { self->deliver(); });
  }
}

void Stream::respond(wire::Response response) {
  std::lock_guard lock(mutex_);
  if (begun_) return;
  begun_ = true;
  ended_ = true;
  data_ = std::move(response.body);
  response.body.clear();
  head_ = std::move(response);
  schedule();
}

void Stream::begin_stream(wire::Response head) {
  std::lock_guard lock(mutex_);
  if (begun_) return;
  begun_ = true;
  head.body.clear();
  head_ = std::move(head);
  schedule();
}

bool Stream::write(std::string chunk) {
  std::lock_guard lock(mutex_);
  if (cancelled_ || ended_) return false;
  if (data_.size() + chunk.size() > kQueueLimit) {
    ended_ = true;
    result_ = make_error(ErrorCode::kUnavailable, "the stream was not read fast enough");
    schedule();
    return false;
  }
  if (data_.empty()) {
    data_ = std::move(chunk);
  } else {
    data_ += chunk;
  }
  schedule();
  return true;
}

void Stream::end_stream() {
  std::lock_guard lock(mutex_);
  ended_ = true;
  schedule();
}

void Stream::abandoned() {
  std::lock_guard lock(mutex_);
  if (ended_ || cancelled_) return;
  if (!begun_) {
    begun_ = true;
    head_ = wire::error_response(make_error(ErrorCode::kInternal, "the request was not answered"));
    data_ = std::move(head_->body);
  } else {
    result_ = make_error(ErrorCode::kUnavailable, "the stream was given up by the server");
  }
  ended_ = true;
  schedule();
}

void Stream::on_close(std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (!cancelled_) {
      on_close_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void Stream::deliver() {
  std::optional<wire::Response> head;
  std::string data;
  bool end = false;
  Result<void> result;
  std::lock_guard call_lock(call_mutex_);
  std::shared_ptr<wire::StreamReceiver> receiver;
  const auto live = [&] {
    std::lock_guard lock(mutex_);
    return !cancelled_;
  };
  {
    std::lock_guard lock(mutex_);
    scheduled_ = false;
    if (cancelled_ || end_delivered_) return;
    head.swap(head_);
    data.swap(data_);
    end = ended_;
    end_delivered_ = end;
    result = result_;
    receiver = receiver_;
  }
  if (head) receiver->on_head(*head);
  if (!data.empty() && live()) receiver->on_data(data);
  if (end && live()) receiver->on_end(std::move(result));
}

void Stream::cancel() {
  const auto dispatcher = dispatcher_.lock();
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    data_ = {};
  }
  if (dispatcher == nullptr || !dispatcher->on_thread()) {
    std::lock_guard wait(call_mutex_);
    std::lock_guard lock(mutex_);
    receiver_.reset();
  }
  // Not here: the owner may hold locks that the handler's callbacks want.
  if (dispatcher) dispatcher->post([self = shared_from_this()] { self->run_close_callbacks(); });
}

void Stream::run_close_callbacks() {
  std::vector<std::function<void()>> callbacks;
  {
    std::lock_guard lock(mutex_);
    callbacks.swap(on_close_);
    receiver_.reset();
  }
  for (auto& callback : callbacks) callback();
}

class Handle final : public wire::StreamHandle {
 public:
  Handle(std::shared_ptr<Dispatcher> dispatcher, std::shared_ptr<Stream> stream)
      : dispatcher_(std::move(dispatcher)), stream_(std::move(stream)) {}
  ~Handle() override { stream_->cancel(); }

 private:
  std::shared_ptr<Dispatcher> dispatcher_;
  std::shared_ptr<Stream> stream_;
};

class InProcessTransport final : public wire::Transport {
 public:
  InProcessTransport(wire::Handler& handler, wire::Identity identity)
      : handler_(handler), identity_(std::move(identity)) {
    dispatcher_->start();
  }
  ~InProcessTransport() override { dispatcher_->stop(); }

  Result<wire::Response> round_trip(const wire::Request& request, Duration timeout) override {
    auto sink = std::make_shared<WaitingSink>();
    handler_.handle(as_me(request), std::make_shared<HandlerSink>(sink));
    return sink->wait(timeout);
  }

  std::unique_ptr<wire::StreamHandle> open_stream(
      const wire::Request& request, std::shared_ptr<wire::StreamReceiver> receiver) override {
    auto stream = std::make_shared<Stream>(dispatcher_, std::move(receiver));
    // Later, on the dispatcher's thread: this call returns at once.
    dispatcher_->post([&handler = handler_, stream, copy = as_me(request)]() mutable {
      handler.handle(std::move(copy), std::make_shared<HandlerSink>(stream));
    });
    return std::make_unique<Handle>(dispatcher_, std::move(stream));
  }

 private:
  wire::Request as_me(const wire::Request& request) const {
    wire::Request copy = request;
    copy.identity = identity_;
    return copy;
  }

  wire::Handler& handler_;
  const wire::Identity identity_;
  std::shared_ptr<Dispatcher> dispatcher_ = std::make_shared<Dispatcher>();
};

}  // namespace

std::shared_ptr<wire::Transport> make_in_process_transport(wire::Handler& handler,
                                                           wire::Identity identity) {
  return std::make_shared<InProcessTransport>(handler, std::move(identity));
}

}  // namespace kueue::app
