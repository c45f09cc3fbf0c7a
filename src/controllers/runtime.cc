#include "controllers/runtime.h"

#include <algorithm>

#include "controllers/cluster_queue/cluster_queue.h"
#include "controllers/cohort/cohort.h"
#include "controllers/in_use.h"
#include "controllers/jobs/batch_job/batch_job.h"
#include "controllers/journal/recorder.h"
#include "controllers/local_queue/local_queue.h"
#include "controllers/metrics/custom_labels.h"
#include "controllers/metrics/record.h"
#include "controllers/names.h"
#include "controllers/priority_class/priority_class.h"
#include "controllers/workload/conditions.h"
#include "controllers/workload/workload.h"

namespace kueue::controllers {
namespace {

constexpr Duration kSyncPoll = Duration::millis(10);
// Counts change in bursts; one status write for each burst is enough.
constexpr Duration kStatusDelay = Duration::millis(20);

template <typename T>
kube::ObjectKey key_of(const std::shared_ptr<const T>& old, const std::shared_ptr<const T>& now) {
  const api::meta::ObjectMeta& meta = (now != nullptr ? now : old)->metadata;
  return {meta.namespace_, meta.name};
}

// The object came, went, was marked for deletion or has another spec.
template <typename T>
bool spec_changed(const std::shared_ptr<const T>& old, const std::shared_ptr<const T>& now) {
  if (old == nullptr || now == nullptr) return true;
  return old->metadata.generation != now->metadata.generation ||
         old->metadata.deletion_timestamp.has_value() !=
             now->metadata.deletion_timestamp.has_value();
}

bool active_changed(const v1beta2::ClusterQueue& old, const v1beta2::ClusterQueue& now) {
  const auto* before = find_condition(old.status.conditions, kActive);
  const auto* after = find_condition(now.status.conditions, kActive);
  return (before == nullptr ? "" : before->status) != (after == nullptr ? "" : after->status);
}

bool stopped(const v1beta2::LocalQueue& queue) {
  return !queue.spec.stop_policy.empty() && queue.spec.stop_policy != "None";
}

}  // namespace

Runtime::Runtime(ManagerDeps given)
    : deps(std::move(given)),
      events(std::make_shared<kube::EventSink>(deps.client, *deps.executor, deps.instance)),
      stores(deps.client, *deps.executor, deps.options.topology_nodes),
      context{.client = deps.client,
              .executor = deps.executor,
              .options = &deps.options,
              .metrics = &metrics,
              .stores = &stores,
              .admission = nullptr,
              .journal = &journal,
              .events = events,
              .log = deps.log},
      admission(context),
      tally(context) {
  context.admission = &admission;
  context.tally = &tally;
  metrics.registry.exempt_from_constant_labels("kueue_build_info");
  metrics.registry.set_constant_label("replica_role",
                                      deps.leader_election.has_value() ? "follower" : "standalone");
  make_core_controllers();
  make_job_controllers();
  make_elastic_ungater();
  make_failure_recovery();
  // Before the controllers hear of a change the engine knows it.
  admission.on_cluster_queue = [this](const std::string& name) { cluster_queue_changed(name); };
  admission.on_local_queue = [this](const engine::Key& key) {
    if (local_queues_) local_queues_->enqueue_after({key.namespace_, key.name}, kStatusDelay);
  };
  admission.attach();
  choose_local_queue_metrics();
  connect_custom_labels();
  connect_queues();
  connect_workloads();
  connect_small_kinds();
  for (kube::InformerCore* informer : stores.all()) {
    informer->set_on_error([this](const Error& error) {
      if (deps.log) deps.log("cache: " + error.message);
    });
  }
}

Runtime::~Runtime() { stop(); }

std::unique_ptr<kube::Controller> Runtime::controller(const char* name, const char* group_kind,
                                                      kube::Reconcile reconcile) {
  kube::ControllerOptions options;
  options.name = name;
  auto threads = deps.options.group_kind_concurrency.find(group_kind);
  if (threads != deps.options.group_kind_concurrency.end())
    options.concurrency = std::max(1, threads->second);
  options.on_error = [this](const std::string& who, const kube::ObjectKey& key,
                            const Error& error) {
    if (deps.log) deps.log(who + ": " + key.to_string() + ": " + error.message);
  };
  auto made = std::make_unique<kube::Controller>(*deps.executor, options, std::move(reconcile));
  all_.push_back(made.get());
  return made;
}

void Runtime::make_core_controllers() {
  const Options& options = deps.options;
  if (options.runs("workload_controller")) {
    auto reconciler = std::make_shared<WorkloadReconciler>(
        context, [this](const kube::ObjectKey& key) { workloads_->enqueue(key); });
    workloads_ = controller("workload", "Workload.kueue.x-k8s.io",
                            [reconciler](const auto& key) { return reconciler->reconcile(key); });
  }
  if (options.runs("clusterqueue_controller")) {
    auto reconciler = std::make_shared<ClusterQueueReconciler>(context);
    cluster_queues_ =
        controller("clusterqueue", "ClusterQueue.kueue.x-k8s.io",
                   [reconciler](const auto& key) { return reconciler->reconcile(key); });
  }
  if (options.runs("localqueue_controller")) {
    auto reconciler = std::make_shared<LocalQueueReconciler>(context);
    local_queues_ =
        controller("localqueue", "LocalQueue.kueue.x-k8s.io",
                   [reconciler](const auto& key) { return reconciler->reconcile(key); });
  }
  if (options.runs("cohort_controller")) {
    auto reconciler = std::make_shared<CohortReconciler>(context);
    cohorts_ = controller("cohort", "Cohort.kueue.x-k8s.io",
                          [reconciler](const auto& key) { return reconciler->reconcile(key); });
  }
  if (options.runs("workloadpriorityclass_controller")) {
    auto reconciler = std::make_shared<PriorityClassReconciler>(context);
    priority_classes_ =
        controller("workloadpriorityclass", "WorkloadPriorityClass.kueue.x-k8s.io",
                   [reconciler](const auto& key) { return reconciler->reconcile(key); });
  }
  const auto metadata = [](auto type) {
    using T = decltype(type);
    return [](const void* object) -> const api::meta::ObjectMeta& {
      return static_cast<const T*>(object)->metadata;
    };
  };
  if (options.runs("resourceflavor_controller"))
    flavors_ = controller(
        "resourceflavor", "ResourceFlavor.kueue.x-k8s.io",
        keep_while_used(context, stores.flavors.core(), metadata(v1beta2::ResourceFlavor()),
                        [](const engine::State& state, const std::string& name) {
                          return state.flavor_in_use(name);
                        }));
  if (options.runs("admissioncheck_controller"))
    checks_ = controller(
        "admissioncheck", "AdmissionCheck.kueue.x-k8s.io",
        keep_while_used(context, stores.checks.core(), metadata(v1beta2::AdmissionCheck()),
                        [](const engine::State& state, const std::string& name) {
                          return state.check_in_use(name);
                        }));
  if (options.runs("tas_topology_controller"))
    topologies_ =
        controller("topology", "Topology.kueue.x-k8s.io",
                   keep_while_used(context, stores.topologies.core(), metadata(v1beta2::Topology()),
                                   [](const engine::State& state, const std::string& name) {
                                     return state.topology_in_use(name);
                                   }));
}

void Runtime::make_job_controllers() {
  kinds.push_back(jobs::make_batch_job_kind(deps.client, *deps.executor, deps.options.gates));
  std::erase_if(kinds, [this](const auto& kind) {
    return !deps.options.runs(kind->controller()) ||
           !deps.options.frameworks.contains(kind->framework());
  });
  for (const auto& kind : kinds) {
    JobController job;
    job.kind = kind.get();
    job.reconciler = std::make_unique<jobs::JobReconciler>(context, *kind, kinds);
    jobs::JobReconciler* reconciler = job.reconciler.get();
    const std::string group_kind = kind->resource().kind + "." + kind->resource().group;
    job.controller =
        controller(std::string(kind->controller()).c_str(), group_kind.c_str(),
                   [reconciler](const kube::ObjectKey& key) { return reconciler->reconcile(key); });
    kube::Controller* queue = job.controller.get();
    kind->watch([queue](const kube::ObjectKey& key) { queue->enqueue(key); });
    jobs_.push_back(std::move(job));
  }
}

void Runtime::make_elastic_ungater() {
  using jobs::ElasticUngater;
  if (!deps.options.gates.on(Gate::kElasticJobsViaWorkloadSlices) ||
      !deps.options.runs(ElasticUngater::kController))
    return;
  elastic_ungater_ = std::make_unique<ElasticUngater>(context);
  elastic_pods_ = controller(ElasticUngater::kController.data(), "Pod",
                             [this](const auto& key) { return elastic_ungater_->reconcile(key); });
  const auto follow = [this](const auto& old, const auto& now) {
    if (const auto chain = ElasticUngater::chain_of(*(now != nullptr ? now : old)))
      elastic_pods_->enqueue(*chain);
  };
  elastic_ungater_->pods().add_handler(follow);
  stores.workloads.add_handler(follow);
  pods_.push_back(&elastic_ungater_->pods().core());
}

void Runtime::make_failure_recovery() {
  if (!deps.options.gates.on(Gate::kFailureRecoveryPolicy) ||
      !deps.options.runs("pod_termination_controller"))
    return;
  failure_recovery_ = std::make_unique<FailureRecovery>(context);
  terminating_pods_ = controller("pod_termination_controller", "Pod", [this](const auto& key) {
    return failure_recovery_->reconcile(key);
  });
  failure_recovery_->pods().add_handler([this](const auto& old, const auto& now) {
    if (now != nullptr && FailureRecovery::concerns(*now) &&
        (old == nullptr || !FailureRecovery::concerns(*old)))
      terminating_pods_->enqueue(key_of(old, now));
  });
  pods_.push_back(&failure_recovery_->pods().core());
}

// metrics.localQueueMetrics: which LocalQueues have series.
void Runtime::choose_local_queue_metrics() {
  if (!deps.options.local_queue_metrics) metrics.registry.mute_all(metrics::Scope::kLocalQueue);
  if (!deps.options.local_queue_selector.has_value()) return;
  stores.local_queues.add_handler([this](const auto& old, const auto& now) {
    const kube::ObjectKey key = key_of(old, now);
    const auto& labels = (now != nullptr ? now : old)->metadata.labels;
    const wire::LabelMap pairs{labels.begin(), labels.end()};
    metrics.registry.mute(metrics::Scope::kLocalQueue, key.namespace_ + "/" + key.name,
                          now != nullptr && !deps.options.local_queue_selector->matches(pairs));
  });
}

void Runtime::connect_queues() {
  stores.cluster_queues.add_handler([this](const auto& old, const auto& now) {
    const kube::ObjectKey key = key_of(old, now);
    if (cluster_queues_) cluster_queues_->enqueue(key);
    const bool spec = spec_changed(old, now);
    if (old == nullptr || now == nullptr) tally.report_again(key.name);
    if (spec || active_changed(*old, *now)) {
      cluster_queue_changed(key.name);
      enqueue_workloads_of(key.name);
    }
    if (spec) enqueue_released();
    if (cohorts_ && spec) {
      for (const auto& side : {old, now})
        if (side != nullptr) enqueue_cohorts(side->spec.cohort_name);
    }
  });
  stores.local_queues.add_handler([this](const auto& old, const auto& now) {
    const kube::ObjectKey key = key_of(old, now);
    if (spec_changed(old, now)) {
      // A queue that is stopped starts its counters anew.
      if (old != nullptr && now != nullptr && !stopped(*old) && stopped(*now)) {
        metrics.forget_local_queue(key.namespace_, key.name);
        tally.report_again(key);
      }
      tally.update_queue(key);
      if (old == nullptr || now == nullptr) tally.report_again(key);
      enqueue_workloads_of_queue(key);
    }
    if (local_queues_) local_queues_->enqueue(key);
  });
  stores.cohorts.add_handler([this](const auto& old, const auto& now) {
    if (!cohorts_) return;
    cohorts_->enqueue(key_of(old, now));
    for (const auto& side : {old, now})
      if (side != nullptr) enqueue_cohorts(side->spec.parent_name);
  });
}

// A series with other values of such labels is another one: when they change, all about the object
// is dropped and told again.
void Runtime::connect_custom_labels() {
  if (deps.options.custom_labels.empty()) return;
  define_custom_labels(deps.options, metrics.registry);
  widen_for_workload_labels(deps.options, metrics);
  const auto follow = [this](auto& informer, metrics::Scope scope, auto forget) {
    informer.add_handler([this, scope, forget](const auto& old, const auto& now) {
      const kube::ObjectKey key = key_of(old, now);
      const std::string object =
          scope == metrics::Scope::kLocalQueue ? key.namespace_ + "/" + key.name : key.name;
      if (now == nullptr) {
        metrics.registry.erase_custom_labels(scope, object);
        return;
      }
      auto values = custom_label_values(deps.options, scope, now->metadata);
      if (metrics.registry.set_custom_labels(scope, object, std::move(values))) forget(key);
    });
  };
  follow(stores.cluster_queues, metrics::Scope::kClusterQueue, [this](const kube::ObjectKey& key) {
    metrics.forget_cluster_queue(key.name);
    tally.report_again(key.name);
    cluster_queue_changed(key.name);
  });
  follow(stores.local_queues, metrics::Scope::kLocalQueue, [this](const kube::ObjectKey& key) {
    metrics.forget_local_queue(key.namespace_, key.name);
    tally.report_again(key);
  });
  follow(stores.cohorts, metrics::Scope::kCohort,
         [this](const kube::ObjectKey& key) { metrics.forget_cohort(key.name); });
}

void Runtime::connect_workloads() {
  stores.workloads.add_handler([this](const auto& old, const auto& now) {
    const kube::ObjectKey key = key_of(old, now);
    tally.update(key);
    note_change(journal, old.get(), now.get(), context.now());
    if (old != nullptr && now != nullptr && counts_otherwise(deps.options, *old, *now)) {
      if (now->status.admission.has_value())
        cluster_queue_changed(now->status.admission->cluster_queue);
      const auto queue = stores.local_queues.get({key.namespace_, now->spec.queue_name});
      if (queue != nullptr) cluster_queue_changed(queue->spec.cluster_queue);
    }
    // Whoever finished it: seen once, in the order of the changes.
    if (old != nullptr && now != nullptr && !is_finished(*old) && is_finished(*now))
      record_finished(context, *now);
    if (workloads_) workloads_->enqueue(key);
    const auto* owner = controller_of((now != nullptr ? now : old)->metadata);
    if (owner == nullptr) return;
    for (const JobController& job : jobs_) {
      const kube::Resource& resource = job.kind->resource();
      if (owner->kind == resource.kind &&
          owner->api_version.substr(0, owner->api_version.find('/')) == resource.group)
        job.controller->enqueue({key.namespace_, owner->name});
    }
  });
}

void Runtime::connect_small_kinds() {
  const auto feed = [](auto& informer, kube::Controller* queue) {
    if (queue == nullptr) return;
    informer.add_handler(
        [queue](const auto& old, const auto& now) { queue->enqueue(key_of(old, now)); });
  };
  feed(stores.flavors, flavors_.get());
  feed(stores.checks, checks_.get());
  feed(stores.topologies, topologies_.get());
  feed(stores.workload_priority_classes, priority_classes_.get());
  stores.flavors.add_handler([this](const auto& old, const auto& now) {
    if (now == nullptr || old == nullptr) enqueue_released();  // its topology
  });
}

void Runtime::enqueue_cohorts(const std::string& lowest) {
  for (const std::string& cohort : cohorts_from(stores, lowest)) cohorts_->enqueue({"", cohort});
}

void Runtime::cluster_queue_changed(const std::string& name) {
  if (cluster_queues_) cluster_queues_->enqueue_after({"", name}, kStatusDelay);
  if (cohorts_)
    for (const std::string& cohort : cohort_path(stores, name))
      cohorts_->enqueue_after({"", cohort}, kStatusDelay);
  if (!local_queues_) return;
  for (const auto& queue : stores.local_queues.by_index(kByTarget, name))
    local_queues_->enqueue_after({queue->metadata.namespace_, queue->metadata.name}, kStatusDelay);
}

void Runtime::enqueue_workloads_of_queue(const kube::ObjectKey& local_queue) {
  if (!workloads_) return;
  for (const WorkloadPointer& workload :
       stores.workloads.by_index(kByQueue, local_queue.to_string()))
    if (!is_finished(*workload))
      workloads_->enqueue({workload->metadata.namespace_, workload->metadata.name});
}

void Runtime::enqueue_workloads_of(const std::string& cluster_queue) {
  if (!workloads_) return;
  for (const auto& queue : stores.local_queues.by_index(kByTarget, cluster_queue))
    enqueue_workloads_of_queue({queue->metadata.namespace_, queue->metadata.name});
  for (const WorkloadPointer& workload : stores.workloads.by_index(kByClusterQueue, cluster_queue))
    if (!is_finished(*workload))
      workloads_->enqueue({workload->metadata.namespace_, workload->metadata.name});
}

void Runtime::enqueue_released() {
  const auto deleted = [](auto& informer, kube::Controller* queue) {
    if (queue == nullptr) return;
    for (const auto& object : informer.list())
      if (object->metadata.deletion_timestamp.has_value())
        queue->enqueue({"", object->metadata.name});
  };
  deleted(stores.flavors, flavors_.get());
  deleted(stores.checks, checks_.get());
  deleted(stores.topologies, topologies_.get());
}

void Runtime::reload(const Options& given) {
  std::lock_guard lock(reload_mutex_);
  reloaded_.push_back(std::make_unique<const Options>(reloaded(*context.options, given)));
  context.options.replace(reloaded_.back().get());
  // Times that were waited for, and Jobs that were ignored, are others now.
  if (workloads_)
    for (const WorkloadPointer& workload : stores.workloads.list())
      workloads_->enqueue({workload->metadata.namespace_, workload->metadata.name});
  for (const JobController& job : jobs_)
    for (const kube::ObjectKey& key : job.kind->keys()) job.controller->enqueue(key);
}

void Runtime::start() {
  journal.begin(context.now());
  stores.start();
  for (const auto& kind : kinds) kind->store().start();
  for (kube::InformerCore* pods : pods_) pods->start();
  watch_for_sync();
}

void Runtime::watch_for_sync() {
  if (*stopped_) return;
  if (!ready()) {
    deps.executor->run_after(kSyncPoll, [this, stopped = stopped_] {
      if (!*stopped) watch_for_sync();
    });
    return;
  }
  if (!deps.leader_election.has_value()) {
    lead();
    return;
  }
  elector = std::make_unique<kube::LeaderElector>(
      deps.lease_client ? deps.lease_client : deps.client,
      deps.lease_executor ? *deps.lease_executor : *deps.executor, *deps.leader_election,
      [this] {
        metrics.set_role("leader");
        lead();
      },
      [this] {
        // What was stopped is not started again: the lease is for a process that works.
        elector->stop();
        leading = false;
        admission.stop();
        for (kube::Controller* each : all_) each->stop();
        if (deps.on_lost_lease) deps.on_lost_lease();
      });
  elector->start();
}

void Runtime::lead() {
  if (*stopped_) return;
  leading = true;
  for (kube::Controller* each : all_) each->start();
  if (deps.options.scheduler) admission.start();
}

void Runtime::stop() {
  if (stopped_->exchange(true)) return;
  if (elector) elector->stop();
  admission.stop();
  for (kube::Controller* each : all_) each->stop();
  for (const auto& kind : kinds) kind->store().stop();
  for (kube::InformerCore* pods : pods_) pods->stop();
  stores.stop();
  events->stop();
}

bool Runtime::ready() {
  if (synced_) return true;
  if (!stores.synced()) return false;
  for (const auto& kind : kinds)
    if (!kind->store().has_synced()) return false;
  for (const kube::InformerCore* pods : pods_)
    if (!pods->has_synced()) return false;
  synced_ = true;
  return true;
}

bool Runtime::idle() {
  if (!stores.idle() || !admission.idle() || !events->flushed()) return false;
  for (const auto& kind : kinds)
    if (!kind->store().idle()) return false;
  for (const kube::InformerCore* pods : pods_)
    if (!pods->idle()) return false;
  return std::all_of(all_.begin(), all_.end(), [](const kube::Controller* c) { return c->idle(); });
}

}  // namespace kueue::controllers
