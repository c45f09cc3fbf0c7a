// Sockets and TLS by hand: OpenSSL works on the descriptor itself, so a connection costs no buffers
// while it is idle.
#include "net/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/certs.h"

namespace kueue::net {
namespace {

struct BioFree {
  void operator()(BIO* b) const { BIO_free(b); }
};
using BioPtr = std::unique_ptr<BIO, BioFree>;
struct X509Free {
  void operator()(X509* x) const { X509_free(x); }
};
using X509Ptr = std::unique_ptr<X509, X509Free>;
struct KeyFree {
  void operator()(EVP_PKEY* k) const { EVP_PKEY_free(k); }
};

BioPtr pem_reader(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Error tls_config_error(const std::string& what) {
  return make_error(ErrorCode::kInvalid, what + ": " + openssl_errors());
}

Result<void> use_certificate(SSL_CTX* ctx, const TlsContext::Options& options) {
  const BioPtr certs = pem_reader(options.cert_pem);
  const X509Ptr leaf(PEM_read_bio_X509_AUX(certs.get(), nullptr, nullptr, nullptr));
  if (!leaf || SSL_CTX_use_certificate(ctx, leaf.get()) != 1) {
    return tls_config_error("certificate is not usable PEM");
  }
  while (X509* next = PEM_read_bio_X509(certs.get(), nullptr, nullptr, nullptr)) {
    SSL_CTX_add0_chain_cert(ctx, next);
  }
  ERR_clear_error();  // the end of the file counts as an error there
  const BioPtr keys = pem_reader(options.key_pem);
  const std::unique_ptr<EVP_PKEY, KeyFree> key(
      PEM_read_bio_PrivateKey(keys.get(), nullptr, nullptr, nullptr));
  if (!key) return tls_config_error("private key is not usable PEM");
  if (SSL_CTX_use_PrivateKey(ctx, key.get()) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
    return tls_config_error("private key does not belong to the certificate");
  }
  return {};
}

Result<void> add_cas(SSL_CTX* ctx, X509_STORE* store, const std::string& pem, bool server) {
  const BioPtr reader = pem_reader(pem);
  int count = 0;
  while (X509* raw = PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)) {
    const X509Ptr cert(raw);
    X509_STORE_add_cert(store, cert.get());
    if (server) SSL_CTX_add_client_CA(ctx, cert.get());
    ++count;
  }
  if (count == 0) return tls_config_error("certificate authority is not usable PEM");
  ERR_clear_error();
  return {};
}

SSL_CTX* new_context(const SSL_METHOD* method) {
  SSL_CTX* ctx = SSL_CTX_new(method);
  KUEUE_CHECK(ctx != nullptr, "SSL_CTX_new failed");
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  return ctx;
}

// A bad client certificate does not end the connection: the request is anonymous then, and
// the answer to it can say so.
int accept_any_certificate(int, X509_STORE_CTX*) { return 1; }

bool verified_by(X509_STORE* store, X509* cert, STACK_OF(X509) * chain) {
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  bool good = X509_STORE_CTX_init(context, store, cert, chain) == 1;
  if (good) {
    X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_CLIENT);
    good = X509_verify_cert(context) == 1;
  }
  X509_STORE_CTX_free(context);
  ERR_clear_error();
  return good;
}

bool numeric_host(const std::string& host) {
  in6_addr any{};
  return inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

Result<sockaddr_storage> to_sockaddr(const Address& address, socklen_t* size) {
  sockaddr_storage storage{};
  if (address.v6) {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&storage);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(address.port);
    *size = sizeof(sockaddr_in6);
    if (inet_pton(AF_INET6, address.host.c_str(), &in6->sin6_addr) == 1) return storage;
  } else {
    auto* in4 = reinterpret_cast<sockaddr_in*>(&storage);
    in4->sin_family = AF_INET;
    in4->sin_port = htons(address.port);
    *size = sizeof(sockaddr_in);
    if (inet_pton(AF_INET, address.host.c_str(), &in4->sin_addr) == 1) return storage;
  }
  return make_error(ErrorCode::kInvalid, "'" + address.host + "' is no IP address");
}

}  // namespace

std::string errno_text(int error) {
  char buffer[128];
  return strerror_r(error, buffer, sizeof buffer);
}

std::string openssl_errors() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    const std::string one = reason != nullptr ? reason : "error " + std::to_string(code);
    if (text.find(one) != std::string::npos) continue;
    if (!text.empty()) text += ", ";
    text += one;
  }
  return text.empty() ? "unknown error" : text;
}

namespace {

// OpenSSL's names of groups by their IANA number; "" for one it does not have.
const char* group_name(int number) {
  switch (number) {
    case 23:
      return "P-256";
    case 24:
      return "P-384";
    case 25:
      return "P-521";
    case 29:
      return "X25519";
    case 30:
      return "X448";
  }
  return "";
}

Result<void> apply_policy(SSL_CTX* ctx, const TlsContext::Options& options) {
  if (options.tls13_only) SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
  std::string suites;
  for (const std::string& suite : options.cipher_suites) {
    const std::string name = OPENSSL_cipher_name(suite.c_str());
    if (suite.starts_with("TLS_AES_") || suite.starts_with("TLS_CHACHA20_")) continue;  // TLS 1.3
    if (name.empty() || name == "(NONE)")
      return make_error(ErrorCode::kInvalid, "cipher suite '" + suite + "' is not known");
    suites += (suites.empty() ? "" : ":") + name;
  }
  if (!suites.empty() && SSL_CTX_set_cipher_list(ctx, suites.c_str()) != 1)
    return make_error(ErrorCode::kInvalid, "cipher suites: " + openssl_errors());
  std::string groups;
  for (const int number : options.groups) {
    const std::string name = group_name(number);
    if (!name.empty()) groups += (groups.empty() ? "" : ":") + name;
  }
  if (!groups.empty() && SSL_CTX_set1_groups_list(ctx, groups.c_str()) != 1)
    return make_error(ErrorCode::kInvalid, "key exchange groups: " + openssl_errors());
  return {};
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::server(const Options& options) {
  ERR_clear_error();
  SSL_CTX* ctx = new_context(TLS_server_method());
  std::shared_ptr<TlsContext> result(new TlsContext(ctx, false));
  KUEUE_TRY(apply_policy(ctx, options));
  KUEUE_TRY(use_certificate(ctx, options));
  if (!options.ca_pem.empty())
    KUEUE_TRY(add_cas(ctx, SSL_CTX_get_cert_store(ctx), options.ca_pem, true));
  if (!options.proxy_ca_pem.empty()) {
    result->proxies_ = X509_STORE_new();
    KUEUE_TRY(add_cas(ctx, result->proxies_, options.proxy_ca_pem, true));
  }
  if (!options.ca_pem.empty() || !options.proxy_ca_pem.empty()) {
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, accept_any_certificate);
    // A resumed session would skip the check of the certificate's dates.
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ctx, 0);
  }
  return result;
}

Result<std::shared_ptr<TlsContext>> TlsContext::client(const Options& options) {
  ERR_clear_error();
  SSL_CTX* ctx = new_context(TLS_client_method());
  std::shared_ptr<TlsContext> result(new TlsContext(ctx, options.insecure));
  if (!options.cert_pem.empty()) KUEUE_TRY(use_certificate(ctx, options));
  if (options.insecure) return result;
  if (options.ca_pem.empty()) {
    SSL_CTX_set_default_verify_paths(ctx);
  } else {
    KUEUE_TRY(add_cas(ctx, SSL_CTX_get_cert_store(ctx), options.ca_pem, false));
  }
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  return result;
}

TlsContext::~TlsContext() {
  SSL_CTX_free(ctx_);
  X509_STORE_free(proxies_);
}

Socket::Socket(int fd) : fd_(fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A peer whose machine vanished is noticed after about a minute.
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const int idle_seconds = 30;
  const int interval_seconds = 10;
  const int probes = 3;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

Socket::~Socket() {
  if (ssl_ != nullptr) SSL_free(ssl_);
  close(fd_);
}

void Socket::start_server_tls(const TlsContext& context) {
  ssl_ = SSL_new(context.get());
  proxies_ = context.proxies();
  SSL_set_fd(ssl_, fd_);
  SSL_set_accept_state(ssl_);
}

void Socket::start_client_tls(const TlsContext& context, const std::string& host) {
  ssl_ = SSL_new(context.get());
  SSL_set_fd(ssl_, fd_);
  SSL_set_connect_state(ssl_);
  if (!numeric_host(host)) SSL_set_tlsext_host_name(ssl_, host.c_str());
  if (context.insecure()) return;
  if (numeric_host(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host.c_str());
  } else {
    SSL_set1_host(ssl_, host.c_str());
  }
}

Io Socket::tls_result(int result) {
  const int saved = errno;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return Io::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return Io::kWantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Io::kClosed;
    case SSL_ERROR_SYSCALL:
      errno_ = saved;
      if (saved == 0) return Io::kClosed;
      return Io::kFailed;
    default: {
      const long verify = SSL_get_verify_result(ssl_);
      if (verify != X509_V_OK && SSL_is_server(ssl_) == 0) {
        ERR_clear_error();
        tls_error_ = std::string("the server's certificate is not trusted: ") +
                     X509_verify_cert_error_string(verify);
      } else {
        tls_error_ = "TLS: " + openssl_errors();
      }
      return Io::kFailed;
    }
  }
}

Io Socket::handshake() {
  if (ssl_ == nullptr) return Io::kOk;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) return Io::kOk;
  return tls_result(result);
}

Io Socket::read(char* data, size_t size, size_t* n) {
  *n = 0;
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_read(ssl_, data, static_cast<int>(size));
    if (result <= 0) return tls_result(result);
    *n = static_cast<size_t>(result);
    return Io::kOk;
  }
  const ssize_t result = recv(fd_, data, size, 0);
  if (result > 0) {
    *n = static_cast<size_t>(result);
    return Io::kOk;
  }
  if (result == 0) return Io::kClosed;
  if (errno == EAGAIN || errno == EINTR) return Io::kWantRead;
  errno_ = errno;
  return Io::kFailed;
}

Io Socket::write(const char* data, size_t size, size_t* n) {
  *n = 0;
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    const int chunk = static_cast<int>(size < (1u << 20) ? size : (1u << 20));
    const int result = SSL_write(ssl_, data, chunk);
    if (result <= 0) return tls_result(result);
    *n = static_cast<size_t>(result);
    return Io::kOk;
  }
  const ssize_t result = send(fd_, data, size, MSG_NOSIGNAL);
  if (result >= 0) {
    *n = static_cast<size_t>(result);
    return Io::kOk;
  }
  if (errno == EAGAIN || errno == EINTR) return Io::kWantWrite;
  errno_ = errno;
  return Io::kFailed;
}

void Socket::shutdown_write(bool complete) {
  if (complete && ssl_ != nullptr && SSL_is_init_finished(ssl_) == 1) {
    ERR_clear_error();
    SSL_shutdown(ssl_);
    ERR_clear_error();
  }
  ::shutdown(fd_, SHUT_WR);
}

std::string Socket::error() const {
  if (!tls_error_.empty()) return tls_error_;
  if (errno_ != 0) return errno_text(errno_);
  return "connection closed";
}

bool Socket::stale() const {
  char byte = 0;
  const ssize_t n = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n < 0) return errno != EAGAIN;
  if (n == 0 || ssl_ == nullptr) return true;
  // Unasked TLS bytes are session tickets or a goodbye; reading sorts that out.
  char unexpected = 0;
  ERR_clear_error();
  const int result = SSL_read(ssl_, &unexpected, 1);
  const bool idle = result <= 0 && SSL_get_error(ssl_, result) == SSL_ERROR_WANT_READ;
  ERR_clear_error();
  return !idle;
}

std::optional<wire::Identity> Socket::peer_identity() const {
  if (ssl_ == nullptr) return std::nullopt;
  const X509Ptr cert(SSL_get1_peer_certificate(ssl_));
  if (!cert) return std::nullopt;
  wire::Identity identity;
  if (SSL_get_verify_result(ssl_) == X509_V_OK)
    identity.user = subject_of(cert.get(), &identity.groups);
  if (proxies_ != nullptr && verified_by(proxies_, cert.get(), SSL_get_peer_cert_chain(ssl_)))
    identity.proxy = subject_of(cert.get(), nullptr);
  identity.refused = identity.user.empty() && identity.proxy.empty();
  return identity;
}

Result<std::vector<Address>> resolve(const std::string& host, uint16_t port) {
  in6_addr any{};
  if (inet_pton(AF_INET, host.c_str(), &any) == 1) return std::vector{Address{host, port, false}};
  if (inet_pton(AF_INET6, host.c_str(), &any) == 1) return std::vector{Address{host, port, true}};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return make_error(ErrorCode::kUnavailable,
                      "cannot find host '" + host + "': " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::vector<Address> result;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    char text[INET6_ADDRSTRLEN];
    const void* raw = one->ai_family == AF_INET6
                          ? static_cast<const void*>(
                                &reinterpret_cast<const sockaddr_in6*>(one->ai_addr)->sin6_addr)
                          : &reinterpret_cast<const sockaddr_in*>(one->ai_addr)->sin_addr;
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    inet_ntop(one->ai_family, raw, text, sizeof text);
    result.push_back({text, port, one->ai_family == AF_INET6});
  }
  return result;
}

Result<int> start_connect(const Address& address) {
  socklen_t size = 0;
  KUEUE_ASSIGN(const sockaddr_storage storage, to_sockaddr(address, &size));
  const int fd =
      socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const std::string where = host_port(address.host, address.port);
  if (fd < 0) {
    return make_error(ErrorCode::kUnavailable,
                      "cannot connect to " + where + ": " + errno_text(errno));
  }
  if (connect(fd, reinterpret_cast<const sockaddr*>(&storage), size) != 0 && errno != EINPROGRESS) {
    const int error = errno;
    close(fd);
    return make_error(ErrorCode::kUnavailable,
                      "cannot connect to " + where + ": " + errno_text(error));
  }
  return fd;
}

int connect_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

Result<int> listen_on(const std::string& address, uint16_t port) {
  KUEUE_ASSIGN(const std::vector<Address> found, resolve(address, port));
  Error last =
      make_error(ErrorCode::kUnavailable, "cannot listen on '" + address + "': no address");
  for (const Address& one : found) {
    socklen_t size = 0;
    KUEUE_ASSIGN(const sockaddr_storage storage, to_sockaddr(one, &size));
    const int fd =
        socket(one.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&storage), size) == 0 && listen(fd, 4096) == 0) {
      return fd;
    }
    const int error = errno;
    close(fd);
    std::string text = "cannot listen on " + host_port(one.host, port) + ": " + errno_text(error);
    if (error == EADDRINUSE) text += " (another process uses this port)";
    last = make_error(ErrorCode::kUnavailable, std::move(text));
  }
  return last;
}

uint16_t local_port(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

std::string host_port(const std::string& host, uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]:" : host + ":") + std::to_string(port);
}

}  // namespace kueue::net
