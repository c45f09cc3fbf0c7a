// Which requests a webhook or an admission policy is about. Immutable once read; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission.h"
#include "wire/selector.h"

namespace kueue::apiserver {

struct MatchRule {
  std::vector<std::string> operations, groups, versions, resources, names;
  std::string scope = "*";
};

struct Match {
  std::vector<MatchRule> rules, excluded;
  wire::LabelSelector namespaces, objects;
  bool equivalent = true;  // matchPolicy

  // `rules_key`: "rules" of a webhook, "resourceRules" of a policy.
  static Match read(const json::Value& source, std::string_view rules_key);

  // The version of the resource that a rule asks for: the one of the request, or with matchPolicy
  // Equivalent another one; nullptr when no rule fits. Looks at the rules only.
  const Served* version(const Call& call, std::string_view operation,
                        std::string_view subresource) const;
  // version() and the selectors.
  const Served* fits(const Call& call, const Attempt& attempt) const;
};

std::vector<std::string> string_list(const json::Value* list);
// The AdmissionRequest without the objects.
json::Value admission_request(const Call& call, const Attempt& attempt, const Served& version,
                              std::string_view uid);

}  // namespace kueue::apiserver
