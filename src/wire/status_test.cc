#include "wire/status.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace kueue::wire {
namespace {

TEST(Status, WordsOfTheApiServer) {
  const std::pair<Error, const char*> cases[] = {
      {not_found("batch", "jobs", "x"),
       R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"jobs.batch \"x\" not found","reason":"NotFound","details":{"name":"x","group":"batch","kind":"jobs"},"code":404})"},
      {not_found("", "pods", "x"),
       R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"x\" not found","reason":"NotFound","details":{"name":"x","kind":"pods"},"code":404})"},
      {already_exists("batch", "jobs", "x"),
       R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"jobs.batch \"x\" already exists","reason":"AlreadyExists","details":{"name":"x","group":"batch","kind":"jobs"},"code":409})"},
      {make_error(ErrorCode::kUnauthorized, "Unauthorized"),
       R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401})"},
      {invalid("batch", "Job", "x",
               {{"FieldValueInvalid", "Invalid value: \"a\": no", "spec.foo"},
                {"FieldValueRequired", "Required value", "spec.bar"}}),
       R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Job.batch \"x\" is invalid: [spec.foo: Invalid value: \"a\": no, spec.bar: Required value]","reason":"Invalid","details":{"name":"x","group":"batch","kind":"Job","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"a\": no","field":"spec.foo"},{"reason":"FieldValueRequired","message":"Required value","field":"spec.bar"}]},"code":422})"},
  };
  for (const auto& [error, want] : cases) EXPECT_EQ(json::write(status_from_error(error)), want);
  EXPECT_EQ(modified("", "pods", "x").message,
            "Operation cannot be fulfilled on pods \"x\": the object has been modified; please "
            "apply your changes to "
            "the latest version and try again");
  EXPECT_EQ(forbidden("", "pods", "x", "no").message, "pods \"x\" is forbidden: no");
}

TEST(Status, EveryCodeComesBack) {
  for (int i = 0; i < static_cast<int>(ErrorCode::kCanceled); ++i) {
    Error error{.code = static_cast<ErrorCode>(i),
                .message = "m",
                .causes = {{"r", "c", "f"}},
                .group = "g",
                .kind = "k",
                .name = "n",
                .uid = "u",
                .retry_after_seconds = 3};
    Response response = error_response(error);
    EXPECT_EQ(response.headers.get("retry-after"), "3");
    Error back = error_from_response(response);
    EXPECT_EQ(back.code, error.code) << i;
    EXPECT_EQ(back.message, "m");
    EXPECT_EQ(back.causes, error.causes);
    EXPECT_EQ(back.group + back.kind + back.name + back.uid, "gknu");
    EXPECT_EQ(back.retry_after_seconds, 3);
  }
}

TEST(Status, AnswersWithoutStatus) {
  struct Case {
    int http;
    const char* body;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {404, "", ErrorCode::kNotFound, "the server could not find the requested resource"},
      {502, "bad gateway\nmore", ErrorCode::kUnavailable, "bad gateway"},
      {500, "{}", ErrorCode::kInternal, "HTTP 500"},
      {410, "null", ErrorCode::kExpired, "HTTP 410"},
      {418, "", ErrorCode::kBadRequest, "HTTP 418"},
      {400, R"({"kind":"Status","reason":"Gone","message":"old"})", ErrorCode::kExpired, "old"},
      {500, R"({"kind":"Status","reason":"Strange","code":409})", ErrorCode::kConflict, "conflict"},
  };
  for (const Case& c : cases) {
    Error error = error_from_response({.status = c.http, .headers = {}, .body = c.body});
    EXPECT_EQ(error.code, c.code) << c.http;
    EXPECT_NE(error.message.find(c.message), std::string::npos) << error.message;
  }
}

TEST(Headers, CaseAndOrder) {
  Headers h;
  h.add("A", "1");
  h.add("b", "2");
  h.add("a", "3");
  EXPECT_EQ(h.get("a"), "1");
  h.set("a", "4");
  EXPECT_EQ(h.all(), (std::vector<std::pair<std::string, std::string>>{{"A", "4"}, {"b", "2"}}));
  EXPECT_FALSE(h.has("c"));
}

}  // namespace
}  // namespace kueue::wire
