// Runtime: the parts of a running Manager and who tells whom. Owned by the Manager.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "controllers/context.h"
#include "controllers/failure_recovery/failure_recovery.h"
#include "controllers/jobs/elastic_ungater.h"
#include "controllers/jobs/reconciler.h"
#include "controllers/journal/journal.h"
#include "controllers/manager.h"
#include "controllers/metrics/workload_tally.h"
#include "controllers/scheduler/admission.h"
#include "controllers/stores.h"
#include "kube/controller.h"

namespace kueue::controllers {

struct Runtime {
  explicit Runtime(ManagerDeps given);
  ~Runtime();

  void start();
  void stop();
  bool ready();
  bool idle();
  void reload(const Options& given);

  ManagerDeps deps;
  metrics::Metrics metrics;
  std::shared_ptr<kube::EventSink> events;
  Stores stores;
  Journal journal;
  Context context;
  Admission admission;
  WorkloadTally tally;
  std::vector<std::unique_ptr<jobs::JobKind>> kinds;
  std::unique_ptr<kube::LeaderElector> elector;
  std::atomic<bool> leading = false;

 private:
  struct JobController {
    jobs::JobKind* kind = nullptr;
    std::unique_ptr<jobs::JobReconciler> reconciler;
    std::unique_ptr<kube::Controller> controller;
  };

  void make_core_controllers();
  void make_job_controllers();
  void connect_queues();
  void connect_custom_labels();
  void make_elastic_ungater();
  void make_failure_recovery();
  void choose_local_queue_metrics();
  void connect_workloads();
  void connect_small_kinds();
  std::unique_ptr<kube::Controller> controller(const char* name, const char* group_kind,
                                               kube::Reconcile reconcile);
  void cluster_queue_changed(const std::string& name);
  void enqueue_cohorts(const std::string& lowest);  // it and all above it
  void enqueue_workloads_of(const std::string& cluster_queue);
  void enqueue_workloads_of_queue(const kube::ObjectKey& local_queue);
  void enqueue_released();  // deleted flavors, checks and topologies that may be free now
  void watch_for_sync();
  void lead();

  std::unique_ptr<kube::Controller> workloads_;
  std::unique_ptr<kube::Controller> cluster_queues_;
  std::unique_ptr<kube::Controller> local_queues_;
  std::unique_ptr<kube::Controller> cohorts_;
  std::unique_ptr<kube::Controller> flavors_;
  std::unique_ptr<kube::Controller> checks_;
  std::unique_ptr<kube::Controller> topologies_;
  std::unique_ptr<kube::Controller> priority_classes_;
  std::vector<JobController> jobs_;
  std::unique_ptr<jobs::ElasticUngater> elastic_ungater_;  // null: its gate is off
  std::unique_ptr<kube::Controller> elastic_pods_;
  std::unique_ptr<FailureRecovery> failure_recovery_;  // null: its gate is off
  std::unique_ptr<kube::Controller> terminating_pods_;
  std::vector<kube::InformerCore*> pods_;  // of those two
  std::vector<kube::Controller*> all_;
  std::mutex reload_mutex_;
  std::vector<std::unique_ptr<const Options>> reloaded_;  // all that were in force after the first
  std::atomic<bool> synced_ = false;
  std::shared_ptr<std::atomic<bool>> stopped_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace kueue::controllers
