#include "certificates/serving_set.h"

#include <gtest/gtest.h>

namespace kueue::certificates {
namespace {

const Instant kNow = parse_time("2026-03-01T12:00:00Z").value();
const std::vector<std::string> kNames =
    service_names({"kueue-webhook-service", "kueue-visibility-server"}, "queues");
constexpr Duration kDay = Duration::seconds(86400);

TEST(ServingSet, NamesOfServices) {
  EXPECT_EQ(kNames, (std::vector<std::string>{
                        "kueue-webhook-service.queues.svc",
                        "kueue-webhook-service.queues.svc.cluster.local",
                        "kueue-visibility-server.queues.svc",
                        "kueue-visibility-server.queues.svc.cluster.local",
                    }));
}

TEST(ServingSet, GoesThroughASecretUnchanged) {
  const ServingSet set = renew(nullptr, kNames, kNow).value();
  json::Value secret = json::Value::object({{"kind", "Secret"}});
  secret.at_path({"data", "other"}) = "a2VlcA==";
  into_secret(set, secret);
  EXPECT_EQ(secret.get_string({"data", "other"}), "a2VlcA==");
  const ServingSet read = from_secret(secret).value();
  EXPECT_TRUE(read == set);
  EXPECT_EQ(read.authority.cert_pem, set.authority.cert_pem);
  EXPECT_EQ(read.authority.key_pem, set.authority.key_pem);
  for (const char* key : {"ca.crt", "ca.key", "tls.crt", "tls.key"}) {
    json::Value broken = secret;
    broken["data"][key] = "%%%";
    EXPECT_FALSE(from_secret(broken).ok()) << key;
    broken.erase_path({"data", key});
    EXPECT_FALSE(from_secret(broken).ok()) << key;
  }
}

TEST(ServingSet, FlawsAreNamed) {
  const ServingSet good = renew(nullptr, kNames, kNow).value();
  const ServingSet other = renew(nullptr, kNames, kNow).value();
  struct Case {
    const char* what;
    ServingSet set;
    Duration later;
    bool flawed;
    bool authority;
  };
  std::vector<Case> cases = {
      {"good", good, {}, false, false},
      {"before renewal", good, kDay * 270, false, false},
      {"at renewal", good, kDay * 276, true, false},
      {"authority at its end", good, kDay * 3600, true, true},
      {"clock far back", good, kDay * -30, true, true},
  };
  Case key = {"key of another", good, {}, true, false};
  key.set.serving.key_pem = other.serving.key_pem;
  cases.push_back(key);
  Case signer = {"signed by another", good, {}, true, false};
  signer.set.serving = other.serving;
  cases.push_back(signer);
  Case authority_key = {"authority's key of another", good, {}, true, true};
  authority_key.set.authority.key_pem = other.authority.key_pem;
  cases.push_back(authority_key);
  Case text = {"no PEM", good, {}, true, true};
  text.set.authority.cert_pem = "hello";
  cases.push_back(text);
  Case leaf_as_authority = {"authority is none", good, {}, true, true};
  leaf_as_authority.set.authority = good.serving;
  cases.push_back(leaf_as_authority);
  for (const Case& c : cases) {
    const Flaw flaw = flaw_of(c.set, kNames, kNow + c.later);
    EXPECT_EQ(!flaw.reason.empty(), c.flawed) << c.what << ": " << flaw.reason;
    EXPECT_EQ(flaw.authority, c.authority) << c.what << ": " << flaw.reason;
  }
  std::vector<std::string> more = kNames;
  more.push_back("another.queues.svc");
  EXPECT_EQ(flaw_of(good, more, kNow).reason, "the certificate is not for another.queues.svc");
}

TEST(ServingSet, RenewalKeepsAnAuthorityThatServes) {
  const ServingSet first = renew(nullptr, kNames, kNow).value();
  const Instant later = renewal_time(first) + Duration::seconds(1);
  EXPECT_FALSE(flaw_of(first, kNames, later).reason.empty());
  const ServingSet second = renew(&first, kNames, later).value();
  EXPECT_EQ(second.bundle, first.bundle);
  EXPECT_NE(second.serving.cert_pem, first.serving.cert_pem);
  EXPECT_EQ(flaw_of(second, kNames, later).reason, "");
}

TEST(ServingSet, AReplacedAuthorityStaysTrustedWhileItIsValid) {
  const ServingSet first = renew(nullptr, kNames, kNow).value();
  const Instant later = kNow + kDay * 3600;
  const ServingSet second = renew(&first, kNames, later).value();
  EXPECT_EQ(second.bundle, second.authority.cert_pem + first.authority.cert_pem);
  EXPECT_TRUE(net::check_pair(first.serving, second.bundle).ok());
  EXPECT_TRUE(net::check_pair(second.serving, second.bundle).ok());
  const ServingSet after_all = renew(&first, kNames, kNow + kDay * 4000).value();
  EXPECT_EQ(after_all.bundle, after_all.authority.cert_pem);
}

}  // namespace
}  // namespace kueue::certificates
