// HttpServer: puts a wire::Handler on a TCP port, with TLS or without. HTTP/1.1 with keep-alive and
// pipelining (answers in order), chunked requests, Expect: 100-continue, HEAD (the handler sees
// GET; the body stays here), gzip of large answers for clients that ask, streams as chunked
// answers.
//
// Threads: the handler is called on the loops' threads, one request of a connection at a time; with
// several loops requests of different connections overlap. It may answer from any thread, at once
// or later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/loop.h"
#include "wire/http.h"

namespace kueue::net {

// What a server agrees to. The defaults are TLS 1.2 and the library's own choice.
struct TlsPolicy {
  bool tls13_only = false;
  // Of TLS 1.2, by their IANA names ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"); empty = the
  // library's choice. Suites of TLS 1.3 are not chosen.
  std::vector<std::string> cipher_suites = {};
  // IANA numbers of key exchange groups (23 = P-256, 29 = X25519), best first; empty = the
  // library's choice. Those the library does not have are left out.
  std::vector<int> groups = {};

  bool operator==(const TlsPolicy&) const = default;
};

struct ServerTls {
  std::string cert_pem;  // with its chain
  std::string key_pem;
  // Verified client certificates of these authorities fill Request.identity: CN is the user, O the
  // groups. A client without one, or with a bad one, is served with an empty identity. "" = not
  // asked for.
  std::string client_ca_pem = {};
  // Authorities of front proxies: their verified certificates fill Request.identity.proxy. Kept
  // apart from those of clients: one must not pass for the other.
  std::string proxy_ca_pem = {};
  TlsPolicy policy = {};

  bool operator==(const ServerTls&) const = default;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0 = any free one; see HttpServer::port()
  std::optional<ServerTls> tls = {};
  // Asked every `tls_reload_interval` for present files; connections made afterwards use them.
  // Unusable ones are reported to `log` and the old ones stay.
  std::function<Result<ServerTls>()> tls_reload = {};
  Duration tls_reload_interval = Duration::seconds(10);

  size_t header_limit = 64u << 10;  // more is answered 431
  size_t body_limit = 3u << 20;     // more is answered 413 with a Status
  size_t max_connections = 10'000;  // one more is closed at once
  size_t stream_queue_limit =
      8u << 20;                    // unsent bytes of one stream; then write() is false and it ends
  size_t gzip_above = 128u << 10;  // bodies of more bytes are compressed when asked; 0 = never
  Duration handshake_timeout = Duration::seconds(10);
  Duration request_timeout =
      Duration::seconds(60);  // first byte to last byte of a request (slow loris)
  Duration idle_timeout = Duration::seconds(180);  // between requests
  Duration write_timeout = Duration::seconds(30);  // no byte could be sent
  // Connections are spread over these besides the loop given to listen(); they must outlive the
  // server.
  std::vector<Loop*> extra_loops = {};
  // One line about trouble that no client can be told. nullptr = silent.
  std::function<void(const std::string&)> log = {};
};

class HttpServer {
 public:
  // Starts to serve. The loop and the handler must outlive the server; the loop may run already or
  // start later. kUnavailable with the reason when the port cannot be had, kInvalid for unusable
  // certificates.
  static Result<std::unique_ptr<HttpServer>> listen(Loop& loop, ServerOptions options,
                                                    wire::Handler& handler);
  // stop(0).
  ~HttpServer();

  uint16_t port() const;
  // Connections that are open now.
  size_t connections() const;
  // Later connections use these.
  Result<void> set_tls(const ServerTls& tls);
  // Closes the port, ends streams with their last chunk, lets running requests be answered for at
  // most `grace`, then closes everything. Blocks; not from a loop's thread. The loops must run (or
  // have stopped for good). Idempotent. When it returns the handler is called no more.
  void stop(Duration grace);

 private:
  struct Core;
  explicit HttpServer(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace kueue::net
