#include "webhooks/handler.h"

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

wire::Response text_response(int status, std::string body) {
  wire::Response out;
  out.status = status;
  out.headers.set("Content-Type", "text/plain; charset=utf-8");
  out.body = std::move(body);
  return out;
}

}  // namespace

Handler::Handler(HandlerOptions options) : options_(std::move(options)) {}

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
  bool enabled = info != nullptr && (info->framework.empty() ||
                                     options_.settings.frameworks.contains(info->framework));
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
            options_.settings,
            *options_.lookup};
  out["response"] = mutates ? mutate(info->hook(), call, uid) : validate(info->hook(), call, uid);
  return out;
}

wire::Response Handler::answer(const wire::Request& request) const {
  if (!serves(request.path)) return text_response(404, "404 page not found\n");
  if (request.method != "POST") return text_response(405, "webhooks are asked by POST\n");
  Result<Value> body = json::parse(request.body);
  if (!body.ok()) return text_response(400, "the body is no JSON: " + body.error().message + "\n");
  if (!body->is_object()) return text_response(400, "the body is no review\n");
  if (request.path == kConvert && !options_.noop.contains(kConvert))
    return wire::json_response(convert_review(*body));
  return wire::json_response(review(request.path, *body));
}

void Handler::handle(wire::Request request, std::shared_ptr<wire::ResponseSink> sink) {
  sink->respond(answer(request));
}

Value convert_review(const Value& review) {
  Value out =
      Value::object({{"kind", "ConversionReview"}, {"apiVersion", "apiextensions.k8s.io/v1"}});
  const Value* request = review.find("request");
  Value response = Value::object({{"uid", review.get_string({"request", "uid"})}});
  std::string_view desired = review.get_string({"request", "desiredAPIVersion"});
  size_t slash = desired.find('/');
  std::string_view version = slash == std::string_view::npos ? desired : desired.substr(slash + 1);
  json::Array converted;
  std::string problem;
  const Value* objects = request == nullptr ? nullptr : request->find("objects");
  if (objects == nullptr || !objects->is_array()) problem = "the review holds no objects";
  for (size_t i = 0; problem.empty() && i < objects->as_array().size(); ++i) {
    Result<Value> one = api::convert_kueue(objects->as_array()[i], version);
    if (one.ok()) {
      converted.push_back(std::move(*one));
    } else {
      problem = one.error().message;
    }
  }
  if (problem.empty()) {
    response["result"] = Value::object({{"status", "Success"}});
    response["convertedObjects"] = Value(std::move(converted));
  } else {
    response["result"] = Value::object({{"status", "Failure"}, {"message", problem}});
    response["convertedObjects"] = Value::array();
  }
  out["response"] = std::move(response);
  return out;
}

}  // namespace kueue::webhooks
