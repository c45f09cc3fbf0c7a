#include "engine/model/pod.h"

#include <algorithm>
#include <charconv>

namespace kueue::engine {
namespace {

bool parse_int(const std::string& text, int64_t& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

const std::string* find_label(const Labels& labels, const std::string& key) {
  auto it =
      std::lower_bound(labels.begin(), labels.end(), key,
                       [](const auto& label, const std::string& k) { return label.first < k; });
  return it != labels.end() && it->first == key ? &it->second : nullptr;
}

int64_t amount_of(const ResourceAmounts& amounts, const std::string& resource) {
  for (const auto& [name, amount] : amounts)
    if (name == resource) return amount;
  return 0;
}

bool matches(const LabelRequirement& requirement, const Labels& labels) {
  const std::string* value = find_label(labels, requirement.key);
  if (requirement.op == "In") return value != nullptr && contains(requirement.values, *value);
  if (requirement.op == "NotIn") return value == nullptr || !contains(requirement.values, *value);
  if (requirement.op == "Exists") return value != nullptr;
  if (requirement.op == "DoesNotExist") return value == nullptr;
  int64_t have = 0, want = 0;
  if (value == nullptr || requirement.values.size() != 1 || !parse_int(*value, have) ||
      !parse_int(requirement.values[0], want))
    return false;
  if (requirement.op == "Gt") return have > want;
  return requirement.op == "Lt" && have < want;
}

bool matches(const LabelSelector& selector, const Labels& labels) {
  return std::all_of(selector.requirements.begin(), selector.requirements.end(),
                     [&](const LabelRequirement& r) { return matches(r, labels); });
}

bool matches(const NodeSelectorTerm& term, const Labels& labels, const std::string& name) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  for (const LabelRequirement& r : term.expressions)
    if (!matches(r, labels)) return false;
  for (const LabelRequirement& r : term.fields)
    if (!matches(r, {{"metadata.name", name}})) return false;
  return true;
}

bool tolerates(const Toleration& t, const Taint& taint) {
  if (!t.effect.empty() && t.effect != taint.effect) return false;
  if (!t.key.empty() && t.key != taint.key) return false;
  if (t.op == "Exists") return true;
  if (t.op.empty() || t.op == "Equal") return t.value == taint.value;
  int64_t have = 0, bound = 0;
  if (!parse_int(taint.value, have) || !parse_int(t.value, bound)) return false;
  if (t.op == "Lt") return have < bound;
  return t.op == "Gt" && have > bound;
}

const Taint* untolerated(const std::vector<Taint>& taints,
                         const std::vector<Toleration>& tolerations,
                         const std::vector<Toleration>& more) {
  for (const Taint& taint : taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    auto covers = [&](const Toleration& t) { return tolerates(t, taint); };
    if (std::none_of(tolerations.begin(), tolerations.end(), covers) &&
        std::none_of(more.begin(), more.end(), covers))
      return &taint;
  }
  return nullptr;
}

std::string taint_text(const Taint& taint) {
  if (taint.value.empty()) return taint.key + ":" + taint.effect;
  return taint.key + "=" + taint.value + ":" + taint.effect;
}

}  // namespace kueue::engine
