// What the manager tells about itself under /debug, when pprofBindAddress is set: CPU profiles that
// pprof reads, threads, the state of its queues. Answers anybody who reaches the port, as Kueue
// does: bind it to loopback.
#pragma once

#include "controllers/manager.h"
#include "kube/executor.h"
#include "wire/http.h"

namespace kueue::app {

class DebugHandler final : public wire::Handler {
 public:
  // Both must outlive the handler.
  DebugHandler(controllers::Manager& manager, kube::Executor& executor)
      : manager_(manager), executor_(executor) {}
  // /debug/pprof/, /debug/pprof/cmdline, /debug/pprof/profile?seconds=N (30; at most 300),
  // /debug/threads, /debug/state.
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override;

 private:
  controllers::Manager& manager_;
  kube::Executor& executor_;
};

}  // namespace kueue::app
