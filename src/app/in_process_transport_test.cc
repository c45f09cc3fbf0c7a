#include "app/in_process_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace kueue::app {
namespace {

using Function = std::function<void(wire::Request, std::shared_ptr<wire::ResponseSink>)>;

struct FunctionHandler final : wire::Handler {
  explicit FunctionHandler(Function f) : function(std::move(f)) {}
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override {
    function(std::move(request), std::move(sink));
  }
  Function function;
};

struct Receiver final : wire::StreamReceiver {
  std::mutex mutex;
  std::condition_variable changed;
  int status = 0;
  std::string data;
  bool ended = false;
  bool good = false;
  void on_head(const wire::Response& head) override {
    std::lock_guard lock(mutex);
    status = head.status;
  }
  void on_data(std::string_view chunk) override {
    std::lock_guard lock(mutex);
    data += chunk;
    changed.notify_all();
  }
  void on_end(Result<void> result) override {
    std::lock_guard lock(mutex);
    ended = true;
    good = result.ok();
    changed.notify_all();
  }
  bool wait(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(10), condition);
  }
};

const Duration kPatience = Duration::seconds(10);
const wire::Identity kMe{.user = "me", .groups = {"us"}, .extra = {}};

TEST(InProcessTransport, RequestsCarryTheIdentity) {
  FunctionHandler handler([](wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
    wire::Response response;
    response.body = request.identity.user + " " + request.identity.groups[0] + " " + request.path;
    if (request.path == "/later") {
      std::thread([sink, response] { sink->respond(response); }).detach();
    } else {
      sink->respond(response);
    }
  });
  const auto transport = make_in_process_transport(handler, kMe);
  for (const char* path : {"/now", "/later"}) {
    wire::Request request;
    request.path = path;
    request.identity.user = "somebody else";
    EXPECT_EQ(transport->round_trip(request, kPatience)->body, std::string("me us ") + path);
  }
}

TEST(InProcessTransport, TimeoutTellsTheHandler) {
  std::atomic<bool> gone{false};
  std::shared_ptr<wire::ResponseSink> kept;
  FunctionHandler handler([&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    sink->on_close([&] { gone = true; });
    kept = sink;
  });
  const auto transport = make_in_process_transport(handler, kMe);
  const auto response = transport->round_trip({}, Duration::millis(10));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(gone);
}

TEST(InProcessTransport, UnansweredRequestIsAnError) {
  FunctionHandler handler([](wire::Request, std::shared_ptr<wire::ResponseSink>) {});
  EXPECT_EQ(make_in_process_transport(handler, kMe)->round_trip({}, kPatience)->status, 500);
}

TEST(InProcessTransport, StreamsInOrderAndEnd) {
  FunctionHandler handler([](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    std::thread([sink] {
      sink->begin_stream({});
      for (int i = 0; i < 1000; ++i) sink->write(std::to_string(i) + "\n");
      sink->end_stream();
    }).detach();
  });
  const auto transport = make_in_process_transport(handler, kMe);
  auto receiver = std::make_shared<Receiver>();
  const auto handle = transport->open_stream({}, receiver);
  ASSERT_TRUE(receiver->wait([&] { return receiver->ended; }));
  EXPECT_TRUE(receiver->good);
  EXPECT_EQ(receiver->status, 200);
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(receiver->data, expected);
}

TEST(InProcessTransport, AbandonedStreamEndsWithAnError) {
  FunctionHandler handler([](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    sink->begin_stream({});
    sink->write("x");
  });
  const auto transport = make_in_process_transport(handler, kMe);
  auto receiver = std::make_shared<Receiver>();
  const auto handle = transport->open_stream({}, receiver);
  ASSERT_TRUE(receiver->wait([&] { return receiver->ended; }));
  EXPECT_FALSE(receiver->good);
  EXPECT_EQ(receiver->data, "x");
}

TEST(InProcessTransport, ClosingTellsTheHandlerAndEndsCalls) {
  std::mutex mutex;
  std::condition_variable changed;
  bool closed = false;
  std::shared_ptr<wire::ResponseSink> stream;
  FunctionHandler handler([&](wire::Request, std::shared_ptr<wire::ResponseSink> sink) {
    sink->begin_stream({});
    sink->on_close([&] {
      std::lock_guard lock(mutex);
      closed = true;
      changed.notify_all();
    });
    sink->write("x");
    std::lock_guard lock(mutex);
    stream = sink;
  });
  const auto transport = make_in_process_transport(handler, kMe);
  auto receiver = std::make_shared<Receiver>();
  auto handle = transport->open_stream({}, receiver);
  ASSERT_TRUE(receiver->wait([&] { return receiver->data == "x"; }));
  handle.reset();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(10), [&] { return closed; }));
  EXPECT_FALSE(stream->write("late"));
  EXPECT_FALSE(receiver->ended);
}

}  // namespace
}  // namespace kueue::app
