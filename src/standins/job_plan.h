// What a batch/v1 Job needs next, from the Job and its Pods alone. The rules of the Job controller
// as a pure function: counting through finalizers, suspend, completions and indexes, back-off,
// failure policy, deadline. job_controller.h carries the plan out.
//
// Not followed: backoffLimitPerIndex and successPolicy; a Job that has them gets a warning event.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "json/value.h"

namespace kueue::standins {

inline constexpr std::string_view kJobTrackingFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";

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
  std::vector<JobPodRemoval> remove;
  std::vector<std::string>
      release;  // names of Pods whose finalizer goes, once the status is written
  std::vector<JobEvent> events;
  bool delete_job = false;             // ttlSecondsAfterFinished is over
  std::optional<Duration> look_again;  // even if nothing happens
};

// `pods`: every Pod that the Job controls, ended ones included.
JobPlan plan_job(const json::Value& job, const std::vector<const json::Value*>& pods, Instant now);

// The Pod to create for the Job (index only for Indexed Jobs). Its name is generated.
json::Value make_job_pod(const json::Value& job, std::optional<int64_t> index);

// "0-2,5" <-> {0, 1, 2, 5}. What does not parse is left out.
std::vector<int64_t> parse_indexes(std::string_view text);
std::string format_indexes(const std::vector<int64_t>& sorted);

}  // namespace kueue::standins
