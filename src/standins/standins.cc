#include "standins/standins.h"

#include <atomic>

#include "standins/job_controller.h"
#include "standins/kubelet.h"
#include "standins/nodes.h"
#include "standins/scheduler.h"

namespace kueue::standins {

Result<void> choose(std::string_view list, Options& options) {
  bool all = list == "all";
  options.scheduler = options.kubelet = options.job_controller = all;
  if (all || list == "none" || list.empty()) return {};
  while (!list.empty()) {
    std::string_view word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    if (word == "scheduler") {
      options.scheduler = true;
    } else if (word == "kubelet") {
      options.kubelet = true;
    } else if (word == "job-controller") {
      options.job_controller = true;
    } else {
      return make_error(ErrorCode::kInvalid,
                        "--stand-ins: \"" + std::string(word) +
                            "\" is none of scheduler, kubelet, job-controller");
    }
  }
  return {};
}

struct StandIns::Parts {
  std::shared_ptr<wire::Transport> transport;
  kube::Executor& executor;
  Options options;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Kubelet> kubelet;
  std::unique_ptr<JobController> job_controller;
};

StandIns::StandIns(std::shared_ptr<wire::Transport> transport, kube::Executor& executor,
                   Options options)
    : parts_(new Parts{std::move(transport), executor, std::move(options), {}, {}, {}}) {}

StandIns::~StandIns() { stop(); }

Result<void> StandIns::start() {
  KUEUE_ASSIGN(std::vector<json::Value> wanted,
               parse_nodes(parts_->options.nodes, parts_->executor.clock().now()));
  kube::Client client(parts_->transport, "kubelet");
  for (const json::Value& node : wanted) {
    Result<json::Value> created = client.create(nodes(), "", node);
    if (!created.ok() && created.error().code != ErrorCode::kAlreadyExists)
      return std::move(created).error();
  }
  if (parts_->options.scheduler) {
    parts_->scheduler = std::make_unique<Scheduler>(parts_->transport, parts_->executor);
    parts_->scheduler->start();
  }
  if (parts_->options.kubelet) {
    parts_->kubelet = std::make_unique<Kubelet>(parts_->transport, parts_->executor);
    parts_->kubelet->start();
  }
  if (parts_->options.job_controller) {
    parts_->job_controller = std::make_unique<JobController>(parts_->transport, parts_->executor);
    parts_->job_controller->start();
  }
  return {};
}

void StandIns::stop() {
  parts_->job_controller.reset();
  parts_->kubelet.reset();
  parts_->scheduler.reset();
}

bool StandIns::ready() const {
  return (!parts_->scheduler || parts_->scheduler->ready()) &&
         (!parts_->kubelet || parts_->kubelet->ready()) &&
         (!parts_->job_controller || parts_->job_controller->ready());
}

}  // namespace kueue::standins
