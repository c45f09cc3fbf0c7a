#include "wire/status.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "json/json.h"

namespace kueue::wire {
namespace {

struct CodeRow {
  ErrorCode code;
  int http;
  std::string_view reason;
};

constexpr CodeRow kCodes[] = {
    {ErrorCode::kBadRequest, 400, "BadRequest"},
    {ErrorCode::kUnauthorized, 401, "Unauthorized"},
    {ErrorCode::kForbidden, 403, "Forbidden"},
    {ErrorCode::kNotFound, 404, "NotFound"},
    {ErrorCode::kMethodNotAllowed, 405, "MethodNotAllowed"},
    {ErrorCode::kNotAcceptable, 406, "NotAcceptable"},
    {ErrorCode::kAlreadyExists, 409, "AlreadyExists"},
    {ErrorCode::kConflict, 409, "Conflict"},
    {ErrorCode::kExpired, 410, "Expired"},
    {ErrorCode::kTooLarge, 413, "RequestEntityTooLarge"},
    {ErrorCode::kUnsupportedMedia, 415, "UnsupportedMediaType"},
    {ErrorCode::kInvalid, 422, "Invalid"},
    {ErrorCode::kTooManyRequests, 429, "TooManyRequests"},
    {ErrorCode::kInternal, 500, "InternalError"},
    {ErrorCode::kUnavailable, 503, "ServiceUnavailable"},
    {ErrorCode::kTimeout, 504, "Timeout"},
    // Stays inside the process; should it reach a peer after all, it is our failure.
    {ErrorCode::kCanceled, 500, "InternalError"},
};

const CodeRow& row(ErrorCode code) {
  for (const CodeRow& r : kCodes) {
    if (r.code == code) return r;
  }
  return kCodes[13];
}

// What an HTTP code alone tells.
ErrorCode code_from_http(int http) {
  switch (http) {
    case 400:
      return ErrorCode::kBadRequest;
    case 401:
      return ErrorCode::kUnauthorized;
    case 403:
      return ErrorCode::kForbidden;
    case 404:
      return ErrorCode::kNotFound;
    case 405:
      return ErrorCode::kMethodNotAllowed;
    case 406:
      return ErrorCode::kNotAcceptable;
    case 409:
      return ErrorCode::kConflict;
    case 410:
      return ErrorCode::kExpired;
    case 413:
      return ErrorCode::kTooLarge;
    case 415:
      return ErrorCode::kUnsupportedMedia;
    case 422:
      return ErrorCode::kInvalid;
    case 429:
      return ErrorCode::kTooManyRequests;
    case 408:
    case 504:
      return ErrorCode::kTimeout;
    case 502:
    case 503:
      return ErrorCode::kUnavailable;
    default:
      return http >= 400 && http < 500 ? ErrorCode::kBadRequest : ErrorCode::kInternal;
  }
}

ErrorCode code_from_reason(std::string_view reason, int http) {
  for (const CodeRow& r : kCodes) {
    if (r.reason == reason) return r.code;
  }
  if (reason == "Gone") return ErrorCode::kExpired;
  if (reason == "ServerTimeout") return ErrorCode::kTimeout;
  return code_from_http(http);
}

// What client-go says when a server answers an error without a Status.
std::string generic_message(int http) {
  switch (http) {
    case 400:
      return "the server rejected our request for an unknown reason";
    case 401:
      return "the server has asked for the client to provide credentials";
    case 403:
      return "the server does not allow access to the requested resource";
    case 404:
      return "the server could not find the requested resource";
    case 405:
      return "the server does not allow this method on the requested resource";
    case 409:
      return "the server reported a conflict";
    case 413:
      return "the request entity is too large";
    case 415:
      return "the server rejected the media type of our request";
    case 429:
      return "the server has received too many requests and has asked us to try again later";
    case 503:
      return "the server is currently unable to handle the request";
    case 504:
      return "the server was unable to return a response in the time allotted, but may still be "
             "processing the request";
    default:
      return "an error on the server (HTTP " + std::to_string(http) +
             ") has prevented the request from succeeding";
  }
}

std::string qualified(std::string_view resource, std::string_view group) {
  std::string out(resource);
  if (!group.empty()) out.append(".").append(group);
  return out;
}

Error about(ErrorCode code, std::string_view group, std::string_view kind, std::string_view name,
            std::string message) {
  return Error{.code = code,
               .message = std::move(message),
               .group = std::string(group),
               .kind = std::string(kind),
               .name = std::string(name)};
}

int32_t parse_seconds(std::string_view text) {
  int32_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && n > 0 ? n : 0;
}

}  // namespace

int http_code(ErrorCode code) { return row(code).http; }

std::string_view status_reason(ErrorCode code) { return row(code).reason; }

json::Value status_from_error(const Error& error) {
  json::Value details = json::Value::object();
  auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) details[key] = value;
  };
  put("name", error.name);
  put("group", error.group);
  put("kind", error.kind);
  put("uid", error.uid);
  if (!error.causes.empty()) {
    json::Array causes;
    for (const ErrorCause& cause : error.causes) {
      json::Value c = json::Value::object();
      if (!cause.reason.empty()) c["reason"] = cause.reason;
      if (!cause.message.empty()) c["message"] = cause.message;
      if (!cause.field.empty()) c["field"] = cause.field;
      causes.push_back(std::move(c));
    }
    details["causes"] = std::move(causes);
  }
  if (error.retry_after_seconds > 0) details["retryAfterSeconds"] = error.retry_after_seconds;
  json::Value status = json::Value::object({{"kind", "Status"},
                                            {"apiVersion", "v1"},
                                            {"metadata", json::Value::object()},
                                            {"status", "Failure"},
                                            {"message", error.message},
                                            {"reason", status_reason(error.code)}});
  if (!details.as_object().empty()) status["details"] = std::move(details);
  status["code"] = http_code(error.code);
  return status;
}

Error error_from_status(const json::Value& status, int http) {
  Error error;
  int code = static_cast<int>(status.get_int({"code"}, http));
  error.code = code_from_reason(status.get_string({"reason"}), code);
  error.message = status.get_string({"message"});
  if (error.message.empty()) error.message = generic_message(code);
  error.name = status.get_string({"details", "name"});
  error.group = status.get_string({"details", "group"});
  error.kind = status.get_string({"details", "kind"});
  error.uid = status.get_string({"details", "uid"});
  error.retry_after_seconds = static_cast<int32_t>(
      std::clamp<int64_t>(status.get_int({"details", "retryAfterSeconds"}), 0, 1 << 30));
  const json::Value* causes = status.find_path({"details", "causes"});
  if (causes && causes->is_array()) {
    for (const json::Value& c : causes->as_array()) {
      error.causes.push_back({std::string(c.get_string({"reason"})),
                              std::string(c.get_string({"message"})),
                              std::string(c.get_string({"field"}))});
    }
  }
  return error;
}

Error error_from_response(const Response& response) {
  Error error;
  auto body = json::parse(response.body);
  if (body.ok() && body->get_string({"kind"}) == "Status") {
    error = error_from_status(*body, response.status);
  } else {
    error.code = code_from_http(response.status);
    error.message = generic_message(response.status);
    // Proxies and load balancers explain themselves in plain text.
    if (!response.body.empty() && !body.ok()) {
      error.message +=
          ": " + response.body.substr(0, response.body.find_first_of("\r\n", 0)).substr(0, 512);
    }
  }
  if (error.retry_after_seconds == 0) {
    error.retry_after_seconds = parse_seconds(response.headers.get("Retry-After"));
  }
  return error;
}

Response error_response(const Error& error) {
  Response response = json_response(status_from_error(error), http_code(error.code));
  if (error.retry_after_seconds > 0) {
    response.headers.set("Retry-After", std::to_string(error.retry_after_seconds));
  }
  return response;
}

json::Value success_status(std::string_view group, std::string_view kind, std::string_view name,
                           std::string_view uid) {
  json::Value details = json::Value::object({{"name", name}});
  if (!group.empty()) details["group"] = group;
  details["kind"] = kind;
  if (!uid.empty()) details["uid"] = uid;
  return json::Value::object({{"kind", "Status"},
                              {"apiVersion", "v1"},
                              {"metadata", json::Value::object()},
                              {"status", "Success"},
                              {"details", std::move(details)}});
}

Response json_response(const json::Value& body, int status) {
  Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  json::write_to(response.body, body);
  response.body += '\n';
  return response;
}

Error not_found(std::string_view group, std::string_view resource, std::string_view name) {
  return about(ErrorCode::kNotFound, group, resource, name,
               qualified(resource, group) + " \"" + std::string(name) + "\" not found");
}

Error already_exists(std::string_view group, std::string_view resource, std::string_view name) {
  return about(ErrorCode::kAlreadyExists, group, resource, name,
               qualified(resource, group) + " \"" + std::string(name) + "\" already exists");
}

Error conflict(std::string_view group, std::string_view resource, std::string_view name,
               std::string_view why) {
  return about(ErrorCode::kConflict, group, resource, name,
               "Operation cannot be fulfilled on " + qualified(resource, group) + " \"" +
                   std::string(name) + "\": " + std::string(why));
}

Error modified(std::string_view group, std::string_view resource, std::string_view name) {
  return conflict(
      group, resource, name,
      "the object has been modified; please apply your changes to the latest version and "
      "try again");
}

Error forbidden(std::string_view group, std::string_view resource, std::string_view name,
                std::string_view why) {
  std::string message = qualified(resource, group);
  if (!name.empty()) message += " \"" + std::string(name) + "\"";
  return about(ErrorCode::kForbidden, group, resource, name,
               message + " is forbidden: " + std::string(why));
}

Error invalid(std::string_view group, std::string_view kind, std::string_view name,
              std::vector<ErrorCause> causes) {
  std::vector<std::string> lines;
  std::unordered_set<std::string> seen;
  for (const ErrorCause& cause : causes) {
    std::string line = cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
    if (seen.insert(line).second) lines.push_back(std::move(line));
  }
  std::string message = qualified(kind, group) + " \"" + std::string(name) + "\" is invalid";
  if (!lines.empty()) message += ": ";
  if (lines.size() > 1) message += '[';
  for (size_t i = 0; i < lines.size(); ++i) message += (i ? ", " : "") + lines[i];
  if (lines.size() > 1) message += ']';
  Error error = about(ErrorCode::kInvalid, group, kind, name, std::move(message));
  error.causes = std::move(causes);
  return error;
}

Error method_not_allowed(std::string_view group, std::string_view resource, std::string_view verb) {
  return about(ErrorCode::kMethodNotAllowed, group, resource, "",
               std::string(verb) + " is not supported on resources of kind \"" +
                   qualified(resource, group) + "\"");
}

Error internal_error(std::string_view why) {
  Error error = make_error(ErrorCode::kInternal, "Internal error occurred: " + std::string(why));
  error.causes.push_back({"", std::string(why), ""});
  return error;
}

Error unknown_path() { return make_error(ErrorCode::kNotFound, generic_message(404)); }

}  // namespace kueue::wire
