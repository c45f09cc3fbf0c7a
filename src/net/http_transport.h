// A wire::Transport over HTTP/1.1 and TLS: what talks to a real API server, and to webhooks.
//
// round_trip() runs on the calling thread with a pool of kept-alive connections; streams are served
// by one thread of the transport, which calls their receivers. Thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "wire/http.h"

namespace kueue::net {

// A command that prints credentials: a client.authentication.k8s.io ExecCredential as JSON.
struct ExecPlugin {
  std::string command;
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};  // besides the process's own
  std::string api_version = "client.authentication.k8s.io/v1";
  std::string install_hint = {};  // shown when the command does not exist
  Duration timeout = Duration::seconds(60);
};

struct TransportOptions {
  std::string server;       // https://host:port[/prefix], or http://
  std::string ca_pem = {};  // "" = the system's authorities
  std::string client_cert_pem = {};
  std::string client_key_pem = {};
  std::string token = {};
  std::string token_file = {};  // read again every ten seconds and after a 401; wins over token
  std::string username = {};    // basic authentication, when no token is given
  std::string password = {};
  std::optional<ExecPlugin> exec = {};  // asked when first needed, when expired and after a 401
  bool insecure = false;                // do not verify the server
  std::string server_name = {};         // for the certificate, when it is not the host of `server`
  std::string user_agent = {};          // for requests without one
  // Impersonate-User and the like: sent with each request.
  std::vector<std::pair<std::string, std::string>> extra_headers = {};
  double qps = 0;                                    // 0 = not limited
  int burst = 10;                                    // used with qps
  Duration connect_timeout = Duration::seconds(10);  // TCP and TLS
  Duration head_timeout = Duration::seconds(60);     // of a stream: until its status line is in
  size_t max_idle_connections = 64;
  size_t response_limit = 1u << 30;  // bytes of one body
};

// kInvalid with the reason for a bad address or unusable certificates. Connects when first used.
//
// Errors of round_trip: kUnavailable (cannot connect, connection lost), kTimeout, kUnauthorized (no
// credentials from the plug-in), kBadRequest (a request that cannot be sent); each says which
// server and why. A request on a kept connection that the server had closed is sent again when it
// changes nothing.
//
// The destructor waits for round trips that run and ends open streams; receivers get no call after
// it. Destroying a StreamHandle waits for a call to its receiver that runs at that moment, unless
// the receiver itself does it.
Result<std::shared_ptr<wire::Transport>> make_transport(TransportOptions options);
// Another limit for the requests to come, of a transport that make_transport() made.
void limit_rate(wire::Transport& transport, double qps, int burst);

}  // namespace kueue::net
