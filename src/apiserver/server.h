// Server: a Kubernetes API server as a request handler. It has no sockets: net/ puts HTTPS around
// it and an in-process transport calls handle() directly, with the same answers. State is in
// memory; with a data folder every write is on disk (SQLite, one group commit for all writes that
// wait) before it is answered or seen by a watcher.
//
// Threads: everything may be called from any thread. handle() never waits for the disk, a webhook
// or another request: such requests are answered later from a thread of the server. Sinks are
// called from handle() itself or from the server's threads; a sink must not block, and must not
// wait for another request of this server in write() or respond().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "schema/type.h"
#include "wire/http.h"

namespace kueue::apiserver {

class Core;

// Where a webhook configuration, a CRD conversion or an APIService points to.
struct Endpoint {
  std::string scheme = "https";
  std::string host;
  uint16_t port = 443;
  std::string path = "/";   // of the URL; with its query
  std::string ca_bundle;    // PEM; "" = the system's roots
  std::string server_name;  // for a service: name.namespace.svc; otherwise the host
};

// Makes or reuses a transport to an endpoint; called from worker threads.
using TransportFactory =
    std::function<Result<std::shared_ptr<wire::Transport>>(const Endpoint& endpoint)>;

// Converts one object of a kind to `api_version` ("kueue.x-k8s.io/v1beta1"): apiVersion of the
// result is set.
using Converter =
    std::function<Result<json::Value>(json::Value object, std::string_view api_version)>;

struct Options {
  // Folder of the database, created when absent. Not used with `memory`.
  std::string data_dir = {};
  // Nothing on disk; everything is gone with the Server.
  bool memory = false;
  // For timestamps and ages; nullptr = the machine's clock.
  const Clock* clock = nullptr;
  // Kinds served without a CRD; their strings must outlive the Server. Those of one group and
  // plural share their objects; the first of them is the version that is stored.
  std::vector<const schema::ResourceInfo*> resources = {};
  // Bearer tokens and whom they stand for. Tokens of ServiceAccounts that the server issued itself
  // are known without.
  std::map<std::string, wire::Identity, std::less<>> tokens = {};
  // For webhooks that are no registered service. Without it such calls fail as if the connection
  // was refused.
  TransportFactory transports = {};
  // Put into the kube-root-ca.crt ConfigMap of each namespace; "" = no such ConfigMap.
  std::string ca_pem = {};
  // Events kept per resource for watches that start in the past.
  size_t watch_history = 4096;
  // Threads that run writes with webhooks.
  int webhook_threads = 8;
  // False: the server has no threads. What they would do (answer writes, deliver to watchers,
  // collect garbage, run timers by `clock`) is done on the caller's thread, in one fixed order, by
  // work(); one thread at a time may use the server. Only with `memory`; without webhooks that
  // block.
  bool threaded = true;
  // Where uids and generated names come from: n random bytes. Empty = the operating system.
  std::function<std::string(size_t n)> random = {};
  // How long Events are kept; zero = for ever.
  Duration event_ttl = Duration::seconds(3600);
  // Shown by /version.
  std::string git_version = "v1.36.3";
};

class Server : public wire::Handler {
 public:
  // Opens or makes the database and the objects every cluster has (namespaces, priority classes).
  // kUnavailable: the folder cannot be used or another process has it; kInvalid: it was written by
  // a newer version.
  static Result<std::unique_ptr<Server>> open(Options options);
  // Like stop().
  ~Server() override;

  // Request.identity, when it names a user, is taken as authenticated (client certificate, in
  // process); otherwise the bearer token decides. Every authenticated user may do everything; RBAC
  // objects are kept but not enforced.
  void handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) override;

  // Requests to webhooks, conversions and APIServices whose clientConfig names this Service go to
  // `handler`, which must live until it is replaced by nullptr or the server is stopped.
  void register_service(std::string_view namespace_, std::string_view name, wire::Handler* handler);
  // Conversion of a kind without a webhook call, whatever its CRD says.
  void register_converter(std::string_view group, std::string_view kind, Converter converter);

  // Ends every watch in good order, waits for running requests and the disk. Later requests get
  // 503. Idempotent.
  void stop();

  // Without threads: does one piece of the waiting work; false when there is none.
  bool work();

  // The revision of the newest write; what a list would show as resourceVersion.
  uint64_t revision() const;

 private:
  explicit Server(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace kueue::apiserver
