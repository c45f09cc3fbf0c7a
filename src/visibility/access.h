// Access: who sends a request and whether they may, as the API server sees it. Front proxies are
// believed when they show a certificate; tokens and rights are asked of the API server
// (TokenReview, SubjectAccessReview), and answers are remembered for ten seconds. Thread safe;
// blocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "wire/http.h"

namespace kueue::visibility {

// What the API server says about its front proxy (kube-system/extension-apiserver-authentication).
struct ProxyRules {
  std::string client_ca_pem;                         // of clients that come directly
  std::string proxy_ca_pem;                          // of front proxies; "" = nobody is one
  std::set<std::string, std::less<>> allowed_names;  // empty = any
  std::vector<std::string> user_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_prefixes;

  bool operator==(const ProxyRules&) const = default;
};

// From the ConfigMap. A part that is absent or unreadable is left empty: nobody is believed then.
ProxyRules proxy_rules_of(const json::Value& config_map);

// The user for whom a verified proxy asks; a user "" when there is none to believe.
wire::Identity user_of_proxy(const wire::Request& request, const ProxyRules& rules);

class Access {
 public:
  Access(std::shared_ptr<wire::Transport> transport, const Clock& clock);

  void set_rules(ProxyRules rules);
  ProxyRules rules() const;

  // Proxy, then client certificate, then bearer token; otherwise system:anonymous. kUnauthorized:
  // a token that is not good. Other errors: it could not be asked.
  Result<wire::Identity> authenticate(const wire::Request& request);
  // `attributes` has resourceAttributes or nonResourceAttributes. system:masters may do everything.
  Result<bool> allowed(const wire::Identity& user, const json::Value& attributes);

 private:
  // The status of a review, from memory or asked anew.
  Result<json::Value> ask(const std::string& path, const char* kind, json::Value spec);

  struct Known {
    json::Value status;
    Instant until;
  };
  std::shared_ptr<wire::Transport> transport_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  ProxyRules rules_;
  std::map<std::string, Known> known_;
};

}  // namespace kueue::visibility
