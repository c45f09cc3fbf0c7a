#include "sim/machines.h"

#include <algorithm>

#include "sim/look.h"

namespace kueue::sim {
namespace {

constexpr Duration kTick = Duration::millis(1000);

int64_t pods_of(const json::Value& job) {
  const int64_t parallelism = job.get_int({"spec", "parallelism"}, 1);
  const int64_t completions = job.get_int({"spec", "completions"}, parallelism);
  const int64_t left = completions - job.get_int({"status", "succeeded"}, 0);
  return std::max<int64_t>(0, std::min(parallelism, left));
}

}  // namespace

void Machines::start() {
  process_.run_after(kTick, [this] {
    tick();
    start();
  });
}

std::string Machines::answer(const std::string& check) const {
  if (checks_ready) return "Ready";
  auto found = answers_.find(check);
  return found == answers_.end() ? "Ready" : found->second;
}

int64_t Machines::setting(const json::Value& job, std::string_view name) const {
  const std::string text(job.get_string({"metadata", "annotations", name}));
  return text.empty() ? 0 : std::strtoll(text.c_str(), nullptr, 10);
}

void Machines::tick() {
  std::vector<Cluster::Key> keys;
  for (const auto& [key, job] : cluster_.all("jobs")) keys.push_back(key);
  for (const Cluster::Key& key : keys)
    if (const json::Value* job = cluster_.find("jobs", key.first, key.second)) look_at(*job);
  answer_checks();
}

void Machines::patch_status(const char* plural, const json::Value& object, json::Value status) {
  json::Value body;
  body["status"] = std::move(status);
  kube::WriteOptions options;
  options.subresource = "status";
  (void)cluster_.client_of("machines")
      .patch(resource_of(plural), {namespace_of(object), name_of(object)}, kube::PatchType::kMerge,
             body, options)
      .ok();
}

void Machines::patch_job(const json::Value& job, json::Value status) {
  const json::Value copy = job;  // the patch replaces it
  patch_status("jobs", copy, std::move(status));
}

void Machines::look_at(const json::Value& job) {
  if (job_finished(job)) return;
  const Instant now = cluster_.scheduler().now();
  Run& run = runs_[uid_of(job)];
  const int64_t active = job.get_int({"status", "active"}, 0);
  const int64_t ready = job.get_int({"status", "ready"}, 0);
  if (job.get_bool({"spec", "suspend"}, false) || deleting(job)) {
    if (active == 0) return;
    if (!std::exchange(run.ending, true))
      run.ends_at = now + Duration::seconds(quick ? 0 : setting(job, "sim/ends"));
    if (quick || now >= run.ends_at) {
      run.ending = false;
      patch_job(job, json::Value::object({{"active", 0}, {"ready", 0}}));
    }
    return;
  }
  run.ending = false;
  const int64_t wanted = pods_of(job);
  if (active == 0) {
    if (wanted == 0) return end(namespace_of(job), name_of(job), false);
    run.started = now;
    run.ready_since = {};
    return patch_job(job, json::Value::object(
                              {{"active", wanted}, {"ready", 0}, {"startTime", format_time(now)}}));
  }
  if (active != wanted && wanted > 0)
    return patch_job(job, json::Value::object({{"active", wanted}, {"ready", 0}}));
  if (ready < active) {
    const int64_t after = quick ? 0 : setting(job, "sim/ready");
    if (now - run.started < Duration::seconds(after)) return;
    run.ready_since = now;
    return patch_job(job, json::Value::object({{"ready", active}}));
  }
  if (run.ready_since.is_zero()) run.ready_since = now;
  if (!hold_ends && now - run.ready_since >= Duration::seconds(setting(job, "sim/runs")))
    end(namespace_of(job), name_of(job), setting(job, "sim/fails") != 0);
}

void Machines::lose_pods(const std::string& namespace_, const std::string& name) {
  const json::Value* job = cluster_.find("jobs", namespace_, name);
  if (job == nullptr || job_finished(*job) || job->get_int({"status", "active"}) == 0) return;
  runs_[uid_of(*job)].started = cluster_.scheduler().now();
  patch_job(*job, json::Value::object({{"ready", 0}}));
}

void Machines::end(const std::string& namespace_, const std::string& name, bool fails) {
  const json::Value* job = cluster_.find("jobs", namespace_, name);
  if (job == nullptr || job_finished(*job) || job->get_bool({"spec", "suspend"}, false)) return;
  const std::string now = format_time(cluster_.scheduler().now());
  const auto condition = [&](const char* type) {
    return json::Value::object({{"type", type},
                                {"status", "True"},
                                {"lastTransitionTime", now},
                                {"lastProbeTime", now},
                                {"reason", fails ? "BackoffLimitExceeded" : "CompletionsReached"},
                                {"message", fails ? "pods failed" : "all pods ended"}});
  };
  json::Value status = json::Value::object({{"active", 0}, {"ready", 0}});
  status["conditions"] =
      json::Value::array({condition(fails ? "FailureTarget" : "SuccessCriteriaMet"),
                          condition(fails ? "Failed" : "Complete")});
  if (!fails) {
    status["succeeded"] = job->get_int({"spec", "completions"}, 1);
    status["completionTime"] = now;
  }
  if (job->find_path({"status", "startTime"}) == nullptr) status["startTime"] = now;
  patch_job(*job, std::move(status));
}

void Machines::end_some(const std::string& namespace_, const std::string& name) {
  const json::Value* job = cluster_.find("jobs", namespace_, name);
  if (job == nullptr || job_finished(*job) || job->get_bool({"spec", "suspend"}, false)) return;
  const int64_t active = job->get_int({"status", "active"}, 0);
  if (active < 2) return;
  patch_job(*job, json::Value::object({{"active", active - 1},
                                       {"ready", 0},
                                       {"succeeded", job->get_int({"status", "succeeded"}) + 1}}));
}

// Looks at every check of every reservation, as their controllers do.
void Machines::answer_checks() {
  const std::string now = format_time(cluster_.scheduler().now());
  std::vector<std::pair<json::Value, json::Value>> writes;
  for (const auto& [key, workload] : cluster_.all("workloads")) {
    const json::Value* checks = workload.find_path({"status", "admissionChecks"});
    if (!reserves(workload) || is_true(workload, "Evicted") || checks == nullptr) continue;
    json::Value list = *checks;
    bool changed = false;
    for (json::Value& check : list.as_array()) {
      const std::string name(check.get_string({"name"}));
      std::string wanted = answer(name);
      if (check.get_string({"state"}) != "Pending" || wanted == "nothing") continue;
      if (cluster_.find("admissionchecks", "", name) == nullptr) continue;
      // A retry helps the second time.
      if (wanted == "Retry" && !answered_.insert(name + " " + uid_of(workload)).second)
        wanted = "Ready";
      check["state"] = wanted;
      check["message"] = "answered";
      check["lastTransitionTime"] = now;
      changed = true;
    }
    if (!changed) continue;
    json::Value status;
    status["admissionChecks"] = std::move(list);
    writes.emplace_back(workload, std::move(status));
  }
  for (auto& [workload, status] : writes) patch_status("workloads", workload, std::move(status));
}

}  // namespace kueue::sim
