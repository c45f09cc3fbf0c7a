// The kubelet stand-in, for all nodes: a bound Pod runs and is Ready at once, ends when it says
// (pod_life.h), and a deleted one ends and goes. No container is started. Thread safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kube/controller.h"
#include "standins/documents.h"

namespace kueue::standins {

class Kubelet {
 public:
  Kubelet(std::shared_ptr<wire::Transport> transport, kube::Executor& executor);
  ~Kubelet();
  void start();
  void stop();
  bool ready() const;

 private:
  Result<kube::ReconcileResult> reconcile(const kube::ObjectKey& key);
  Result<kube::ReconcileResult> run(const json::Value& pod);
  Result<kube::ReconcileResult> go_on(const json::Value& pod);
  Result<kube::ReconcileResult> take_away(const json::Value& pod);
  Result<void> write_status(const json::Value& pod, json::Value status);
  Instant started(const json::Value& pod);

  std::shared_ptr<kube::Client> client_;
  const Clock& clock_;
  std::unique_ptr<DocumentInformer> pods_;
  std::mutex mutex_;
  std::map<std::string, Instant> started_;  // by uid; finer than the seconds of status.startTime
  uint32_t next_address_ = 1;
  std::unique_ptr<kube::Controller> controller_;
};

// Status of a Pod whose containers run, and of one whose containers have ended. Pure; for tests
// too.
json::Value running_status(const json::Value& pod, const std::string& address, Instant now);
json::Value ended_status(const json::Value& pod, int exit_code, Instant now);
// The containers have failed and are started again (restartPolicy OnFailure).
json::Value restarted_status(const json::Value& pod, int exit_code, Instant now);

}  // namespace kueue::standins
