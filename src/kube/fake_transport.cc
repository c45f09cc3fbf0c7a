#include "kube/fake_transport.h"

namespace kueue::kube {

bool FakeTransport::Stream::closed() const {
  std::lock_guard lock(mutex_);
  return !receiver_;
}

void FakeTransport::Stream::data(std::string_view text) {
  std::lock_guard lock(mutex_);
  if (!receiver_) return;
  if (!std::exchange(head_sent_, true)) receiver_->on_head({});
  receiver_->on_data(text);
}

void FakeTransport::Stream::event(std::string_view type, std::string_view object) {
  data("{\"type\":\"" + std::string(type) + "\",\"object\":" + std::string(object) + "}\n");
}

void FakeTransport::Stream::refuse(const wire::Response& response) {
  std::lock_guard lock(mutex_);
  if (!receiver_) return;
  receiver_->on_head({.status = response.status, .headers = response.headers, .body = {}});
  receiver_->on_data(response.body);
  receiver_->on_end({});
  receiver_ = nullptr;
}

void FakeTransport::Stream::end(Result<void> result) {
  std::lock_guard lock(mutex_);
  if (!receiver_) return;
  if (!std::exchange(head_sent_, true)) receiver_->on_head({});
  receiver_->on_end(std::move(result));
  receiver_ = nullptr;
}

void FakeTransport::set_answer(Answer answer) {
  std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
}

std::vector<wire::Request> FakeTransport::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

void FakeTransport::clear_requests() {
  std::lock_guard lock(mutex_);
  requests_.clear();
}

std::vector<std::shared_ptr<FakeTransport::Stream>> FakeTransport::streams() const {
  std::lock_guard lock(mutex_);
  return streams_;
}

Result<wire::Response> FakeTransport::round_trip(const wire::Request& request, Duration) {
  Answer answer;
  {
    std::lock_guard lock(mutex_);
    requests_.push_back(request);
    answer = answer_;
  }
  if (!answer) return make_error(ErrorCode::kUnavailable, "nobody answers");
  return answer(request);
}

std::unique_ptr<wire::StreamHandle> FakeTransport::open_stream(
    const wire::Request& request, std::shared_ptr<wire::StreamReceiver> receiver) {
  class Handle final : public wire::StreamHandle {
   public:
    explicit Handle(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
    ~Handle() override {
      std::lock_guard lock(stream_->mutex_);
      stream_->receiver_ = nullptr;
    }

   private:
    std::shared_ptr<Stream> stream_;
  };
  auto stream = std::make_shared<Stream>();
  stream->request_ = request;
  stream->receiver_ = std::move(receiver);
  std::lock_guard lock(mutex_);
  streams_.push_back(stream);
  return std::make_unique<Handle>(std::move(stream));
}

}  // namespace kueue::kube
