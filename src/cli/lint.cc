#include "cli/lint.h"

#include <algorithm>
#include <tuple>

#include "wire/selector.h"

namespace kueue::cli {

const std::vector<json::Value>& Inventory::of(std::string_view kind) const {
  static const std::vector<json::Value> kNone;
  const auto it = kinds.find(kind);
  return it == kinds.end() ? kNone : it->second;
}

const json::Value* Inventory::find(std::string_view kind, std::string_view ns,
                                   std::string_view name) const {
  for (const json::Value& object : of(kind))
    if (name_of(object) == name && cli::namespace_of(object) == ns) return &object;
  return nullptr;
}

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kInfo:
      return "info";
  }
  return "";
}

std::string_view name_of(const json::Value& object) {
  return object.get_string({"metadata", "name"});
}

std::string_view namespace_of(const json::Value& object) {
  return object.get_string({"metadata", "namespace"});
}

std::string object_label(std::string_view kind, const json::Value& object) {
  std::string out(kind);
  out += '/';
  const std::string_view ns = namespace_of(object);
  if (!ns.empty()) (out += ns) += '/';
  return out += name_of(object);
}

void RuleSet::add(Severity severity, std::string rule, std::string object, std::string field,
                  std::string message, std::string advice) {
  out_->push_back({severity, std::move(rule), std::move(object), std::move(field),
                   std::move(message), std::move(advice)});
}

const json::Value* condition_of(const json::Value& object, std::string_view type) {
  for (const json::Value& one : json::list_at(object, {"status", "conditions"}))
    if (one.get_string({"type"}) == type) return &one;
  return nullptr;
}

bool selects(const json::Value* selector, const json::Value& object) {
  const auto parsed = wire::LabelSelector::from_object(selector);
  if (!parsed.ok()) return false;
  const json::Value* labels = object.find_path({"metadata", "labels"});
  return parsed->matches([labels](std::string_view key) -> const std::string* {
    const json::Value* value = labels != nullptr ? labels->find(key) : nullptr;
    return value != nullptr && value->is_string() ? &value->as_string() : nullptr;
  });
}

std::string some_of(const std::vector<std::string>& names, size_t most) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < most; ++i) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += names[i];
  }
  if (names.size() > most) out += " and " + std::to_string(names.size() - most) + " more";
  return out;
}

// What is said of several fields of an object in the same words is said once.
static std::vector<Finding> merged(std::vector<Finding> findings) {
  std::vector<Finding> out;
  std::vector<std::vector<std::string>> fields;
  for (Finding& f : findings) {
    size_t at = 0;
    while (at < out.size() && (out[at].rule != f.rule || out[at].object != f.object ||
                               out[at].message != f.message || out[at].advice != f.advice))
      ++at;
    if (at == out.size()) {
      fields.push_back({f.field});
      out.push_back(std::move(f));
    } else {
      fields[at].push_back(f.field);
    }
  }
  for (size_t i = 0; i < out.size(); ++i) out[i].field = some_of(fields[i], 2);
  return out;
}

std::vector<Finding> lint(const Inventory& inventory) {
  std::vector<Finding> out;
  lint_queues(inventory, &out);
  lint_quota(inventory, &out);
  lint_workloads(inventory, &out);
  lint_leader(inventory, &out);
  if (inventory.installation) lint_installation(inventory, &out);
  std::sort(out.begin(), out.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.severity, a.rule, a.object, a.field, a.message) <
           std::tie(b.severity, b.rule, b.object, b.field, b.message);
  });
  return merged(std::move(out));
}

}  // namespace kueue::cli
