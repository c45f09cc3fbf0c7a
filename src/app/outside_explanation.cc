#include "app/outside_explanation.h"

#include <poll.h>

#include <mutex>

#include "app/connect.h"
#include "app/manager_setup.h"
#include "controllers/journal/explanation.h"
#include "controllers/manager.h"
#include "controllers/runtime.h"
#include "kube/client.h"
#include "kube/executor.h"

namespace kueue::app {

Result<json::Value> explain_from_outside(const kube::ClientConfig& cluster,
                                         const std::string& namespace_, const std::string& name) {
  KUEUE_ASSIGN(ManagerSetup setup, load_manager_setup({}));
  KUEUE_ASSIGN(auto transport, connect(cluster));
  kube::ThreadExecutor executor(2);
  std::mutex mutex;
  std::string trouble;
  controllers::ManagerDeps deps;
  deps.client = std::make_shared<kube::Client>(std::move(transport), "kueue-explain");
  deps.executor = &executor;
  deps.options = std::move(setup.options);
  deps.options.controllers.emplace();
  deps.options.scheduler = false;
  deps.options.frameworks.clear();
  deps.log = [&](const std::string& line) {
    std::lock_guard lock(mutex);
    trouble = line;
  };
  Result<json::Value> out =
      make_error(ErrorCode::kTimeout, "the objects could not be read within 30 seconds");
  {
    controllers::Manager manager(std::move(deps));
    manager.start();
    for (int waited_ms = 0; !manager.ready() && waited_ms < 30'000; waited_ms += 5)
      poll(nullptr, 0, 5);
    if (manager.ready()) {
      auto found = controllers::explain_workload(manager.runtime().context, {namespace_, name});
      if (found.has_value()) {
        found->as_object().erase("historySince");
        out = *std::move(found);
      } else {
        out =
            make_error(ErrorCode::kNotFound, "workloads.kueue.x-k8s.io \"" + name + "\" not found");
      }
    }
    manager.stop();
  }
  executor.stop();
  std::lock_guard lock(mutex);
  if (!out.ok() && out.error().code == ErrorCode::kTimeout && !trouble.empty()) {
    Error error = out.error();
    error.message += ": " + trouble;
    return error;
  }
  return out;
}

}  // namespace kueue::app
