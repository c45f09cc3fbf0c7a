// CustomResourceDefinitions, PriorityClasses, webhook configurations.
#include <algorithm>

#include "apiserver/core.h"
#include "apiserver/kinds.h"
#include "apiserver/names.h"
#include "apiserver/pod_defaults.h"
#include "cel/rules.h"
#include "schema/crd.h"

namespace kueue::apiserver::kinds {

namespace {

constexpr int64_t kHighestUserPriority = 1'000'000'000;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

json::Value condition(std::string_view type, std::string_view reason, std::string_view message,
                      std::string_view now) {
  return json::Value::object({{"type", type},
                              {"status", "True"},
                              {"reason", reason},
                              {"message", message},
                              {"lastTransitionTime", now}});
}

// The definition is served from the moment it is stored: its status says so at once.
void accept(Call& call, json::Value& object, const json::Value* old) {
  json::Value& status = object["status"];
  if (!status.is_object()) status = json::Value::object();
  if (const json::Value* names = object.find_path({"spec", "names"}))
    status["acceptedNames"] = json::Value(*names);
  if (old == nullptr || status.find("conditions") == nullptr) {
    const std::string now = format_time(call.core->now());
    status["conditions"] =
        json::Value::array({condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                            condition("Established", "InitialNamesAccepted",
                                      "the initial names have been accepted", now)});
  }
  json::Value& stored = status["storedVersions"];
  if (!stored.is_array()) stored = json::Value::array();
  const json::Value* versions = object.find_path({"spec", "versions"});
  if (versions == nullptr || !versions->is_array()) return;
  for (const json::Value& v : versions->as_array()) {
    if (!v.get_bool({"storage"})) continue;
    const json::Value name(v.get_string({"name"}));
    json::Array& list = stored.as_array();
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  }
}

}  // namespace

void crd_defaults(json::Value& object) {
  json::Value* names = object.find_path({"spec", "names"});
  if (names == nullptr || !names->is_object()) return;
  const std::string kind(names->get_string({"kind"}));
  if (names->get_string({"singular"}).empty()) (*names)["singular"] = lower(kind);
  if (names->get_string({"listKind"}).empty() && !kind.empty())
    (*names)["listKind"] = kind + "List";
  json::Value& conversion = object["spec"]["conversion"];
  if (conversion.is_null()) conversion = json::Value::object();
  set_default(conversion, "strategy", "None");
  if (json::Value* service = conversion.find_path({"webhook", "clientConfig", "service"});
      service != nullptr && service->is_object())
    set_default(*service, "port", 443);
}

void crd_create(Call& call, json::Value& object) {
  object["status"] = json::Value::object();
  accept(call, object, nullptr);
}

void crd_update(Call& call, json::Value& object, const json::Value& old) {
  accept(call, object, &old);
}

void crd_validate(const Call& call, const json::Value& object, Causes& causes) {
  schema::CrdCheckOptions options;
  const Served* served = call.served;
  if (const schema::Field* metadata = served->info->type->field("metadata"))
    options.object_meta = metadata->type;
  options.check_rule = cel::check_rule;
  std::vector<std::string> warnings;
  options.warnings = &warnings;
  Causes found = schema::validate_crd(object, options);
  for (ErrorCause& cause : found) causes.push_back(std::move(cause));
  for (std::string& w : warnings) const_cast<Call&>(call).warn(std::move(w));
}

void crd_validate_update(const Call& call, const json::Value& object, const json::Value& old,
                         Causes& causes) {
  (void)call;
  for (const auto& path :
       std::initializer_list<std::initializer_list<std::string_view>>{{"spec", "group"},
                                                                      {"spec", "names", "plural"},
                                                                      {"spec", "names", "kind"},
                                                                      {"spec", "scope"}}) {
    const std::string_view now = object.get_string(path);
    if (now == old.get_string(path)) continue;
    std::string field;
    for (std::string_view step : path) field += (field.empty() ? "" : ".") + std::string(step);
    causes.push_back(cause_invalid(field, now, "field is immutable"));
  }
  const json::Value* stored = old.find_path({"status", "storedVersions"});
  const json::Value* versions = object.find_path({"spec", "versions"});
  if (stored == nullptr || !stored->is_array() || versions == nullptr || !versions->is_array())
    return;
  size_t index = 0;
  for (const json::Value& name : stored->as_array()) {
    const bool there = std::any_of(
        versions->as_array().begin(), versions->as_array().end(),
        [&](const json::Value& v) { return v.get_string({"name"}) == name.string_or(""); });
    if (!there)
      causes.push_back(
          cause_invalid("status.storedVersions[" + std::to_string(index) + "]", name,
                        "missing from spec.versions; " + std::string(name.string_or("")) +
                            " was previously a storage version, and must remain in "
                            "spec.versions until a storage migration ensures no data "
                            "remains persisted in " +
                            std::string(name.string_or("")) + " and removes " +
                            std::string(name.string_or("")) + " from status.storedVersions"));
    ++index;
  }
}

void priority_class_defaults(json::Value& object) {
  set_default(object, "preemptionPolicy", "PreemptLowerPriority");
  set_default(object, "value", 0);
}

void priority_class_validate(const Call& call, const json::Value& object, Causes& causes) {
  (void)call;
  const std::string_view name = object.get_string({"metadata", "name"});
  if (name.starts_with("system-") && name != "system-node-critical" &&
      name != "system-cluster-critical") {
    causes.push_back(cause_forbidden("metadata.name",
                                     "priority class names with 'system-' prefix "
                                     "are reserved for system use only"));
  } else if (!name.starts_with("system-") && object.get_int({"value"}) > kHighestUserPriority) {
    causes.push_back(
        cause_forbidden("value", "maximum allowed value of a user defined priority is 1000000000"));
  }
}

void priority_class_validate_update(const Call& call, const json::Value& object,
                                    const json::Value& old, Causes& causes) {
  (void)call;
  if (object.get_int({"value"}) != old.get_int({"value"}))
    causes.push_back(cause_forbidden("value", "may not be changed in an update."));
  if (object.get_string({"preemptionPolicy"}) != old.get_string({"preemptionPolicy"}))
    causes.push_back(cause_invalid("preemptionPolicy", object.get_string({"preemptionPolicy"}),
                                   "field is immutable"));
}

void webhook_defaults(json::Value& object) {
  json::Value* webhooks = object.find("webhooks");
  if (webhooks == nullptr || !webhooks->is_array()) return;
  const bool mutating = object.get_string({"kind"}) == "MutatingWebhookConfiguration";
  for (json::Value& w : webhooks->as_array()) {
    if (!w.is_object()) continue;
    set_default(w, "failurePolicy", "Fail");
    set_default(w, "matchPolicy", "Equivalent");
    set_default(w, "namespaceSelector", json::Value::object());
    set_default(w, "objectSelector", json::Value::object());
    set_default(w, "timeoutSeconds", 10);
    if (mutating) set_default(w, "reinvocationPolicy", "Never");
    if (json::Value* rules = w.find("rules"); rules != nullptr && rules->is_array())
      for (json::Value& rule : rules->as_array())
        if (rule.is_object()) set_default(rule, "scope", "*");
    if (json::Value* service = w.find_path({"clientConfig", "service"});
        service != nullptr && service->is_object())
      set_default(*service, "port", 443);
  }
}

void policy_defaults(json::Value& object) {
  json::Value* spec = object.find("spec");
  if (spec == nullptr || !spec->is_object()) return;
  if (object.get_string({"kind"}).ends_with("Policy")) set_default(*spec, "failurePolicy", "Fail");
  for (const char* key : {"matchConstraints", "matchResources"})
    if (json::Value* match = spec->find(key); match != nullptr && match->is_object()) {
      set_default(*match, "matchPolicy", "Equivalent");
      set_default(*match, "namespaceSelector", json::Value::object());
      set_default(*match, "objectSelector", json::Value::object());
      if (json::Value* rules = match->find("resourceRules"); rules && rules->is_array())
        for (json::Value& rule : rules->as_array())
          if (rule.is_object()) set_default(rule, "scope", "*");
    }
}

void mutating_policy_create(Call& call, json::Value& object) {
  (void)object;
  call.warn("MutatingAdmissionPolicies are stored but not applied by this server");
}

void api_service_create(Call& call, json::Value& object) {
  const bool local = object.find_path({"spec", "service"}) == nullptr;
  object["status"]["conditions"] = json::Value::array({json::Value::object(
      {{"type", "Available"},
       {"status", "True"},
       {"lastTransitionTime", format_time(call.core->now())},
       {"reason", local ? "Local" : "Passed"},
       {"message", local ? "Local APIServices are always available" : "all checks passed"}})});
}

void webhook_validate(const Call& call, const json::Value& object, Causes& causes) {
  (void)call;
  const json::Value* webhooks = object.find("webhooks");
  if (webhooks == nullptr || !webhooks->is_array()) return;
  size_t index = 0;
  for (const json::Value& w : webhooks->as_array()) {
    const std::string at = "webhooks[" + std::to_string(index++) + "]";
    const std::string_view name = w.get_string({"name"});
    if (std::count(name.begin(), name.end(), '.') < 2)
      causes.push_back(cause_invalid(at + ".name", name,
                                     "should be a domain with at least three segments separated "
                                     "by dots"));
    const int64_t timeout = w.get_int({"timeoutSeconds"}, 10);
    if (timeout < 1 || timeout > 30)
      causes.push_back(cause_invalid(at + ".timeoutSeconds", timeout,
                                     "the timeout value must be between 1 and 30 seconds"));
    const bool url = w.find_path({"clientConfig", "url"}) != nullptr;
    const bool service = w.find_path({"clientConfig", "service"}) != nullptr;
    if (url == service)
      causes.push_back(
          cause_required(at + ".clientConfig", "exactly one of url or service is required"));
    const std::string_view effects = w.get_string({"sideEffects"});
    if (effects != "None" && effects != "NoneOnDryRun")
      causes.push_back({.reason = "FieldValueNotSupported",
                        .message = "Unsupported value: \"" + std::string(effects) +
                                   "\": supported values: \"None\", \"NoneOnDryRun\"",
                        .field = at + ".sideEffects"});
    const json::Value* versions = w.find("admissionReviewVersions");
    const bool v1 = versions != nullptr && versions->is_array() &&
                    std::any_of(versions->as_array().begin(), versions->as_array().end(),
                                [](const json::Value& v) { return v.string_or("") == "v1"; });
    if (versions == nullptr)
      causes.push_back(
          cause_required(at + ".admissionReviewVersions", "must specify one of v1, v1beta1"));
    else if (!v1)
      causes.push_back(cause_invalid(at + ".admissionReviewVersions", *versions,
                                     "must include at least one of v1, v1beta1"));
  }
}

}  // namespace kueue::apiserver::kinds
