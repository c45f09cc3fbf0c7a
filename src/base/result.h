// Result<T>: a value or an Error. The one error type of the project; it carries what a Kubernetes
// Status carries, so that an error met deep in a patch reaches the user with its code, reason and
// field path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"

namespace kueue {

// What kind of failure; each maps to one HTTP code and Status reason (wire/status.h).
enum class ErrorCode : uint8_t {
  kBadRequest,        // 400 BadRequest
  kUnauthorized,      // 401 Unauthorized
  kForbidden,         // 403 Forbidden
  kNotFound,          // 404 NotFound
  kMethodNotAllowed,  // 405 MethodNotAllowed
  kNotAcceptable,     // 406 NotAcceptable
  kAlreadyExists,     // 409 AlreadyExists
  kConflict,          // 409 Conflict
  kExpired,           // 410 Expired: resourceVersion or continue token too old
  kTooLarge,          // 413 RequestEntityTooLarge
  kUnsupportedMedia,  // 415 UnsupportedMediaType
  kInvalid,           // 422 Invalid
  kTooManyRequests,   // 429 TooManyRequests
  kInternal,          // 500 InternalError
  kUnavailable,       // 503 ServiceUnavailable
  kTimeout,           // 504 Timeout
  kCanceled,          // the caller gave up; never sent over the wire
};

// One reason why a request was refused, at one place of the object.
struct ErrorCause {
  std::string reason;   // e.g. FieldValueInvalid, FieldManagerConflict
  std::string message;  // without the field path
  std::string field;    // e.g. spec.resourceGroups[0].flavors[1].name; "" = whole object

  bool operator==(const ErrorCause&) const = default;
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::vector<ErrorCause> causes = {};
  // Object the error is about, as in Status.details; "" where unknown.
  std::string group = {};
  std::string kind =
      {};  // the resource ("jobs") for most errors, the Kind for Invalid, as Kubernetes does
  std::string name = {};
  std::string uid = {};
  int32_t retry_after_seconds = 0;

  // True for failures that may pass by themselves: Conflict, Timeout, Unavailable, TooManyRequests,
  // Internal.
  bool transient() const;
};

inline Error make_error(ErrorCode code, std::string message) {
  return Error{.code = code, .message = std::move(message)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : data_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by intent
  Result(Error error)
      : data_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by intent

  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // The value; CHECKs that there is one.
  T& value() & {
    KUEUE_CHECK(ok(), error_text());
    return std::get<0>(data_);
  }
  const T& value() const& {
    KUEUE_CHECK(ok(), error_text());
    return std::get<0>(data_);
  }
  T&& value() && {
    KUEUE_CHECK(ok(), error_text());
    return std::get<0>(std::move(data_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // The error; CHECKs that there is one.
  const Error& error() const& {
    KUEUE_CHECK(!ok(), "error() of a Result that holds a value");
    return std::get<1>(data_);
  }
  Error&& error() && {
    KUEUE_CHECK(!ok(), "error() of a Result that holds a value");
    return std::get<1>(std::move(data_));
  }

 private:
  const char* error_text() const { return ok() ? "" : std::get<1>(data_).message.c_str(); }
  std::variant<T, Error> data_;
};

// Result of something that yields nothing but may fail.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by intent
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    KUEUE_CHECK(!ok(), "error() of a Result without error");
    return *error_;
  }
  Error&& error() && {
    KUEUE_CHECK(!ok(), "error() of a Result without error");
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace kueue

#define KUEUE_CONCAT_INNER(a, b) a##b
#define KUEUE_CONCAT(a, b) KUEUE_CONCAT_INNER(a, b)

// Returns the error of `expression` (a Result) from the enclosing function, if it has one.
#define KUEUE_TRY(expression)                                               \
  do {                                                                      \
    auto kueue_try_result = (expression);                                   \
    if (!kueue_try_result.ok()) return std::move(kueue_try_result).error(); \
  } while (false)

// `KUEUE_ASSIGN(auto x, f());` binds x to the value of f() or returns its error.
#define KUEUE_ASSIGN(declaration, expression) \
  KUEUE_ASSIGN_IMPL(KUEUE_CONCAT(kueue_assign_, __LINE__), declaration, expression)
#define KUEUE_ASSIGN_IMPL(temp, declaration, expression) \
  auto temp = (expression);                              \
  if (!temp.ok()) return std::move(temp).error();        \
  declaration = std::move(temp).value()
