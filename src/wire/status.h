// Error <-> metav1.Status, both ways without loss of code, reason, message, details and causes.
#pragma once

#include "base/result.h"
#include "json/value.h"
#include "wire/http.h"

namespace kueue::wire {

int http_code(ErrorCode code);
// "NotFound", "Invalid", ... as Kubernetes names the reason.
std::string_view status_reason(ErrorCode code);
json::Value status_from_error(const Error& error);
// A response of any HTTP error, with or without a Status body.
Error error_from_response(const Response& response);
// The Status as a JSON response with its code and content type; Retry-After where it applies.
Response error_response(const Error& error);
// status: Success.
json::Value success_status(std::string_view group, std::string_view kind, std::string_view name,
                           std::string_view uid);
Response json_response(const json::Value& body, int status = 200);

}  // namespace kueue::wire
