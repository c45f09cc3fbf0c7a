// Core: the parts of a Server and how they reach each other. Thread safe; parts guard themselves.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "apiserver/call.h"
#include "apiserver/catalog.h"
#include "apiserver/hub.h"
#include "apiserver/server.h"
#include "apiserver/store.h"
#include "apiserver/threads.h"

namespace kueue::apiserver {

class Collector;
class Namespaces;
class Crds;
class Admission;
class OpenApiDocuments;

class Core {
 public:
  explicit Core(Options options);
  ~Core();
  Result<void> open();
  void stop();
  // Server::work().
  bool work();

  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink);

  std::shared_ptr<const Catalog> catalog() const;
  void set_catalog(std::shared_ptr<const Catalog> catalog);
  Instant now() const { return clock_->now(); }

  wire::Handler* service(std::string_view namespace_, std::string_view name) const;
  const Converter* converter(std::string_view group, std::string_view kind) const;
  void register_service(std::string_view namespace_, std::string_view name, wire::Handler* handler);
  void register_converter(std::string_view group, std::string_view kind, Converter converter);

  // Whom a token stands for; an empty user when unknown.
  wire::Identity identity_of_token(std::string_view token) const;
  // A signed token for a ServiceAccount.
  std::string issue_token(std::string_view namespace_, std::string_view name, std::string_view uid,
                          Instant expires) const;

  const Options options;
  std::unique_ptr<Store> store;
  Hub hub;
  Timers timers;
  // Requests that wait for webhooks.
  Workers workers;
  // Garbage collection and namespace deletion: one thread, in order.
  Workers background;
  std::unique_ptr<Collector> collector;
  std::unique_ptr<Namespaces> namespaces;
  std::unique_ptr<Crds> crds;
  std::unique_ptr<Admission> admission;
  std::unique_ptr<OpenApiDocuments> openapi;

  // A random version 4 UUID.
  std::string new_uid() const;
  // n random characters that names may end with.
  std::string random_suffix(size_t n) const;

  struct Counters {
    std::atomic<uint64_t> requests = 0;
    std::atomic<uint64_t> failures = 0;
  };
  Counters counters;

 private:
  std::string random(size_t n) const;
  Result<void> make_keys();
  Result<void> bootstrap();
  void observe(const Change& change);
  void tick();

  const Clock* clock_;
  mutable std::shared_mutex mutex_;
  std::shared_ptr<const Catalog> catalog_;
  std::map<std::string, wire::Handler*, std::less<>> services_;
  std::map<std::string, std::shared_ptr<const Converter>, std::less<>> converters_;
  std::string token_key_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace kueue::apiserver
