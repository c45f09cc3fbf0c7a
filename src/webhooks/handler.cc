#include "webhooks/handler.h"

#include <span>
#include <system_error>
#include <thread>

#include "api/conversion.h"
#include "api/registry.h"
#include "json/json.h"
#include "schema/decode_check.h"
#include "webhooks/json_diff.h"
#include "wire/status.h"

namespace kueue::webhooks {
namespace {

using json::Value;

constexpr std::string_view kConvert = "/convert";

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t n = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k)
      group = (group << 8) | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[(group >> (18 - 6 * k)) & 63] : '=';
  }
  return out;
}

Operation operation_of(std::string_view text) {
  if (text == "UPDATE") return Operation::kUpdate;
  if (text == "DELETE") return Operation::kDelete;
  return text == "CONNECT" ? Operation::kConnect : Operation::kCreate;
}

// Hooks rely on the JSON types of what they read. An API server has seen to that; others may ask,
// too.
Result<void> check_types(const HookInfo& info, const Value* object) {
  const schema::ResourceInfo* resource =
      api::find_resource(info.group, info.version, info.resource);
  if (object == nullptr || resource == nullptr) return {};
  return schema::check_types(*resource->type, *object, resource->kind, resource->version);
}

Value response_value(std::string_view uid, bool allowed, int64_t code) {
  return Value::object(
      {{"uid", uid},
       {"allowed", allowed},
       {"status", Value::object({{"code", code}, {"metadata", Value::object()}})}});
}

Value denied(std::string_view uid, int64_t code, std::string_view reason,
             std::string_view message) {
  Value out = response_value(uid, false, code);
  out["status"]["status"] = "Failure";
  out["status"]["reason"] = reason;
  out["status"]["message"] = message;
  return out;
}

Value failed(std::string_view uid, const Error& error) {
  return denied(uid, wire::http_code(error.code), wire::status_reason(error.code), error.message);
}

void add_warnings(const std::vector<std::string>& warnings, Value& response) {
  if (warnings.empty()) return;
  json::Array list;
  for (const std::string& warning : warnings) list.emplace_back(warning);
  response["warnings"] = Value(std::move(list));
}

Value mutate(const Hook& hook, const Call& call, std::string_view uid) {
  Value object = call.object;
  std::vector<std::string> warnings;
  Result<void> result = hook.mutate(call, object, warnings);
  if (!result.ok()) return failed(uid, result.error());
  Value response = response_value(uid, true, 200);
  Value patch = diff(call.object, object);
  if (!patch.as_array().empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = base64(json::write(patch));
  }
  add_warnings(warnings, response);
  return response;
}

Value validate(const Hook& hook, const Call& call, std::string_view uid) {
  schema::FieldErrors errors;
  std::vector<std::string> warnings;
  hook.validate(call, errors, warnings);
  Value response = errors.empty()
                       ? response_value(uid, true, 200)
                       : denied(uid, 403, "Forbidden", schema::aggregate_text(errors.causes()));
  add_warnings(warnings, response);
  return response;
}

const HookInfo* find_hook(std::string_view path, bool* mutates) {
  for (const HookInfo& info : all_hooks()) {
    *mutates = info.mutates && path == mutate_path(info);
    if (*mutates || (info.validates && path == validate_path(info))) return &info;
  }
  return nullptr;
}

// ---- conversion

// From this many objects on a second thread pays.
constexpr size_t kObjectsForTwoThreads = 64;

struct Converted {
  std::string objects;     // texts with commas between
  std::string problem;     // why there are none
  bool malformed = false;  // one is no JSON
};

void add_object(Value object, std::string_view version, Converted& out) {
  Result<Value> converted = api::convert_kueue(std::move(object), version);
  if (!converted.ok()) {
    out.problem = converted.error().message;
    return;
  }
  if (!out.objects.empty()) out.objects += ',';
  json::write_to(out.objects, *converted);
}

Converted convert_texts(std::span<const std::string_view> texts, std::string_view version) {
  Converted out;
  if (!texts.empty()) {
    // Conversion adds little; one allocation instead of a doubling of megabytes.
    const auto bytes = static_cast<size_t>(texts.back().end() - texts.front().begin());
    out.objects.reserve(bytes + bytes / 16);
  }
  for (const std::string_view text : texts) {
    Result<Value> object = json::parse(text);
    out.malformed = !object.ok();
    if (out.malformed) return out;
    add_object(*std::move(object), version, out);
    if (!out.problem.empty()) return out;
  }
  return out;
}

Converted convert_in_threads(std::span<const std::string_view> texts, std::string_view version) {
  if (texts.size() < kObjectsForTwoThreads) return convert_texts(texts, version);
  const size_t half = texts.size() / 2;
  Converted first, second;
  const auto take_second = [&] { second = convert_texts(texts.subspan(half), version); };
  std::thread helper;
  try {
    helper = std::thread(take_second);
  } catch (const std::system_error&) {  // no more threads may be had
    take_second();
  }
  first = convert_texts(texts.first(half), version);
  if (helper.joinable()) helper.join();
  first.malformed = first.malformed || second.malformed;
  if (first.problem.empty()) first.problem = std::move(second.problem);
  first.objects += ',';
  first.objects += second.objects;
  return first;
}

std::string conversion_answer(std::string_view uid, const Converted& converted) {
  const bool failed = !converted.problem.empty();
  Value result = Value::object({{"status", failed ? "Failure" : "Success"}});
  if (failed) result["message"] = converted.problem;
  std::string out =
      R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":)";
  out.reserve(converted.objects.size() + 512);
  json::write_to(out, Value(uid));
  out += R"(,"result":)";
  json::write_to(out, result);
  out += R"(,"convertedObjects":[)";
  if (!failed) out += converted.objects;
  out += "]}}";
  return out;
}

// A review that is not in the form that API servers write.
Result<std::string> convert_unusual(std::string_view text) {
  Result<Value> review = json::parse(text);
  if (!review.ok()) {
    return make_error(ErrorCode::kBadRequest, "the body is no JSON: " + review.error().message);
  }
  if (!review->is_object()) return make_error(ErrorCode::kBadRequest, "the body is no review");
  const std::string_view desired = review->get_string({"request", "desiredAPIVersion"});
  const std::string_view version = desired.substr(desired.find('/') + 1);
  const Value* objects = review->find_path({"request", "objects"});
  Converted all;
  if (objects == nullptr || !objects->is_array()) {
    all.problem = "the review holds no objects";
  } else {
    for (const Value& object : objects->as_array()) {
      if (all.problem.empty()) add_object(object, version, all);
    }
  }
  return conversion_answer(review->get_string({"request", "uid"}), all);
}

wire::Response text_response(int status, std::string body) {
  wire::Response out;
  out.status = status;
  out.headers.set("Content-Type", "text/plain; charset=utf-8");
  out.body = std::move(body);
  return out;
}

}  // namespace

Handler::Handler(HandlerOptions options)
    : options_(std::move(options)),
      settings_(std::make_shared<const Settings>(options_.settings)) {}

void Handler::use(Settings settings) {
  auto next = std::make_shared<const Settings>(std::move(settings));
  std::lock_guard lock(mutex_);
  settings_ = std::move(next);
}

std::shared_ptr<const Settings> Handler::settings() const {
  std::lock_guard lock(mutex_);
  return settings_;
}

bool Handler::serves(std::string_view path) const {
  if (options_.noop.contains(path)) return true;
  if (options_.served.has_value() && !options_.served->contains(path)) return false;
  bool mutates = false;
  return path == kConvert || find_hook(path, &mutates) != nullptr;
}

Value Handler::review(std::string_view path, const Value& review) const {
  Value out = Value::object({{"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}});
  const Value* request = review.find("request");
  if (request == nullptr || !request->is_object()) {
    out["response"] = denied("", 400, "BadRequest", "the review holds no request");
    return out;
  }
  std::string_view uid = request->get_string({"uid"});
  bool mutates = false;
  const HookInfo* info = find_hook(path, &mutates);
  const std::shared_ptr<const Settings> settings = this->settings();
  bool enabled = info != nullptr &&
                 (info->framework.empty() || settings->frameworks.contains(info->framework));
  Operation operation = operation_of(request->get_string({"operation"}));
  const Value* object = request->find("object");
  bool judged = operation == Operation::kCreate || operation == Operation::kUpdate;
  if (options_.noop.contains(path) || !enabled || !judged) {
    out["response"] = response_value(uid, true, 200);
    return out;
  }
  if (object == nullptr || !object->is_object()) {
    out["response"] = denied(uid, 400, "BadRequest", "there is no content to decode");
    return out;
  }
  const Value* old_object = request->find("oldObject");
  if (operation != Operation::kUpdate || old_object == nullptr || !old_object->is_object())
    old_object = nullptr;
  for (const Value* document : {object, old_object}) {
    Result<void> types = check_types(*info, document);
    if (types.ok()) continue;
    out["response"] = failed(uid, types.error());
    return out;
  }
  Call call{operation,
            *object,
            old_object,
            request->get_string({"subResource"}),
            request->get_string({"namespace"}),
            *settings,
            *options_.lookup};
  out["response"] = mutates ? mutate(info->hook(), call, uid) : validate(info->hook(), call, uid);
  return out;
}

wire::Response Handler::answer(const wire::Request& request) const {
  if (!serves(request.path)) return text_response(404, "404 page not found\n");
  if (request.method != "POST") return text_response(405, "webhooks are asked by POST\n");
  if (request.path == kConvert && !options_.noop.contains(kConvert)) {
    Result<std::string> converted = convert_review(request.body);
    if (!converted.ok()) return text_response(400, converted.error().message + "\n");
    wire::Response out;
    out.headers.set("Content-Type", "application/json");
    out.body = *std::move(converted) + "\n";
    return out;
  }
  Result<Value> body = json::parse(request.body);
  if (!body.ok()) return text_response(400, "the body is no JSON: " + body.error().message + "\n");
  if (!body->is_object()) return text_response(400, "the body is no review\n");
  return wire::json_response(review(request.path, *body));
}

void Handler::handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  sink->respond(answer(request));
}

Result<std::string> convert_review(std::string_view review) {
  std::vector<std::string_view> objects;
  json::ParseOptions options;
  options.skipped_in = "request";
  options.skipped = "objects";
  options.skipped_items = &objects;
  Result<Value> envelope = json::parse(review, options);
  // Not as API servers write it; the error is of a parse that takes everything.
  if (!envelope.ok() || !envelope->is_object()) return convert_unusual(review);
  const std::string_view desired = envelope->get_string({"request", "desiredAPIVersion"});
  const std::string_view version = desired.substr(desired.find('/') + 1);
  Converted all = convert_in_threads(objects, version);
  if (all.malformed || objects.empty()) return convert_unusual(review);
  return conversion_answer(envelope->get_string({"request", "uid"}), all);
}

}  // namespace kueue::webhooks
