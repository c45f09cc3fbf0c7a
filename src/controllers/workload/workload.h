// WorkloadReconciler: what a Workload's status owes to its own spec, its queues, its checks and the
// time. behaviour 14.
//
// One pass decides everything from one object and writes at most one status (and, apart from it,
// the list of checks).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bridge/workload_status.h"
#include "controllers/context.h"
#include "controllers/stores.h"
#include "controllers/workload/status_writer.h"
#include "kube/controller.h"

namespace kueue::controllers {

class WorkloadReconciler {
 public:
  // `enqueue` asks for a pass over another Workload.
  explicit WorkloadReconciler(Context& context,
                              std::function<void(const kube::ObjectKey&)> enqueue = {});
  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& key);

 private:
  struct Eviction {
    std::string reason;
    std::string cause;
    std::string message;
  };
  // What follows from a status once it is written.
  struct Outcome {
    std::optional<Eviction> evicted;  // of a workload that had a reservation
    bool admitted = false;
    std::vector<bridge::WorkloadEvent> events;
    std::optional<Duration> look_again;

    void within(Duration delay) {
      if (!look_again.has_value() || delay < *look_again) look_again = delay;
    }
  };
  struct Queues {
    std::shared_ptr<const v1beta2::LocalQueue> local;
    std::shared_ptr<const v1beta2::ClusterQueue> cluster;
    std::string cluster_name;
    bool cluster_active = false;
  };
  struct Blocker {
    std::string reason;
    std::string legacy;
    std::string message;
  };

  Result<bool> handle_orphan(const v1beta2::Workload& workload);
  Result<kube::ReconcileResult> handle_finished(const v1beta2::Workload& workload);
  Result<void> deactivate(const v1beta2::Workload& workload);
  // True when something was written.
  Result<bool> sync_checks(const v1beta2::Workload& workload);

  Queues queues_of(const v1beta2::Workload& workload) const;
  // The steps of a pass; each changes `workload`, says whether it did, and adds to `outcome`. The
  // first that decides something ends the pass: what follows from it is decided when it is written.
  bool decide(v1beta2::Workload& workload, Outcome& outcome) const;
  bool sync_requeued(v1beta2::Workload& workload, const Queues& queues) const;
  bool wait_for_backoff(v1beta2::Workload& workload, Outcome& outcome, bool& waiting) const;
  bool sync_preemption_gates(v1beta2::Workload& workload) const;
  // Our own conditions about terminations that take too long (config/extensions.h).
  bool sync_termination(v1beta2::Workload& workload, Outcome& outcome) const;
  std::string overdue_victims(const v1beta2::Workload& workload) const;
  bool sync_inactive(v1beta2::Workload& workload, Outcome& outcome) const;
  bool sync_pending(v1beta2::Workload& workload, const Queues& queues, Outcome& outcome) const;
  bool sync_reserved(v1beta2::Workload& workload, const Queues& queues, Outcome& outcome) const;
  bool evict_for_checks(v1beta2::Workload& workload, Outcome& outcome) const;
  bool evict_for_queues(v1beta2::Workload& workload, const Queues& queues, Outcome& outcome) const;
  bool evict_for_pods(v1beta2::Workload& workload, Outcome& outcome) const;
  bool limit_execution(v1beta2::Workload& workload, Outcome& outcome) const;
  void evict(v1beta2::Workload& workload, Eviction eviction, Outcome& outcome) const;
  std::optional<Blocker> blocker_of(const v1beta2::Workload& workload, const Queues& queues) const;
  void follow_up(const v1beta2::Workload& before, const v1beta2::Workload& after,
                 const Outcome& outcome) const;

  bridge::StatusContext status_context() const { return {context_.now(), &context_.gates()}; }

  Context& context_;
  kube::EventRecorder recorder_;
  std::function<void(const kube::ObjectKey&)> enqueue_;
};

// The victim's Preempted condition names that preemptor.
bool preempted_for(const v1beta2::Workload& victim, const v1beta2::Workload& preemptor);

// min(base * 2^(n-1), max) for the n-th time.
Duration requeue_backoff(int32_t base_seconds, int32_t max_seconds, int32_t n);
// The same, longer by up to a ten thousandth, so that those that failed together do not come back
// in one moment; never above max. What is added follows from uid and n: the same each time.
Duration jittered_backoff(int32_t base_seconds, int32_t max_seconds, int32_t n,
                          std::string_view uid);

}  // namespace kueue::controllers
