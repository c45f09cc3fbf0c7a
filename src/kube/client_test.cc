#include "kube/client.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "kube/fake_transport.h"
#include "wire/path.h"
#include "wire/status.h"

namespace kueue::kube {
namespace {

const Resource kJobs{"batch", "v1", "jobs", "Job", true};
const Resource kNodes{"", "v1", "nodes", "Node", false};

struct Fixture {
  std::shared_ptr<FakeTransport> transport = std::make_shared<FakeTransport>();
  Client client{transport, "kueue"};

  explicit Fixture(std::string body = "{}") {
    transport->set_answer([body](const wire::Request&) -> Result<wire::Response> {
      return wire::Response{.status = 200, .headers = {}, .body = body};
    });
  }

  // The last request in one line.
  std::string last() const {
    wire::Request r = transport->requests().back();
    std::string query = wire::format_query(r.query);
    std::string text = r.method + " " + r.path + (query.empty() ? "" : "?" + query);
    if (!r.body.empty()) text += " " + std::string(r.headers.get("content-type")) + " " + r.body;
    return text;
  }
};

TEST(Client, Requests) {
  Fixture f;
  json::Value job = json::parse(R"({"metadata":{"namespace":"a","name":"x"}})").value();
  struct Case {
    std::function<Result<json::Value>()> call;
    const char* want;
  };
  const Case cases[] = {
      {[&] { return f.client.get(kJobs, {"a", "x"}); }, "GET /apis/batch/v1/namespaces/a/jobs/x"},
      {[&] { return f.client.get(kNodes, {"", "n:1"}, "status"); },
       "GET /api/v1/nodes/n%3A1/status"},
      {[&] {
         return f.client.create(kJobs, "a", job, {.dry_run = true, .field_validation = "Strict"});
       },
       "POST /apis/batch/v1/namespaces/a/jobs?fieldManager=kueue&dryRun=All&fieldValidation=Strict "
       "application/json "
       R"({"metadata":{"namespace":"a","name":"x"}})"},
      {[&] { return f.client.create(kJobs, "a", job, {.subresource = "binding"}); },
       "POST /apis/batch/v1/namespaces/a/jobs/x/binding?fieldManager=kueue application/json "
       R"({"metadata":{"namespace":"a","name":"x"}})"},
      {[&] {
         return f.client.update(kJobs, job, {.field_manager = "me", .subresource = "status"});
       },
       R"(PUT /apis/batch/v1/namespaces/a/jobs/x/status?fieldManager=me application/json {"metadata":{"namespace":"a","name":"x"}})"},
      {[&] { return f.client.patch(kJobs, {"a", "x"}, PatchType::kApply, job, {.force = true}); },
       R"(PATCH /apis/batch/v1/namespaces/a/jobs/x?fieldManager=kueue&force=true application/apply-patch+yaml {"metadata":{"namespace":"a","name":"x"}})"},
      {[&] {
         return f.client.patch(kJobs, {"a", "x"}, PatchType::kJson, json::Value(json::Array{}));
       },
       "PATCH /apis/batch/v1/namespaces/a/jobs/x?fieldManager=kueue application/json-patch+json "
       "[]"},
      {[&] { return f.client.remove(kJobs, {"a", "x"}); },
       "DELETE /apis/batch/v1/namespaces/a/jobs/x"},
      {[&] {
         return f.client.remove(
             kJobs, {"a", "x"},
             {.propagation = "Background", .grace_seconds = 0, .uid_precondition = "u"});
       },
       R"(DELETE /apis/batch/v1/namespaces/a/jobs/x application/json {"propagationPolicy":"Background","gracePeriodSeconds":0,"preconditions":{"uid":"u"},"kind":"DeleteOptions","apiVersion":"v1"})"},
      {[&] { return f.client.remove_collection(kJobs, "a", {.label_selector = "a=b"}, {}); },
       "DELETE /apis/batch/v1/namespaces/a/jobs?labelSelector=a%3Db"},
      {[&] { return f.client.raw("GET", "/readyz?verbose=1"); }, "GET /readyz?verbose=1"},
  };
  for (const Case& c : cases) {
    EXPECT_TRUE(c.call().ok());
    EXPECT_EQ(f.last(), c.want);
    EXPECT_EQ(f.transport->requests().back().headers.get("user-agent"), "kueue");
  }
}

TEST(Client, ListFillsInKinds) {
  Fixture f(
      R"({"metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":3},"items":[{"metadata":{"name":"x"}}]})");
  auto list = f.client.list(kJobs, "", {.field_selector = "metadata.name=x", .limit = 1});
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(f.last(), "GET /apis/batch/v1/jobs?fieldSelector=metadata.name%3Dx&limit=1");
  EXPECT_EQ(list->resource_version, "7");
  EXPECT_EQ(list->continue_token, "c");
  EXPECT_EQ(list->remaining, 3);
  EXPECT_EQ(json::write(list->items.at(0)),
            R"({"metadata":{"name":"x"},"apiVersion":"batch/v1","kind":"Job"})");
}

TEST(Client, ErrorsAndRetries) {
  Fixture f;
  f.transport->set_answer([](const wire::Request&) -> Result<wire::Response> {
    return wire::error_response(wire::not_found("batch", "jobs", "x"));
  });
  auto missing = f.client.get(kJobs, {"a", "x"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, "jobs.batch \"x\" not found");

  int left = 2;
  f.transport->set_answer([&](const wire::Request&) -> Result<wire::Response> {
    if (left-- > 0) return make_error(ErrorCode::kUnavailable, "reset");
    return wire::Response{.status = 200, .headers = {}, .body = "{}"};
  });
  EXPECT_TRUE(f.client.get(kJobs, {"a", "x"}).ok());
  left = 1;
  EXPECT_FALSE(f.client.create(kJobs, "a", json::Value::object()).ok());
  f.transport->set_answer([&](const wire::Request&) -> Result<wire::Response> {
    return wire::Response{.status = 200, .headers = {}, .body = "<html>"};
  });
  EXPECT_EQ(f.client.get(kJobs, {"a", "x"}).error().code, ErrorCode::kInternal);
}

class Recorder final : public WatchReceiver {
 public:
  void on_event(WatchEvent event) override {
    log += std::to_string(static_cast<int>(event.type)) + json::write(event.object) + ";";
  }
  void on_end(Result<void> result) override {
    log += result.ok() ? "end" : "end: " + result.error().message;
  }
  std::string log;
};

TEST(Client, WatchFrames) {
  Fixture f;
  struct Case {
    std::function<void(FakeTransport::Stream&)> feed;
    const char* want;
  };
  const Case cases[] = {
      {[](auto& s) {
         s.data("{\"type\":\"ADDED\",\"obj");
         s.data(
             "ect\":{\"a\":1}}\n{\"type\":\"MODIFIED\",\"object\":{\"a\":2}}\n\n{\"type\":\"DELE");
         s.data("TED\",\"object\":{}}");
         s.end();
       },
       R"(0{"a":1};1{"a":2};2{};end)"},
      {[](auto& s) {
         s.event("BOOKMARK", "{}");
         s.event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})");
         s.event("ADDED", "{}");
         s.end();
       },
       R"(3{};4{"kind":"Status","code":410,"reason":"Expired","message":"too old"};end: too old)"},
      {[](auto& s) { s.refuse(wire::error_response(wire::unknown_path())); },
       "end: the server could not find the requested resource"},
      {[](auto& s) { s.data("oops\n"); },
       "end: a watch event is not JSON: line 1, column 1: invalid character 'o' looking for "
       "beginning of value"},
      {[](auto& s) { s.end(make_error(ErrorCode::kUnavailable, "reset")); }, "end: reset"},
  };
  for (const Case& c : cases) {
    auto receiver = std::make_shared<Recorder>();
    auto handle = f.client.watch(kJobs, "a", {.resource_version = "5", .send_initial_events = true},
                                 receiver);
    auto stream = f.transport->streams().back();
    EXPECT_EQ(wire::format_query(stream->request().query),
              "watch=true&resourceVersion=5&allowWatchBookmarks=true&sendInitialEvents=true&"
              "resourceVersionMatch="
              "NotOlderThan");
    c.feed(*stream);
    EXPECT_EQ(receiver->log, c.want);
    handle.reset();
    EXPECT_TRUE(stream->closed());
  }
}

}  // namespace
}  // namespace kueue::kube
