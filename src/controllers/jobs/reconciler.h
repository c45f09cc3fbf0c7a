// JobReconciler: keeps one job and its Workload in step, for any kind behind JobKind. behaviour 15.
//
// Stateless but for small memories that only save writes and events. Each write is made from the
// newest object known and guarded by its resourceVersion; a conflict ends the pass, the next one
// starts from what is there then.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/context.h"
#include "controllers/jobs/job.h"
#include "controllers/stores.h"
#include "kube/controller.h"

namespace kueue::controllers::jobs {

class JobReconciler {
 public:
  // `kinds` are all that are managed, for jobs that belong to other jobs. They must outlive this.
  JobReconciler(Context& context, JobKind& kind,
                const std::vector<std::unique_ptr<JobKind>>& kinds);

  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& key);

  // How long the Workloads of a job that is gone are left to the garbage collector before they are
  // finished.
  void set_orphan_grace(Duration grace) { orphan_grace_ = grace; }

 private:
  using Next = Result<kube::ReconcileResult>;
  struct Matching {
    WorkloadPointer workload;  // null: there is none (yet)
    bool stop_pass = false;    // something was written that must be seen first
  };

  Next finalize(const kube::ObjectKey& key, const Job* job);
  // Workloads of a job that had this name before and is gone: nobody else lets go of them.
  Result<void> release_predecessors(const Job& job);
  Result<bool> managed_namespace(const std::string& name) const;
  // The topmost managed job that this one belongs to, by controller references; null when there is
  // none.
  std::unique_ptr<Job> ancestor_of(const Job& job) const;
  Next follow_ancestor(const Job& job, const Job& ancestor);
  Next retain_after_deactivation(const Job& job, const v1beta2::Workload& workload);

  // Finding the one Workload (ensure_workload.cc).
  Result<Matching> ensure_one_workload(const Job& job);
  Result<Matching> ensure_prebuilt(const Job& job, const std::string& name);
  bool equivalent(const Job& job, const std::vector<v1beta2::PodSet>& pod_sets,
                  const v1beta2::Workload& workload) const;
  Result<WorkloadPointer> update_to_match(const Job& job, std::vector<v1beta2::PodSet> pod_sets,
                                          const v1beta2::Workload& workload);
  Result<void> remove_workload(const Job& job, const v1beta2::Workload& workload);
  // `replaced` is the slice that it takes the place of, null = none.
  Result<void> create_workload(const Job& job, const v1beta2::Workload* replaced = nullptr);
  Result<v1beta2::Workload> construct_workload(const Job& job) const;
  struct Priority {
    int32_t value = 0;
    Boxed<v1beta2::PriorityClassRef> ref;
  };
  Result<Priority> priority_of(const Job& job, const std::vector<v1beta2::PodSet>& pod_sets) const;
  Result<WorkloadPointer> sync_priority_and_gates(const Job& job, WorkloadPointer workload);

  // The slices of an elastic job (slices.cc). `compatible` is false when there are none or their
  // pod sets are others: then its Workload is found as that of any job.
  Result<Matching> follow_slices(const Job& job, bool* compatible);
  Result<WorkloadPointer> scale_in_place(const v1beta2::Workload& slice,
                                         const std::vector<v1beta2::PodSet>& pod_sets);
  // The slice that holds the quota which this one waits to take over; null when there is none.
  WorkloadPointer replaced_holder(const Job& job, const v1beta2::Workload& workload) const;

  // Moving the job.
  Next steer(const Job& job, WorkloadPointer workload);
  // A Workload that holds no quota goes to the queue that its job names now.
  Result<void> follow_queue(const Job& job, const v1beta2::Workload& workload);
  Next after_eviction(const Job& job, const v1beta2::Workload& workload);
  Next start(const Job& job, const v1beta2::Workload& workload);
  // True when the job is stopped and nothing of it runs.
  Result<bool> stop(const Job& job, const v1beta2::Workload* workload, const std::string& message);
  // Brings the templates back to `original`.
  Result<bool> stop(const Job& job, const std::vector<PodSetInfo>& original,
                    const std::string& message);
  Result<void> write_job(const Job& job, const json::Value& target, bool status);
  // Looks at the job itself when the cache may be behind a write of ours.
  Result<void> settle_doubt(const kube::ObjectKey& key);
  void report_checks(const Job& job, const v1beta2::Workload& workload);

  // Writes to the Workload.
  Result<void> finish(const v1beta2::Workload& workload, std::string_view reason,
                      const std::string& message);
  Result<void> remove_finalizer(const v1beta2::Workload& workload);
  Result<WorkloadPointer> patch_workload(const v1beta2::Workload& workload, json::Value patch);
  // True when something was written.
  Result<bool> sync_pods_ready(const Job& job, const v1beta2::Workload& workload);
  Result<bool> sync_reclaimable(const Job& job, const v1beta2::Workload& workload);

  kube::ObjectReference reference(const Job& job) const;
  kube::ObjectKey key_of(const Job& job) const;
  std::string queue_name(const Job& job) const;
  WorkloadPointer newest(const v1beta2::Workload& workload) const;

  Context& context_;
  JobKind& kind_;
  const std::vector<std::unique_ptr<JobKind>>& kinds_;
  kube::EventRecorder recorder_;
  Duration orphan_grace_ = Duration::seconds(1);

  std::mutex mutex_;
  std::map<kube::ObjectKey, Instant> gone_since_;
  std::set<kube::ObjectKey> doubtful_;  // jobs whose last write may have been done, unheard
  std::map<std::string, std::string> reported_checks_;  // uid of the Workload -> text
};

}  // namespace kueue::controllers::jobs
