#include "apiserver/server.h"

#include "apiserver/core.h"

namespace kueue::apiserver {

Server::Server(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::open(Options options) {
  auto core = std::make_unique<Core>(std::move(options));
  KUEUE_TRY(core->open());
  return std::unique_ptr<Server>(new Server(std::move(core)));
}

void Server::handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  core_->handle(std::move(request), std::move(sink));
}

void Server::register_service(std::string_view namespace_, std::string_view name,
                              wire::Handler* handler) {
  core_->register_service(namespace_, name, handler);
}

void Server::register_converter(std::string_view group, std::string_view kind,
                                Converter converter) {
  core_->register_converter(group, kind, std::move(converter));
}

bool Server::work() { return core_->work(); }

void Server::stop() { core_->stop(); }

uint64_t Server::revision() const { return core_->store->revision(); }

}  // namespace kueue::apiserver
