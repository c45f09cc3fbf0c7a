// A server without threads: nothing happens but inside handle() and work(), and the same requests
// give the same answers.
#include <gtest/gtest.h>

#include "apiserver/testing.h"

namespace kueue::apiserver {
namespace {

class FixedClock final : public Clock {
 public:
  Instant now() const override { return {1'700'000'000'000'000'000}; }
};

struct Sink final : wire::ResponseSink {
  void respond(wire::Response r) override { text += std::to_string(r.status) + " " + r.body; }
  void begin_stream(wire::Response) override { text += "stream\n"; }
  bool write(std::string chunk) override {
    text += chunk;
    return true;
  }
  void end_stream() override { text += "end"; }
  void on_close(std::function<void()>) override {}
  std::string text;
};

struct Threadless {
  explicit Threadless(bool with_clock = true) {
    Options options = testing::memory_options();
    options.threaded = false;
    if (with_clock) options.clock = &clock;
    options.random = [this](size_t n) { return std::string(n, static_cast<char>(++drawn)); };
    auto opened = Server::open(std::move(options));
    if (!opened.ok()) return;
    server = *std::move(opened);
    while (server->work()) {
    }
  }
  std::shared_ptr<Sink> send(std::string method, std::string path, std::string body = "") {
    wire::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    if (request.path.ends_with("?watch")) {
      request.path.resize(request.path.size() - 6);
      request.query = {{"watch", "true"}};
    }
    request.headers.set("Content-Type", "application/json");
    request.body = std::move(body);
    request.identity = {.user = "admin", .groups = {"system:masters"}, .extra = {}};
    auto sink = std::make_shared<Sink>();
    server->handle(std::move(request), sink);
    return sink;
  }
  void finish() {
    while (server->work()) {
    }
  }
  FixedClock clock;
  int drawn = 0;
  std::unique_ptr<Server> server;
};

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kOwner = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})";

TEST(Threadless, AnswersAndDeliversInsideWork) {
  Threadless one;
  ASSERT_NE(one.server, nullptr);
  auto watch = one.send("GET", std::string(kMaps) + "?watch");
  one.finish();
  const std::string before = watch->text;
  auto created = one.send("POST", kMaps, kOwner);
  EXPECT_EQ(created->text, "") << "an answer waits until the write is complete";
  EXPECT_EQ(watch->text, before);
  one.finish();
  EXPECT_TRUE(created->text.starts_with("201 ")) << created->text;
  EXPECT_NE(watch->text.find("\"ADDED\""), std::string::npos) << watch->text;
}

TEST(Threadless, TwoServersGiveTheSameBytes) {
  std::string texts[2];
  for (std::string& text : texts) {
    Threadless one;
    auto created = one.send("POST", kMaps, kOwner);
    auto named =
        one.send("POST", kMaps,
                 R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"g-"}})");
    one.finish();
    auto all = one.send("GET", "/api/v1/configmaps");
    one.finish();
    text = created->text + named->text + all->text;
  }
  EXPECT_FALSE(texts[0].empty());
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Threadless, NeedsAClock) { EXPECT_EQ(Threadless(false).server, nullptr); }

}  // namespace
}  // namespace kueue::apiserver
