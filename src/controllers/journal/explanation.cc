#include "controllers/journal/explanation.h"

#include <algorithm>

#include "bridge/snapshot_json.h"
#include "controllers/journal/journal.h"
#include "controllers/names.h"
#include "controllers/scheduler/admission.h"
#include "controllers/stores.h"
#include "controllers/workload/conditions.h"

namespace kueue::controllers {
namespace {

using json::Value;

constexpr std::string_view kApiVersion = "visibility.kueue.x-k8s.io/v1beta2";
// How long a Pod of the playground runs: its stand-in for a kubelet goes by it.
constexpr std::string_view kRunForAnnotation = "kueue-cpp.dev/run-for";

// The time that Pods say they run, when all of them say so.
std::optional<Duration> announced_time(const v1beta2::Workload& workload) {
  std::optional<Duration> longest;
  for (const v1beta2::PodSet& pods : workload.spec.pod_sets) {
    const auto pod = pods.template_.open();
    const auto& annotations = pod->metadata.annotations;
    const auto found = annotations.find(kRunForAnnotation);
    if (found == annotations.end()) return std::nullopt;
    const auto time = parse_duration(found->second);
    if (!time.ok()) return std::nullopt;
    longest = std::max(longest.value_or(Duration{}), *time);
  }
  return longest;
}

// How long it runs at most, from now when it holds quota.
std::optional<Duration> time_left(const v1beta2::Workload& workload, Instant now) {
  std::optional<Duration> left = announced_time(workload);
  if (const auto& limit = workload.spec.maximum_execution_time_seconds) {
    const int32_t past = workload.status.accumulated_past_execution_time_seconds.value_or(0);
    const Duration most = Duration::seconds(*limit - past);
    left = left.has_value() ? std::min(*left, most) : most;
  }
  if (!left.has_value()) return left;
  if (is_admitted(workload)) left = *left - (now - transition_time(workload, kAdmitted));
  return std::max(*left, Duration{});
}

class Explainer {
 public:
  Explainer(Context& context, WorkloadPointer workload)
      : context_(context),
        workload_(std::move(workload)),
        key_{workload_->metadata.namespace_, workload_->metadata.name} {}

  Value document() {
    const engine::TimeLeft left = [this](const engine::Key& key) -> std::optional<Duration> {
      const auto other = context_.stores->workloads.get({key.namespace_, key.name});
      return other == nullptr ? std::nullopt : time_left(*other, context_.now());
    };
    look_ = context_.admission->look(key_, left);
    history_ = context_.journal->of(key_, workload_->metadata.uid);
    out_ = Value::object({{"kind", "WorkloadExplanation"},
                          {"apiVersion", kApiVersion},
                          {"metadata", Value::object({{"name", key_.name},
                                                      {"namespace", key_.namespace_.str()},
                                                      {"uid", workload_->metadata.uid}})},
                          {"time", format_time(context_.now())}});
    if (!workload_->spec.queue_name.empty()) out_["localQueue"] = workload_->spec.queue_name;
    if (!look_.why.cluster_queue.empty()) out_["clusterQueue"] = look_.why.cluster_queue;
    out_["priority"] = workload_->spec.priority.value_or(0);
    add_state();
    add_checks();
    if (waits_) add_waiting();
    add_history();
    return std::move(out_);
  }

 private:
  void state(std::string_view word, std::string text) {
    out_["state"] = word;
    out_["summary"] = std::move(text);
  }

  static std::string said(const api::meta::Condition* condition) {
    if (condition == nullptr) return "";
    return condition->message.empty() ? condition->reason
                                      : condition->reason + ": " + condition->message;
  }

  void add_state() {
    const v1beta2::Workload& w = *workload_;
    const auto condition = [&](std::string_view type) { return find_condition(w, type); };
    if (is_finished(w)) return state("Finished", said(condition(kFinished)));
    if (is_evicted(w) && has_reservation(w))
      return state("Evicting", said(condition(kEvicted)) +
                                   "; its quota stays reserved until its Pods have ended");
    if (is_admitted(w)) return state("Admitted", admitted_text());
    if (has_reservation(w)) return state("QuotaReserved", reserved_text());
    if (!is_active(w)) return state("Inactive", said(condition(kEvicted)) + deactivated_text());
    if (const auto until = backoff()) {
      waits_ = true;
      return state("Backoff", "queued again at " + format_time(*until) + " after " +
                                  said(condition(kEvicted)));
    }
    waits_ = true;
    const auto* reserved = condition(kQuotaReserved);
    if (reserved != nullptr && reserved->status == "False") return state("Pending", said(reserved));
    state("Pending", look_.why.message.empty() ? "nobody has looked at it yet" : look_.why.message);
  }

  std::string admitted_text() const {
    const v1beta2::Workload& w = *workload_;
    std::string text = "in ClusterQueue " + w.status.admission->cluster_queue + " since " +
                       format_time(transition_time(w, kAdmitted));
    if (is_false(w, kPodsReady)) text += "; " + said(find_condition(w, kPodsReady));
    if (const auto left = time_left(w, context_.now()))
      text += "; ends at " + format_time(context_.now() + *left) + " at the latest";
    return text;
  }

  std::string reserved_text() const {
    const v1beta2::Workload& w = *workload_;
    std::string open;
    for (const v1beta2::AdmissionCheckState& check : w.status.admission_checks)
      if (check.state != "Ready")
        open += (open.empty() ? "" : ", ") + check.name + " (" + check.state + ")";
    std::string text = "quota is reserved in ClusterQueue " + w.status.admission->cluster_queue;
    if (!open.empty()) text += "; waits for admission checks: " + open;
    if (const auto until = backoff())
      text +=
          "; a check asked for a new try: the quota stays reserved until " + format_time(*until);
    const auto* admitted = find_condition(w, kAdmitted);
    if (open.empty() && admitted != nullptr) text += "; " + said(admitted);
    return text;
  }

  std::string deactivated_text() const {
    return std::string(find_condition(*workload_, kEvicted) == nullptr ? "" : "; ") +
           "it waits for spec.active to be true";
  }

  std::optional<Instant> backoff() const {
    const auto& requeue = workload_->status.requeue_state;
    if (!requeue.has_value() || !requeue->requeue_at.has_value()) return std::nullopt;
    return *requeue->requeue_at > context_.now() ? requeue->requeue_at : std::nullopt;
  }

  void add_checks() {
    Value checks = Value::array();
    for (const v1beta2::AdmissionCheckState& check : workload_->status.admission_checks) {
      Value one = Value::object({{"name", check.name}, {"state", check.state}});
      if (!check.message.empty()) one["message"] = check.message;
      if (context_.stores->checks.get({"", check.name}) == nullptr)
        one["problem"] = "there is no such AdmissionCheck";
      checks.as_array().push_back(std::move(one));
    }
    if (!checks.as_array().empty()) out_["admissionChecks"] = std::move(checks);
  }

  void add_waiting() {
    if (look_.position.has_value()) {
      Value before = Value::array();
      for (const engine::Key& key : look_.before) before.as_array().emplace_back(key.text());
      out_["position"] = Value::object({{"clusterQueue", look_.position->position_in_cluster_queue},
                                        {"localQueue", look_.position->position_in_local_queue},
                                        {"waiting", look_.waiting},
                                        {"rightBefore", std::move(before)}});
    }
    const Value why = bridge::why_json(look_.why);
    out_["standing"] = look_.why.standing;
    for (const char* member : {"podSets", "changes"})
      if (const Value* value = why.find(member)) out_[member] = *value;
    add_preempting();
    add_start();
  }

  // Those that have to go for it and are not gone yet.
  void add_preempting() {
    Value list = Value::array();
    for (const Journal::Entry& entry : history_.entries) {
      if (entry.what != Journal::What::kPreempts) continue;
      const auto victim =
          context_.stores->workloads.get({entry.other.namespace_, entry.other.name});
      if (victim == nullptr || !has_reservation(*victim) || !is_evicted(*victim)) continue;
      Value one = Value::object({{"workload", entry.other.text()},
                                 {"since", format_time(transition_time(*victim, kEvicted))}});
      const bool known =
          std::any_of(list.as_array().begin(), list.as_array().end(), [&](const Value& each) {
            return each.get_string({"workload"}) == one.get_string({"workload"});
          });
      if (known) continue;
      const auto& bound = context_.options->bounded_termination;
      const bool late =
          bound.has_value() && transition_time(*victim, kEvicted) + bound->after <= context_.now();
      if (late) one["givenUp"] = true;
      preempting_ += !late;
      list.as_array().push_back(std::move(one));
    }
    if (!list.as_array().empty()) out_["preempting"] = std::move(list);
  }

  void add_start() {
    Value start = Value::object();
    if (preempting_ > 0) {
      start["unknown"] = "it starts when the workloads that it preempts have ended";
    } else if (look_.start.never) {
      start["never"] = look_.start.why_not;
    } else if (!look_.start.at.has_value()) {
      start["unknown"] = look_.start.why_not;
    } else {
      Instant at = *look_.start.at;
      std::string basis = look_.start.after.empty() ? "its quota is free" : "";
      for (const engine::Key& key : look_.start.after)
        basis += (basis.empty() ? "the known ends of " : ", ") + key.text();
      if (look_.start.before > 0)
        basis += "; " + std::to_string(look_.start.before) + " of its queue go before it";
      if (const auto until = backoff(); until.has_value() && *until > at) {
        at = *until;
        basis += "; not before its back-off has passed";
      }
      start["at"] = format_time(at);
      start["basis"] = basis;
      start["assumes"] = "nobody comes with a higher claim, and other queues take nothing";
    }
    out_["start"] = std::move(start);
  }

  void add_history() {
    Value entries = Value::array();
    for (const Journal::Entry& entry : history_.entries) {
      Value one =
          Value::object({{"time", format_time(entry.first)}, {"what", journal_word(entry.what)}});
      if (entry.count > 1) {
        one["count"] = static_cast<int64_t>(entry.count);
        one["lastTime"] = format_time(entry.last);
      }
      if (!entry.other.name.empty()) one["workload"] = entry.other.text();
      one["message"] = entry.text;
      entries.as_array().push_back(std::move(one));
    }
    out_["history"] = std::move(entries);
    // Times of creation are whole seconds.
    const auto& created = workload_->metadata.creation_timestamp;
    if (created.has_value() && *created + Duration::seconds(1) < history_.since)
      out_["historySince"] = format_time(history_.since);
    if (history_.dropped > 0) out_["historyDropped"] = static_cast<int64_t>(history_.dropped);
  }

  Context& context_;
  WorkloadPointer workload_;
  engine::Key key_;
  Admission::Look look_;
  Journal::History history_;
  Value out_;
  bool waits_ = false;
  size_t preempting_ = 0;
};

}  // namespace

std::optional<json::Value> explain_workload(Context& context, const kube::ObjectKey& key) {
  WorkloadPointer workload = context.stores->workloads.get(key);
  if (workload == nullptr) return std::nullopt;
  return Explainer(context, std::move(workload)).document();
}

}  // namespace kueue::controllers
