#include "standins/job_plan.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace kueue::standins {
namespace {

const Instant kNow{1'800'000'000'000'000'000};

json::Value yaml(std::string_view text) {
  Result<json::Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().message);
  return value.ok() ? *value : json::Value();
}

json::Value job(std::string_view spec, std::string_view status = "{}") {
  return yaml(R"({"metadata":{"name":"j","namespace":"n","uid":"u"},"spec":)" + std::string(spec) +
              R"(,"status":)" + std::string(status) + "}");
}

json::Value pod(std::string_view name, std::string_view phase, bool tracked = true,
                std::string_view extra = "") {
  return yaml(R"({"metadata":{"name":")" + std::string(name) + R"(","namespace":"n","uid":"uid-)" +
              std::string(name) + "\"" +
              (tracked ? R"(,"finalizers":["batch.kubernetes.io/job-tracking"])" : "") +
              std::string(extra) + R"(},"spec":{"nodeName":"x"},"status":{"phase":")" +
              std::string(phase) + R"("}})");
}

JobPlan plan(const json::Value& the_job, const std::vector<json::Value>& pods) {
  std::vector<const json::Value*> pointers;
  for (const json::Value& each : pods) pointers.push_back(&each);
  JobBackoff backoff;
  return plan_job(the_job, pointers, kNow, backoff);
}

std::string condition(const JobPlan& result, std::string_view type) {
  const json::Value* conditions = result.status.find("conditions");
  if (conditions == nullptr) return "";
  for (const json::Value& each : conditions->as_array())
    if (each.get_string({"type"}) == type)
      return std::string(each.get_string({"status"})) + "/" +
             std::string(each.get_string({"reason"}));
  return "";
}

TEST(JobPlan, ANewJobStartsItsPods) {
  JobPlan result = plan(job(R"({"parallelism":3,"completions":3})"), {});
  EXPECT_EQ(result.create.size(), 3u);
  EXPECT_EQ(result.status.get_int({"active"}), 3);
  EXPECT_FALSE(result.status.get_string({"startTime"}).empty());
}

TEST(JobPlan, ASuspendedJobStartsNone) {
  JobPlan result = plan(job(R"({"parallelism":3,"completions":3,"suspend":true})"), {});
  EXPECT_TRUE(result.create.empty());
  EXPECT_EQ(condition(result, "Suspended"), "True/JobSuspended");
  EXPECT_TRUE(result.status.get_string({"startTime"}).empty());
  EXPECT_EQ(result.status.get_int({"terminating"}, -1), 0);
}

TEST(JobPlan, SuspendingTakesPodsAwayUncounted) {
  JobPlan result =
      plan(job(R"({"parallelism":1,"completions":1,"suspend":true})"), {pod("a", "Running")});
  ASSERT_EQ(result.remove.size(), 1u);
  EXPECT_TRUE(result.remove[0].release_first);
  EXPECT_EQ(result.status.find("failed"), nullptr);
}

TEST(JobPlan, AnEndedPodIsNotedBeforeItIsCounted) {
  json::Value the_job = job(R"({"parallelism":1,"completions":1})");
  json::Value ended = pod("a", "Succeeded");
  JobBackoff backoff;
  JobPlan first = plan_job(the_job, {&ended}, kNow, backoff);
  EXPECT_EQ(first.status.find("succeeded"), nullptr);
  EXPECT_TRUE(first.release.empty()) << "the success is to be seen";
  ASSERT_TRUE(first.look_again.has_value());
  EXPECT_EQ(first.look_again->ns, kEndShown.ns);
  EXPECT_EQ(condition(first, "SuccessCriteriaMet"), "True/CompletionsReached");
  EXPECT_EQ(condition(first, "Complete"), "");
  EXPECT_TRUE(first.create.empty());

  the_job["status"] = first.status;
  JobPlan shown = plan_job(the_job, {&ended}, kNow + kEndShown, backoff);
  EXPECT_EQ(shown.status.find("succeeded"), nullptr);
  EXPECT_EQ(shown.release, std::vector<std::string>{"a"});
  the_job["status"] = shown.status;
  json::Value released = pod("a", "Succeeded", false);
  JobPlan second = plan_job(the_job, {&released}, kNow + kEndShown, backoff);
  EXPECT_EQ(second.status.get_int({"succeeded"}), 1);
  EXPECT_EQ(condition(second, "Complete"), "True/CompletionsReached");
  EXPECT_FALSE(second.status.get_string({"completionTime"}).empty());

  the_job["status"] = second.status;
  JobPlan third = plan(the_job, {pod("a", "Succeeded", false)});
  EXPECT_FALSE(third.status_changed) << "a finished Job stays as it is";
}

TEST(JobPlan, BackoffLimitFailsTheJob) {
  json::Value the_job = job(R"({"parallelism":2,"completions":2,"backoffLimit":0})");
  JobPlan first = plan(the_job, {pod("a", "Failed"), pod("b", "Running")});
  EXPECT_EQ(condition(first, "FailureTarget"), "True/BackoffLimitExceeded");
  ASSERT_EQ(first.remove.size(), 1u);
  EXPECT_FALSE(first.remove[0].release_first);
  EXPECT_EQ(condition(first, "Failed"), "");
}

TEST(JobPlan, AFailureIsShownBeforeTheEnd) {
  json::Value the_job = job(R"({"parallelism":1,"completions":1,"backoffLimit":0})");
  json::Value tracked = pod("a", "Failed"), counted = pod("a", "Failed", false);
  JobBackoff backoff;
  the_job["status"] = plan_job(the_job, {&tracked}, kNow, backoff).status;
  EXPECT_EQ(the_job.get_int({"status", "failed"}), 0) << "noted, not yet counted";

  JobPlan second = plan_job(the_job, {&counted}, kNow + Duration::millis(5), backoff);
  EXPECT_EQ(second.status.get_int({"failed"}), 1);
  EXPECT_EQ(condition(second, "FailureTarget"), "True/BackoffLimitExceeded");
  EXPECT_EQ(condition(second, "Failed"), "");
  EXPECT_TRUE(second.events.empty());
  ASSERT_TRUE(second.look_again.has_value());
  EXPECT_EQ(second.look_again->ns, Duration::millis(995).ns);
  the_job["status"] = second.status;

  JobPlan third = plan_job(the_job, {&counted}, kNow + kEndShown, backoff);
  EXPECT_EQ(condition(third, "Failed"), "True/BackoffLimitExceeded");
  EXPECT_EQ(third.events.size(), 1u);
  // A process that did not decide the end itself has nothing to wait for.
  EXPECT_EQ(condition(plan(the_job, {counted}), "Failed"), "True/BackoffLimitExceeded");
}

TEST(JobPlan, FailedPodsAreReplacedAfterABackoff) {
  json::Value failed = pod("a", "Failed");
  failed["status"]["containerStatuses"] = yaml(
      R"([{"name":"main","state":{"terminated":{"exitCode":1,"finishedAt":"2027-01-15T07:59:58Z"}}}])");
  json::Value the_job = job(R"({"parallelism":1,"completions":1,"backoffLimit":6})",
                            R"({"startTime":"2027-01-15T07:00:00Z"})");
  JobPlan result = plan(the_job, {failed});
  EXPECT_TRUE(result.create.empty());
  ASSERT_TRUE(result.look_again.has_value());
  EXPECT_EQ(result.look_again->ns, Duration::seconds(8).ns);
}

TEST(JobPlan, FailurePolicy) {
  struct Case {
    const char* action;
    const char* expected;
  };
  for (const Case& each :
       {Case{"FailJob", "True/PodFailurePolicy"}, Case{"Ignore", ""}, Case{"Count", ""}}) {
    json::Value failed = pod("a", "Failed");
    failed["status"]["containerStatuses"] = yaml(
        R"([{"name":"main","state":{"terminated":{"exitCode":42,"finishedAt":"2020-01-01T00:00:00Z"}}}])");
    json::Value the_job =
        job(R"({"parallelism":1,"completions":1,"podFailurePolicy":{"rules":[{"action":")" +
            std::string(each.action) + R"(","onExitCodes":{"operator":"In","values":[42]}}]}})");
    JobPlan result = plan(the_job, {failed});
    EXPECT_EQ(condition(result, "FailureTarget"), each.expected) << each.action;
    EXPECT_EQ(result.status.find_path({"uncountedTerminatedPods", "failed"}) == nullptr,
              std::string_view(each.action) == "Ignore");
  }
}

TEST(JobPlan, IndexedJobsFillTheLowestIndexes) {
  std::string one = R"(,"annotations":{"batch.kubernetes.io/job-completion-index":"1"})";
  json::Value the_job =
      job(R"({"parallelism":3,"completions":5,"completionMode":"Indexed"})",
          R"({"completedIndexes":"0","succeeded":1,"startTime":"2027-01-15T07:00:00Z"})");
  JobPlan result = plan(the_job, {pod("a", "Running", true, one)});
  ASSERT_EQ(result.create.size(), 2u);
  EXPECT_EQ(result.create[0], 2);
  EXPECT_EQ(result.create[1], 3);
}

TEST(JobPlan, IndexTexts) {
  EXPECT_EQ(parse_indexes("0-2,5"), (std::vector<int64_t>{0, 1, 2, 5}));
  EXPECT_EQ(parse_indexes("x,3"), (std::vector<int64_t>{3}));
  EXPECT_EQ(format_indexes({0, 1, 2, 4, 5, 7}), "0-2,4,5,7");
  EXPECT_EQ(format_indexes({}), "");
}

TEST(JobPlan, ParallelismDownTakesTheYoungestUnready) {
  json::Value ready = pod("a", "Running");
  ready["status"]["conditions"] = yaml(R"([{"type":"Ready","status":"True"}])");
  JobPlan result = plan(job(R"({"parallelism":1,"completions":4})"), {ready, pod("b", "Pending")});
  ASSERT_EQ(result.remove.size(), 1u);
  EXPECT_EQ(result.remove[0].name, "b");
}

TEST(JobPlan, TtlDeletesTheFinishedJob) {
  json::Value the_job = job(
      R"({"ttlSecondsAfterFinished":10})",
      R"({"conditions":[{"type":"Complete","status":"True","lastTransitionTime":"2020-01-01T00:00:00Z"}]})");
  EXPECT_TRUE(plan(the_job, {}).delete_job);
}

TEST(JobPlan, BackoffOutlivesThePods) {
  json::Value failed = pod("a", "Failed");
  failed["status"]["containerStatuses"] = yaml(
      R"([{"name":"main","state":{"terminated":{"exitCode":1,"finishedAt":"2027-01-15T07:59:58Z"}}}])");
  json::Value the_job = job(R"({"parallelism":1,"completions":1})");
  JobBackoff backoff;
  plan_job(the_job, {&failed}, kNow, backoff);
  plan_job(the_job, {&failed}, kNow, backoff);
  EXPECT_EQ(backoff.failures, 1);
  EXPECT_TRUE(plan_job(the_job, {}, kNow, backoff).create.empty());
  EXPECT_EQ(plan_job(the_job, {}, kNow + Duration::seconds(8), backoff).create.size(), 1u);
  json::Value ok = pod("b", "Succeeded");
  plan_job(the_job, {&ok}, kNow, backoff);
  EXPECT_EQ(backoff.failures, 0);
}

std::string indexed(int index, int failures) {
  return R"(,"annotations":{"batch.kubernetes.io/job-completion-index":")" + std::to_string(index) +
         R"(","batch.kubernetes.io/job-index-failure-count":")" + std::to_string(failures) + "\"}";
}

TEST(JobPlan, BackoffLimitPerIndex) {
  json::Value the_job = job(
      R"({"parallelism":3,"completions":3,"completionMode":"Indexed","backoffLimitPerIndex":1,
          "backoffLimit":2147483647})",
      R"({"startTime":"2027-01-15T07:00:00Z"})");
  JobPlan first = plan(
      the_job, {pod("a", "Failed", true, indexed(0, 0)), pod("b", "Failed", true, indexed(1, 1)),
                pod("c", "Running", true, indexed(2, 0))});
  EXPECT_EQ(first.status.get_string({"failedIndexes"}), "1");
  ASSERT_EQ(first.create.size(), 1u);
  EXPECT_EQ(first.create[0], 0);
  EXPECT_EQ(first.index_failures.at(0), 1);
  EXPECT_EQ(condition(first, "FailureTarget"), "");

  JobPlan second = plan(
      the_job, {pod("a", "Failed", true, indexed(0, 1)), pod("b", "Failed", true, indexed(1, 1)),
                pod("c", "Succeeded", true, indexed(2, 0))});
  EXPECT_EQ(second.status.get_string({"failedIndexes"}), "0,1");
  EXPECT_EQ(condition(second, "FailureTarget"), "True/FailedIndexes");

  the_job.at_path({"spec", "maxFailedIndexes"}) = 0;
  JobPlan third = plan(the_job, {pod("b", "Failed", true, indexed(1, 1))});
  EXPECT_EQ(condition(third, "FailureTarget"), "True/MaxFailedIndexesExceeded");
}

TEST(JobPlan, SuccessPolicy) {
  json::Value the_job = job(
      R"({"parallelism":2,"completions":3,"completionMode":"Indexed",
          "successPolicy":{"rules":[{"succeededCount":2},{"succeededIndexes":"0"}]}})");
  JobPlan result = plan(the_job, {pod("a", "Succeeded", true, indexed(0, 0)),
                                  pod("b", "Running", true, indexed(1, 0))});
  EXPECT_EQ(condition(result, "SuccessCriteriaMet"), "True/SuccessPolicy");
  EXPECT_EQ(result.remove.size(), 1u);
}

}  // namespace
}  // namespace kueue::standins
