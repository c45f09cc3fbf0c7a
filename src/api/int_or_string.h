// IntOrString: a field that is an integer or a text (maxUnavailable: 1 or "25%"; targetPort: 80 or
// "http"). Not thread safe; plain value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "schema/bind.h"

namespace kueue::api {

class IntOrString {
 public:
  IntOrString() = default;
  IntOrString(int32_t number) : number_(number) {}  // NOLINT: implicit by intent
  IntOrString(std::string text)
      : is_string_(true), text_(std::move(text)) {}  // NOLINT: implicit by intent

  bool is_string() const { return is_string_; }
  // 0 when it is a text.
  int32_t number() const { return number_; }
  // "" when it is a number.
  const std::string& text() const { return text_; }
  // The text, or the number in decimal.
  std::string to_string() const { return is_string_ ? text_ : std::to_string(number_); }

  bool operator==(const IntOrString&) const = default;

 private:
  bool is_string_ = false;
  int32_t number_ = 0;
  std::string text_;
};

extern const schema::CustomOps kIntOrStringOps;

}  // namespace kueue::api

template <>
inline constexpr const kueue::schema::CustomOps*
    kueue::schema::custom_ops<kueue::api::IntOrString> = &kueue::api::kIntOrStringOps;
