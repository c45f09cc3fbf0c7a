#include "standins/scheduler.h"

#include "standins/affinity.h"

namespace kueue::standins {

namespace {

Amounts allocatable_of(const json::Value& node) {
  Amounts result;
  const json::Value* stored = node.find_path({"status", "allocatable"});
  if (stored == nullptr || !stored->is_object()) return result;
  for (const auto& [name, value] : stored->as_object())
    if (Result<api::Quantity> quantity = api::Quantity::from_json(value); quantity.ok())
      result[name] = *quantity;
  return result;
}

// For this scheduler, not bound, not held back by gates, and not on its way out.
bool wants_node(const json::Value& pod) {
  const json::Value* gates = pod.find_path({"spec", "schedulingGates"});
  bool gated = gates != nullptr && gates->is_array() && !gates->as_array().empty();
  return node_of(pod).empty() && !gated && !is_deleting(pod) && !is_terminal(pod) &&
         pod.get_string({"spec", "schedulerName"}, "default-scheduler") == "default-scheduler";
}

bool equal_at(const json::Value& a, const json::Value& b,
              std::initializer_list<std::string_view> path) {
  const json::Value* left = a.find_path(path);
  const json::Value* right = b.find_path(path);
  return left == nullptr || right == nullptr ? left == right : *left == *right;
}

kube::ObjectReference reference(const json::Value& pod) {
  kube::ObjectKey key = key_of(pod);
  return {"v1",     "Pod",       key.namespace_,
          key.name, uid_of(pod), std::string(pod.get_string({"metadata", "resourceVersion"}))};
}

}  // namespace

Scheduler::Scheduler(std::shared_ptr<wire::Transport> transport, kube::Executor& executor)
    : client_(std::make_shared<kube::Client>(std::move(transport), "kube-scheduler")),
      sink_(std::make_shared<kube::EventSink>(client_, executor, "")),
      recorder_(sink_, "default-scheduler"),
      clock_(executor.clock()),
      pods_(make_informer(client_, executor, pods())),
      nodes_(make_informer(client_, executor, nodes())) {
  kube::ControllerOptions options;
  options.name = "scheduler";
  controller_ = std::make_unique<kube::Controller>(
      executor, std::move(options), [this](const kube::ObjectKey& key) { return schedule(key); });
  nodes_->add_handler(
      [this](const DocumentPtr& old, const DocumentPtr& now) { on_node(old, now); });
  pods_->add_handler([this](const DocumentPtr& old, const DocumentPtr& now) { on_pod(old, now); });
}

Scheduler::~Scheduler() { stop(); }

void Scheduler::start() {
  nodes_->start();
  pods_->start();
  controller_->start();
}

void Scheduler::stop() {
  controller_->stop();
  pods_->stop();
  nodes_->stop();
  sink_->stop();
}

bool Scheduler::ready() const { return pods_->has_synced() && nodes_->has_synced(); }

void Scheduler::on_node(const DocumentPtr& old, const DocumentPtr& now) {
  {
    std::lock_guard lock(mutex_);
    const std::string name = key_of((now ? now : old)->json).name;
    if (!now) {
      states_.erase(name);
      return;
    }
    Amounts allocatable = allocatable_of(now->json);
    NodeState& state = states_[name];
    bool same = old && state.allocatable == allocatable &&
                equal_at(old->json, now->json, {"metadata", "labels"}) &&
                equal_at(old->json, now->json, {"spec"});
    if (!old) {
      state.used.clear();
      for (const auto& [uid, booking] : bookings_)
        if (booking.node == name) add_amounts(state.used, booking.requests);
    }
    state.node = now->json;
    state.allocatable = std::move(allocatable);
    if (same) return;  // a heartbeat
  }
  retry_waiting();
}

void Scheduler::on_pod(const DocumentPtr& old, const DocumentPtr& now) {
  const json::Value& pod = (now ? now : old)->json;
  const std::string uid = uid_of(pod);
  if (!now || is_terminal(pod)) {
    bool freed;
    {
      std::lock_guard lock(mutex_);
      freed = release(uid);
      waiting_.erase(key_of(pod));
    }
    if (freed) retry_waiting();
    return;
  }
  if (!node_of(pod).empty()) {
    std::lock_guard lock(mutex_);
    book(pod, std::string(node_of(pod)), pod_requests(pod));
    return;
  }
  if (wants_node(pod)) controller_->enqueue(key_of(pod));
}

Result<kube::ReconcileResult> Scheduler::schedule(const kube::ObjectKey& key) {
  DocumentPtr document = pods_->get(key);
  if (!document || !wants_node(document->json) || !ready()) {
    if (document && !ready()) return kube::ReconcileResult{Duration::millis(20)};
    return kube::ReconcileResult{};
  }
  const json::Value& pod = document->json;
  const std::string uid = uid_of(pod);
  Amounts requests = pod_requests(pod);
  std::string why;
  std::optional<std::string> node;
  {
    std::lock_guard lock(mutex_);
    if (bookings_.contains(uid)) return kube::ReconcileResult{};  // bound; the watch is behind
    node = choose_node(pod, requests, states_, placed_, why);
    if (node)
      book(pod, *node, std::move(requests));
    else
      waiting_.insert(key);
  }
  if (!node) {
    KUEUE_TRY(report_unschedulable(pod, why));
    return kube::ReconcileResult{};
  }
  Result<void> bound = bind(pod, *node);
  if (!bound.ok()) {
    std::lock_guard lock(mutex_);
    release(uid);
    if (bound.error().code == ErrorCode::kNotFound) return kube::ReconcileResult{};
    return std::move(bound).error();
  }
  recorder_.emit(reference(pod), kube::EventType::kNormal, "Scheduled", "Binding",
                 "Successfully assigned " + key.to_string() + " to " + *node);
  return kube::ReconcileResult{};
}

Result<void> Scheduler::bind(const json::Value& pod, const std::string& node) {
  kube::ObjectKey key = key_of(pod);
  json::Value binding = json::Value::object({{"apiVersion", "v1"}, {"kind", "Binding"}});
  binding["metadata"] = json::Value::object(
      {{"name", key.name}, {"namespace", key.namespace_}, {"uid", uid_of(pod)}});
  binding["target"] = json::Value::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}});
  std::string path = "/api/v1/namespaces/" + key.namespace_ + "/pods/" + key.name + "/binding";
  KUEUE_TRY(client_->raw("POST", path, &binding));
  return {};
}

Result<void> Scheduler::report_unschedulable(const json::Value& pod, const std::string& why) {
  json::Array conditions;
  if (const json::Value* stored = pod.find_path({"status", "conditions"});
      stored != nullptr && stored->is_array())
    conditions = stored->as_array();
  if (!set_condition(conditions, "PodScheduled", "False", "Unschedulable", why, clock_.now()))
    return {};
  json::Value patch;
  patch.at_path({"metadata", "uid"}) = uid_of(pod);
  patch.at_path({"status", "conditions"}) = std::move(conditions);
  kube::WriteOptions options;
  options.subresource = "status";
  Result<json::Value> written =
      client_->patch(pods(), key_of(pod), kube::PatchType::kMerge, patch, options);
  if (!written.ok() && written.error().code != ErrorCode::kNotFound)
    return std::move(written).error();
  recorder_.emit(reference(pod), kube::EventType::kWarning, "FailedScheduling", "Scheduling", why);
  return {};
}

bool Scheduler::book(const json::Value& pod, const std::string& node, Amounts requests) {
  const std::string uid = uid_of(pod);
  if (auto held = bookings_.find(uid); held != bookings_.end()) {
    if (held->second.node == node) return false;
    release(uid);
  }
  placed_[uid] = placed_pod(pod, node);
  if (auto state = states_.find(node); state != states_.end())
    add_amounts(state->second.used, requests);
  bookings_[uid] = {node, std::move(requests)};
  return true;
}

bool Scheduler::release(const std::string& uid) {
  auto held = bookings_.find(uid);
  if (held == bookings_.end()) return false;
  placed_.erase(uid);
  if (auto state = states_.find(held->second.node); state != states_.end())
    subtract_amounts(state->second.used, held->second.requests);
  bookings_.erase(held);
  return true;
}

void Scheduler::retry_waiting() {
  std::set<kube::ObjectKey> again;
  {
    std::lock_guard lock(mutex_);
    again.swap(waiting_);
  }
  for (const kube::ObjectKey& key : again) controller_->enqueue(key);
}

}  // namespace kueue::standins
