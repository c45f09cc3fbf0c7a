// The scheduler stand-in: binds Pods that name no node to one where they fit. Thread safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "kube/controller.h"
#include "kube/event_recorder.h"
#include "standins/documents.h"
#include "standins/placement.h"

namespace kueue::standins {

class Scheduler {
 public:
  Scheduler(std::shared_ptr<wire::Transport> transport, kube::Executor& executor);
  ~Scheduler();
  void start();
  void stop();
  bool ready() const;

 private:
  struct Booking {
    std::string node;
    Amounts requests;
  };

  void on_node(const DocumentPtr& old, const DocumentPtr& now);
  void on_pod(const DocumentPtr& old, const DocumentPtr& now);
  Result<kube::ReconcileResult> schedule(const kube::ObjectKey& key);
  Result<void> bind(const json::Value& pod, const std::string& node);
  Result<void> report_unschedulable(const json::Value& pod, const std::string& why);
  // True when something was free again.
  bool book(const json::Value& pod, const std::string& node, Amounts requests);
  bool release(const std::string& uid);
  void retry_waiting();

  std::shared_ptr<kube::Client> client_;
  std::shared_ptr<kube::EventSink> sink_;
  kube::EventRecorder recorder_;
  const Clock& clock_;
  std::unique_ptr<DocumentInformer> pods_;
  std::unique_ptr<DocumentInformer> nodes_;
  std::mutex mutex_;
  std::map<std::string, NodeState> states_;  // by node name
  std::map<std::string, Booking> bookings_;  // by Pod uid; also of nodes not known yet
  std::map<std::string, PlacedPod> placed_;  // the same Pods
  std::set<kube::ObjectKey> waiting_;        // found no node when they were last looked at
  std::unique_ptr<kube::Controller> controller_;
};

}  // namespace kueue::standins
