// The Job controller stand-in: carries out what job_plan.h decides. Leaves Jobs alone whose
// spec.managedBy names another controller. Thread safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kube/controller.h"
#include "kube/event_recorder.h"
#include "standins/documents.h"
#include "standins/job_plan.h"

namespace kueue::standins {

class JobController {
 public:
  JobController(std::shared_ptr<wire::Transport> transport, kube::Executor& executor);
  ~JobController();
  void start();
  void stop();
  bool ready() const;

 private:
  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& key);
  Result<void> carry_out(const json::Value& job, const JobPlan& plan);
  Result<void> write_status(const json::Value& job, const JobPlan& plan);
  Result<void> create_pods(const json::Value& job, const JobPlan& plan);
  Result<void> remove_pods(const json::Value& job, const JobPlan& plan);
  Result<void> release_pods(const json::Value& job, const std::vector<std::string>& names);

  std::shared_ptr<kube::Client> client_;
  std::shared_ptr<kube::EventSink> sink_;
  kube::EventRecorder recorder_;
  const Clock& clock_;
  std::unique_ptr<DocumentInformer> jobs_;
  std::unique_ptr<DocumentInformer> pods_;
  std::mutex mutex_;
  std::map<std::string, JobBackoff> backoffs_;  // by uid
  std::unique_ptr<kube::Controller> controller_;
};

}  // namespace kueue::standins
