#include "net/certs.h"

#include <gtest/gtest.h>

#include "net/testing.h"

namespace kueue::net {
namespace {

TEST(Certs, LeafCarriesWhatWasAskedFor) {
  const Instant now = parse_time("2026-03-01T12:00:00Z").value();
  const KeyPair ca = make_ca("my-ca", now, Duration::seconds(7200)).value();
  const CertFacts ca_facts = inspect_cert(ca.cert_pem).value();
  EXPECT_TRUE(ca_facts.is_ca);
  EXPECT_EQ(ca_facts.common_name, "my-ca");
  EXPECT_EQ(format_time(ca_facts.not_before), "2026-03-01T11:00:00Z");
  EXPECT_EQ(format_time(ca_facts.not_after), "2026-03-01T14:00:00Z");

  const KeyPair leaf = make_leaf(ca,
                                 {.common_name = "leaf",
                                  .organizations = {"a", "b"},
                                  .dns_names = {"x.test", "*.y.test"},
                                  .ips = {"10.0.0.1", "::1"},
                                  .server = true,
                                  .client = true,
                                  .validity = Duration::seconds(60)},
                                 now)
                           .value();
  const CertFacts facts = inspect_cert(leaf.cert_pem).value();
  EXPECT_FALSE(facts.is_ca);
  EXPECT_EQ(facts.organizations, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(facts.dns_names, (std::vector<std::string>{"x.test", "*.y.test"}));
  EXPECT_EQ(facts.ips, (std::vector<std::string>{"10.0.0.1", "::1"}));
  EXPECT_EQ(facts.sha256.size(), 64u);
  EXPECT_TRUE(check_pair(leaf, ca.cert_pem).ok());
  EXPECT_FALSE(
      check_pair(leaf, make_ca("my-ca", now, Duration::seconds(60)).value().cert_pem).ok());
  EXPECT_FALSE(check_pair({leaf.cert_pem, ca.key_pem}, ca.cert_pem).ok());
}

TEST(Certs, BadInput) {
  const Instant now = system_clock().now();
  const KeyPair ca = make_ca("ca", now, Duration::seconds(60)).value();
  EXPECT_FALSE(make_leaf(ca, {.common_name = "x", .ips = {"300.0.0.1"}}, now).ok());
  EXPECT_FALSE(make_leaf({"a", "b"}, {.common_name = "x"}, now).ok());
  EXPECT_FALSE(inspect_cert("").ok());
}

TEST(Digests, KnownValues) {
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(random_hex(16).size(), 32u);
  EXPECT_NE(random_hex(16), random_hex(16));
}

}  // namespace
}  // namespace kueue::net
