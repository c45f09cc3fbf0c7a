// What round trips and streams of one transport share: where the server is, credentials, TLS, idle
// connections. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/credentials.h"
#include "net/http_parser.h"
#include "net/http_transport.h"
#include "net/socket.h"
#include "wire/http.h"

namespace kueue::net {

struct ServerUrl {
  bool tls = true;
  std::string host;  // without brackets
  uint16_t port = 443;
  std::string prefix;  // "" or "/path" without a slash at its end
};
// kInvalid with the rule it breaks.
Result<ServerUrl> parse_server_url(const std::string& text);

// A connection that stands and belongs to one caller.
struct ClientConnection {
  explicit ClientConnection(int fd) : socket(fd) {}
  Socket socket;
  uint64_t generation = 0;  // of the credentials it was made with
  bool reused = false;
  bool dirty = false;  // the server sent more than it was asked for
  int64_t idle_since = 0;
};

class ClientCore {
 public:
  static Result<std::shared_ptr<ClientCore>> make(TransportOptions options);

  // An idle connection, or a new one. Blocks until it stands or `deadline` (steady ns).
  Result<std::unique_ptr<ClientConnection>> connect(const Credential& credential, int64_t deadline,
                                                    bool fresh);
  void keep(std::unique_ptr<ClientConnection> connection);
  // The bytes of a request, or why it cannot be sent.
  Result<std::string> serialise(const wire::Request& request, const Credential& credential) const;
  // Blocks until all is written. True: written. False: the server answered early, see `parser`.
  Result<bool> write_all(ClientConnection& connection, std::string_view data, HttpParser* parser,
                         int64_t deadline);
  // Blocks until the parser's message is complete.
  Result<void> read_all(ClientConnection& connection, HttpParser* parser, int64_t deadline);
  // Waits for a turn when the rate is limited.
  Result<void> take_turn(int64_t deadline);
  void limit_rate(double qps, int burst);
  Error lost(const std::string& why) const;

  const TransportOptions options;
  const ServerUrl url;
  Credentials credentials;

 private:
  ClientCore(TransportOptions o, ServerUrl u)
      : options(std::move(o)),
        url(std::move(u)),
        credentials(options),
        qps_(options.qps),
        burst_(options.burst) {}
  Result<std::shared_ptr<TlsContext>> tls_for(const Credential& credential);
  Result<std::unique_ptr<ClientConnection>> dial(const Address& address, const TlsContext* tls,
                                                 int64_t deadline);
  Error timed_out(const std::string& what) const;

  std::mutex mutex_;
  std::vector<std::unique_ptr<ClientConnection>> idle_;
  std::shared_ptr<TlsContext> tls_;
  uint64_t tls_generation_ = 0;
  double qps_;
  int burst_;
  double turns_ = 0;
  int64_t turns_at_ = 0;
};

}  // namespace kueue::net
