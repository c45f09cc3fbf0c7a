#include "controllers/manager.h"

#include "bridge/snapshot_json.h"
#include "controllers/runtime.h"
#include "json/json.h"

namespace kueue::controllers {

Manager::Manager(ManagerDeps deps) : runtime_(std::make_unique<Runtime>(std::move(deps))) {}
Manager::~Manager() { stop(); }

void Manager::start() { runtime_->start(); }
void Manager::stop() { runtime_->stop(); }
bool Manager::ready() const { return runtime_->ready(); }
bool Manager::leading() const { return runtime_->leading; }
bool Manager::idle() const { return runtime_->idle(); }
void Manager::reload(const Options& given) { runtime_->reload(given); }
metrics::Metrics& Manager::metrics() { return runtime_->metrics; }
std::string Manager::metrics_text() { return runtime_->metrics.registry.expose(); }
std::string Manager::state_dump() {
  // Taken under the engine's lock, written outside of it.
  engine::Snapshot snapshot = runtime_->admission.ask(
      [](const engine::State& state) { return engine::take_snapshot(state); });
  const Instant now = runtime_->context.executor->clock().now();
  return json::write(bridge::dump(snapshot, {.now = now})) + "\n";
}

}  // namespace kueue::controllers
