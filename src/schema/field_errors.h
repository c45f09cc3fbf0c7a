// A list of field errors under construction, for validation code that knows its paths as text. The
// words are those of schema/errors.h. Plain value, not thread safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace kueue::schema {

class FieldErrors {
 public:
  void invalid(std::string_view field, const json::Value& value, std::string_view detail);
  void required(std::string_view field, std::string_view detail = {});
  void not_supported(std::string_view field, const json::Value& value,
                     std::span<const std::string_view> supported);
  void duplicate(std::string_view field, const json::Value& value);
  void forbidden(std::string_view field, std::string_view detail);
  void too_many(std::string_view field, int64_t actual, int64_t max_items);
  void too_long(std::string_view field, int64_t max_length);
  // One `invalid` per problem (base/names.h).
  void invalid_each(std::string_view field, const json::Value& value,
                    const std::vector<std::string>& problems);
  void add(ErrorCause cause) { causes_.push_back(std::move(cause)); }
  void append(std::vector<ErrorCause> causes);

  bool empty() const { return causes_.empty(); }
  size_t size() const { return causes_.size(); }
  const std::vector<ErrorCause>& causes() const { return causes_; }
  std::vector<ErrorCause> take() { return std::move(causes_); }

 private:
  std::vector<ErrorCause> causes_;
};

// "field: message", or "[a: x, b: y]" for several, as Go prints an aggregate of field errors: equal
// texts appear once.
std::string aggregate_text(std::span<const ErrorCause> causes);

}  // namespace kueue::schema
