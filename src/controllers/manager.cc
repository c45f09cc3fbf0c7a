#include "controllers/manager.h"

#include "controllers/runtime.h"

namespace kueue::controllers {

Manager::Manager(ManagerDeps deps) : runtime_(std::make_unique<Runtime>(std::move(deps))) {}
Manager::~Manager() { stop(); }

void Manager::start() { runtime_->start(); }
void Manager::stop() { runtime_->stop(); }
bool Manager::ready() const { return runtime_->ready(); }
bool Manager::leading() const { return runtime_->leading; }
bool Manager::idle() const { return runtime_->idle(); }
metrics::Metrics& Manager::metrics() { return runtime_->metrics; }
std::string Manager::metrics_text() { return runtime_->metrics.registry.expose(); }

}  // namespace kueue::controllers
