// Certificates and digests: what the server makes at its first start (an authority, its own
// certificate, the administrator's) and what others need of the crypto library. P-256 keys, SHA-256
// signatures.
//
// Pure functions, thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

extern "C" {
typedef struct x509_st X509;
}

namespace kueue::net {

struct KeyPair {
  std::string cert_pem;
  std::string key_pem;  // PKCS #8
};

struct LeafRequest {
  std::string common_name;
  std::vector<std::string> organizations = {};  // Kubernetes reads them as groups
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ips = {};
  bool server = false;
  bool client = false;
  Duration validity = Duration::seconds(365LL * 86400);
};

// Valid from one hour before `now`, so that clocks that differ a little still accept it.
Result<KeyPair> make_ca(const std::string& common_name, Instant now, Duration validity);
// kInvalid when `ca` is unusable or an address of the request is malformed.
Result<KeyPair> make_leaf(const KeyPair& ca, const LeafRequest& request, Instant now);

struct CertFacts {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ips;
  Instant not_before;
  Instant not_after;
  bool is_ca = false;
  std::string sha256;  // fingerprint, lower case hex
};

// Of the first certificate in the text; kInvalid when there is none.
Result<CertFacts> inspect_cert(std::string_view pem);
// Whether `key_pem` belongs to `cert_pem` and one of `ca_pem` has signed the certificate; the dates
// are not looked at. The error says what is wrong.
Result<void> check_pair(const KeyPair& pair, std::string_view ca_pem);

// `bytes` random bytes as lower case hex.
std::string random_hex(size_t bytes);
std::string sha256_hex(std::string_view data);
std::string sha1_hex(std::string_view data);

// CN of a certificate; its O values go to `organizations` when that is given.
std::string subject_of(X509* cert, std::vector<std::string>* organizations);

}  // namespace kueue::net
