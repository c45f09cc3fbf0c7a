// Causes of a 422 Invalid in the words and with the reasons of Kubernetes. ErrorCause::message
// never holds the path; the message of the whole Status does. Pure; thread safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "schema/path.h"

namespace kueue::schema {

// A Go-quoted string (strconv.Quote): what %q prints.
std::string go_quote(std::string_view text);
// The value as field errors print it: strings quoted, numbers and booleans plain, null "null", the
// rest as JSON.
std::string bad_value_text(const json::Value& value);

// `Invalid value: VALUE: DETAIL`, reason FieldValueInvalid.
ErrorCause invalid_value(const Path& path, const json::Value& value, std::string_view detail);
// `Invalid value: DETAIL`: kube-apiserver leaves out values of objects and lists for failed rules.
ErrorCause invalid_without_value(const Path& path, std::string_view detail);
// `Invalid value: "TYPE": DETAIL`, reason FieldValueTypeInvalid.
ErrorCause type_invalid(const Path& path, std::string_view value, std::string_view detail);
// `Required value: DETAIL`, or `Required value` when detail is empty.
ErrorCause required_value(const Path& path, std::string_view detail = {});
// `Unsupported value: VALUE: supported values: "A", "B"`, reason FieldValueNotSupported.
// `supported` are plain strings and are quoted here.
ErrorCause not_supported(const Path& path, const json::Value& value,
                         std::span<const std::string_view> supported);
// `Duplicate value: VALUE`, reason FieldValueDuplicate.
ErrorCause duplicate_value(const Path& path, const json::Value& value);
// `Forbidden: DETAIL`, reason FieldValueForbidden.
ErrorCause forbidden(const Path& path, std::string_view detail);
// `Too long: may not be more than N bytes`, reason FieldValueTooLong.
ErrorCause too_long(const Path& path, int64_t max_length);
// `Too many: ACTUAL: must have at most N items`, reason FieldValueTooMany. actual < 0 leaves out
// the number.
ErrorCause too_many(const Path& path, int64_t actual, int64_t max_items);
// `Not found: VALUE`, reason FieldValueNotFound.
ErrorCause not_found(const Path& path, const json::Value& value);

// The 422 with Kubernetes' summary: `Job.batch "x" is invalid: spec.a: Required value` or, for
// several causes,
// `... is invalid: [A, B]`. kind is the Kind ("Job"); causes with field "" read "<nil>" in the
// text.
Error make_invalid(std::string_view group, std::string_view kind, std::string_view name,
                   std::vector<ErrorCause> causes);

}  // namespace kueue::schema
