#include "standins/job_controller.h"

namespace kueue::standins {

namespace {

constexpr int kConcurrency = 4;
constexpr std::string_view kByOwner = "owner";
// Changes of Pods are gathered for this long, as the real controller does: Pods that end together
// are counted in one write.
constexpr Duration kPodBatch = Duration::seconds(1);

kube::ObjectReference reference(const json::Value& job) {
  kube::ObjectKey key = key_of(job);
  return {"batch/v1", "Job",       key.namespace_,
          key.name,   uid_of(job), std::string(job.get_string({"metadata", "resourceVersion"}))};
}

bool gone(const Error& error) { return error.code == ErrorCode::kNotFound; }

}  // namespace

JobController::JobController(std::shared_ptr<wire::Transport> transport, kube::Executor& executor)
    : client_(std::make_shared<kube::Client>(std::move(transport), "kube-controller-manager")),
      sink_(std::make_shared<kube::EventSink>(client_, executor, "")),
      recorder_(sink_, "job-controller", /*by_note=*/true),
      clock_(executor.clock()),
      jobs_(make_informer(client_, executor, jobs())),
      pods_(make_informer(client_, executor, pods())) {
  kube::ControllerOptions options;
  options.name = "job-controller";
  options.concurrency = kConcurrency;
  controller_ = std::make_unique<kube::Controller>(
      executor, std::move(options), [this](const kube::ObjectKey& key) { return reconcile(key); });
  jobs_->add_handler([this](const DocumentPtr& old, const DocumentPtr& now) {
    controller_->enqueue(key_of((now ? now : old)->json));
    if (now) return;
    std::lock_guard lock(mutex_);
    backoffs_.erase(uid_of(old->json));
  });
  pods_->add_index(std::string(kByOwner), [](const Document& pod) {
    std::string owner = controller_uid(pod.json);
    return owner.empty() ? std::vector<std::string>() : std::vector<std::string>{owner};
  });
  pods_->add_handler([this](const DocumentPtr& old, const DocumentPtr& now) {
    const json::Value& pod = (now ? now : old)->json;
    const json::Value* owners = pod.find_path({"metadata", "ownerReferences"});
    if (owners == nullptr || !owners->is_array()) return;
    for (const json::Value& owner : owners->as_array())
      if (owner.get_bool({"controller"}) && owner.get_string({"kind"}) == "Job")
        controller_->enqueue_after(
            {key_of(pod).namespace_, std::string(owner.get_string({"name"}))}, kPodBatch);
  });
}

JobController::~JobController() { stop(); }

void JobController::start() {
  jobs_->start();
  pods_->start();
  controller_->start();
}

void JobController::stop() {
  controller_->stop();
  jobs_->stop();
  pods_->stop();
  sink_->stop();
}

bool JobController::ready() const { return jobs_->has_synced() && pods_->has_synced(); }

Result<kube::ReconcileResult> JobController::reconcile(const kube::ObjectKey& key) {
  if (!ready()) return kube::ReconcileResult{Duration::millis(20)};
  DocumentPtr document = jobs_->get(key);
  std::vector<DocumentPtr> owned;
  if (document) owned = pods_->by_index(kByOwner, uid_of(document->json));
  if (!document || is_deleting(document->json)) {
    // The Pods of a Job that goes must not be kept by a finalizer of ours.
    std::vector<std::string> held;
    for (const DocumentPtr& pod : document ? owned : pods_->list(key.namespace_)) {
      bool ours = document || pod->json.get_string({"metadata", "labels",
                                                    "batch.kubernetes.io/job-name"}) == key.name;
      if (ours && has_finalizer(pod->json, kJobTrackingFinalizer) &&
          (is_deleting(pod->json) || !document))
        held.push_back(key_of(pod->json).name);
    }
    json::Value place = json::Value::object();
    place.at_path({"metadata", "namespace"}) = key.namespace_;
    KUEUE_TRY(release_pods(place, held));
    return kube::ReconcileResult{};
  }
  const json::Value& job = document->json;
  if (job.get_string({"spec", "managedBy"}, "kubernetes.io/job-controller") !=
      "kubernetes.io/job-controller")
    return kube::ReconcileResult{};
  std::vector<const json::Value*> pods;
  for (const DocumentPtr& pod : owned) pods.push_back(&pod->json);
  JobPlan plan;
  {
    std::lock_guard lock(mutex_);
    plan = plan_job(job, pods, clock_.now(), backoffs_[uid_of(job)]);
  }
  KUEUE_TRY(carry_out(job, plan));
  return kube::ReconcileResult{plan.look_again};
}

Result<void> JobController::carry_out(const json::Value& job, const JobPlan& plan) {
  if (plan.delete_job) {
    kube::DeleteOptions options;
    options.propagation = "Background";
    options.uid_precondition = uid_of(job);
    Result<json::Value> removed = client_->remove(jobs(), key_of(job), options);
    if (!removed.ok() && !gone(removed.error())) return std::move(removed).error();
    return {};
  }
  KUEUE_TRY(write_status(job, plan));
  KUEUE_TRY(release_pods(job, plan.release));
  if (!plan.release.empty()) controller_->enqueue(key_of(job));  // count them
  KUEUE_TRY(remove_pods(job, plan));
  return create_pods(job, plan);
}

Result<void> JobController::write_status(const json::Value& job, const JobPlan& plan) {
  if (!plan.status_changed) return {};
  json::Value changed = job;
  changed["status"] = plan.status;
  kube::WriteOptions options;
  options.subresource = "status";
  Result<json::Value> written = client_->update(jobs(), changed, options);
  if (!written.ok()) {
    if (gone(written.error())) return {};
    return std::move(written).error();
  }
  jobs_->absorb(*written);
  for (const JobEvent& event : plan.events)
    recorder_.emit(reference(job),
                   event.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
                   event.reason, event.reason, event.note);
  return {};
}

Result<void> JobController::create_pods(const json::Value& job, const JobPlan& plan) {
  for (const std::optional<int64_t>& index : plan.create) {
    auto failures = plan.index_failures.find(index.value_or(-1));
    Result<json::Value> created = client_->create(
        pods(), key_of(job).namespace_,
        make_job_pod(job, index, failures == plan.index_failures.end() ? 0 : failures->second));
    if (!created.ok()) {
      if (!created.error().transient())
        recorder_.warning(reference(job), "FailedCreate",
                          "Error creating: " + created.error().message);
      return std::move(created).error();
    }
    pods_->absorb(*created);
    recorder_.normal(reference(job), "SuccessfulCreate", "Created pod: " + key_of(*created).name);
  }
  return {};
}

Result<void> JobController::remove_pods(const json::Value& job, const JobPlan& plan) {
  for (const auto& [name, release_first] : plan.remove) {
    if (release_first) KUEUE_TRY(release_pods(job, {name}));
    Result<json::Value> removed = client_->remove(pods(), {key_of(job).namespace_, name});
    if (!removed.ok()) {
      if (gone(removed.error())) continue;
      return std::move(removed).error();
    }
    recorder_.normal(reference(job), "SuccessfulDelete", "Deleted pod: " + name);
  }
  return {};
}

Result<void> JobController::release_pods(const json::Value& job,
                                         const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    kube::ObjectKey key{key_of(job).namespace_, name};
    DocumentPtr pod = pods_->get(key);
    if (!pod || !has_finalizer(pod->json, kJobTrackingFinalizer)) continue;
    json::Array left;
    for (const json::Value& each : pod->json.find_path({"metadata", "finalizers"})->as_array())
      if (each.string_or("") != kJobTrackingFinalizer) left.push_back(each);
    json::Value patch;
    patch.at_path({"metadata", "uid"}) = uid_of(pod->json);
    patch.at_path({"metadata", "resourceVersion"}) =
        pod->json.get_string({"metadata", "resourceVersion"});
    patch.at_path({"metadata", "finalizers"}) = left.empty() ? json::Value() : std::move(left);
    Result<json::Value> written = client_->patch(pods(), key, kube::PatchType::kMerge, patch);
    if (!written.ok()) {
      if (gone(written.error())) continue;
      return std::move(written).error();
    }
    pods_->absorb(*written);
  }
  return {};
}

}  // namespace kueue::standins
