#include "base/names.h"

#include <algorithm>

namespace kueue {
namespace {

constexpr std::string_view kLabelText =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainText =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kDns1035Text =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and "
    "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation "
    "is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kNameText =
    " must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kValueText =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool letter_or_digit(char c) { return lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool label_syntax(std::string_view t) {
  if (t.empty() || !lower_or_digit(t.front()) || !lower_or_digit(t.back())) return false;
  return std::all_of(t.begin(), t.end(), [](char c) { return c == '-' || lower_or_digit(c); });
}

bool subdomain_syntax(std::string_view t) {
  while (true) {
    size_t dot = t.find('.');
    if (!label_syntax(t.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    t.remove_prefix(dot + 1);
  }
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool name_syntax(std::string_view t) {
  if (t.empty() || !letter_or_digit(t.front()) || !letter_or_digit(t.back())) return false;
  return std::all_of(t.begin(), t.end(),
                     [](char c) { return c == '-' || c == '_' || c == '.' || letter_or_digit(c); });
}

std::string too_long(size_t limit, std::string_view unit = "characters") {
  return "must be no more than " + std::to_string(limit) + ' ' + std::string(unit);
}

}  // namespace

std::vector<std::string> dns1123_label_problems(std::string_view text) {
  std::vector<std::string> out;
  if (text.size() > 63) out.push_back(too_long(63));
  if (!label_syntax(text)) {
    // A text that would do as a subdomain has its own hint.
    out.emplace_back(subdomain_syntax(text) ? std::string_view("must not contain dots")
                                            : kLabelText);
  }
  return out;
}

std::vector<std::string> dns1123_subdomain_problems(std::string_view text) {
  std::vector<std::string> out;
  if (text.size() > 253) out.push_back(too_long(253));
  if (!subdomain_syntax(text)) out.emplace_back(kSubdomainText);
  return out;
}

std::vector<std::string> dns1035_label_problems(std::string_view text) {
  std::vector<std::string> out;
  if (text.size() > 63) out.push_back(too_long(63));
  if (!label_syntax(text) || text.front() < 'a') out.emplace_back(kDns1035Text);
  return out;
}

std::vector<std::string> qualified_name_problems(std::string_view text) {
  std::vector<std::string> out;
  std::string_view name = text;
  size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      out.push_back("a valid label key" + std::string(kNameText) +
                    " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
      return out;
    }
    std::string_view prefix = text.substr(0, slash);
    if (prefix.empty()) {
      out.emplace_back("prefix part must be non-empty");
    } else {
      if (prefix.size() > 253) out.push_back("prefix part " + too_long(253, "bytes"));
      if (!subdomain_syntax(prefix)) out.push_back("prefix part " + std::string(kSubdomainText));
    }
  }
  if (name.empty()) {
    out.emplace_back("name part must be non-empty");
  } else if (name.size() > 63) {
    out.push_back("name part " + too_long(63, "bytes"));
  }
  if (!name_syntax(name)) out.push_back("name part" + std::string(kNameText));
  return out;
}

std::vector<std::string> label_value_problems(std::string_view text) {
  std::vector<std::string> out;
  if (text.size() > 63) out.push_back(too_long(63, "bytes"));
  if (!text.empty() && !name_syntax(text)) out.emplace_back(kValueText);
  return out;
}

bool is_dns1123_label(std::string_view text) { return text.size() <= 63 && label_syntax(text); }
bool is_dns1123_subdomain(std::string_view text) {
  return text.size() <= 253 && subdomain_syntax(text);
}

}  // namespace kueue
