#include "sim/checks.h"

#include <algorithm>

namespace kueue::sim {

namespace {

int64_t evictions(const json::Value& workload) {
  const json::Value* all = workload.find_path({"status", "schedulingStats", "evictions"});
  int64_t sum = 0;
  if (all != nullptr && all->is_array())
    for (const json::Value& one : all->as_array()) sum += one.get_int({"count"});
  return sum;
}

// What the webhook, which this cluster does not have, refuses of reclaimable pods.
std::string refused_reclaimable(const json::Value& before, const json::Value& after) {
  const json::Value* sets = after.find_path({"spec", "podSets"});
  if (sets == nullptr) return "";
  for (const json::Value& set : sets->as_array()) {
    const std::string name(set.get_string({"name"}));
    const int64_t count = set.get_int({"count"}, 1);
    const int64_t now = reclaimed(after, name);
    if (now > count) return "more pods are reclaimable than there are";
    if (reserves(before) && reserves(after) && now < reclaimed(before, name))
      return "reclaimable pods are taken back while quota is held";
  }
  return "";
}

}  // namespace

void Checks::fail(const std::string& what, const std::string& details) {
  if (!failure_) failure_ = Failure{what, details};
}

Amounts Checks::usage_of(const std::string& cluster_queue, bool admitted_only) const {
  Amounts sum;
  for (const auto& [key, workload] : cluster_.all("workloads")) {
    if (!counts(workload) || (admitted_only && !is_true(workload, "Admitted"))) continue;
    if (workload.get_string({"status", "admission", "clusterQueue"}) != cluster_queue) continue;
    for (const auto& [fr, amount] : charge(workload)) sum[fr] += amount;
  }
  return sum;
}

void Checks::settled() {
  past_.clear();
  for (const auto& [key, queue] : cluster_.all("clusterqueues")) quota_changed(key.second);
  for (auto& [name, past] : past_) past.changed = false;
}

void Checks::quota_changed(const std::string& name) {
  const json::Value* queue = cluster_.find("clusterqueues", "", name);
  const bool fresh = !past_.contains(name);
  Past& past = past_[name];
  past.changed = true;
  if (queue == nullptr) return;
  const Quota quota = quota_of(*queue);
  if (!quota.parent.empty()) past.alone = false;
  for (const auto& [fr, nominal] : quota.nominal) {
    auto [most, first] = past.most.emplace(fr, nominal);
    most->second = std::max(most->second, nominal);
    auto [least, one] = past.least.emplace(fr, nominal);
    least->second = std::min(least->second, nominal);
    if (!fresh && one) least->second = 0;
  }
}

void Checks::changed(const Change& change) {
  if (change.plural == "clusterqueues") {
    const json::Value* object = change.after != nullptr ? change.after : change.before;
    quota_changed(name_of(*object));
    if (change.after == nullptr) queue_gone(*change.before);
  }
  places_.changed(change);
  if (change.after == nullptr) return;
  if (change.plural == "workloads") {
    // Who is switched off counts no more; on again it counts when the manager has heard of it.
    if (!counts(*change.after)) grants_.erase(uid_of(*change.after));
    workload_changed(change.before, *change.after);
  }
  if (change.plural == "jobs") job_changed(change.before, *change.after);
}

void Checks::workload_changed(const json::Value* before, const json::Value& after) {
  if (nonsense_.contains(uid_of(after)) || cluster_.writer.empty()) return;
  if (before == nullptr || uid_of(*before) != uid_of(after)) return;
  const bool had = reserves(*before), has = reserves(after);
  if (!had && has) reserved(after);
  if (had && !has && unfinished(after)) released(*before, after);
  if (!unfinished(*before) && unfinished(after))
    fail("a finished workload is unfinished again", brief(after));
  if (is_true(after, "Admitted") && !is_true(*before, "Admitted")) {
    if (!has) fail("admitted without a reservation", brief(after));
    // One that is evicted in the same breath starts its checks anew.
    if (const json::Value* checks = after.find_path({"status", "admissionChecks"});
        checks != nullptr && !is_true(after, "Evicted"))
      for (const json::Value& check : checks->as_array())
        if (check.get_string({"state"}) != "Ready")
          fail("admitted before its checks are ready", brief(after));
  }
  if (!is_true(*before, "Evicted") && is_true(after, "Evicted"))
    if (const json::Value* checks = after.find_path({"status", "admissionChecks"}))
      for (const json::Value& check : checks->as_array())
        if (check.get_string({"state"}) != "Pending")
          fail("the answer of a check outlives an eviction", brief(after));
  if (evictions(after) > evictions(*before) && is_true(*before, "Evicted") &&
      reason(*before, "Evicted") == reason(after, "Evicted"))
    fail("an eviction is counted twice", brief(after));
  if (!is_true(*before, "Preempted") && is_true(after, "Preempted")) preempted(*before, after);
  if (const std::string wrong = refused_reclaimable(*before, after); !wrong.empty())
    fail(wrong, brief(*before) + " " + brief(after));
}

void Checks::reserved(const json::Value& workload) {
  const std::string queue(workload.get_string({"status", "admission", "clusterQueue"}));
  if (!workload.get_bool({"spec", "active"}, true))
    fail("an inactive workload got quota", brief(workload));
  // The charge is for the spec as it is.
  const json::Value* sets = workload.find_path({"spec", "podSets"});
  const json::Value* assigned = workload.find_path({"status", "admission", "podSetAssignments"});
  if (assigned == nullptr || sets->as_array().size() != assigned->as_array().size())
    return fail("an admission has other pod sets than the spec", brief(workload));
  for (size_t i = 0; i < sets->as_array().size(); ++i) {
    const json::Value& set = sets->as_array()[i];
    const json::Value& got = assigned->as_array()[i];
    const int64_t count = got.get_int({"count"});
    // What has ended since it ran before is not asked for again, unless that was told too late.
    const int64_t most = count_to_run(workload, set.get_string({"name"}));
    if (count > set.get_int({"count"}) || count < std::min(most, set.get_int({"minCount"}, most)))
      fail("an admission has a count that the spec does not allow", brief(workload));
    const json::Value& container = set.find_path({"template", "spec", "containers"})->as_array()[0];
    const int64_t each = amount(container.find_path({"resources", "requests", "cpu"}), "cpu");
    if (amount(got.find_path({"resourceUsage", "cpu"}), "cpu") != each * count)
      fail("a charge is not that of the spec", brief(workload));
  }
  if (const std::string wrong = places_.judge(workload); !wrong.empty())
    fail(wrong.substr(0, wrong.find(':')), wrong + " " + brief(workload));
  // In a queue without cohort nobody gets more than there is, or was since all were at rest.
  auto past = past_.find(queue);
  if (past == past_.end()) return fail("quota of a ClusterQueue that never was", brief(workload));
  if (!past->second.alone) return;
  for (const auto& [fr, used] : usage_of(queue, false))
    if (charge(workload).contains(fr) && used > of(past->second.most, fr))
      fail("more is reserved than there is",
           queue + " " + fr.first + ": " + std::to_string(used) + " of " +
               std::to_string(of(past->second.most, fr)) + " after " + brief(workload));
}

void Checks::released(const json::Value& before, const json::Value& after) {
  const json::Value* job = job_of(cluster_, after);
  if (job == nullptr || job_finished(*job)) return;
  if (is_true(before, "Admitted") && job->get_int({"status", "active"}) > 0)
    fail("quota was released while pods run", brief(after) + " " + brief(*job));
}

// Who stays within its own quota is not disturbed by what others want back.
void Checks::preempted(const json::Value& before, const json::Value& after) {
  const std::string why = reason(after, "Preempted");
  if (why != "InCohortReclamation" && why != "InCohortReclaimWhileBorrowing") return;
  const std::string queue(before.get_string({"status", "admission", "clusterQueue"}));
  auto past = past_.find(queue);
  if (past == past_.end() || past->second.changed) return;
  const Amounts used = usage_of(queue, false);
  const Amounts own = charge(before);
  const bool over = std::any_of(used.begin(), used.end(), [&](const auto& entry) {
    return own.contains(entry.first) && entry.second > of(past->second.least, entry.first);
  });
  if (!over) fail("preempted for others within its own quota", queue + " " + brief(after));
}

// Its finalizer stays as long as somebody holds its quota.
void Checks::queue_gone(const json::Value& queue) {
  for (const auto& [key, workload] : cluster_.all("workloads"))
    if (workload.get_string({"status", "admission", "clusterQueue"}) == name_of(queue))
      grants_.erase(uid_of(workload));
  if (cluster_.writer.empty()) return;
  for (const auto& [key, workload] : cluster_.all("workloads"))
    if (counts(workload) && !nonsense_.contains(uid_of(workload)) &&
        workload.get_string({"status", "admission", "clusterQueue"}) == name_of(queue))
      fail("a ClusterQueue went while its quota was in use", brief(queue) + " " + brief(workload));
}

void Checks::job_changed(const json::Value* before, const json::Value& after) {
  if (cluster_.writer.empty() || before == nullptr || uid_of(*before) != uid_of(after)) return;
  if (!before->get_bool({"spec", "suspend"}, false) || after.get_bool({"spec", "suspend"}, false))
    return;
  const json::Value* workload = workload_of(cluster_, after);
  if (workload != nullptr && nonsense_.contains(uid_of(*workload))) return;
  if (workload == nullptr || !is_true(*workload, "QuotaReserved"))
    fail("a job was started without quota",
         brief(after) + (workload == nullptr ? " no workload" : " " + brief(*workload)));
}

}  // namespace kueue::sim
