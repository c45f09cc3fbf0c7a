// ClusterQueue and Cohort: resource groups, limits, fair sharing, checks. Spec sections 3 and 4.
#include <algorithm>
#include <set>

#include "api/quantity.h"
#include "base/names.h"
#include "webhooks/checks.h"
#include "webhooks/finalizer.h"
#include "webhooks/hook.h"

namespace kueue::webhooks {
namespace {

using json::Value;
using schema::FieldErrors;

constexpr size_t kMaxFlavors = 256, kMaxResources = 256, kMaxCombinations = 512,
                 kMaxConcurrentFlavors = 16;
constexpr std::string_view kNotNegative = "must be greater than or equal to 0";

struct LimitRules {
  bool has_parent;
  bool lending_within_nominal;
  std::string_view without_parent;  // what is wrong with a limit when there is no parent
};

void check_limit(const Value& resource, std::string_view key, const LimitRules& rules,
                 const std::string& field, FieldErrors& errors) {
  const Value* limit = resource.find(key);
  if (limit == nullptr || limit->is_null()) return;
  std::string at = field + '.' + std::string(key);
  std::string text = quantity_text(*limit);
  if (quantity_sign(*limit) < 0) errors.invalid(at, text, kNotNegative);
  if (!rules.has_parent) errors.invalid(at, text, rules.without_parent);
  if (key != "lendingLimit" || !rules.lending_within_nominal) return;
  const Value* nominal = resource.find("nominalQuota");
  Result<api::Quantity> lending = api::Quantity::from_json(*limit);
  Result<api::Quantity> quota = api::Quantity::from_json(nominal == nullptr ? Value() : *nominal);
  if (lending.ok() && quota.ok() && *lending > *quota)
    errors.invalid(at, text, "must be less than or equal to the nominalQuota");
}

void check_flavor(const Value& flavor, const json::Array& covered, const LimitRules& rules,
                  const std::string& field, FieldErrors& errors) {
  const json::Array& resources = list_at(flavor, {"resources"});
  for (size_t i = 0; i < resources.size(); ++i) {
    std::string at = field + ".resources[" + std::to_string(i) + "]";
    std::string_view name = resources[i].get_string({"name"});
    // How many there are is a rule of the definition.
    if (i < covered.size() && covered[i].string_or("") != name)
      errors.invalid(at + ".name", name, "must match the name in coveredResources");
    if (const Value* nominal = resources[i].find("nominalQuota");
        nominal != nullptr && quantity_sign(*nominal) < 0)
      errors.invalid(at + ".nominalQuota", quantity_text(*nominal), kNotNegative);
    check_limit(resources[i], "borrowingLimit", rules, at, errors);
    check_limit(resources[i], "lendingLimit", rules, at, errors);
  }
}

void check_resource_groups(const Value& object, const LimitRules& rules, FieldErrors& errors) {
  const json::Array& groups = list_at(object, {"spec", "resourceGroups"});
  std::set<std::string, std::less<>> seen_resources, seen_flavors;
  size_t total_flavors = 0, total_resources = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    std::string at = "spec.resourceGroups[" + std::to_string(g) + "]";
    const json::Array& covered = list_at(groups[g], {"coveredResources"});
    const json::Array& flavors = list_at(groups[g], {"flavors"});
    total_flavors += flavors.size();
    total_resources += covered.size();
    for (size_t i = 0; i < covered.size(); ++i) {
      std::string field = at + ".coveredResources[" + std::to_string(i) + "]";
      std::string_view name = covered[i].string_or("");
      errors.invalid_each(field, name, qualified_name_problems(name));
      if (!seen_resources.emplace(name).second) errors.duplicate(field, name);
    }
    for (size_t i = 0; i < flavors.size(); ++i) {
      std::string field = at + ".flavors[" + std::to_string(i) + "]";
      check_flavor(flavors[i], covered, rules, field, errors);
      std::string_view name = flavors[i].get_string({"name"});
      if (!seen_flavors.emplace(name).second) errors.duplicate(field + ".name", name);
    }
    size_t combinations = flavors.size() * covered.size();
    if (combinations > kMaxCombinations)
      errors.invalid(at, static_cast<int64_t>(combinations),
                     "number of flavor-resource combinations in a resourceGroup must be "
                     "\xe2\x89\xa4 512, got " +
                         std::to_string(combinations));
  }
  auto total = [&errors](size_t n, size_t limit, std::string_view what) {
    if (n > limit)
      errors.invalid("spec.resourceGroups", static_cast<int64_t>(n),
                     "total number of " + std::string(what) +
                         " across all resourceGroups must be \xe2\x89\xa4 " +
                         std::to_string(limit) + ", got " + std::to_string(n));
  };
  total(total_flavors, kMaxFlavors, "flavors");
  total(total_resources, kMaxResources, "covered resources");
}

void check_fair_sharing(const Value& object, FieldErrors& errors) {
  const Value* weight = object.find_path({"spec", "fairSharing", "weight"});
  if (weight == nullptr || weight->is_null()) return;
  Result<api::Quantity> q = api::Quantity::from_json(*weight);
  if (!q.ok()) return;
  if (q->sign() < 0) errors.invalid("spec.fairSharing", q->to_string(), kNotNegative);
  if (q->sign() > 0 && !(*q > api::Quantity::of_nano(1)))
    errors.invalid("spec.fairSharing", q->to_string(), "When not 0, weight must be > 10e-9");
}

std::vector<std::string> flavor_names(const Value& object) {
  std::vector<std::string> out;
  for (const Value& group : list_at(object, {"spec", "resourceGroups"}))
    for (const Value& flavor : list_at(group, {"flavors"}))
      out.emplace_back(flavor.get_string({"name"}));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void check_on_flavors(const Value& object, FieldErrors& errors) {
  std::vector<std::string> known = flavor_names(object);
  std::vector<std::string_view> supported(known.begin(), known.end());
  const json::Array& checks =
      list_at(object, {"spec", "admissionChecksStrategy", "admissionChecks"});
  for (size_t i = 0; i < checks.size(); ++i) {
    const json::Array& flavors = list_at(checks[i], {"onFlavors"});
    for (size_t k = 0; k < flavors.size(); ++k) {
      std::string_view name = flavors[k].string_or("");
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      errors.not_supported("spec.admissionChecksStrategy.admissionChecks[" + std::to_string(i) +
                               "].onFlavors[" + std::to_string(k) + "]",
                           name, supported);
    }
  }
}

// Invalid flavors that were there before are tolerated while neither flavors nor checks change.
bool on_flavors_matter(const Call& call) {
  if (call.old_object == nullptr ||
      call.settings.gates.on(Gate::kRejectUpdatesToCQWithInvalidOnFlavors))
    return true;
  auto checks = [](const Value& object) {
    const Value* value = object.find_path({"spec", "admissionChecksStrategy"});
    return value == nullptr ? Value() : *value;
  };
  return flavor_names(call.object) != flavor_names(*call.old_object) ||
         !(checks(call.object) == checks(*call.old_object));
}

void check_preference(const Value& object, FieldErrors& errors) {
  std::string_view preference = object.get_string({"spec", "flavorFungibility", "preference"});
  if (preference.empty()) return;
  if (object.get_string({"spec", "flavorFungibility", "whenCanBorrow"}) == "TryNextFlavor" &&
      object.get_string({"spec", "flavorFungibility", "whenCanPreempt"}) == "TryNextFlavor")
    return;
  errors.invalid("spec.flavorFungibility.preference", preference,
                 "preference \"" + std::string(preference) +
                     "\" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor");
}

void check_concurrent_admission(const Call& call, FieldErrors& errors) {
  if (!call.settings.gates.on(Gate::kConcurrentAdmission)) return;
  const Value* policy = call.object.find_path({"spec", "concurrentAdmissionPolicy"});
  bool set = policy != nullptr && policy->is_object();
  if (call.old_object != nullptr) {
    const Value* before = call.old_object->find_path({"spec", "concurrentAdmissionPolicy"});
    check_immutable(policy == nullptr ? Value() : *policy, before == nullptr ? Value() : *before,
                    "spec.concurrentAdmissionPolicy", errors);
  }
  if (!set) return;
  const json::Array& groups = list_at(call.object, {"spec", "resourceGroups"});
  if (groups.size() != 1) {
    errors.invalid("spec.resourceGroups", static_cast<int64_t>(groups.size()),
                   "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined");
  } else if (size_t n = list_at(groups[0], {"flavors"}).size(); n > kMaxConcurrentFlavors) {
    errors.invalid("spec.resourceGroups[0].flavors", static_cast<int64_t>(n),
                   "cannot have more than 16 resource flavors in the ResourceGroup when "
                   "ConcurrentAdmissionPolicy is "
                   "defined");
  }
  if (call.object.get_string({"spec", "queueingStrategy"}) == "StrictFIFO")
    errors.invalid("spec.queueingStrategy", "StrictFIFO",
                   "must not be StrictFIFO when ConcurrentAdmissionPolicy is defined");
  const Value* constraints = policy->find_path({"migration", "constraints"});
  if (constraints == nullptr || !constraints->is_object()) return;
  std::string at = "spec.concurrentAdmissionPolicy.migration.constraints";
  std::string_view mode = policy->get_string({"migration", "mode"});
  if (mode != "TryPreferredFlavors")
    errors.forbidden(at, "may only be set when migration.mode is \"TryPreferredFlavors\" (got \"" +
                             std::string(mode) + "\")");
  std::string_view last = constraints->get_string({"lastAcceptableFlavorName"});
  if (last.empty() || groups.size() != 1) return;
  std::string names;
  bool known = false;
  for (const Value& flavor : list_at(groups[0], {"flavors"})) {
    std::string_view name = flavor.get_string({"name"});
    names += (names.empty() ? "" : " ") + std::string(name);
    known = known || name == last;
  }
  if (!known)
    errors.invalid(at + ".lastAcceptableFlavorName", last,
                   "must be one of the flavors defined in the ClusterQueue: [" + names + "]");
}

class ClusterQueueHook final : public Hook {
 public:
  Result<void> mutate(const Call& call, Value& object, std::vector<std::string>&) const override {
    if (call.operation == Operation::kCreate) add_finalizer(object);
    return {};
  }
  void validate(const Call& call, FieldErrors& errors, std::vector<std::string>&) const override {
    LimitRules rules{!call.object.get_string({"spec", "cohortName"}).empty(), true,
                     "must be nil when cohort is empty"};
    check_resource_groups(call.object, rules, errors);
    check_label_selector(call.object.find_path({"spec", "namespaceSelector"}),
                         "spec.namespaceSelector", errors);
    if (on_flavors_matter(call)) check_on_flavors(call.object, errors);
    check_fair_sharing(call.object, errors);
    check_preference(call.object, errors);
    check_concurrent_admission(call, errors);
  }
};

class CohortHook final : public Hook {
 public:
  void validate(const Call& call, FieldErrors& errors, std::vector<std::string>&) const override {
    LimitRules rules{!call.object.get_string({"spec", "parentName"}).empty(), false,
                     "must be nil when parent is empty"};
    check_fair_sharing(call.object, errors);
    check_resource_groups(call.object, rules, errors);
  }
};

}  // namespace

const Hook& cluster_queue_hook() {
  static const ClusterQueueHook kHook;
  return kHook;
}
const Hook& cohort_hook() {
  static const CohortHook kHook;
  return kHook;
}

}  // namespace kueue::webhooks
