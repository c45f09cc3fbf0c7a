// A wire::Transport for tests: requests are answered by a function of the test, streams are fed by
// the test. Thread safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "wire/http.h"

namespace kueue::kube {

class FakeTransport final : public wire::Transport {
 public:
  using Answer = std::function<Result<wire::Response>(const wire::Request&)>;

  // One stream that somebody opened. The test sends what the server would.
  class Stream {
   public:
    const wire::Request& request() const { return request_; }
    // True when the reader gave the stream up.
    bool closed() const;
    // Head with status 200 on the first call, then the text as it is.
    void data(std::string_view text);
    // {"type": TYPE, "object": OBJECT} and a line break.
    void event(std::string_view type, std::string_view object);
    void refuse(const wire::Response& response);
    void end(Result<void> result = {});

   private:
    friend class FakeTransport;
    wire::Request request_;
    mutable std::recursive_mutex mutex_;
    std::shared_ptr<wire::StreamReceiver> receiver_;  // null when closed
    bool head_sent_ = false;
  };

  // Without an answer every request fails with kUnavailable.
  void set_answer(Answer answer);
  std::vector<wire::Request> requests() const;
  void clear_requests();
  // All streams opened so far, in order.
  std::vector<std::shared_ptr<Stream>> streams() const;

  Result<wire::Response> round_trip(const wire::Request& request, Duration timeout) override;
  std::unique_ptr<wire::StreamHandle> open_stream(
      const wire::Request& request, std::shared_ptr<wire::StreamReceiver> receiver) override;

 private:
  mutable std::mutex mutex_;
  Answer answer_;
  std::vector<wire::Request> requests_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

}  // namespace kueue::kube
