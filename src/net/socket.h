// Socket: a non-blocking TCP connection, with TLS or without, and what TLS needs: contexts made
// from PEM. Only net/ includes this header.
//
// A Socket belongs to one thread at a time. A TlsContext may be shared by all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/http.h"

extern "C" {
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_st SSL;
typedef struct x509_store_st X509_STORE;
}

namespace kueue::net {

class TlsContext {
 public:
  struct Options {
    std::string cert_pem;  // with its chain; "" for a client without certificate
    std::string key_pem;
    std::string ca_pem;  // server: of client certificates; client: of the server, "" = the system's
    bool insecure = false;          // client: the server may be anybody
    std::string proxy_ca_pem = {};  // server: of front proxies
    // Server only; see TlsPolicy.
    bool tls13_only = false;
    std::vector<std::string> cipher_suites = {};
    std::vector<int> groups = {};
  };
  // kInvalid with OpenSSL's reason when PEM is unusable or key and certificate do not belong
  // together.
  static Result<std::shared_ptr<TlsContext>> server(const Options& options);
  static Result<std::shared_ptr<TlsContext>> client(const Options& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  SSL_CTX* get() const { return ctx_; }
  // Authorities of front proxies; null = none.
  X509_STORE* proxies() const { return proxies_; }
  bool insecure() const { return insecure_; }

 private:
  TlsContext(SSL_CTX* ctx, bool insecure) : ctx_(ctx), insecure_(insecure) {}
  SSL_CTX* ctx_;
  bool insecure_;
  X509_STORE* proxies_ = nullptr;
};

enum class Io : uint8_t { kOk, kWantRead, kWantWrite, kClosed, kFailed };

class Socket {
 public:
  // Takes the descriptor over and makes it non-blocking, without delay, with keep-alive probes.
  explicit Socket(int fd);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }
  bool tls() const { return ssl_ != nullptr; }
  // The context must live as long as the socket.
  void start_server_tls(const TlsContext& context);
  // `host` is the name or address that the certificate must be for.
  void start_client_tls(const TlsContext& context, const std::string& host);

  // kOk when the handshake is complete (at once without TLS).
  Io handshake();
  // *n > 0 with kOk. kClosed: the peer closed in good order.
  Io read(char* data, size_t size, size_t* n);
  Io write(const char* data, size_t size, size_t* n);
  // Sends FIN; reading stays possible. With `complete` TLS says goodbye before, so that the peer
  // knows that nothing was cut off.
  void shutdown_write(bool complete);
  // Why the last call failed, readable.
  std::string error() const;
  // Whether the peer has closed or sent something unasked: such an idle connection is of no use.
  bool stale() const;
  // The user of a verified client certificate (CN) and its groups (O), and the name of a verified
  // front proxy; nullopt without both.
  std::optional<wire::Identity> peer_identity() const;

 private:
  Io tls_result(int result);

  int fd_;
  SSL* ssl_ = nullptr;
  X509_STORE* proxies_ = nullptr;  // the context's
  int errno_ = 0;
  std::string tls_error_;
};

struct Address {
  std::string host;  // numeric
  uint16_t port = 0;
  bool v6 = false;
};

// Numeric addresses of a host name, in the resolver's order. Blocks unless `host` is numeric.
Result<std::vector<Address>> resolve(const std::string& host, uint16_t port);
// Starts to connect; writable means done (see connect_error). The descriptor, or the reason.
Result<int> start_connect(const Address& address);
// 0 when the connection stands, otherwise errno.
int connect_error(int fd);
// A listening descriptor. kUnavailable with a readable reason (port in use, no such address).
Result<int> listen_on(const std::string& address, uint16_t port);
uint16_t local_port(int fd);
// "127.0.0.1:443", "[::1]:443".
std::string host_port(const std::string& host, uint16_t port);
std::string errno_text(int error);
// OpenSSL's queue of errors as text; empties it.
std::string openssl_errors();

}  // namespace kueue::net
