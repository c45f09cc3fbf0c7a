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
// Of a Status document; `http` counts where it holds no code of its own.
Error error_from_status(const json::Value& status, int http = 500);
// A response of any HTTP error, with or without a Status body.
Error error_from_response(const Response& response);
// The Status as a JSON response with its code and content type; Retry-After where it applies.
Response error_response(const Error& error);
// status: Success.
json::Value success_status(std::string_view group, std::string_view kind, std::string_view name,
                           std::string_view uid);
Response json_response(const json::Value& body, int status = 200);

// Errors in the words of kube-apiserver. `group` is "" for core.

// jobs.batch "x" not found
Error not_found(std::string_view group, std::string_view resource, std::string_view name);
// jobs.batch "x" already exists
Error already_exists(std::string_view group, std::string_view resource, std::string_view name);
// Operation cannot be fulfilled on jobs.batch "x": WHY
Error conflict(std::string_view group, std::string_view resource, std::string_view name,
               std::string_view why);
// The conflict of a write with an old resourceVersion.
Error modified(std::string_view group, std::string_view resource, std::string_view name);
// jobs.batch "x" is forbidden: WHY
Error forbidden(std::string_view group, std::string_view resource, std::string_view name,
                std::string_view why);
// Job.batch "x" is invalid: CAUSE, or [CAUSE, CAUSE]; each cause as "field: message".
Error invalid(std::string_view group, std::string_view kind, std::string_view name,
              std::vector<ErrorCause> causes);
// VERB is not supported on resources of kind "jobs.batch"
Error method_not_allowed(std::string_view group, std::string_view resource, std::string_view verb);
// Internal error occurred: WHY
Error internal_error(std::string_view why);
// the server could not find the requested resource
Error unknown_path();

}  // namespace kueue::wire
