// StandIns: what a playground needs in place of machines. Nodes that exist only as objects, a
// scheduler that binds Pods to them, a kubelet whose Pods run for as long as they say, and a Job
// controller. Each works only through the API, so they run over any server. Thread safe.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kube/executor.h"
#include "wire/http.h"

namespace kueue::standins {

struct Options {
  // "4x8cpu,32Gi" or "2x8cpu,32Gi,nvidia.com/gpu=8+1x64cpu,256Gi"; "" or "none" makes no Nodes.
  std::string nodes = {};
  bool scheduler = true;
  bool kubelet = true;
  bool job_controller = true;
};

// Sets the three switches from a list such as "scheduler,job-controller", "all" or "none". kInvalid
// names a word that is none of them.
Result<void> choose(std::string_view list, Options& options);

class StandIns {
 public:
  StandIns(std::shared_ptr<wire::Transport> transport, kube::Executor& executor, Options options);
  ~StandIns();  // stop()

  // Creates the Nodes that are missing and starts watching. kInvalid for a bad nodes text; other
  // errors are the server's.
  Result<void> start();
  void stop();
  // Every watch has delivered its first list.
  bool ready() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace kueue::standins
