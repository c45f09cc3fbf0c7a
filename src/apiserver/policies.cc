#include "apiserver/policies.h"

#include <map>
#include <mutex>
#include <optional>

#include "apiserver/admission_match.h"
#include "apiserver/core.h"
#include "apiserver/view.h"
#include "cel/admission.h"
#include "json/json.h"

namespace kueue::apiserver {

namespace {

constexpr std::string_view kPolicies = "admissionregistration.k8s.io/validatingadmissionpolicies";
constexpr std::string_view kBindings =
    "admissionregistration.k8s.io/validatingadmissionpolicybindings";

struct Policy {
  json::Value object;
  Match match;
  std::shared_ptr<const cel::ValidatingPolicy> program;  // null: does not compile
  std::string problem;
};

// Compiled policies by the revision they were stored with: revisions are never used twice in a
// process.
std::shared_ptr<const Policy> compiled(const StoredPtr& stored) {
  static std::mutex mutex;
  static std::map<std::string, std::pair<StoredPtr, std::shared_ptr<const Policy>>> cache;
  auto object = json::parse(stored->bytes);
  if (!object.ok()) return nullptr;
  const std::string uid(object->get_string({"metadata", "uid"}));
  std::lock_guard lock(mutex);
  auto& entry = cache[uid];
  if (entry.first == stored) return entry.second;
  auto policy = std::make_shared<Policy>();
  policy->object = std::move(object).value();
  const json::Value* spec = policy->object.find("spec");
  if (spec == nullptr) return nullptr;
  if (const json::Value* constraints = spec->find("matchConstraints"))
    policy->match = Match::read(*constraints, "resourceRules");
  auto program = cel::ValidatingPolicy::compile(*spec);
  if (program.ok())
    policy->program = std::move(program).value();
  else
    policy->problem = program.error().message;
  entry = {stored, policy};
  return policy;
}

// The parameters a binding names: one null when it names none; empty when there are none and the
// binding allows that.
Result<std::vector<json::Value>> parameters(const Call& call, const Policy& policy,
                                            const json::Value& binding) {
  const json::Value* kind = policy.object.find_path({"spec", "paramKind"});
  const json::Value* reference = binding.find_path({"spec", "paramRef"});
  if (kind == nullptr || reference == nullptr) return std::vector<json::Value>{json::Value()};
  const std::string_view api_version = kind->get_string({"apiVersion"});
  const size_t slash = api_version.find('/');
  const Served* served = call.catalog->find_kind(
      slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash),
      slash == std::string_view::npos ? api_version : api_version.substr(slash + 1),
      kind->get_string({"kind"}));
  std::vector<json::Value> found;
  if (served != nullptr) {
    std::string namespace_(reference->get_string({"namespace"}));
    if (namespace_.empty() && served->resource->namespaced) namespace_ = call.path.namespace_;
    const std::string_view name = reference->get_string({"name"});
    const std::string key =
        object_key(served->resource->namespaced ? namespace_ : std::string(), name);
    const auto selector = wire::LabelSelector::from_object(reference->find("selector"));
    for (const auto& [k, stored] :
         call.core->store->snapshot(served->resource->collection, key).items) {
      if (!name.empty() && k != key) continue;
      auto value = object_value(*call.core, *served, *stored);
      if (!value.ok()) continue;
      if (name.empty()) {
        wire::LabelMap labels;
        if (const json::Value* l = value->find_path({"metadata", "labels"}); l && l->is_object())
          for (const auto& [label, text] : l->as_object())
            labels.emplace(label, text.string_or(""));
        if (!selector.ok() || !selector->matches(labels)) continue;
      }
      found.push_back(std::move(value).value());
    }
  }
  if (found.empty() && reference->get_string({"parameterNotFoundAction"}) != "Allow")
    return make_error(ErrorCode::kInvalid,
                      "failed to configure binding: no params found for policy binding with "
                      "`Deny` parameterNotFoundAction");
  return found;
}

Error denial(const Call& call, const Attempt& attempt, const std::string& text) {
  const json::Value* named = attempt.object != nullptr ? attempt.object : attempt.old;
  std::string name = call.path.name;
  if (name.empty() && named != nullptr) name = named->get_string({"metadata", "name"});
  Error error = call.error(ErrorCode::kInvalid,
                           call.resource().qualified() + " \"" + name + "\" is forbidden: " + text);
  error.name = name;
  error.causes.push_back({.reason = "", .message = text, .field = ""});
  return error;
}

struct Bound {
  std::string policy;
  std::string binding;
  bool deny = false;
  bool warn = false;
};

Result<void> judge(Call& call, const Attempt& attempt, const Bound& bound,
                   const std::vector<cel::ValidatingPolicy::Denial>& denials) {
  for (const auto& d : denials) {
    const std::string who =
        "ValidatingAdmissionPolicy '" + bound.policy + "' with binding '" + bound.binding + "'";
    if (bound.warn) call.warn("Validation failed for " + who + ": " + d.message);
    if (bound.deny) return denial(call, attempt, who + " denied request: " + d.message);
  }
  return {};
}

Result<void> run_binding(Call& call, const Attempt& attempt, const json::Value& binding) {
  Core& core = *call.core;
  const StoredPtr stored = core.store->get(kPolicies, binding.get_string({"spec", "policyName"}));
  if (stored == nullptr) return {};
  const auto policy = compiled(stored);
  if (policy == nullptr) return {};
  const Served* version = policy->match.fits(call, attempt);
  if (version == nullptr) return {};
  if (const json::Value* resources = binding.find_path({"spec", "matchResources"})) {
    Match more = Match::read(*resources, "resourceRules");
    if (resources->find("resourceRules") == nullptr) more.rules = policy->match.rules;
    if (more.fits(call, attempt) == nullptr) return {};
  }
  Bound bound;
  bound.policy = policy->object.get_string({"metadata", "name"});
  bound.binding = binding.get_string({"metadata", "name"});
  for (const std::string& action : string_list(binding.find_path({"spec", "validationActions"}))) {
    bound.deny |= action == "Deny";
    bound.warn |= action == "Warn";
  }
  const bool ignore = policy->object.get_string({"spec", "failurePolicy"}) == "Ignore";
  if (policy->program == nullptr)
    return ignore ? Result<void>()
                  : judge(call, attempt, bound,
                          {{.message = policy->problem, .reason = "", .evaluation_error = true}});
  const auto params = parameters(call, *policy, binding);
  if (!params.ok())
    return ignore
               ? Result<void>()
               : judge(
                     call, attempt, bound,
                     {{.message = params.error().message, .reason = "", .evaluation_error = true}});
  const json::Value request = admission_request(call, attempt, *version, call.core->new_uid());
  std::optional<json::Value> object, old;
  if (attempt.object != nullptr) {
    KUEUE_ASSIGN(object, convert(core, *attempt.object, *version));
  }
  if (attempt.old != nullptr) {
    KUEUE_ASSIGN(old, convert(core, *attempt.old, *version));
  }
  json::Value namespace_object;
  if (!call.path.namespace_.empty())
    if (const StoredPtr n = core.store->get("/namespaces", call.path.namespace_))
      if (auto parsed = json::parse(n->bytes); parsed.ok()) namespace_object = std::move(*parsed);
  for (const json::Value& param : *params) {
    cel::AdmissionInput input;
    input.object = object ? &*object : nullptr;
    input.old_object = old ? &*old : nullptr;
    input.request = &request;
    input.namespace_object = namespace_object.is_null() ? nullptr : &namespace_object;
    input.params = param.is_null() ? nullptr : &param;
    KUEUE_TRY(judge(call, attempt, bound, policy->program->evaluate(input)));
  }
  return {};
}

}  // namespace

Result<void> run_policies(Call& call, const Attempt& attempt) {
  const Store::Page bindings = call.core->store->snapshot(kBindings, "");
  for (const auto& [name, stored] : bindings.items) {
    const auto binding = json::parse(stored->bytes);
    if (binding.ok()) KUEUE_TRY(run_binding(call, attempt, *binding));
  }
  return {};
}

}  // namespace kueue::apiserver
