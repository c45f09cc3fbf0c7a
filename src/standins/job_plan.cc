#include "standins/job_plan.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "standins/documents.h"

namespace kueue::standins {

namespace {

constexpr Duration kBackoffBase = Duration::seconds(10);
constexpr Duration kBackoffMax = Duration::seconds(600);

const json::Array& list_at(const json::Value& value, std::initializer_list<std::string_view> path) {
  static const json::Array none;
  const json::Value* found = value.find_path(path);
  return found != nullptr && found->is_array() ? found->as_array() : none;
}

bool is_indexed(const json::Value& job) {
  return job.get_string({"spec", "completionMode"}) == "Indexed";
}

// -1: not given.
int64_t completions_of(const json::Value& job) { return job.get_int({"spec", "completions"}, -1); }

std::optional<int64_t> number_in_annotation(const json::Value& pod, std::string_view name) {
  std::string_view text = pod.get_string({"metadata", "annotations", name});
  int64_t index = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return index;
}

std::optional<int64_t> index_of(const json::Value& pod) {
  return number_in_annotation(pod, kCompletionIndex);
}

// How often its index had failed when the Pod was made.
int64_t failures_noted(const json::Value& pod) {
  return number_in_annotation(pod, kIndexFailures).value_or(0);
}

Instant ended_at(const json::Value& pod) {
  Instant latest;
  for (const json::Value& status : list_at(pod, {"status", "containerStatuses"})) {
    Result<Instant> end = parse_time(status.get_string({"state", "terminated", "finishedAt"}));
    if (end.ok() && *end > latest) latest = *end;
  }
  return latest;
}

// How a failed Pod counts under spec.podFailurePolicy.
enum class FailureAction { kCount, kIgnore, kFailJob, kFailIndex };

bool exit_codes_match(const json::Value& rule, const json::Value& pod, std::string& message) {
  std::string_view op = rule.get_string({"onExitCodes", "operator"});
  std::string_view container = rule.get_string({"onExitCodes", "containerName"});
  for (const json::Value& status : list_at(pod, {"status", "containerStatuses"})) {
    int64_t code = status.get_int({"state", "terminated", "exitCode"});
    if (code == 0 || (!container.empty() && status.get_string({"name"}) != container)) continue;
    bool listed = false;
    for (const json::Value& value : list_at(rule, {"onExitCodes", "values"}))
      listed = listed || value.int_or(-1) == code;
    if (listed == (op == "In")) {
      kube::ObjectKey key = key_of(pod);
      message = "Container " + std::string(status.get_string({"name"})) + " for pod " +
                key.to_string() + " failed with exit code " + std::to_string(code);
      return true;
    }
  }
  return false;
}

bool conditions_match(const json::Value& rule, const json::Value& pod, std::string& message) {
  for (const json::Value& wanted : list_at(rule, {"onPodConditions"}))
    for (const json::Value& condition : list_at(pod, {"status", "conditions"}))
      if (condition.get_string({"type"}) == wanted.get_string({"type"}) &&
          condition.get_string({"status"}) == wanted.get_string({"status"}, "True")) {
        message = "Pod " + key_of(pod).to_string() + " has condition " +
                  std::string(condition.get_string({"type"}));
        return true;
      }
  return false;
}

FailureAction failure_action(const json::Value& job, const json::Value& pod, std::string& message) {
  int64_t number = -1;
  for (const json::Value& rule : list_at(job, {"spec", "podFailurePolicy", "rules"})) {
    ++number;
    bool matches = rule.find("onExitCodes") != nullptr ? exit_codes_match(rule, pod, message)
                                                       : conditions_match(rule, pod, message);
    if (!matches) continue;
    std::string_view action = rule.get_string({"action"});
    if (action == "FailJob") {
      message += " matching FailJob rule at index " + std::to_string(number);
      return FailureAction::kFailJob;
    }
    if (action == "FailIndex") return FailureAction::kFailIndex;
    return action == "Ignore" ? FailureAction::kIgnore : FailureAction::kCount;
  }
  return FailureAction::kCount;
}

// One pass over a Job; its members are the intermediate results that the rules share.
class Planner {
 public:
  Planner(const json::Value& job, const std::vector<const json::Value*>& pods, Instant now,
          JobBackoff& backoff)
      : job_(job), pods_(pods), now_(now), backoff_(backoff) {
    if (const json::Value* status = job.find("status"); status != nullptr && status->is_object())
      plan_.status = *status;
    else
      plan_.status = json::Value::object();
    if (const json::Value* conditions = plan_.status.find("conditions");
        conditions != nullptr && conditions->is_array())
      conditions_ = conditions->as_array();
  }

  JobPlan run() {
    if (true_condition("Complete") || true_condition("Failed")) {
      after_the_end();
      return finish();
    }
    note_failures();
    count_ended();
    judge_indexes();
    count_living();
    suspend_or_resume();
    decide_end();
    if (ending())
      remove_all_active();
    else if (!suspended_)
      balance();
    hold_the_last_count();
    close_if_quiet();
    return finish();
  }

 private:
  bool true_condition(std::string_view type) const {
    for (const json::Value& condition : conditions_)
      if (condition.get_string({"type"}) == type) return condition.get_string({"status"}) == "True";
    return false;
  }

  bool ending() const {
    return true_condition("SuccessCriteriaMet") || true_condition("FailureTarget");
  }

  std::string_view text_of(std::string_view type, std::string_view member) const {
    for (const json::Value& condition : conditions_)
      if (condition.get_string({"type"}) == type) return condition.get_string({member});
    return {};
  }

  // Pods that ended since the last pass, in order of their end.
  void note_failures() {
    std::set<std::string> present;
    std::vector<std::pair<Instant, const json::Value*>> fresh;
    for (const json::Value* pod : pods_) {
      if (!is_terminal(*pod)) continue;
      present.insert(uid_of(*pod));
      std::string message;
      // What lost its finalizer at once (the Job was suspended, or shrinks) counts nowhere.
      if (backoff_.seen.contains(uid_of(*pod)) || !has_finalizer(*pod, kJobTrackingFinalizer) ||
          (phase_of(*pod) == "Failed" &&
           failure_action(job_, *pod, message) == FailureAction::kIgnore))
        continue;
      Instant end = ended_at(*pod);
      fresh.emplace_back(end.is_zero() ? now_ : end, pod);
    }
    std::sort(fresh.begin(), fresh.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : uid_of(*a.second) < uid_of(*b.second);
    });
    for (const auto& [end, pod] : fresh) {
      if (phase_of(*pod) == "Succeeded") {
        backoff_.failures = 0;
      } else {
        ++backoff_.failures;
        backoff_.last = std::max(backoff_.last, end);
      }
    }
    backoff_.seen = std::move(present);
  }

  // With backoffLimitPerIndex: which indexes have failed for good, and how often the others have.
  void judge_indexes() {
    if (!per_index()) return;
    const int64_t limit = job_.get_int({"spec", "backoffLimitPerIndex"});
    for (int64_t index : parse_indexes(plan_.status.get_string({"failedIndexes"})))
      failed_indexes_.insert(index);
    for (const json::Value* pod : pods_) {
      std::optional<int64_t> index = index_of(*pod);
      if (phase_of(*pod) != "Failed" || !index || *index >= completions_of(job_)) continue;
      std::string message;
      FailureAction action = failure_action(job_, *pod, message);
      int64_t before = failures_noted(*pod);
      if (action == FailureAction::kIgnore) continue;
      if (action == FailureAction::kFailIndex || before >= limit) {
        failed_indexes_.insert(*index);
        continue;
      }
      IndexFailures& known = index_failures_[*index];
      known.count = std::max(known.count, before + 1);
      known.last = std::max(known.last, ended_at(*pod));
    }
    for (int64_t index : indexes_) failed_indexes_.erase(index);
    std::vector<int64_t> sorted(failed_indexes_.begin(), failed_indexes_.end());
    plan_.status["failedIndexes"] = format_indexes(sorted);
  }

  bool per_index() const {
    return is_indexed(job_) && job_.find_path({"spec", "backoffLimitPerIndex"}) != nullptr;
  }

  // Ended Pods that still have the finalizer are noted as uncounted first; once the finalizer is
  // gone they are in the numbers. So no Pod is counted twice or lost, whenever the process dies.
  void count_ended() {
    std::set<std::string> known_succeeded, known_failed, tracked;
    for (const json::Value& uid : list_at(plan_.status, {"uncountedTerminatedPods", "succeeded"}))
      known_succeeded.insert(std::string(uid.string_or("")));
    for (const json::Value& uid : list_at(plan_.status, {"uncountedTerminatedPods", "failed"}))
      known_failed.insert(std::string(uid.string_or("")));
    indexes_ = parse_indexes(plan_.status.get_string({"completedIndexes"}));
    std::set<int64_t> done(indexes_.begin(), indexes_.end());
    json::Array succeeded, failed;
    for (const json::Value* pod : pods_) {
      if (!has_finalizer(*pod, kJobTrackingFinalizer)) continue;
      std::string uid = uid_of(*pod);
      tracked.insert(uid);
      bool ok = phase_of(*pod) == "Succeeded";
      if (!is_terminal(*pod)) {
        // Nobody will end a Pod that never got a node.
        if (is_deleting(*pod) && node_of(*pod).empty()) plan_.release.push_back(key_of(*pod).name);
        continue;
      }
      plan_.release.push_back(key_of(*pod).name);
      if (ok) {
        std::optional<int64_t> index = index_of(*pod);
        if (is_indexed(job_)) {
          bool fresh = index && *index < completions_of(job_) && done.insert(*index).second;
          if (!fresh && !known_succeeded.contains(uid)) continue;
        }
        succeeded.push_back(uid);
      } else {
        std::string message;
        FailureAction action = failure_action(job_, *pod, message);
        if (action == FailureAction::kFailJob && policy_message_.empty()) policy_message_ = message;
        if (action == FailureAction::kIgnore) continue;
        failed.push_back(uid);
      }
    }
    for (const std::string& uid : known_succeeded) succeeded_ += !tracked.contains(uid);
    for (const std::string& uid : known_failed) failed_ += !tracked.contains(uid);
    succeeded_ += plan_.status.get_int({"succeeded"});
    failed_ += plan_.status.get_int({"failed"});
    indexes_.assign(done.begin(), done.end());
    if (is_indexed(job_)) succeeded_ = static_cast<int64_t>(indexes_.size());
    uncounted_ = succeeded.size() + failed.size();
    all_succeeded_ = is_indexed(job_) ? static_cast<int64_t>(indexes_.size())
                                      : succeeded_ + static_cast<int64_t>(succeeded.size());
    all_failed_ = failed_ + static_cast<int64_t>(failed.size());
    json::Value uncounted = json::Value::object();
    if (!succeeded.empty()) uncounted["succeeded"] = std::move(succeeded);
    if (!failed.empty()) uncounted["failed"] = std::move(failed);
    plan_.status["uncountedTerminatedPods"] = std::move(uncounted);
  }

  void count_living() {
    for (const json::Value* pod : pods_) {
      if (is_terminal(*pod)) continue;
      for (const json::Value& status : list_at(*pod, {"status", "containerStatuses"}))
        restarts_ += status.get_int({"restartCount"});
      if (is_deleting(*pod)) {
        ++terminating_;
        continue;
      }
      active_.push_back(pod);
      ready_ += condition_true(*pod, "Ready");
    }
    // Those to go first when there are too many: not bound, then not ready, then the youngest.
    std::sort(active_.begin(), active_.end(), [](const json::Value* a, const json::Value* b) {
      auto rank = [](const json::Value& pod) {
        return node_of(pod).empty() ? 0 : condition_true(pod, "Ready") ? 2 : 1;
      };
      if (rank(*a) != rank(*b)) return rank(*a) < rank(*b);
      std::string_view left = a->get_string({"metadata", "creationTimestamp"});
      std::string_view right = b->get_string({"metadata", "creationTimestamp"});
      return left != right ? left > right : key_of(*a) < key_of(*b);
    });
  }

  void suspend_or_resume() {
    suspended_ = job_.get_bool({"spec", "suspend"});
    bool was = true_condition("Suspended");
    if (suspended_ && !ending()) {
      if (set_condition(conditions_, "Suspended", "True", "JobSuspended", "Job suspended", now_,
                        true))
        event(false, "Suspended", "Job suspended");
      plan_.status.as_object().erase("startTime");
      remove_all_active();
    } else if (was) {
      set_condition(conditions_, "Suspended", "False", "JobResumed", "Job resumed", now_, true);
      event(false, "Resumed", "Job resumed");
      plan_.status["startTime"] = format_time(now_);
    }
    if (!suspended_ && plan_.status.get_string({"startTime"}).empty())
      plan_.status["startTime"] = format_time(now_);
  }

  void decide_end() {
    if (ending()) return;
    find_end();
    if (ending()) backoff_.ending_since = now_;
  }

  void find_end() {
    int64_t limit = job_.get_int({"spec", "backoffLimit"}, 6);
    bool on_failure = job_.get_string({"spec", "template", "spec", "restartPolicy"}) == "OnFailure";
    if (!policy_message_.empty()) {
      fail("PodFailurePolicy", policy_message_);
    } else if (all_failed_ > limit || (on_failure && restarts_ > 0 && restarts_ >= limit)) {
      fail("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    } else if (past_deadline()) {
      fail("DeadlineExceeded", "Job was active longer than specified deadline");
    } else if (std::optional<size_t> rule = success_rule()) {
      set_condition(conditions_, "SuccessCriteriaMet", "True", "SuccessPolicy",
                    "Matched rules at index " + std::to_string(*rule), now_);
    } else if (per_index() && too_many_failed_indexes()) {
      fail("MaxFailedIndexesExceeded",
           "Job has exceeded the specified maximal number of failed indexes");
    } else if (per_index() && !failed_indexes_.empty() &&
               static_cast<int64_t>(failed_indexes_.size() + indexes_.size()) >=
                   completions_of(job_)) {
      fail("FailedIndexes", "Job has failed indexes");
    } else if (succeeded_enough()) {
      set_condition(conditions_, "SuccessCriteriaMet", "True", "CompletionsReached",
                    "Reached expected number of succeeded pods", now_, true);
    }
  }

  bool too_many_failed_indexes() const {
    int64_t most = job_.get_int({"spec", "maxFailedIndexes"}, -1);
    return most >= 0 && static_cast<int64_t>(failed_indexes_.size()) > most;
  }

  // The first rule of spec.successPolicy that is fulfilled.
  std::optional<size_t> success_rule() const {
    if (!is_indexed(job_) || suspended_) return std::nullopt;
    const json::Array& rules = list_at(job_, {"spec", "successPolicy", "rules"});
    for (size_t i = 0; i < rules.size(); ++i) {
      std::string_view text = rules[i].get_string({"succeededIndexes"});
      std::vector<int64_t> wanted = parse_indexes(text);
      std::vector<int64_t> done = indexes_;
      if (!text.empty()) {
        done.clear();
        std::set_intersection(indexes_.begin(), indexes_.end(), wanted.begin(), wanted.end(),
                              std::back_inserter(done));
      }
      int64_t count = rules[i].get_int({"succeededCount"}, static_cast<int64_t>(wanted.size()));
      if (static_cast<int64_t>(done.size()) >= count) return i;
    }
    return std::nullopt;
  }

  bool past_deadline() {
    int64_t limit_s = job_.get_int({"spec", "activeDeadlineSeconds"}, -1);
    Result<Instant> start = parse_time(plan_.status.get_string({"startTime"}));
    if (limit_s < 0 || suspended_ || !start.ok()) return false;
    Duration left = *start + Duration::seconds(limit_s) - now_;
    if (left.ns <= 0) return true;
    look_again(left);
    return false;
  }

  bool succeeded_enough() const {
    if (suspended_) return false;
    int64_t wanted = completions_of(job_);
    if (wanted >= 0) return all_succeeded_ >= wanted;
    return all_succeeded_ > 0 && active_.empty();
  }

  void fail(std::string_view reason, std::string_view message) {
    set_condition(conditions_, "FailureTarget", "True", reason, message, now_, true);
  }

  void remove_all_active() {
    for (const json::Value* pod : active_) remove(*pod);
    active_.clear();
  }

  void remove(const json::Value& pod) {
    plan_.remove.push_back({key_of(pod).name, !ending()});
    ready_ -= condition_true(pod, "Ready");
    ++terminating_;
  }

  void balance() {
    int64_t parallelism = job_.get_int({"spec", "parallelism"}, 1);
    int64_t wanted = completions_of(job_);
    int64_t have = static_cast<int64_t>(active_.size());
    int64_t left = wanted - all_succeeded_ - static_cast<int64_t>(failed_indexes_.size());
    int64_t target = wanted >= 0          ? std::min(parallelism, std::max<int64_t>(0, left))
                     : all_succeeded_ > 0 ? std::min(have, parallelism)
                                          : parallelism;
    if (is_indexed(job_)) drop_wrong_indexes();
    have = static_cast<int64_t>(active_.size());
    if (have > target) {
      for (int64_t i = 0; i < have - target; ++i) remove(*active_[static_cast<size_t>(i)]);
      active_.erase(active_.begin(), active_.begin() + (have - target));
      return;
    }
    int64_t missing = target - have;
    if (job_.get_string({"spec", "podReplacementPolicy"}) == "Failed") missing -= terminating_;
    if (missing <= 0 || (!per_index() && backing_off(backoff_.failures, backoff_.last))) return;
    create(missing);
  }

  bool backing_off(int64_t failures, Instant last) {
    if (failures <= 0 || last.is_zero()) return false;
    Duration delay = kBackoffBase;
    for (int64_t i = 1; i < failures && delay < kBackoffMax; ++i) delay = delay * 2;
    Duration left = last + std::min(delay, kBackoffMax) - now_;
    if (left.ns <= 0) return false;
    look_again(left);
    return true;
  }

  // Two Pods of one index, or an index that is done or out of range: the later one goes.
  void drop_wrong_indexes() {
    std::set<int64_t> taken(indexes_.begin(), indexes_.end());
    std::vector<const json::Value*> kept;
    for (auto pod = active_.rbegin(); pod != active_.rend(); ++pod) {
      std::optional<int64_t> index = index_of(**pod);
      if (index && *index < completions_of(job_) && taken.insert(*index).second)
        kept.push_back(*pod);
      else
        remove(**pod);
    }
    active_.assign(kept.rbegin(), kept.rend());
  }

  void create(int64_t missing) {
    if (!is_indexed(job_)) {
      plan_.create.assign(static_cast<size_t>(missing), std::nullopt);
      return;
    }
    std::set<int64_t> taken(indexes_.begin(), indexes_.end());
    for (const json::Value* pod : pods_)
      if (!is_terminal(*pod))
        if (std::optional<int64_t> index = index_of(*pod)) taken.insert(*index);
    for (int64_t i = 0; i < completions_of(job_) && missing > 0; ++i) {
      if (taken.contains(i) || failed_indexes_.contains(i)) continue;
      if (auto known = index_failures_.find(i); known != index_failures_.end()) {
        if (backing_off(known->second.count, known->second.last)) continue;
        plan_.index_failures[i] = known->second.count;
      }
      plan_.create.emplace_back(i);
      --missing;
    }
  }

  // A success is to be seen before it is in the numbers: these come together with Complete.
  void hold_the_last_count() {
    if (!true_condition("SuccessCriteriaMet") || !end_is_to_be_shown()) return;
    for (const json::Value* pod : pods_)
      if (is_terminal(*pod)) std::erase(plan_.release, key_of(*pod).name);
  }

  // Asks for another pass when the time comes.
  bool end_is_to_be_shown() {
    const Duration left = backoff_.ending_since + kEndShown - now_;
    if (backoff_.ending_since.is_zero() || left.ns <= 0) return false;
    look_again(left);
    return true;
  }

  // The last condition comes when every Pod has ended and is counted; Failed not before
  // FailureTarget was to be seen.
  void close_if_quiet() {
    if (!ending() || uncounted_ > 0 || !active_.empty() || terminating_ > 0) return;
    bool ok = true_condition("SuccessCriteriaMet");
    if (!ok && end_is_to_be_shown()) return;
    std::string_view source = ok ? "SuccessCriteriaMet" : "FailureTarget";
    std::string reason(text_of(source, "reason")), message(text_of(source, "message"));
    set_condition(conditions_, ok ? "Complete" : "Failed", "True", reason, message, now_, true);
    if (ok) plan_.status["completionTime"] = format_time(now_);
    event(!ok, ok ? "Completed" : reason, ok ? "Job completed" : message);
    after_the_end();
  }

  void after_the_end() {
    // Pods that ended late lose their finalizer without being counted any more.
    for (const json::Value* pod : pods_)
      if (has_finalizer(*pod, kJobTrackingFinalizer) && is_terminal(*pod) &&
          std::find(plan_.release.begin(), plan_.release.end(), key_of(*pod).name) ==
              plan_.release.end())
        plan_.release.push_back(key_of(*pod).name);
    int64_t ttl_s = job_.get_int({"spec", "ttlSecondsAfterFinished"}, -1);
    if (ttl_s < 0) return;
    std::string_view type = true_condition("Complete") ? "Complete" : "Failed";
    Result<Instant> end = parse_time(text_of(type, "lastTransitionTime"));
    if (!end.ok()) return;
    Duration left = *end + Duration::seconds(ttl_s) - now_;
    if (left.ns <= 0)
      plan_.delete_job = true;
    else
      look_again(left);
  }

  JobPlan finish() {
    bool closed = job_is_closed();
    if (!closed) {
      put_count("active", static_cast<int64_t>(active_.size() + plan_.create.size()));
      put_count("succeeded", succeeded_);
      put_count("failed", failed_);
      plan_.status["terminating"] = terminating_;
      plan_.status["ready"] = ready_;
      if (is_indexed(job_) && !indexes_.empty())
        plan_.status["completedIndexes"] = format_indexes(indexes_);
    }
    if (!conditions_.empty()) plan_.status["conditions"] = conditions_;
    const json::Value* before = job_.find("status");
    plan_.status_changed =
        before == nullptr ? !plan_.status.as_object().empty() : !(*before == plan_.status);
    return std::move(plan_);
  }

  // Was it over before this pass?
  bool job_is_closed() const {
    for (const json::Value& condition : list_at(job_, {"status", "conditions"}))
      if ((condition.get_string({"type"}) == "Complete" ||
           condition.get_string({"type"}) == "Failed") &&
          condition.get_string({"status"}) == "True")
        return true;
    return false;
  }

  void put_count(std::string_view name, int64_t count) {
    if (count > 0)
      plan_.status[name] = count;
    else
      plan_.status.as_object().erase(name);
  }

  void event(bool warning, std::string_view reason, std::string_view note) {
    plan_.events.push_back({warning, std::string(reason), std::string(note)});
  }

  void look_again(Duration after) {
    if (!plan_.look_again || after < *plan_.look_again) plan_.look_again = after;
  }

  const json::Value& job_;
  const std::vector<const json::Value*>& pods_;
  const Instant now_;
  JobPlan plan_;
  json::Array conditions_;
  std::vector<const json::Value*> active_;  // first to go first
  std::vector<int64_t> indexes_;            // completed ones, sorted
  int64_t succeeded_ = 0, failed_ = 0;      // counted: the finalizer is gone
  int64_t all_succeeded_ = 0, all_failed_ = 0;
  size_t uncounted_ = 0;
  int64_t ready_ = 0, terminating_ = 0, restarts_ = 0;
  JobBackoff& backoff_;
  struct IndexFailures {
    int64_t count = 0;
    Instant last;
  };
  std::map<int64_t, IndexFailures> index_failures_;
  std::set<int64_t> failed_indexes_;
  std::string policy_message_;
  bool suspended_ = false;
};

}  // namespace

JobPlan plan_job(const json::Value& job, const std::vector<const json::Value*>& pods, Instant now,
                 JobBackoff& backoff) {
  return Planner(job, pods, now, backoff).run();
}

json::Value make_job_pod(const json::Value& job, std::optional<int64_t> index, int64_t failures) {
  kube::ObjectKey key = key_of(job);
  json::Value pod = json::Value::object({{"apiVersion", "v1"}, {"kind", "Pod"}});
  if (const json::Value* metadata = job.find_path({"spec", "template", "metadata"});
      metadata != nullptr && metadata->is_object())
    for (std::string_view member : {"labels", "annotations", "finalizers"})
      if (const json::Value* value = metadata->find(member); value != nullptr && !value->is_null())
        pod.at_path({"metadata", member}) = *value;
  json::Value& metadata = pod["metadata"];
  metadata["namespace"] = key.namespace_;
  metadata["generateName"] = key.name + "-" + (index ? std::to_string(*index) + "-" : "");
  json::Value& finalizers = metadata["finalizers"];
  if (finalizers.is_null()) finalizers = json::Value::array();
  finalizers.as_array().push_back(kJobTrackingFinalizer);
  metadata["ownerReferences"] =
      json::Value::array({json::Value::object({{"apiVersion", "batch/v1"},
                                               {"kind", "Job"},
                                               {"name", key.name},
                                               {"uid", uid_of(job)},
                                               {"controller", true},
                                               {"blockOwnerDeletion", true}})});
  if (const json::Value* spec = job.find_path({"spec", "template", "spec"})) pod["spec"] = *spec;
  if (!index) return pod;
  std::string number = std::to_string(*index);
  metadata.at_path({"labels", kCompletionIndex}) = number;
  metadata.at_path({"annotations", kCompletionIndex}) = number;
  if (job.find_path({"spec", "backoffLimitPerIndex"}) != nullptr)
    metadata.at_path({"annotations", kIndexFailures}) = std::to_string(failures);
  pod.at_path({"spec", "hostname"}) = key.name + "-" + number;
  json::Value variable = json::Value::object({{"name", "JOB_COMPLETION_INDEX"}});
  variable.at_path({"valueFrom", "fieldRef", "fieldPath"}) =
      "metadata.labels['" + std::string(kCompletionIndex) + "']";
  for (std::string_view list : {"containers", "initContainers"}) {
    json::Value* containers = pod.find_path({"spec", list});
    if (containers == nullptr || !containers->is_array()) continue;
    for (json::Value& container : containers->as_array()) {
      json::Value& env = container["env"];
      if (env.is_null()) env = json::Value::array();
      env.as_array().push_back(variable);
    }
  }
  return pod;
}

std::vector<int64_t> parse_indexes(std::string_view text) {
  std::vector<int64_t> result;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    int64_t first = 0, last = 0;
    const char* end = part.data() + part.size();
    auto [next, error] = std::from_chars(part.data(), end, first);
    if (error != std::errc()) continue;
    last = first;
    if (next != end && (*next != '-' || std::from_chars(next + 1, end, last).ec != std::errc()))
      continue;
    for (int64_t i = first; i <= last && result.size() < 1'000'000; ++i) result.push_back(i);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::string format_indexes(const std::vector<int64_t>& sorted) {
  std::string text;
  for (size_t i = 0; i < sorted.size();) {
    size_t j = i;
    while (j + 1 < sorted.size() && sorted[j + 1] == sorted[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += std::to_string(sorted[i]);
    if (j == i + 1) text += "," + std::to_string(sorted[j]);
    if (j > i + 1) text += "-" + std::to_string(sorted[j]);
    i = j + 1;
  }
  return text;
}

}  // namespace kueue::standins
