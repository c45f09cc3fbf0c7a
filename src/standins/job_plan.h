// What a batch/v1 Job needs next, from the Job and its Pods alone. The rules of the Job controller
// as a pure function: counting through finalizers, suspend, completions and indexes, back-off,
// failure policy, deadline. job_controller.h carries the plan out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "json/value.h"

namespace kueue::standins {

inline constexpr std::string_view kJobTrackingFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";
inline constexpr std::string_view kIndexFailures = "batch.kubernetes.io/job-index-failure-count";

struct JobEvent {
  bool warning = false;
  std::string reason;
  std::string note;
};

// A Pod that the Job wants no more. Those that go because the Job is suspended or shrinks lose
// their finalizer first and count nowhere; those of a Job that has failed are counted when they
// have ended.
struct JobPodRemoval {
  std::string name;
  bool release_first = false;
};

struct JobPlan {
  json::Value status;  // the new status, whole
  bool status_changed = false;
  std::vector<std::optional<int64_t>> create;  // one Pod each; the index of Indexed Jobs
  // With backoffLimitPerIndex: how often each index has failed; absent = never.
  std::map<int64_t, int64_t> index_failures;
  std::vector<JobPodRemoval> remove;
  std::vector<std::string>
      release;  // names of Pods whose finalizer goes, once the status is written
  std::vector<JobEvent> events;
  bool delete_job = false;             // ttlSecondsAfterFinished is over
  std::optional<Duration> look_again;  // even if nothing happens
};

// A Job shows what ends it (SuccessCriteriaMet with Pods not yet counted, or FailureTarget with
// those that were) for this long before it is Complete or Failed: who follows its status sees why
// it ends and not only that it did.
inline constexpr Duration kEndShown = Duration::seconds(1);

// Failures since the last success, which delay new Pods. Kept by the caller for as long as the Job
// exists: Pods that were taken away have counted too.
struct JobBackoff {
  int64_t failures = 0;
  Instant last;
  std::set<std::string> seen;  // uids of ended Pods that are counted here and still exist
  Instant ending_since;        // when its end was decided; zero: never, or by a process before us
};

// `pods`: every Pod that the Job controls, ended ones included. `backoff` is brought up to date.
JobPlan plan_job(const json::Value& job, const std::vector<const json::Value*>& pods, Instant now,
                 JobBackoff& backoff);

// The Pod to create for the Job (index only for Indexed Jobs). Its name is generated. `failures` of
// the index are noted on it when the Job has backoffLimitPerIndex.
json::Value make_job_pod(const json::Value& job, std::optional<int64_t> index,
                         int64_t failures = 0);

// "0-2,5" <-> {0, 1, 2, 5}. What does not parse is left out.
std::vector<int64_t> parse_indexes(std::string_view text);
std::string format_indexes(const std::vector<int64_t>& sorted);

}  // namespace kueue::standins
