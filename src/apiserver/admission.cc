#include "apiserver/admission.h"

#include <algorithm>
#include <optional>

#include "apiserver/admission_match.h"
#include "apiserver/body.h"
#include "apiserver/core.h"
#include "apiserver/encoding.h"
#include "apiserver/json_scan.h"
#include "apiserver/plugins.h"
#include "apiserver/policies.h"
#include "apiserver/view.h"
#include "apiserver/webhook_call.h"
#include "cel/admission.h"
#include "json/json.h"
#include "json/patch.h"
#include "wire/selector.h"
#include "wire/status.h"

namespace kueue::apiserver {

struct Webhook {
  std::string name;
  std::string configuration;
  json::Value client_config;
  Match match;
  std::shared_ptr<const cel::MatchConditions> conditions;
  bool conditions_broken = false;
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

Webhook read_webhook(const json::Value& w, std::string_view configuration) {
  Webhook webhook;
  webhook.name = w.get_string({"name"});
  webhook.configuration = configuration;
  if (const json::Value* c = w.find("clientConfig")) webhook.client_config = *c;
  webhook.match = Match::read(w, "rules");
  if (const json::Value* conditions = w.find("matchConditions")) {
    auto compiled = cel::MatchConditions::compile(conditions);
    webhook.conditions_broken = !compiled.ok();
    if (compiled.ok()) webhook.conditions = std::move(compiled).value();
  }
  webhook.ignore_failures = w.get_string({"failurePolicy"}, "Fail") == "Ignore";
  webhook.reinvoke = w.get_string({"reinvocationPolicy"}) == "IfNeeded";
  const std::string_view effects = w.get_string({"sideEffects"});
  webhook.side_effects = effects != "None" && effects != "NoneOnDryRun";
  webhook.timeout = Duration::seconds(w.get_int({"timeoutSeconds"}, 10));
  return webhook;
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
  const std::string uid = core.new_uid();
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
  for (const std::string& w : string_list(response->find("warnings"))) call.warn(w);
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
  if (const auto fits = check_shape(*back, *call.served); !fits.ok())
    return failed(fits.error().message);
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
    for (const Store::Item& item : page->items.list)
      stamp = std::max(stamp, item.version.revision());
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
        if (w.match.version(call, op, subresource) != nullptr) return true;
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
    const Served* version = w.match.fits(call, attempt);
    if (version == nullptr) return {};
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
  KUEUE_TRY(run_policies(call, attempt));
  const auto set = webhooks();
  for (const Webhook& w : set->validating) {
    const Served* version = w.match.fits(call, attempt);
    if (version == nullptr) continue;
    const auto outcome = invoke(call, attempt, w, *version);
    if (!outcome.ok()) return outcome.error();
  }
  return {};
}

}  // namespace kueue::apiserver
