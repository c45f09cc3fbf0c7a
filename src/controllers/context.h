// Context: what every controller of one manager shares. Owned by the Runtime; the parts are thread
// safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "controllers/metrics/metrics.h"
#include "controllers/options.h"
#include "kube/client.h"
#include "kube/event_recorder.h"
#include "kube/executor.h"

namespace kueue::controllers {

struct Stores;
class Admission;
class Journal;

struct Context {
  std::shared_ptr<kube::Client> client;
  kube::Executor* executor = nullptr;
  const Options* options = nullptr;
  metrics::Metrics* metrics = nullptr;
  Stores* stores = nullptr;
  Admission* admission = nullptr;
  Journal* journal = nullptr;
  std::shared_ptr<kube::EventSink> events;
  std::function<void(std::string)> log;

  Instant now() const { return executor->clock().now(); }
  const FeatureGates& gates() const { return options->gates; }
  kube::EventRecorder recorder(std::string controller) const {
    return {events, std::move(controller), /*by_note=*/true};
  }
};

}  // namespace kueue::controllers
