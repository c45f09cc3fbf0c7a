// ServingSet: the certificates of Kueue's own servers, and when they must be made anew. An own
// authority signs one serving certificate for all services; both live in one Secret, with the keys
// that Kueue uses there. Pure; thread safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "net/certs.h"

namespace kueue::certificates {

inline constexpr Duration kAuthorityValidity = Duration::seconds(10LL * 365 * 86400);
inline constexpr Duration kServingValidity = Duration::seconds(365LL * 86400);
// What is left when a certificate is replaced. Long, because clients of an old one must have time
// to learn the new authority.
inline constexpr Duration kRenewBefore = Duration::seconds(90LL * 86400);

struct ServingSet {
  net::KeyPair authority;  // the one that signs
  // What clients trust: the authority and, for as long as it is valid, the one before it. PEM.
  std::string bundle;
  net::KeyPair serving;

  bool operator==(const ServingSet& other) const {
    return bundle == other.bundle && serving.cert_pem == other.serving.cert_pem &&
           serving.key_pem == other.serving.key_pem;
  }
};

// The names a client may use for services of a namespace.
std::vector<std::string> service_names(const std::vector<std::string>& services,
                                       const std::string& namespace_);

// From a Secret's data (ca.crt, ca.key, tls.crt, tls.key). kInvalid when a key is absent or no
// base64; PEM is not looked at.
Result<ServingSet> from_secret(const json::Value& secret);
// Puts the four keys into `secret`'s data; others stay.
void into_secret(const ServingSet& set, json::Value& secret);

// Why the set cannot go on being used at `now`: unreadable, expired or soon so, keys that do not
// fit, names not covered. "" when it can. `authority` tells whether the reason is the authority.
struct Flaw {
  std::string reason = {};
  bool authority = false;
};
Flaw flaw_of(const ServingSet& set, const std::vector<std::string>& names, Instant now);

// When flaw_of() will first find one because time passed; for a set without flaw.
Instant renewal_time(const ServingSet& set);

// A new set. An `old` authority that still serves goes on signing; one that is replaced stays in
// the bundle until it expires, so that servers which still have the old certificate are trusted.
Result<ServingSet> renew(const ServingSet* old, const std::vector<std::string>& names, Instant now);

}  // namespace kueue::certificates
