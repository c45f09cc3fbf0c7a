#include "base/result.h"

namespace kueue {

bool Error::transient() const {
  switch (code) {
    case ErrorCode::kConflict:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kInternal:
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
      return true;
    case ErrorCode::kBadRequest:
    case ErrorCode::kUnauthorized:
    case ErrorCode::kForbidden:
    case ErrorCode::kNotFound:
    case ErrorCode::kMethodNotAllowed:
    case ErrorCode::kNotAcceptable:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kExpired:
    case ErrorCode::kTooLarge:
    case ErrorCode::kUnsupportedMedia:
    case ErrorCode::kInvalid:
    case ErrorCode::kCanceled:
      return false;
  }
  return false;
}

}  // namespace kueue
