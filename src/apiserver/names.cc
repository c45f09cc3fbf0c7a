#include "apiserver/names.h"

#include <algorithm>

#include "schema/errors.h"

namespace kueue::apiserver {

namespace {

constexpr std::string_view kSubdomainText =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelText =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kLabel1035Text =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kQualifiedText =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueText =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

constexpr size_t kMaxAnnotations = 256 * 1024;

bool lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool alnum(char c) { return lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

bool is_label(std::string_view text) {
  if (text.empty() || !lower_alnum(text.front()) || !lower_alnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return lower_alnum(c) || c == '-'; });
}

bool is_subdomain(std::string_view text) {
  while (true) {
    const size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_qualified(std::string_view text) {
  if (text.empty() || !alnum(text.front()) || !alnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

// Names count characters, labels bytes: that is how the texts go.
std::string too_long_text(size_t most, std::string_view unit) {
  return "must be no more than " + std::to_string(most) + " " + std::string(unit);
}

std::vector<std::string> check(std::string_view text, size_t most, bool good,
                               std::string_view complaint, std::string_view unit = "characters") {
  std::vector<std::string> problems;
  if (text.size() > most) problems.push_back(too_long_text(most, unit));
  if (!good) problems.emplace_back(complaint);
  return problems;
}

}  // namespace

std::vector<std::string> check_subdomain(std::string_view text) {
  return check(text, 253, is_subdomain(text), kSubdomainText);
}

std::vector<std::string> check_label(std::string_view text) {
  return check(text, 63, is_label(text), kLabelText);
}

std::vector<std::string> check_label_1035(std::string_view text) {
  return check(text, 63, is_label(text) && !(text[0] >= '0' && text[0] <= '9'), kLabel1035Text);
}

std::vector<std::string> check_path_segment(std::string_view text) {
  std::vector<std::string> problems;
  if (text == ".") problems.emplace_back("may not be '.'");
  if (text == "..") problems.emplace_back("may not be '..'");
  if (text.find('/') != std::string_view::npos) problems.emplace_back("may not contain '/'");
  if (text.find('%') != std::string_view::npos) problems.emplace_back("may not contain '%'");
  return problems;
}

std::vector<std::string> check_qualified_name(std::string_view text) {
  std::vector<std::string> problems;
  std::string_view name = text;
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      problems.push_back("a qualified name " + std::string(kQualifiedText) +
                         " with an optional DNS subdomain prefix and '/' (e.g. "
                         "'example.com/MyName')");
      return problems;
    }
    if (prefix.empty())
      problems.emplace_back("prefix part must be non-empty");
    else
      for (const std::string& p : check_subdomain(prefix)) problems.push_back("prefix part " + p);
  }
  if (name.empty())
    problems.emplace_back("name part must be non-empty");
  else if (name.size() > 63)
    problems.push_back("name part " + too_long_text(63, "bytes"));
  if (!is_qualified(name)) problems.push_back("name part " + std::string(kQualifiedText));
  return problems;
}

std::vector<std::string> check_label_value(std::string_view text) {
  return check(text, 63, text.empty() || is_qualified(text), kLabelValueText, "bytes");
}

std::vector<std::string> check_name(Traits::Name rule, std::string_view text) {
  switch (rule) {
    case Traits::Name::kSubdomain:
      return check_subdomain(text);
    case Traits::Name::kLabel:
      return check_label(text);
    case Traits::Name::kLabel1035:
      return check_label_1035(text);
    case Traits::Name::kPathSegment:
      return check_path_segment(text);
  }
  return {};
}

ErrorCause cause_invalid(std::string field, const json::Value& value, std::string_view detail) {
  return {.reason = "FieldValueInvalid",
          .message = "Invalid value: " + schema::bad_value_text(value) + ": " + std::string(detail),
          .field = std::move(field)};
}

ErrorCause cause_required(std::string field, std::string_view detail) {
  std::string message = "Required value";
  if (!detail.empty()) message.append(": ").append(detail);
  return {.reason = "FieldValueRequired", .message = message, .field = std::move(field)};
}

ErrorCause cause_forbidden(std::string field, std::string_view detail) {
  return {.reason = "FieldValueForbidden",
          .message = "Forbidden: " + std::string(detail),
          .field = std::move(field)};
}

void validate_labels(const json::Value* labels, std::string_view field, Causes& causes) {
  if (labels == nullptr || !labels->is_object()) return;
  for (const auto& [key, value] : labels->as_object()) {
    for (const std::string& problem : check_qualified_name(key))
      causes.push_back(cause_invalid(std::string(field), key, problem));
    for (const std::string& problem : check_label_value(value.string_or("")))
      causes.push_back(cause_invalid(std::string(field), value, problem));
  }
}

namespace {

void validate_annotations(const json::Value& object, Causes& causes) {
  const json::Value* annotations = object.find_path({"metadata", "annotations"});
  if (annotations == nullptr || !annotations->is_object()) return;
  size_t total = 0;
  for (const auto& [key, value] : annotations->as_object()) {
    std::string lowered(key);
    for (char& c : lowered)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    for (const std::string& problem : check_qualified_name(lowered))
      causes.push_back(cause_invalid("metadata.annotations", key, problem));
    total += key.size() + value.string_or("").size();
  }
  if (total > kMaxAnnotations)
    causes.push_back({.reason = "FieldValueTooLong",
                      .message = "Too long: may not be more than 262144 bytes",
                      .field = "metadata.annotations"});
}

void validate_owners(const json::Value& object, Causes& causes) {
  const json::Value* owners = object.find_path({"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return;
  size_t index = 0;
  std::string controller;
  for (const json::Value& owner : owners->as_array()) {
    const std::string at = "metadata.ownerReferences[" + std::to_string(index++) + "]";
    const std::string_view api_version = owner.get_string({"apiVersion"});
    if (api_version.empty() || api_version.ends_with("/"))
      causes.push_back(cause_invalid("metadata.ownerReferences.apiVersion", api_version,
                                     "version must not be empty"));
    for (const char* field : {"kind", "name", "uid"})
      if (owner.get_string({field}).empty())
        causes.push_back(cause_invalid("metadata.ownerReferences." + std::string(field), "",
                                       "must not be empty"));
    if (!owner.get_bool({"controller"})) continue;
    if (!controller.empty())
      causes.push_back(cause_invalid(
          "metadata.ownerReferences", owner,
          "Only one reference can have Controller set to true. Found \"true\" in references for " +
              controller + " and " + std::string(owner.get_string({"kind"})) + "/" +
              std::string(owner.get_string({"name"}))));
    controller =
        std::string(owner.get_string({"kind"})) + "/" + std::string(owner.get_string({"name"}));
  }
}

void validate_finalizers(const json::Value& object, Causes& causes) {
  const json::Value* finalizers = object.find_path({"metadata", "finalizers"});
  if (finalizers == nullptr || !finalizers->is_array()) return;
  size_t index = 0;
  for (const json::Value& f : finalizers->as_array()) {
    const std::string_view name = f.string_or("");
    for (const std::string& problem : check_qualified_name(name))
      causes.push_back(cause_invalid("metadata.finalizers", f, problem));
    const bool standard = name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
    if (!standard && name.find('/') == std::string_view::npos)
      causes.push_back(
          cause_invalid("metadata.finalizers[" + std::to_string(index) + "]", f,
                        "name is neither a standard finalizer name nor is it fully qualified"));
    ++index;
  }
}

}  // namespace

void validate_metadata(const json::Value& object, bool namespaced, Traits::Name rule,
                       Causes& causes) {
  const std::string_view generate = object.get_string({"metadata", "generateName"});
  const std::string_view name = object.get_string({"metadata", "name"});
  if (!generate.empty()) {
    // As in Kubernetes, a prefix is checked as if it was completed.
    std::string completed(generate);
    if (completed.ends_with("-")) completed.back() = 'a';
    for (const std::string& problem : check_name(rule, completed))
      causes.push_back(cause_invalid("metadata.generateName", generate, problem));
  }
  if (name.empty())
    causes.push_back(cause_required("metadata.name", "name or generateName is required"));
  else
    for (const std::string& problem : check_name(rule, name))
      causes.push_back(cause_invalid("metadata.name", name, problem));
  const std::string_view namespace_ = object.get_string({"metadata", "namespace"});
  if (namespaced && namespace_.empty()) causes.push_back(cause_required("metadata.namespace", ""));
  if (!namespaced && !namespace_.empty())
    causes.push_back(cause_forbidden("metadata.namespace", "not allowed on this type"));
  validate_labels(object.find_path({"metadata", "labels"}), "metadata.labels", causes);
  validate_annotations(object, causes);
  validate_owners(object, causes);
  validate_finalizers(object, causes);
}

void validate_metadata_update(const json::Value& object, const json::Value& old, Causes& causes) {
  for (const char* field : {"name", "namespace"}) {
    const std::string_view now = object.get_string({"metadata", field});
    if (now != old.get_string({"metadata", field}))
      causes.push_back(cause_invalid(std::string("metadata.") + field, now, "field is immutable"));
  }
  validate_labels(object.find_path({"metadata", "labels"}), "metadata.labels", causes);
  validate_annotations(object, causes);
  validate_owners(object, causes);
  validate_finalizers(object, causes);
  if (old.find_path({"metadata", "deletionTimestamp"}) == nullptr) return;
  const json::Value* before = old.find_path({"metadata", "finalizers"});
  const json::Value* after = object.find_path({"metadata", "finalizers"});
  if (after == nullptr || !after->is_array()) return;
  json::Array added;
  for (const json::Value& f : after->as_array()) {
    const bool had = before != nullptr && before->is_array() &&
                     std::find(before->as_array().begin(), before->as_array().end(), f) !=
                         before->as_array().end();
    if (!had) added.push_back(f);
  }
  if (!added.empty()) {
    std::string names;
    for (const json::Value& f : added)
      names += (names.empty() ? "" : ", ") + schema::go_quote(f.string_or(""));
    causes.push_back(cause_forbidden("metadata.finalizers",
                                     "no new finalizers can be added if the object is being "
                                     "deleted, found new finalizers []string{" +
                                         names + "}"));
  }
}

}  // namespace kueue::apiserver
