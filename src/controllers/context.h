// Context: what every controller of one manager shares. Owned by the Runtime; the parts are thread
// safe.
#pragma once

#include <atomic>
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
class WorkloadTally;

// The options in force. When they are loaded again, others take their place; none is freed while
// the manager lives, so what refers into them stays good. Two looks may see different ones.
class OptionsInForce {
 public:
  OptionsInForce(const Options* first) : now_(first) {}  // NOLINT: implicit by intent
  const Options* operator->() const { return now_.load(std::memory_order_acquire); }
  const Options& operator*() const { return *operator->(); }
  void replace(const Options* next) { now_.store(next, std::memory_order_release); }

 private:
  std::atomic<const Options*> now_;
};

struct Context {
  std::shared_ptr<kube::Client> client;
  kube::Executor* executor = nullptr;
  OptionsInForce options = nullptr;
  metrics::Metrics* metrics = nullptr;
  Stores* stores = nullptr;
  Admission* admission = nullptr;
  Journal* journal = nullptr;
  WorkloadTally* tally = nullptr;
  std::shared_ptr<kube::EventSink> events;
  std::function<void(std::string)> log;

  Instant now() const { return executor->clock().now(); }
  const FeatureGates& gates() const { return options->gates; }
  kube::EventRecorder recorder(std::string controller) const {
    return {events, std::move(controller), /*by_note=*/true};
  }
};

}  // namespace kueue::controllers
