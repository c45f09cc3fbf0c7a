#include "webhooks/checks.h"

#include <algorithm>
#include <set>

#include "api/quantity.h"
#include "base/names.h"
#include "webhooks/names.h"

namespace kueue::webhooks {
namespace {

using json::Value;
using schema::FieldErrors;

constexpr size_t kMaxAnnotations = 256 * 1024;
constexpr size_t kMaxGate = 63;

std::string_view member_of(const Value& object, std::string_view map, std::string_view name) {
  return object.get_string({"metadata", map, name});
}

// Members of an object of texts, by key.
std::vector<std::pair<std::string_view, std::string_view>> sorted_texts(const Value* map) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  if (map == nullptr || !map->is_object()) return out;
  for (const auto& [key, value] : map->as_object()) out.emplace_back(key, value.string_or(""));
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> gate_names(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    while (!name.empty() && (name.front() == ' ' || name.front() == '\t')) name.remove_prefix(1);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
    out.emplace_back(name);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

// "domain/path", as Kubernetes validates domain-prefixed paths.
void check_domain_path(const std::string& name, const std::string& field, FieldErrors& errors) {
  size_t slash = name.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == name.size()) {
    errors.invalid(field, name, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    return;
  }
  std::string domain = name.substr(0, slash), path = name.substr(slash + 1);
  errors.invalid_each(field, domain, dns1123_subdomain_problems(domain));
  static constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~%!$&'()*+,;=:";
  if (path.find_first_not_of(kAllowed) != std::string::npos)
    errors.invalid(
        field, path,
        "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

void check_selector_term(const Value& term, const std::string& field, FieldErrors& errors) {
  std::string_view op = term.get_string({"operator"});
  const json::Array& values = list_at(term, {"values"});
  if (op == "In" || op == "NotIn") {
    if (values.empty())
      errors.required(field + ".values", "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty())
      errors.forbidden(field + ".values",
                       "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else {
    errors.invalid(field + ".operator", op, "not a valid selector operator");
  }
  std::string_view key = term.get_string({"key"});
  errors.invalid_each(field + ".key", key, qualified_name_problems(key));
  for (size_t i = 0; i < values.size(); ++i) {
    std::string_view value = values[i].string_or("");
    errors.invalid_each(field + ".values[" + std::to_string(i) + "]", value,
                        label_value_problems(value));
  }
}

}  // namespace

std::string_view label_of(const Value& object, std::string_view name) {
  return member_of(object, "labels", name);
}
std::string_view annotation_of(const Value& object, std::string_view name) {
  return member_of(object, "annotations", name);
}
bool has_annotation(const Value& object, std::string_view name) {
  return object.find_path({"metadata", "annotations", name}) != nullptr;
}

std::string label_field(std::string_view key) {
  return "metadata.labels[" + std::string(key) + "]";
}
std::string annotation_field(std::string_view key) {
  return "metadata.annotations[" + std::string(key) + "]";
}

bool condition_true(const Value& object, std::string_view type) {
  for (const Value& c : list_at(object, {"status", "conditions"}))
    if (c.get_string({"type"}) == type) return c.get_string({"status"}) == "True";
  return false;
}

void check_labels(const Value* labels, const std::string& field, FieldErrors& errors) {
  for (const auto& [key, value] : sorted_texts(labels)) {
    errors.invalid_each(field, key, qualified_name_problems(key));
    errors.invalid_each(field, value, label_value_problems(value));
  }
}

void check_annotations(const Value* annotations, const std::string& field, FieldErrors& errors) {
  size_t total = 0;
  for (const auto& [key, value] : sorted_texts(annotations)) {
    std::string lower(key);
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    errors.invalid_each(field, key, qualified_name_problems(lower));
    total += key.size() + value.size();
  }
  if (total > kMaxAnnotations) errors.too_long(field, static_cast<int64_t>(kMaxAnnotations));
}

void check_label_selector(const Value* selector, const std::string& field, FieldErrors& errors) {
  if (selector == nullptr || !selector->is_object()) return;
  check_labels(selector->find("matchLabels"), field + ".matchLabels", errors);
  const json::Array& terms = list_at(*selector, {"matchExpressions"});
  for (size_t i = 0; i < terms.size(); ++i)
    check_selector_term(terms[i], field + ".matchExpressions[" + std::to_string(i) + "]", errors);
}

int quantity_sign(const Value& value) {
  Result<api::Quantity> q = api::Quantity::from_json(value);
  return q.ok() ? q->sign() : 0;
}

std::string quantity_text(const Value& value) {
  Result<api::Quantity> q = api::Quantity::from_json(value);
  return q.ok() ? q->to_string() : std::string(value.string_or(""));
}

void check_immutable(const Value& now, const Value& before, const std::string& field,
                     FieldErrors& errors) {
  if (!(now == before)) errors.invalid(field, now, "field is immutable");
}

void check_admission_gates(const Value& object, const Value* old_object, const FeatureGates& gates,
                           FieldErrors& errors) {
  if (!gates.on(Gate::kAdmissionGatedBy)) return;
  std::string field = annotation_field(kGatedBy);
  std::string text(annotation_of(object, kGatedBy));
  std::vector<std::string> names;
  if (!text.empty()) names = gate_names(text);
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) {
      errors.invalid(field, text, "gate name must not be empty");
      continue;
    }
    if (name.size() > kMaxGate) errors.too_long(field, static_cast<int64_t>(kMaxGate));
    check_domain_path(name, field, errors);
    if (!seen.insert(name).second) errors.invalid(field, text, "duplicate gate name: " + name);
  }
  if (old_object == nullptr) return;
  std::string_view before = annotation_of(*old_object, kGatedBy);
  if (names.empty()) return;
  if (before.empty()) {
    errors.forbidden(field, "cannot add admission gate after creation");
    return;
  }
  std::vector<std::string> old_names = gate_names(before);
  bool added = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(old_names.begin(), old_names.end(), name) == old_names.end();
  });
  if (added) errors.forbidden(field, "can only remove gates, not add new ones");
}

}  // namespace kueue::webhooks
