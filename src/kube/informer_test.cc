#include "kube/informer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "json/json.h"
#include "kube/fake_transport.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::kube {
namespace {

struct Thing {
  std::string name;
  std::string color;
  std::string version;
};

Result<void> decode_thing(const json::Value& document, Thing& thing) {
  if (document.find_path({"metadata", "managedFields"})) {
    return make_error(ErrorCode::kInternal, "managedFields were kept");
  }
  if (document.get_bool({"broken"})) return make_error(ErrorCode::kBadRequest, "broken thing");
  thing.name = document.get_string({"metadata", "name"});
  thing.color = document.get_string({"color"});
  thing.version = document.get_string({"metadata", "resourceVersion"});
  return {};
}

std::string thing(const std::string& name, int version, const std::string& color = "red",
                  const std::string& uid = "") {
  return R"({"metadata":{"namespace":"n","name":")" + name + R"(","uid":")" +
         (uid.empty() ? name : uid) + R"(","resourceVersion":")" + std::to_string(version) +
         R"(","managedFields":[]},"color":")" + color + "\"}";
}

class InformerTest : public testing::Test {
 protected:
  InformerTest() {
    transport->set_answer([this](const wire::Request& request) -> Result<wire::Response> {
      lists.push_back(wire::format_query(request.query));
      if (list_error) return *list_error;
      return wire::Response{.status = 200, .headers = {}, .body = list_body};
    });
    informer.add_index("color", [](const Thing& t) { return std::vector<std::string>{t.color}; });
    informer.add_handler([this](const auto& old, const auto& now) {
      if (!old) {
        log += "+" + now->name + now->version + " ";
      } else if (!now) {
        log += "-" + old->name + old->version + " ";
      } else {
        log += "~" + now->name + old->version + ">" + now->version + " ";
      }
    });
    informer.core().set_on_error([this](const Error& e) { errors.push_back(e.message); });
  }

  void set_list(int version, const std::string& items) {
    list_body = R"({"metadata":{"resourceVersion":")" + std::to_string(version) +
                R"("},"items":[)" + items + "]}";
  }

  std::string take_log() { return std::exchange(log, ""); }
  FakeTransport::Stream& stream() { return *transport->streams().back(); }

  std::shared_ptr<FakeTransport> transport = std::make_shared<FakeTransport>();
  VirtualExecutor executor;
  std::string list_body;
  std::optional<Error> list_error;
  std::vector<std::string> lists;
  std::vector<std::string> errors;
  std::string log;
  Informer<Thing> informer{std::make_shared<Client>(transport, "test"), executor,
                           Resource{"g", "v1", "things", "Thing", true}, decode_thing};
};

TEST_F(InformerTest, ListsThenWatches) {
  set_list(5, thing("a", 1) + "," + thing("b", 2, "blue"));
  EXPECT_FALSE(informer.has_synced());
  informer.start();
  executor.run_until_idle();
  EXPECT_TRUE(informer.has_synced());
  EXPECT_EQ(take_log(), "+a1 +b2 ");
  EXPECT_EQ(stream().request().query_value("resourceVersion"), "5");
  stream().event("ADDED", thing("c", 6, "blue"));
  stream().event("MODIFIED", thing("a", 7, "blue"));
  EXPECT_FALSE(informer.core().idle());
  executor.run_until_idle();
  EXPECT_TRUE(informer.core().idle());
  EXPECT_EQ(take_log(), "+c6 ~a1>7 ");
  EXPECT_EQ(informer.by_index("color", "blue").size(), 3u);
  EXPECT_EQ(informer.by_index("color", "red").size(), 0u);
  stream().event("DELETED", thing("b", 8));
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "-b8 ");
  EXPECT_EQ(informer.size(), 2u);
  EXPECT_EQ(informer.get({"n", "a"})->version, "7");
  EXPECT_EQ(informer.get({"n", "b"}), nullptr);
  EXPECT_EQ(informer.list("n").size(), 2u);
  EXPECT_TRUE(informer.list("m").empty());
  EXPECT_TRUE(errors.empty());
}

TEST_F(InformerTest, ResumesAndRelists) {
  set_list(5, thing("a", 1) + "," + thing("b", 2));
  informer.start();
  executor.run_until_idle();
  stream().event("BOOKMARK", R"({"metadata":{"resourceVersion":"9"}})");
  stream().end();
  executor.run_until_idle();
  ASSERT_EQ(transport->streams().size(), 2u);
  EXPECT_EQ(stream().request().query_value("resourceVersion"), "9");
  EXPECT_EQ(lists.size(), 1u);
  take_log();
  // Too old: a fresh list tells what changed meanwhile; b was deleted and made again.
  set_list(20, thing("b", 15, "red", "b-new") + "," + thing("c", 12));
  stream().event("ERROR", R"({"kind":"Status","reason":"Expired","code":410})");
  executor.advance(Duration::seconds(1));
  EXPECT_EQ(take_log(), "-b2 +b15 +c12 -a1 ");
  EXPECT_EQ(lists.size(), 2u);
  EXPECT_EQ(stream().request().query_value("resourceVersion"), "20");
}

TEST_F(InformerTest, EventsThatComeAgainOrLateDoNotBringBackTheDead) {
  set_list(5, thing("a", 1));
  informer.start();
  executor.run_until_idle();
  stream().event("MODIFIED", thing("a", 7, "blue"));
  stream().event("DELETED", thing("a", 8, "blue"));
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "+a1 ~a1>7 -a8 ");
  stream().event("MODIFIED", thing("a", 7, "blue"));  // again
  stream().event("ADDED", thing("b", 6));             // late, of another object
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "+b6 ");
  EXPECT_EQ(informer.size(), 1u);
  stream().end(make_error(ErrorCode::kUnavailable, "gone"));
  executor.advance(Duration::seconds(2));
  EXPECT_EQ(stream().request().query_value("resourceVersion"), "8") << "never back";
  stream().event("ADDED", thing("a", 9, "red", "another"));
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "+a9 ");
}

// Somebody puts a copy of its data back under a running server.
TEST_F(InformerTest, FollowsAServerThatWasPutBackToAnOlderState) {
  const struct {
    const char* name;
    int seen;    // what the watch tells of before
    int listed;  // where the server is afterwards
  } cases[] = {{"and then went on", 30, 1000}, {"and is not as far as it was", 2000, 25}};
  const std::string old_state = thing("a", 10) + "," + thing("b", 11) + "," + thing("c", 12);
  set_list(20, old_state);
  informer.start();
  executor.run_until_idle();
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    stream().event("MODIFIED", thing("a", c.seen, "blue"));
    stream().event("DELETED", thing("b", c.seen + 1));
    stream().event("ADDED", thing("d", c.seen + 2));
    executor.run_until_idle();
    EXPECT_EQ(informer.get({"n", "b"}), nullptr);
    set_list(c.listed, old_state);
    stream().event("ERROR", R"({"kind":"Status","reason":"Expired","code":410})");
    executor.advance(Duration::seconds(1));
    EXPECT_EQ(informer.get({"n", "a"})->color, "red");
    EXPECT_NE(informer.get({"n", "b"}), nullptr);
    EXPECT_EQ(informer.get({"n", "c"})->color, "red");
    EXPECT_EQ(informer.get({"n", "d"}), nullptr);
    // Own writes count from where the server is.
    informer.core().absorb(*json::parse(thing("c", c.listed + 1, "green")));
    EXPECT_EQ(informer.get({"n", "c"})->color, "green");
  }
}

TEST_F(InformerTest, BacksOff) {
  list_error = make_error(ErrorCode::kForbidden, "no");
  informer.start();
  executor.run_until_idle();
  std::vector<int64_t> at;
  for (int i = 0; i < 1200; ++i) {
    size_t before = lists.size();
    executor.advance(Duration::millis(100));
    if (lists.size() > before) at.push_back(i + 1);
  }
  // 0.8 s, 1.6 s, ... apart, at most 30 s.
  EXPECT_EQ(at, (std::vector<int64_t>{8, 24, 56, 120, 248, 504, 804, 1104}));
  EXPECT_FALSE(informer.has_synced());
  list_error.reset();
  set_list(3, "");
  executor.advance(Duration::seconds(31));
  EXPECT_TRUE(informer.has_synced());
}

TEST_F(InformerTest, SkipsWhatItCannotDecode) {
  set_list(
      5, thing("a", 1) +
             R"(,{"metadata":{"namespace":"n","name":"bad","resourceVersion":"2"},"broken":true})");
  informer.start();
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "+a1 ");
  EXPECT_EQ(errors, (std::vector<std::string>{"Thing n/bad is skipped: broken thing"}));
}

TEST_F(InformerTest, AbsorbsOwnWrites) {
  set_list(5, thing("a", 1));
  informer.start();
  executor.run_until_idle();
  take_log();
  informer.absorb(json::parse(thing("a", 6)).value());
  EXPECT_EQ(informer.get({"n", "a"})->version, "6");
  EXPECT_EQ(log, "");
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "~a1>6 ");
  stream().event("MODIFIED", thing("a", 6));  // no news
  stream().event("MODIFIED", thing("a", 7));
  stream().event("DELETED", thing("a", 8));
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "~a6>7 -a8 ");
  informer.absorb(json::parse(thing("a", 7)).value());  // the watch knows better
  executor.run_until_idle();
  EXPECT_EQ(informer.size(), 0u);
  // Made by us after a list was taken: the relist does not know it yet.
  informer.absorb(json::parse(thing("z", 30)).value());
  set_list(20, "");
  stream().event("ERROR", R"({"kind":"Status","reason":"Expired","code":410})");
  executor.advance(Duration::seconds(1));
  EXPECT_EQ(take_log(), "+z30 ");
  EXPECT_EQ(informer.size(), 1u);
}

TEST_F(InformerTest, ForgetsWhatItDeletedItself) {
  set_list(5, thing("a", 1, "red", "u1"));
  informer.start();
  executor.run_until_idle();
  take_log();
  informer.core().forget({"n", "a"}, "another");
  informer.core().forget({"n", "b"}, "u1");
  EXPECT_NE(informer.get({"n", "a"}), nullptr);
  informer.core().forget({"n", "a"}, "u1");
  EXPECT_EQ(informer.get({"n", "a"}), nullptr);
  stream().event("MODIFIED", thing("a", 6, "red", "u1"));  // on its way when it was deleted
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "-a1 ");
  stream().event("DELETED", thing("a", 7, "red", "u1"));
  stream().event("ADDED", thing("a", 8, "red", "u2"));
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "+a8 ");
}

TEST_F(InformerTest, Stops) {
  set_list(5, "");
  informer.start();
  executor.run_until_idle();
  stream().event("ADDED", thing("c", 6));
  informer.stop();
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "");
  EXPECT_TRUE(stream().closed());
}

TEST_F(InformerTest, PagesAreJoined) {
  transport->set_answer([&](const wire::Request& request) -> Result<wire::Response> {
    bool second = request.query_value("continue") == "next";
    std::string body =
        second ? R"({"metadata":{"resourceVersion":"5"},"items":[)" + thing("b", 2) + "]}"
               : R"({"metadata":{"resourceVersion":"5","continue":"next"},"items":[)" +
                     thing("a", 1) + "]}";
    return wire::Response{.status = 200, .headers = {}, .body = body};
  });
  informer.start();
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "+a1 +b2 ");
}

TEST_F(InformerTest, AListThatBreaksOffIsMadeAnew) {
  int calls = 0;
  transport->set_answer([&](const wire::Request&) -> Result<wire::Response> {
    switch (++calls) {
      case 1:
        return wire::Response{.status = 200,
                              .headers = {},
                              .body = R"({"metadata":{"resourceVersion":"5","continue":"next"},
                                          "items":[)" +
                                      thing("a", 1) + "," + thing("b", 2) + "]}"};
      case 2:
        return make_error(ErrorCode::kExpired, "too old");
      default:
        set_list(9, thing("b", 2) + "," + thing("c", 7));
        return wire::Response{.status = 200, .headers = {}, .body = list_body};
    }
  });
  informer.start();
  executor.run_until_idle();
  EXPECT_EQ(take_log(), "+a1 +b2 ");
  EXPECT_FALSE(informer.has_synced());
  executor.advance(Duration::seconds(1));
  EXPECT_EQ(take_log(), "+c7 -a1 ");
  EXPECT_TRUE(informer.has_synced());
  EXPECT_TRUE(informer.core().idle());
  EXPECT_EQ(stream().request().query_value("resourceVersion"), "9");
}

// On threads: pages come while others are taken, and their order stays.
TEST(InformerOnThreads, TakesPagesInOrder) {
  constexpr int kPages = 60, kOnPage = 20;
  auto transport = std::make_shared<FakeTransport>();
  transport->set_answer([](const wire::Request& request) -> Result<wire::Response> {
    const std::string token(request.query_value("continue"));
    const int page = token.empty() ? 0 : std::stoi(token);
    std::string items;
    for (int i = 0; i < kOnPage; ++i)
      items += (i == 0 ? "" : ",") + thing("t" + std::to_string(1000 + page * kOnPage + i), 1);
    std::string next = page + 1 < kPages ? std::to_string(page + 1) : "";
    return wire::Response{.status = 200,
                          .headers = {},
                          .body = R"({"metadata":{"resourceVersion":"5","continue":")" + next +
                                  R"("},"items":[)" + items + "]}"};
  });
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> told;
  ThreadExecutor executor(3);
  Informer<Thing> informer(std::make_shared<Client>(transport, "test"), executor,
                           Resource{"g", "v1", "things", "Thing", true}, decode_thing);
  informer.add_handler([&](const auto&, const auto& now) {
    std::lock_guard lock(mutex);
    told.push_back(now->name);
    changed.notify_all();
  });
  informer.start();
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(30),
                                 [&] { return told.size() == size_t{kPages} * kOnPage; }));
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  }
  informer.stop();
  executor.stop();
}

}  // namespace
}  // namespace kueue::kube
