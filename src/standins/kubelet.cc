#include "standins/kubelet.h"

#include "standins/pod_life.h"

namespace kueue::standins {

namespace {

constexpr int kConcurrency = 4;
constexpr int kKilledExitCode =
    137;  // 128 + SIGKILL, what a container reports that had to be killed

json::Array conditions_of(const json::Value& pod) {
  const json::Value* stored = pod.find_path({"status", "conditions"});
  return stored != nullptr && stored->is_array() ? stored->as_array() : json::Array();
}

// One status for each container of the list, with the old one's start and restarts.
template <typename MakeState>
json::Array container_statuses(const json::Value& pod, std::string_view list, MakeState make) {
  json::Array result;
  std::string_view statuses =
      list == "initContainers" ? "initContainerStatuses" : "containerStatuses";
  const json::Value* containers = pod.find_path({"spec", list});
  if (containers == nullptr || !containers->is_array()) return result;
  const json::Value* olds = pod.find_path({"status", statuses});
  for (const json::Value& container : containers->as_array()) {
    json::Value old;
    if (olds != nullptr && olds->is_array())
      for (const json::Value& each : olds->as_array())
        if (each.get_string({"name"}) == container.get_string({"name"})) old = each;
    json::Value status = json::Value::object({{"name", container.get_string({"name"})},
                                              {"image", container.get_string({"image"})},
                                              {"imageID", ""},
                                              {"lastState", json::Value::object()},
                                              {"restartCount", old.get_int({"restartCount"})}});
    make(container, old, status);
    result.push_back(std::move(status));
  }
  return result;
}

json::Value terminated(const json::Value& old, int exit_code, Instant now) {
  std::string start(old.get_string({"state", "running", "startedAt"}));
  return json::Value::object({{"exitCode", exit_code},
                              {"reason", exit_code == 0 ? "Completed" : "Error"},
                              {"startedAt", start.empty() ? format_time(now) : start},
                              {"finishedAt", format_time(now)}});
}

void set_running(json::Value& status, Instant now) {
  status["ready"] = true;
  status["started"] = true;
  status.at_path({"state", "running", "startedAt"}) = format_time(now);
}

}  // namespace

json::Value running_status(const json::Value& pod, const std::string& address, Instant now) {
  json::Array conditions = conditions_of(pod);
  for (std::string_view type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
    set_condition(conditions, type, "True", "", "", now);
  json::Value status = json::Value::object({{"phase", "Running"},
                                            {"startTime", format_time(now)},
                                            {"hostIP", "127.0.0.1"},
                                            {"podIP", address}});
  status["hostIPs"] = json::Value::array({json::Value::object({{"ip", "127.0.0.1"}})});
  status["podIPs"] = json::Value::array({json::Value::object({{"ip", address}})});
  status["conditions"] = std::move(conditions);
  status["containerStatuses"] = container_statuses(
      pod, "containers",
      [&](const json::Value&, const json::Value&, json::Value& each) { set_running(each, now); });
  json::Array inits = container_statuses(
      pod, "initContainers",
      [&](const json::Value& container, const json::Value& old, json::Value& each) {
        if (container.get_string({"restartPolicy"}) == "Always") {
          set_running(each, now);
        } else {
          each["ready"] = true;
          each["started"] = false;
          each.at_path({"state", "terminated"}) = terminated(old, 0, now);
        }
      });
  if (!inits.empty()) status["initContainerStatuses"] = std::move(inits);
  return status;
}

json::Value ended_status(const json::Value& pod, int exit_code, Instant now) {
  json::Array conditions = conditions_of(pod);
  std::string_view reason = exit_code == 0 ? "PodCompleted" : "PodFailed";
  set_condition(conditions, "PodReadyToStartContainers", "False", "", "", now);
  set_condition(conditions, "Initialized", "True", exit_code == 0 ? reason : "", "", now);
  set_condition(conditions, "Ready", "False", reason, "", now);
  set_condition(conditions, "ContainersReady", "False", reason, "", now);
  json::Value status = json::Value::object({{"phase", exit_code == 0 ? "Succeeded" : "Failed"}});
  status["conditions"] = std::move(conditions);
  status["containerStatuses"] = container_statuses(
      pod, "containers", [&](const json::Value&, const json::Value& old, json::Value& each) {
        each["ready"] = false;
        each["started"] = false;
        each.at_path({"state", "terminated"}) = terminated(old, exit_code, now);
      });
  return status;
}

json::Value restarted_status(const json::Value& pod, int exit_code, Instant now) {
  json::Value status = json::Value::object();
  status["containerStatuses"] = container_statuses(
      pod, "containers", [&](const json::Value&, const json::Value& old, json::Value& each) {
        each["restartCount"] = old.get_int({"restartCount"}) + 1;
        each.at_path({"lastState", "terminated"}) = terminated(old, exit_code, now);
        set_running(each, now);
      });
  return status;
}

Kubelet::Kubelet(std::shared_ptr<wire::Transport> transport, kube::Executor& executor)
    : client_(std::make_shared<kube::Client>(std::move(transport), "kubelet")),
      clock_(executor.clock()),
      pods_(make_informer(client_, executor, pods())) {
  kube::ControllerOptions options;
  options.name = "kubelet";
  options.concurrency = kConcurrency;
  controller_ = std::make_unique<kube::Controller>(
      executor, std::move(options), [this](const kube::ObjectKey& key) { return reconcile(key); });
  pods_->add_handler([this](const DocumentPtr& old, const DocumentPtr& now) {
    const json::Value& pod = (now ? now : old)->json;
    if (!now) {
      std::lock_guard lock(mutex_);
      started_.erase(uid_of(pod));
    } else if (!node_of(pod).empty() || is_deleting(pod)) {
      controller_->enqueue(key_of(pod));
    }
  });
}

Kubelet::~Kubelet() { stop(); }

void Kubelet::start() {
  pods_->start();
  controller_->start();
}

void Kubelet::stop() {
  controller_->stop();
  pods_->stop();
}

bool Kubelet::ready() const { return pods_->has_synced(); }

Result<kube::ReconcileResult> Kubelet::reconcile(const kube::ObjectKey& key) {
  DocumentPtr document = pods_->get(key);
  if (!document) return kube::ReconcileResult{};
  const json::Value& pod = document->json;
  if (is_deleting(pod)) return take_away(pod);
  if (node_of(pod).empty() || is_terminal(pod)) return kube::ReconcileResult{};
  return phase_of(pod) == "Running" ? go_on(pod) : run(pod);
}

Result<kube::ReconcileResult> Kubelet::run(const json::Value& pod) {
  const Instant now = clock_.now();
  std::string address;
  {
    std::lock_guard lock(mutex_);
    started_[uid_of(pod)] = now;
    uint32_t n = next_address_++;
    address = "10.244." + std::to_string((n >> 8) & 255) + "." + std::to_string(n & 255);
  }
  KUEUE_TRY(write_status(pod, running_status(pod, address, now)));
  PodLife life = pod_life(pod);
  return kube::ReconcileResult{life.run_for};
}

Result<kube::ReconcileResult> Kubelet::go_on(const json::Value& pod) {
  PodLife life = pod_life(pod);
  if (!life.run_for) return kube::ReconcileResult{};
  const Instant now = clock_.now();
  Duration left = started(pod) + *life.run_for - now;
  if (left.ns > 0) return kube::ReconcileResult{left};
  if (life.exit_code != 0 && pod.get_string({"spec", "restartPolicy"}) == "OnFailure") {
    {
      std::lock_guard lock(mutex_);
      started_[uid_of(pod)] = now;
    }
    KUEUE_TRY(write_status(pod, restarted_status(pod, life.exit_code, now)));
    return kube::ReconcileResult{life.run_for};
  }
  KUEUE_TRY(write_status(pod, ended_status(pod, life.exit_code, now)));
  return kube::ReconcileResult{};
}

Result<kube::ReconcileResult> Kubelet::take_away(const json::Value& pod) {
  if (!is_terminal(pod) && phase_of(pod) == "Running")
    KUEUE_TRY(write_status(pod, ended_status(pod, kKilledExitCode, clock_.now())));
  kube::DeleteOptions options;
  options.grace_seconds = 0;
  options.uid_precondition = uid_of(pod);
  Result<json::Value> removed = client_->remove(pods(), key_of(pod), options);
  if (!removed.ok() && removed.error().code != ErrorCode::kNotFound &&
      removed.error().code != ErrorCode::kConflict)
    return std::move(removed).error();
  return kube::ReconcileResult{};
}

Result<void> Kubelet::write_status(const json::Value& pod, json::Value status) {
  json::Value patch;
  patch.at_path({"metadata", "uid"}) = uid_of(pod);
  patch["status"] = std::move(status);
  kube::WriteOptions options;
  options.subresource = "status";
  Result<json::Value> written =
      client_->patch(pods(), key_of(pod), kube::PatchType::kMerge, patch, options);
  if (written.ok()) {
    pods_->absorb(*written);
    return {};
  }
  if (written.error().code == ErrorCode::kNotFound) return {};
  return std::move(written).error();
}

Instant Kubelet::started(const json::Value& pod) {
  std::lock_guard lock(mutex_);
  if (auto found = started_.find(uid_of(pod)); found != started_.end()) return found->second;
  Result<Instant> stored = parse_time(pod.get_string({"status", "startTime"}));
  Instant start = stored.ok() ? *stored : clock_.now();
  started_[uid_of(pod)] = start;
  return start;
}

}  // namespace kueue::standins
