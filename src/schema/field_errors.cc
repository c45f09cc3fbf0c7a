#include "schema/field_errors.h"

#include <unordered_set>

#include "schema/errors.h"
#include "schema/path.h"

namespace kueue::schema {
namespace {

constexpr Path kRoot;

}  // namespace

void FieldErrors::invalid(std::string_view field, const json::Value& value,
                          std::string_view detail) {
  add(invalid_value(kRoot.child(field), value, detail));
}
void FieldErrors::required(std::string_view field, std::string_view detail) {
  add(required_value(kRoot.child(field), detail));
}
void FieldErrors::not_supported(std::string_view field, const json::Value& value,
                                std::span<const std::string_view> supported) {
  add(schema::not_supported(kRoot.child(field), value, supported));
}
void FieldErrors::duplicate(std::string_view field, const json::Value& value) {
  add(duplicate_value(kRoot.child(field), value));
}
void FieldErrors::forbidden(std::string_view field, std::string_view detail) {
  add(schema::forbidden(kRoot.child(field), detail));
}
void FieldErrors::too_many(std::string_view field, int64_t actual, int64_t max_items) {
  add(schema::too_many(kRoot.child(field), actual, max_items));
}
void FieldErrors::too_long(std::string_view field, int64_t max_length) {
  add(schema::too_long(kRoot.child(field), max_length));
}
void FieldErrors::invalid_each(std::string_view field, const json::Value& value,
                               const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) invalid(field, value, problem);
}
void FieldErrors::append(std::vector<ErrorCause> causes) {
  for (ErrorCause& cause : causes) causes_.push_back(std::move(cause));
}

std::string aggregate_text(std::span<const ErrorCause> causes) {
  std::vector<std::string> texts;
  std::unordered_set<std::string> seen;
  for (const ErrorCause& cause : causes) {
    std::string text = cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
    if (seen.insert(text).second) texts.push_back(std::move(text));
  }
  if (texts.size() == 1) return texts[0];
  std::string out = "[";
  for (size_t i = 0; i < texts.size(); ++i) out += (i == 0 ? "" : ", ") + texts[i];
  return out + "]";
}

}  // namespace kueue::schema
