#include "schema/errors.h"

#include <fmt/format.h>

#include <unordered_set>

#include "json/json.h"

namespace kueue::schema {
namespace {

std::string field_text(const Path& path) { return path.is_root() ? "<nil>" : path.str(); }

ErrorCause cause(std::string_view reason, const Path& path, std::string message) {
  return ErrorCause{std::string(reason), std::move(message), field_text(path)};
}

// encoding/json escapes these inside strings, and nowhere else do they occur.
std::string escape_html(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string with_detail(std::string text, std::string_view detail) {
  if (!detail.empty()) {
    text += ": ";
    text += detail;
  }
  return text;
}

}  // namespace

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\a':
        out += "\\a";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\v':
        out += "\\v";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
  return out;
}

std::string bad_value_text(const json::Value& value) {
  if (value.is_string()) return go_quote(value.as_string());
  return escape_html(json::write_sorted(value));
}

ErrorCause invalid_value(const Path& path, const json::Value& value, std::string_view detail) {
  return cause("FieldValueInvalid", path,
               with_detail("Invalid value: " + bad_value_text(value), detail));
}

ErrorCause invalid_without_value(const Path& path, std::string_view detail) {
  return cause("FieldValueInvalid", path, with_detail("Invalid value", detail));
}

ErrorCause type_invalid(const Path& path, std::string_view value, std::string_view detail) {
  return cause("FieldValueTypeInvalid", path,
               with_detail("Invalid value: " + go_quote(value), detail));
}

ErrorCause required_value(const Path& path, std::string_view detail) {
  return cause("FieldValueRequired", path, with_detail("Required value", detail));
}

ErrorCause not_supported(const Path& path, const json::Value& value,
                         std::span<const std::string_view> supported) {
  std::string message = "Unsupported value: " + bad_value_text(value);
  for (size_t i = 0; i < supported.size(); ++i) {
    message += i == 0 ? ": supported values: " : ", ";
    message += go_quote(supported[i]);
  }
  return cause("FieldValueNotSupported", path, std::move(message));
}

ErrorCause duplicate_value(const Path& path, const json::Value& value) {
  return cause("FieldValueDuplicate", path, "Duplicate value: " + bad_value_text(value));
}

ErrorCause forbidden(const Path& path, std::string_view detail) {
  return cause("FieldValueForbidden", path, with_detail("Forbidden", detail));
}

ErrorCause too_long(const Path& path, int64_t max_length) {
  return cause("FieldValueTooLong", path,
               fmt::format("Too long: may not be more than {} byte{}", max_length,
                           max_length == 1 ? "" : "s"));
}

ErrorCause too_many(const Path& path, int64_t actual, int64_t max_items) {
  std::string text = "Too many";
  if (actual >= 0) text += fmt::format(": {}", actual);
  return cause(
      "FieldValueTooMany", path,
      fmt::format("{}: must have at most {} item{}", text, max_items, max_items == 1 ? "" : "s"));
}

ErrorCause not_found(const Path& path, const json::Value& value) {
  return cause("FieldValueNotFound", path, "Not found: " + bad_value_text(value));
}

Error make_invalid(std::string_view group, std::string_view kind, std::string_view name,
                   std::vector<ErrorCause> causes) {
  std::string message(kind);
  if (!group.empty()) {
    message += '.';
    message += group;
  }
  message += ' ';
  message += go_quote(name);
  message += " is invalid: ";
  // kube-apiserver tells equal errors once.
  std::vector<std::string> texts;
  std::unordered_set<std::string> seen;
  for (const ErrorCause& c : causes) {
    std::string text = (c.field.empty() ? "<nil>" : c.field) + ": " + c.message;
    if (seen.insert(text).second) texts.push_back(std::move(text));
  }
  if (texts.size() == 1) {
    message += texts[0];
  } else {
    message += fmt::format("[{}]", fmt::join(texts, ", "));
  }
  Error error = make_error(ErrorCode::kInvalid, std::move(message));
  error.causes = std::move(causes);
  error.group = group;
  error.kind = kind;
  error.name = name;
  return error;
}

}  // namespace kueue::schema
