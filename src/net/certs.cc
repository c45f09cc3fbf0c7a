// Certificates by the OpenSSL API.
#include "net/certs.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>

#include "net/socket.h"

namespace kueue::net {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* p) const {
    Free(p);
  }
};
using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free>>;
using CertPtr = std::unique_ptr<X509, Deleter<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

BioPtr reader(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

Error crypto_error(const std::string& what) {
  return make_error(ErrorCode::kInvalid, what + ": " + openssl_errors());
}

CertPtr read_cert(std::string_view pem) {
  return CertPtr(PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr));
}

KeyPtr read_key(std::string_view pem) {
  return KeyPtr(PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, nullptr, nullptr));
}

void add_name(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

bool add_extension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(cert, extension.get(), -1) == 1;
}

// A new certificate with its own key, unsigned, without extensions.
CertPtr blank_cert(EVP_PKEY* key, Instant now, Duration validity) {
  CertPtr cert(X509_new());
  X509_set_version(cert.get(), X509_VERSION_3);
  unsigned char serial[16];
  RAND_bytes(serial, sizeof serial);
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 0x01);  // positive, never short
  BIGNUM* number = BN_bin2bn(serial, sizeof serial, nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert.get()));
  BN_free(number);
  const time_t from = static_cast<time_t>(now.ns / 1'000'000'000) - 3600;
  const time_t until = static_cast<time_t>((now + validity).ns / 1'000'000'000);
  ASN1_TIME_set(X509_getm_notBefore(cert.get()), from);
  ASN1_TIME_set(X509_getm_notAfter(cert.get()), until);
  X509_set_pubkey(cert.get(), key);
  return cert;
}

KeyPair to_pem(X509* cert, EVP_PKEY* key) {
  KeyPair pair;
  BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), cert);
  pair.cert_pem = contents(out.get());
  out.reset(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  pair.key_pem = contents(out.get());
  return pair;
}

Instant to_instant(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return {static_cast<int64_t>(timegm(&parts)) * 1'000'000'000};
}

std::string text_of(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return "";
  std::string result(reinterpret_cast<char*>(utf8), static_cast<size_t>(size));
  OPENSSL_free(utf8);
  return result;
}

void read_alternative_names(X509* cert, CertFacts* facts) {
  const std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(cert, NID_subject_alt_name, nullptr, nullptr)));
  if (!names) return;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      facts->dns_names.push_back(text_of(name->d.dNSName));
    } else if (name->type == GEN_IPADD) {
      char text[INET6_ADDRSTRLEN] = "";
      const int size = ASN1_STRING_length(name->d.iPAddress);
      inet_ntop(size == 16 ? AF_INET6 : AF_INET, ASN1_STRING_get0_data(name->d.iPAddress), text,
                sizeof text);
      facts->ips.emplace_back(text);
    }
  }
}

std::string hex(const unsigned char* data, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(size * 2);
  for (size_t i = 0; i < size; ++i) {
    out += kDigits[data[i] >> 4];
    out += kDigits[data[i] & 15];
  }
  return out;
}

std::string digest(const EVP_MD* method, std::string_view data) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(data.data(), data.size(), out, &size, method, nullptr);
  return hex(out, size);
}

}  // namespace

Result<KeyPair> make_ca(const std::string& common_name, Instant now, Duration validity) {
  ERR_clear_error();
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return crypto_error("cannot make a key");
  const CertPtr cert = blank_cert(key.get(), now, validity);
  X509_NAME* name = X509_get_subject_name(cert.get());
  add_name(name, "CN", common_name);
  X509_set_issuer_name(cert.get(), name);
  const bool ok =
      add_extension(cert.get(), cert.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      add_extension(cert.get(), cert.get(), NID_key_usage,
                    "critical,keyCertSign,cRLSign,digitalSignature") &&
      add_extension(cert.get(), cert.get(), NID_subject_key_identifier, "hash");
  if (!ok || X509_sign(cert.get(), key.get(), EVP_sha256()) == 0) {
    return crypto_error("cannot make a certificate authority");
  }
  return to_pem(cert.get(), key.get());
}

Result<KeyPair> make_leaf(const KeyPair& ca, const LeafRequest& request, Instant now) {
  ERR_clear_error();
  const CertPtr ca_cert = read_cert(ca.cert_pem);
  const KeyPtr ca_key = read_key(ca.key_pem);
  if (!ca_cert || !ca_key) return crypto_error("certificate authority is not usable PEM");
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return crypto_error("cannot make a key");
  const CertPtr cert = blank_cert(key.get(), now, request.validity);
  X509_NAME* name = X509_get_subject_name(cert.get());
  for (const std::string& organization : request.organizations) add_name(name, "O", organization);
  add_name(name, "CN", request.common_name);
  X509_set_issuer_name(cert.get(), X509_get_subject_name(ca_cert.get()));

  std::string usage;
  if (request.server) usage += "serverAuth";
  if (request.client) usage += usage.empty() ? "clientAuth" : ",clientAuth";
  std::string names;
  for (const std::string& dns : request.dns_names)
    names += (names.empty() ? "DNS:" : ",DNS:") + dns;
  for (const std::string& ip : request.ips) names += (names.empty() ? "IP:" : ",IP:") + ip;
  bool ok = add_extension(cert.get(), ca_cert.get(), NID_basic_constraints, "critical,CA:FALSE") &&
            add_extension(cert.get(), ca_cert.get(), NID_key_usage, "critical,digitalSignature") &&
            add_extension(cert.get(), ca_cert.get(), NID_authority_key_identifier, "keyid");
  if (ok && !usage.empty()) ok = add_extension(cert.get(), ca_cert.get(), NID_ext_key_usage, usage);
  if (ok && !names.empty()) {
    ok = add_extension(cert.get(), ca_cert.get(), NID_subject_alt_name, names);
  }
  if (!ok || X509_sign(cert.get(), ca_key.get(), EVP_sha256()) == 0) {
    return crypto_error("cannot make a certificate for '" + request.common_name + "'");
  }
  return to_pem(cert.get(), key.get());
}

std::string subject_of(X509* cert, std::vector<std::string>* organizations) {
  const X509_NAME* name = X509_get_subject_name(cert);
  std::string common_name;
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (nid == NID_commonName) common_name = text_of(X509_NAME_ENTRY_get_data(entry));
    if (nid == NID_organizationName && organizations != nullptr) {
      organizations->push_back(text_of(X509_NAME_ENTRY_get_data(entry)));
    }
  }
  return common_name;
}

Result<CertFacts> inspect_cert(std::string_view pem) {
  ERR_clear_error();
  const CertPtr cert = read_cert(pem);
  if (!cert) return crypto_error("certificate is not usable PEM");
  CertFacts facts;
  facts.common_name = subject_of(cert.get(), &facts.organizations);
  read_alternative_names(cert.get(), &facts);
  facts.not_before = to_instant(X509_get0_notBefore(cert.get()));
  facts.not_after = to_instant(X509_get0_notAfter(cert.get()));
  facts.is_ca = X509_check_ca(cert.get()) == 1;
  unsigned char print[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  X509_digest(cert.get(), EVP_sha256(), print, &size);
  facts.sha256 = hex(print, size);
  return facts;
}

Result<void> check_pair(const KeyPair& pair, std::string_view ca_pem) {
  ERR_clear_error();
  const CertPtr cert = read_cert(pair.cert_pem);
  if (!cert) return crypto_error("certificate is not usable PEM");
  const KeyPtr key = read_key(pair.key_pem);
  if (!key) return crypto_error("private key is not usable PEM");
  if (X509_check_private_key(cert.get(), key.get()) != 1) {
    ERR_clear_error();
    return make_error(ErrorCode::kInvalid, "private key does not belong to the certificate");
  }
  const BioPtr bundle = reader(ca_pem);
  while (const CertPtr ca{PEM_read_bio_X509(bundle.get(), nullptr, nullptr, nullptr)}) {
    const bool signed_by = X509_verify(cert.get(), X509_get0_pubkey(ca.get())) == 1;
    ERR_clear_error();
    if (signed_by) return {};
  }
  ERR_clear_error();
  return make_error(ErrorCode::kInvalid, "certificate is not signed by the certificate authority");
}

std::string random_hex(size_t bytes) {
  std::string raw(bytes, '\0');
  auto* data = reinterpret_cast<unsigned char*>(raw.data());
  KUEUE_CHECK(RAND_bytes(data, static_cast<int>(bytes)) == 1, "no randomness");
  return hex(data, bytes);
}

std::string sha256_hex(std::string_view data) { return digest(EVP_sha256(), data); }
std::string sha1_hex(std::string_view data) { return digest(EVP_sha1(), data); }

}  // namespace kueue::net
