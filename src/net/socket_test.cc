#include "net/socket.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "net/testing.h"

namespace kueue::net {
namespace {

TlsContext::Options options_with(bool tls13_only, std::vector<std::string> suites,
                                 std::vector<int> groups = {}) {
  const auto& certs = testing::test_certs();
  return {.cert_pem = certs.server.cert_pem,
          .key_pem = certs.server.key_pem,
          .ca_pem = {},
          .tls13_only = tls13_only,
          .cipher_suites = std::move(suites),
          .groups = std::move(groups)};
}

std::vector<std::string> old_ciphers(const TlsContext& context) {
  std::vector<std::string> names;
  STACK_OF(SSL_CIPHER)* all = SSL_CTX_get_ciphers(context.get());
  for (int i = 0; i < sk_SSL_CIPHER_num(all); ++i) {
    const SSL_CIPHER* cipher = sk_SSL_CIPHER_value(all, i);
    if (std::string(SSL_CIPHER_get_version(cipher)) != "TLSv1.3")
      names.emplace_back(SSL_CIPHER_standard_name(cipher));
  }
  return names;
}

TEST(TlsPolicy, MinimumVersion) {
  for (const bool only : {false, true}) {
    const auto context = TlsContext::server(options_with(only, {}));
    ASSERT_TRUE(context.ok());
    EXPECT_EQ(SSL_CTX_get_min_proto_version((*context)->get()),
              only ? TLS1_3_VERSION : TLS1_2_VERSION);
  }
}

TEST(TlsPolicy, CipherSuitesByTheirStandardNames) {
  const std::vector<std::string> wanted = {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
                                           "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"};
  std::vector<std::string> given = wanted;
  given.insert(given.begin(), "TLS_AES_128_GCM_SHA256");  // of TLS 1.3: always on
  const auto context = TlsContext::server(options_with(false, given));
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(old_ciphers(**context), wanted);
}

TEST(TlsPolicy, UnknownCipherSuiteIsAnError) {
  const auto context = TlsContext::server(options_with(false, {"TLS_NO_SUCH"}));
  ASSERT_FALSE(context.ok());
  EXPECT_NE(context.error().message.find("TLS_NO_SUCH"), std::string::npos);
}

TEST(TlsPolicy, UnknownGroupsAreLeftOut) {
  EXPECT_TRUE(TlsContext::server(options_with(false, {}, {4588, 29, 23})).ok());
  EXPECT_TRUE(TlsContext::server(options_with(false, {}, {4588})).ok());
}

}  // namespace
}  // namespace kueue::net
