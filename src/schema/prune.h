// Unknown fields: found, told in Kubernetes' words, dropped. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "schema/type.h"

namespace kueue::schema {

// What happens to unknown and duplicate fields; the fieldValidation parameter of a request.
enum class FieldValidation : uint8_t { kIgnore, kWarn, kStrict };

// Removes every member the Type does not know, except below preserve_unknown, and returns the paths
// of what was removed
// ("spec.foo", "spec.nest.y[0].u") in the order
// of kube-apiserver (document order for built-in kinds; metadata first and then sorted for others).
// Values of a wrong shape (a string where a struct belongs) are left alone: check_types and
// validate speak about them. At most max_reported paths are returned; all are removed.
std::vector<std::string> prune(const Type& type, json::Value& document, size_t max_reported = 100);

// The same paths without removing anything.
std::vector<std::string> find_unknown(const Type& type, const json::Value& document,
                                      size_t max_reported = 100);

// `duplicate field "spec.a"` and `unknown field "spec.b"`: the texts of warnings, and the parts of
// strict_error.
std::vector<std::string> strict_messages(const std::vector<std::string>& duplicates,
                                         const std::vector<std::string>& unknown);
// 400: `Job in version "v1" cannot be handled as a Job: strict decoding error: unknown field
// "spec.foo", ...`.
Error strict_error(std::string_view kind, std::string_view version,
                   const std::vector<std::string>& messages);

// The known name that is most likely meant, "" when none is near: for our own CLI and configuration
// texts, Kubernetes has no such hint. Case and one or two slips are forgiven.
std::string_view did_you_mean(std::string_view name, std::span<const std::string_view> known);
// The same among the fields of a struct.
std::string_view did_you_mean(std::string_view name, const Type& type);
// `unknown field "spec.foo", did you mean "fooBar"?` for a path reported by find_unknown on a
// document of this Type.
std::string explain_unknown(const Type& type, std::string_view path);

}  // namespace kueue::schema
