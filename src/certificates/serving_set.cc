#include "certificates/serving_set.h"

#include <algorithm>

#include "base/base64.h"

namespace kueue::certificates {
namespace {

constexpr const char* kAuthorityCert = "ca.crt";
constexpr const char* kAuthorityKey = "ca.key";
constexpr const char* kServingCert = "tls.crt";
constexpr const char* kServingKey = "tls.key";

Result<std::string> secret_value(const json::Value& secret, const char* key) {
  const std::string_view text = secret.get_string({"data", key});
  if (text.empty()) return make_error(ErrorCode::kInvalid, std::string("data has no ") + key);
  auto decoded = base64_decode(text);
  if (!decoded.ok())
    return make_error(ErrorCode::kInvalid,
                      std::string("data.") + key + ": " + decoded.error().message);
  return decoded;
}

// The first certificate of a PEM text.
std::string first_cert(const std::string& pem) {
  static constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  const size_t end = pem.find(kEnd);
  return end == std::string::npos ? pem : pem.substr(0, end + kEnd.size()) + "\n";
}

}  // namespace

std::vector<std::string> service_names(const std::vector<std::string>& services,
                                       const std::string& namespace_) {
  std::vector<std::string> names;
  for (const std::string& service : services) {
    const std::string base = service + "." + namespace_ + ".svc";
    for (const std::string& name : {base, base + ".cluster.local"}) names.push_back(name);
  }
  return names;
}

Result<ServingSet> from_secret(const json::Value& secret) {
  ServingSet set;
  KUEUE_ASSIGN(set.bundle, secret_value(secret, kAuthorityCert));
  KUEUE_ASSIGN(set.authority.key_pem, secret_value(secret, kAuthorityKey));
  KUEUE_ASSIGN(set.serving.cert_pem, secret_value(secret, kServingCert));
  KUEUE_ASSIGN(set.serving.key_pem, secret_value(secret, kServingKey));
  set.authority.cert_pem = first_cert(set.bundle);
  return set;
}

void into_secret(const ServingSet& set, json::Value& secret) {
  json::Value& data = secret["data"];
  data[kAuthorityCert] = base64_encode(set.bundle);
  data[kAuthorityKey] = base64_encode(set.authority.key_pem);
  data[kServingCert] = base64_encode(set.serving.cert_pem);
  data[kServingKey] = base64_encode(set.serving.key_pem);
}

Flaw flaw_of(const ServingSet& set, const std::vector<std::string>& names, Instant now) {
  const auto authority = net::inspect_cert(set.authority.cert_pem);
  if (!authority.ok()) return {"authority: " + authority.error().message, true};
  if (!authority->is_ca) return {"ca.crt is no certificate authority", true};
  if (now < authority->not_before) return {"the authority is not valid yet", true};
  if (authority->not_after - now < kRenewBefore) return {"the authority expires soon", true};
  if (auto fits = net::check_pair(set.authority, set.authority.cert_pem); !fits.ok())
    return {"authority: " + fits.error().message, true};
  const auto serving = net::inspect_cert(set.serving.cert_pem);
  if (!serving.ok()) return {"certificate: " + serving.error().message};
  if (now < serving->not_before) return {"the certificate is not valid yet"};
  if (serving->not_after - now < kRenewBefore) return {"the certificate expires soon"};
  if (auto fits = net::check_pair(set.serving, set.authority.cert_pem); !fits.ok())
    return {"certificate: " + fits.error().message};
  for (const std::string& name : names) {
    if (std::find(serving->dns_names.begin(), serving->dns_names.end(), name) ==
        serving->dns_names.end())
      return {"the certificate is not for " + name};
  }
  return {};
}

Instant renewal_time(const ServingSet& set) {
  const auto authority = net::inspect_cert(set.authority.cert_pem);
  const auto serving = net::inspect_cert(set.serving.cert_pem);
  if (!authority.ok() || !serving.ok()) return {};
  return std::min(authority->not_after, serving->not_after) - kRenewBefore;
}

Result<ServingSet> renew(const ServingSet* old, const std::vector<std::string>& names,
                         Instant now) {
  ServingSet set;
  const bool keep = old != nullptr && !flaw_of(*old, names, now).authority;
  if (keep) {
    set.authority = old->authority;
    set.bundle = old->bundle;
  } else {
    KUEUE_ASSIGN(set.authority, net::make_ca("kueue-ca", now, kAuthorityValidity));
    set.bundle = set.authority.cert_pem;
    if (old != nullptr) {
      const auto before = net::inspect_cert(old->authority.cert_pem);
      if (before.ok() && before->is_ca && before->not_after > now)
        set.bundle += old->authority.cert_pem;
    }
  }
  KUEUE_CHECK(!names.empty(), "a serving certificate has names");
  KUEUE_ASSIGN(set.serving, net::make_leaf(set.authority,
                                           {.common_name = names.front(),
                                            .dns_names = names,
                                            .server = true,
                                            .validity = kServingValidity},
                                           now));
  return set;
}

}  // namespace kueue::certificates
