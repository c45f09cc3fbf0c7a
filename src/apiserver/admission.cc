#include "apiserver/admission.h"

#include <algorithm>
#include <optional>

#include "apiserver/body.h"
#include "apiserver/core.h"
#include "apiserver/encoding.h"
#include "apiserver/json_scan.h"
#include "apiserver/plugins.h"
#include "apiserver/view.h"
#include "apiserver/webhook_call.h"
#include "cel/admission.h"
#include "json/json.h"
#include "json/patch.h"
#include "wire/selector.h"
#include "wire/status.h"

namespace kueue::apiserver {

struct WebhookRule {
  std::vector<std::string> operations, groups, versions, resources;
  std::string scope;
};

struct Webhook {
  std::string name;
  std::string configuration;
  json::Value client_config;
  std::vector<WebhookRule> rules;
  wire::LabelSelector namespaces, objects;
  std::shared_ptr<const cel::MatchConditions> conditions;
  bool conditions_broken = false;
  bool equivalent = true;
  bool ignore_failures = false;
  bool reinvoke = false;
  bool side_effects = false;  // not None and not NoneOnDryRun
  Duration timeout;
};

struct WebhookSet {
  uint64_t stamp = 0;  // newest revision of the configurations, and how many there are
  size_t count = 0;
  std::vector<Webhook> mutating;  // in order of configuration name, then position
  std::vector<Webhook> validating;
};

namespace {

constexpr std::string_view kMutating = "admissionregistration.k8s.io/mutatingwebhookconfigurations";
constexpr std::string_view kValidating =
    "admissionregistration.k8s.io/validatingwebhookconfigurations";

std::vector<std::string> strings(const json::Value* list) {
  std::vector<std::string> out;
  if (list != nullptr && list->is_array())
    for (const json::Value& v : list->as_array()) out.emplace_back(v.string_or(""));
  return out;
}

Webhook read_webhook(const json::Value& w, std::string_view configuration) {
  Webhook webhook;
  webhook.name = w.get_string({"name"});
  webhook.configuration = configuration;
  if (const json::Value* c = w.find("clientConfig")) webhook.client_config = *c;
  if (const json::Value* rules = w.find("rules"); rules != nullptr && rules->is_array())
    for (const json::Value& r : rules->as_array())
      webhook.rules.push_back({.operations = strings(r.find("operations")),
                               .groups = strings(r.find("apiGroups")),
                               .versions = strings(r.find("apiVersions")),
                               .resources = strings(r.find("resources")),
                               .scope = std::string(r.get_string({"scope"}, "*"))});
  const auto selector = [&](std::string_view key) {
    const json::Value* s = w.find(key);
    if (s == nullptr) return wire::LabelSelector();
    auto parsed = wire::LabelSelector::from_object(s);
    return parsed.ok() ? std::move(parsed).value() : wire::LabelSelector::nothing();
  };
  webhook.namespaces = selector("namespaceSelector");
  webhook.objects = selector("objectSelector");
  if (const json::Value* conditions = w.find("matchConditions")) {
    auto compiled = cel::MatchConditions::compile(conditions);
    webhook.conditions_broken = !compiled.ok();
    if (compiled.ok()) webhook.conditions = std::move(compiled).value();
  }
  webhook.equivalent = w.get_string({"matchPolicy"}, "Equivalent") == "Equivalent";
  webhook.ignore_failures = w.get_string({"failurePolicy"}, "Fail") == "Ignore";
  webhook.reinvoke = w.get_string({"reinvocationPolicy"}) == "IfNeeded";
  const std::string_view effects = w.get_string({"sideEffects"});
  webhook.side_effects = effects != "None" && effects != "NoneOnDryRun";
  webhook.timeout = Duration::seconds(w.get_int({"timeoutSeconds"}, 10));
  return webhook;
}

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& s) { return s == "*" || s == wanted; });
}

// "jobs", "jobs/status", "*", "*/status", "jobs/*", "*/*".
bool resource_fits(const std::vector<std::string>& patterns, std::string_view resource,
                   std::string_view subresource) {
  for (const std::string& p : patterns) {
    const size_t slash = p.find('/');
    const std::string_view head = std::string_view(p).substr(0, slash);
    const std::string_view tail =
        slash == std::string::npos ? std::string_view() : std::string_view(p).substr(slash + 1);
    const bool head_fits = head == "*" || head == resource;
    const bool tail_fits =
        subresource.empty() ? tail.empty() || tail == "*" : tail == "*" || tail == subresource;
    // "*" alone means all resources without their subresources; "*/*" means both.
    if (head_fits && tail_fits) return true;
  }
  return false;
}

// The version of the resource that a rule asks for: the one of the request, or with matchPolicy
// Equivalent another one.
const Served* rule_version(const Webhook& webhook, const Call& call, std::string_view operation,
                           std::string_view subresource) {
  const schema::ResourceInfo& info = *call.served->info;
  const auto rule_fits = [&](const WebhookRule& rule) {
    if (!contains(rule.operations, operation)) return false;
    if (!contains(rule.groups, info.group)) return false;
    if (!resource_fits(rule.resources, info.plural, subresource)) return false;
    const bool namespaced =
        call.resource().namespaced && !(info.group.empty() && info.plural == "namespaces");
    return rule.scope == "*" || (rule.scope == "Namespaced") == namespaced;
  };
  for (const WebhookRule& rule : webhook.rules)
    if (rule_fits(rule) && contains(rule.versions, info.version)) return call.served;
  if (!webhook.equivalent) return nullptr;
  for (const WebhookRule& rule : webhook.rules)
    if (rule_fits(rule))
      for (const Served& other : call.resource().versions)
        if (other.served && contains(rule.versions, other.info->version)) return &other;
  return nullptr;
}

wire::LabelMap labels_of(const json::Value* object) {
  wire::LabelMap map;
  const json::Value* labels =
      object == nullptr ? nullptr : object->find_path({"metadata", "labels"});
  if (labels != nullptr && labels->is_object())
    for (const auto& [key, value] : labels->as_object()) map.emplace(key, value.string_or(""));
  return map;
}

bool namespace_fits(const Webhook& webhook, const Call& call, const Attempt& attempt) {
  if (webhook.namespaces.empty()) return true;
  const bool is_namespace = call.resource().collection == "/namespaces";
  if (is_namespace)
    return webhook.namespaces.matches(labels_of(attempt.object ? attempt.object : attempt.old));
  if (!call.resource().namespaced) return true;
  const StoredPtr stored = call.core->store->get("/namespaces", call.path.namespace_);
  wire::LabelMap map;
  if (stored != nullptr)
    for (Members m(scan_path(stored->bytes, {"metadata", "labels"})); m.next();)
      map.emplace(std::string(m.key()), scan_text(m.value()));
  return webhook.namespaces.matches(map);
}

bool object_fits(const Webhook& webhook, const Attempt& attempt) {
  if (webhook.objects.empty()) return true;
  return (attempt.object != nullptr && webhook.objects.matches(labels_of(attempt.object))) ||
         (attempt.old != nullptr && webhook.objects.matches(labels_of(attempt.old)));
}

json::Value user_info(const wire::Identity& identity) {
  json::Array groups;
  for (const std::string& g : identity.groups) groups.emplace_back(g);
  json::Value user = json::Value::object(
      {{"username", identity.user}, {"groups", json::Value(std::move(groups))}});
  if (!identity.extra.empty()) {
    json::Value& extra = user["extra"];
    extra = json::Value::object();
    for (const auto& [key, values] : identity.extra) {
      json::Array list;
      for (const std::string& v : values) list.emplace_back(v);
      extra[key] = json::Value(std::move(list));
    }
  }
  return user;
}

json::Value admission_request(const Call& call, const Attempt& attempt, const Served& version,
                              std::string_view uid) {
  const schema::ResourceInfo& info = *version.info;
  const schema::ResourceInfo& asked = *call.served->info;
  const auto kind = [](const schema::ResourceInfo& i) {
    return json::Value::object({{"group", i.group}, {"version", i.version}, {"kind", i.kind}});
  };
  const auto resource = [](const schema::ResourceInfo& i) {
    return json::Value::object(
        {{"group", i.group}, {"version", i.version}, {"resource", i.plural}});
  };
  json::Value request = json::Value::object({{"uid", uid},
                                             {"kind", kind(info)},
                                             {"resource", resource(info)},
                                             {"requestKind", kind(asked)},
                                             {"requestResource", resource(asked)}});
  if (!attempt.subresource.empty()) {
    request["subResource"] = attempt.subresource;
    request["requestSubResource"] = attempt.subresource;
  }
  std::string name = call.path.name;
  const json::Value* named = attempt.object != nullptr ? attempt.object : attempt.old;
  if (name.empty() && named != nullptr) name = named->get_string({"metadata", "name"});
  if (!name.empty()) request["name"] = name;
  std::string namespace_ = call.path.namespace_;
  if (call.resource().collection == "/namespaces") namespace_ = name;
  if (!namespace_.empty()) request["namespace"] = namespace_;
  request["operation"] = attempt.operation;
  request["userInfo"] = user_info(call.request.identity);
  request["object"] = nullptr;
  request["oldObject"] = nullptr;
  request["dryRun"] = call.dry_run;
  if (attempt.options != nullptr) {
    request["options"] = *attempt.options;
  } else {
    json::Value options =
        json::Value::object({{"kind", attempt.operation == "CREATE"    ? "CreateOptions"
                                      : call.request.method == "PATCH" ? "PatchOptions"
                                                                       : "UpdateOptions"},
                             {"apiVersion", "meta.k8s.io/v1"}});
    if (call.dry_run) options["dryRun"] = json::Value::array({"All"});
    if (!call.field_manager.empty()) options["fieldManager"] = call.field_manager;
    request["options"] = std::move(options);
  }
  return request;
}

Error refused(const Call& call, const Webhook& webhook, const json::Value& response) {
  const json::Value* result = response.find("status");
  std::string text = "admission webhook \"" + webhook.name + "\" denied the request";
  Error error = make_error(ErrorCode::kForbidden, "");
  if (result != nullptr && result->is_object()) {
    const std::string_view message = result->get_string({"message"});
    const std::string_view reason = result->get_string({"reason"});
    if (!message.empty())
      text += ": " + std::string(message);
    else if (!reason.empty())
      text += ": " + std::string(reason);
    else
      text += " without explanation";
    wire::Response as_http;
    as_http.status = static_cast<int>(result->get_int({"code"}, 403));
    if (as_http.status < 400 || as_http.status > 599) as_http.status = 403;
    json::Value status = *result;
    status["kind"] = "Status";
    status["apiVersion"] = "v1";
    status["status"] = "Failure";
    as_http.body = json::write(status);
    error = wire::error_from_response(as_http);
  } else {
    text += " without explanation";
  }
  (void)call;
  error.message = text;
  return error;
}

struct Outcome {
  std::optional<json::Value> patch;
};

// One call. An Error means: the request is refused.
Result<Outcome> invoke(Call& call, const Attempt& attempt, const Webhook& webhook,
                       const Served& version) {
  Core& core = *call.core;
  const std::string uid = new_uid();
  const auto failed = [&](std::string_view why) -> Result<Outcome> {
    const std::string text = "failed calling webhook \"" + webhook.name + "\": " + std::string(why);
    if (webhook.ignore_failures) return Outcome{};
    return make_error(ErrorCode::kInternal, "Internal error occurred: " + text);
  };
  json::Value request = admission_request(call, attempt, version, uid);
  json::Value object, old;
  if (attempt.object != nullptr) {
    auto converted = convert(core, *attempt.object, version);
    if (!converted.ok()) return failed(converted.error().message);
    object = std::move(converted).value();
  }
  if (attempt.old != nullptr) {
    auto converted = convert(core, *attempt.old, version);
    if (!converted.ok()) return failed(converted.error().message);
    old = std::move(converted).value();
  }
  if (webhook.conditions_broken) return failed("a match condition does not compile");
  if (webhook.conditions != nullptr) {
    cel::AdmissionInput input;
    input.object = attempt.object != nullptr ? &object : nullptr;
    input.old_object = attempt.old != nullptr ? &old : nullptr;
    input.request = &request;
    const auto matches = webhook.conditions->matches(input);
    if (!matches.ok()) {
      if (webhook.ignore_failures) return Outcome{};
      return call.error(ErrorCode::kForbidden, matches.error().message);
    }
    if (!*matches) return Outcome{};
  }
  if (call.dry_run && webhook.side_effects)
    return make_error(ErrorCode::kBadRequest,
                      "admission webhook \"" + webhook.name + "\" does not support dry run");
  if (attempt.object != nullptr) request["object"] = std::move(object);
  if (attempt.old != nullptr) request["oldObject"] = std::move(old);
  json::Value review = json::Value::object({{"kind", "AdmissionReview"},
                                            {"apiVersion", "admission.k8s.io/v1"},
                                            {"request", std::move(request)}});
  auto answer = call_webhook(core, webhook.client_config, review, webhook.timeout);
  if (!answer.ok()) return failed("failed to call webhook: " + answer.error().message);
  const json::Value* response = answer->find("response");
  if (response == nullptr || !response->is_object()) return failed("the answer has no response");
  if (response->get_string({"uid"}) != uid)
    return failed("expected response.uid=\"" + uid + "\", got \"" +
                  std::string(response->get_string({"uid"})) + "\"");
  for (const std::string& w : strings(response->find("warnings"))) call.warn(w);
  if (!response->get_bool({"allowed"})) return refused(call, webhook, *response);
  Outcome outcome;
  const std::string_view patch = response->get_string({"patch"});
  if (!patch.empty()) {
    const auto text = base64_decode(patch);
    auto operations = text ? json::parse(*text)
                           : Result<json::Value>(make_error(ErrorCode::kInternal, "bad base64"));
    if (!operations.ok()) return failed("the patch cannot be read");
    outcome.patch = std::move(operations).value();
  }
  return outcome;
}

bool patch_object(Call& call, const Webhook& webhook, const Served& version,
                  const json::Value& patch, json::Value& object, Error& error) {
  Core& core = *call.core;
  const auto failed = [&](const std::string& why) {
    error = make_error(ErrorCode::kInternal, "Internal error occurred: admission webhook \"" +
                                                 webhook.name +
                                                 "\" sent a patch that does not apply: " + why);
    return false;
  };
  auto as_version = convert(core, object, version);
  if (!as_version.ok()) return failed(as_version.error().message);
  auto patched = json::apply_json_patch(*as_version, patch);
  if (!patched.ok()) return failed(patched.error().message);
  auto back = convert(core, std::move(patched).value(), *call.served);
  if (!back.ok()) return failed(back.error().message);
  if (!back->is_object() || back->find("metadata") == nullptr)
    return failed("the result is no object");
  tidy_up(*back, *call.served);
  object = std::move(back).value();
  return true;
}

}  // namespace

std::shared_ptr<const WebhookSet> Admission::webhooks() const {
  const Store::Page mutating = core_.store->snapshot(kMutating, "");
  const Store::Page validating = core_.store->snapshot(kValidating, "");
  uint64_t stamp = 0;
  for (const Store::Page* page : {&mutating, &validating})
    for (const auto& [name, stored] : page->items) stamp = std::max(stamp, stored->revision);
  const size_t count = mutating.items.size() + validating.items.size();
  std::lock_guard lock(mutex_);
  if (set_ != nullptr && set_->stamp == stamp && set_->count == count) return set_;
  auto set = std::make_shared<WebhookSet>();
  set->stamp = stamp;
  set->count = count;
  const auto read = [](const Store::Page& page, std::vector<Webhook>& into) {
    for (const auto& [name, stored] : page.items) {
      const auto configuration = json::parse(stored->bytes);
      if (!configuration.ok()) continue;
      const json::Value* list = configuration->find("webhooks");
      if (list == nullptr || !list->is_array()) continue;
      for (const json::Value& w : list->as_array()) into.push_back(read_webhook(w, name));
    }
  };
  read(mutating, set->mutating);
  read(validating, set->validating);
  set_ = set;
  return set;
}

bool Admission::may_call(const Call& call, std::string_view operation,
                         std::string_view subresource) const {
  const auto set = webhooks();
  if (set->count == 0) return false;
  for (const auto* list : {&set->mutating, &set->validating})
    for (const Webhook& w : *list) {
      // An apply or PUT may turn into a creation.
      for (std::string_view op : {operation, std::string_view("CREATE")})
        if (rule_version(w, call, op, subresource) != nullptr) return true;
    }
  return false;
}

namespace {

// Configurations of admission are never subject to webhooks: a broken one could not be repaired.
bool exempt(const Call& call) {
  const std::string& collection = call.resource().collection;
  return collection == kMutating || collection == kValidating ||
         call.resource().group == "admissionregistration.k8s.io";
}

}  // namespace

Result<void> Admission::mutate(Call& call, const Attempt& attempt) const {
  KUEUE_TRY(run_plugins(call, attempt));
  if (exempt(call)) return {};
  const auto set = webhooks();
  std::vector<const Webhook*> again;
  const auto run = [&](const Webhook& w, bool& changed) -> Result<void> {
    const Served* version = rule_version(w, call, attempt.operation, attempt.subresource);
    if (version == nullptr || !namespace_fits(w, call, attempt) || !object_fits(w, attempt))
      return {};
    KUEUE_ASSIGN(Outcome outcome, invoke(call, attempt, w, *version));
    if (!outcome.patch || attempt.object == nullptr) return {};
    const json::Value before = *attempt.object;
    Error error;
    if (!patch_object(call, w, *version, *outcome.patch, *attempt.object, error)) return error;
    changed = !(before == *attempt.object);
    return {};
  };
  for (const Webhook& w : set->mutating) {
    bool changed = false;
    KUEUE_TRY(run(w, changed));
    // Those that asked for it see once more what later webhooks changed.
    if (changed)
      for (const Webhook& earlier : set->mutating) {
        if (&earlier == &w) break;
        if (earlier.reinvoke && std::find(again.begin(), again.end(), &earlier) == again.end())
          again.push_back(&earlier);
      }
  }
  for (const Webhook* w : again) {
    bool changed = false;
    KUEUE_TRY(run(*w, changed));
  }
  return {};
}

Result<void> Admission::validate(Call& call, const Attempt& attempt) const {
  if (exempt(call)) return {};
  const auto set = webhooks();
  for (const Webhook& w : set->validating) {
    const Served* version = rule_version(w, call, attempt.operation, attempt.subresource);
    if (version == nullptr || !namespace_fits(w, call, attempt) || !object_fits(w, attempt))
      continue;
    const auto outcome = invoke(call, attempt, w, *version);
    if (!outcome.ok()) return outcome.error();
  }
  return {};
}

}  // namespace kueue::apiserver
